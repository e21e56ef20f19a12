//! Facts about the connection opened or accepted last for assertions: `tcpi_…`.

use base::{Duration, Instant};
use tcp::{ConnectionInfo, State};

use super::{Role, Sockets};

impl Sockets {
    /// The number called `name`, if it exists now. Times are in microseconds where Linux has them
    /// so; windows are in segments or bytes, as in the script's system.
    pub(crate) fn fact(&self, now: Instant, name: &str) -> Option<i64> {
        if let Some(number) = state_number(name) {
            return Some(number);
        }
        let connection = self.latest.and_then(|id| self.endpoint.as_ref()?.connection(id));
        if name == "tcpi_state" {
            return Some(self.state(connection.map(tcp::Connection::state)));
        }
        let info = connection?.info(now);
        let number = |number: u64| Some(i64::try_from(number).unwrap_or(i64::MAX));
        let micros = |span: Option<Duration>| number(span.map_or(0, |span| span.as_nanos() / 1000));
        let millis = |span: Duration| number(span.as_millis());
        let window = |bytes: u64| {
            let mss = u64::from(info.send_mss).max(1);
            number(if self.config.counts_segments { bytes / mss } else { bytes })
        };
        match name {
            "tcpi_options" => Some(options(&info)),
            "tcpi_snd_cwnd" => window(info.path.cwnd),
            "tcpi_snd_ssthresh" => window(info.path.ssthresh),
            "tcpi_unacked" => number(u64::from(info.path.flight.packets)),
            "tcpi_snd_mss" => number(info.send_mss.into()),
            "tcpi_advmss" => number(info.advertised_mss.into()),
            "tcpi_pmtu" => number(info.path_mtu.into()),
            "tcpi_rtt" => micros(info.path.srtt),
            "tcpi_rttvar" => micros(info.path.rttvar),
            "tcpi_rto" => micros(Some(info.path.rto)),
            "tcpi_backoff" | "tcpi_retransmits" => number(info.consecutive_timeouts.into()),
            "tcpi_probes" => number(info.unanswered_probes.into()),
            "tcpi_total_retrans" => number(info.recovery.retransmissions.total()),
            "tcpi_last_data_sent" => millis(info.since_data_sent),
            "tcpi_last_data_recv" => millis(info.since_data_received),
            "tcpi_last_ack_recv" => millis(info.since_ack_received),
            "tcpi_notsent_bytes" => number(info.unsent_bytes),
            // Linux counts the SYN of a connection that it opened.
            "tcpi_bytes_acked" => {
                let syn = u64::from(self.config.counts_segments && self.active);
                number(info.counters.bytes_acked + syn)
            }
            "tcpi_bytes_received" => number(info.counters.bytes_received),
            "tcpi_bytes_retrans" => number(info.counters.bytes_retransmitted),
            "tcpi_snd_wnd" => number(info.send_window),
            "tcpi_rcv_wnd" => number(info.receive_window),
            "tcpi_ca_state" => state_number(recovery_state(&info)),
            "tcpi_thin" => Some(info.path.thin.into()),
            _ => None,
        }
    }

    /// The state in the numbers of the script's system.
    fn state(&self, connection: Option<State>) -> i64 {
        let name = match connection {
            Some(state) => name(state),
            None => {
                let is_listener = |role: Role| matches!(role, Role::Listening(_));
                let listens = self.sockets.values().any(|socket| is_listener(socket.role));
                if listens { "LISTEN" } else { "CLOSED" }
            }
        };
        let names: &[&str] = if self.config.counts_segments { &LINUX } else { &FREEBSD };
        names.iter().position(|known| *known == name).map_or(-1, |number| number as i64)
    }
}

/// The states in the order of FreeBSD's numbers, from 0.
const FREEBSD: [&str; 11] = [
    "CLOSED",
    "LISTEN",
    "SYN_SENT",
    "SYN_RECEIVED",
    "ESTABLISHED",
    "CLOSE_WAIT",
    "FIN_WAIT_1",
    "CLOSING",
    "LAST_ACK",
    "FIN_WAIT_2",
    "TIME_WAIT",
];

/// The states in the order of Linux' numbers; none has 0.
const LINUX: [&str; 12] = [
    "",
    "ESTABLISHED",
    "SYN_SENT",
    "SYN_RECEIVED",
    "FIN_WAIT_1",
    "FIN_WAIT_2",
    "TIME_WAIT",
    "CLOSED",
    "CLOSE_WAIT",
    "LAST_ACK",
    "LISTEN",
    "CLOSING",
];

fn name(state: State) -> &'static str {
    match state {
        State::SynSent => "SYN_SENT",
        State::SynReceived => "SYN_RECEIVED",
        State::Established => "ESTABLISHED",
        State::FinWait1 => "FIN_WAIT_1",
        State::FinWait2 => "FIN_WAIT_2",
        State::CloseWait => "CLOSE_WAIT",
        State::Closing => "CLOSING",
        State::LastAck => "LAST_ACK",
        State::TimeWait => "TIME_WAIT",
        State::Closed => "CLOSED",
    }
}

/// Constants: states by FreeBSD's names and by Linux', options, states of recovery.
fn state_number(name: &str) -> Option<i64> {
    let position = |names: &[&str], name: &str| {
        let number = names.iter().position(|known| *known == name);
        number.map(|number| number as i64)
    };
    if let Some(name) = name.strip_prefix("TCPI_OPT_") {
        return Some(match name {
            "TIMESTAMPS" => 1,
            "SACK" => 2,
            "WSCALE" => 4,
            "ECN" => 8,
            "ECN_SEEN" => 16,
            "SYN_DATA" => 32,
            _ => return None,
        });
    }
    if let Some(name) = name.strip_prefix("TCP_CA_") {
        return position(&["Open", "Disorder", "CWR", "Recovery", "Loss"], name);
    }
    if let Some(name) = name.strip_prefix("TCPI_") {
        return position(&FREEBSD, name);
    }
    let linux = match name.strip_prefix("TCP_")? {
        "SYN_RECV" => "SYN_RECEIVED",
        "FIN_WAIT1" => "FIN_WAIT_1",
        "FIN_WAIT2" => "FIN_WAIT_2",
        "CLOSE" => "CLOSED",
        other => other,
    };
    position(&LINUX, linux)
}

/// Linux's name of the state of recovery.
fn recovery_state(info: &ConnectionInfo) -> &'static str {
    if info.consecutive_timeouts > 0 {
        "TCP_CA_Loss"
    } else if info.path.in_fast_recovery {
        "TCP_CA_Recovery"
    } else if info.unacked_bytes > info.path.flight.bytes {
        "TCP_CA_Disorder"
    } else {
        "TCP_CA_Open"
    }
}

fn options(info: &ConnectionInfo) -> i64 {
    i64::from(info.timestamps)
        | i64::from(info.sack) << 1
        | i64::from(info.window_scale.is_some()) << 2
        | i64::from(info.ecn) << 3
}
