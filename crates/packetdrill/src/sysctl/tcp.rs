//! Settings of a kernel's TCP, applied to the stack under test.

use base::Duration;
use recovery::policy::{Controller, IdleRestart};
use tcp::{EcnMode, SynCookies};

use crate::config::TcpConfig;

/// Commands about parts outside the stack: a network card's offloads, a queue in front of it,
/// caches that do not exist here, files that are read.
const IGNORED_COMMANDS: [&str; 8] = [
    "ethtool -K tun0",
    "tc qdisc",
    "ip tcp_metrics flush all",
    "/bin/rm -f /tmp/testfile",
    "/bin/dd ",
    "/tmp/sysctl_restore",
    "nstat > /dev/null",
    "sysctl_restore",
];

/// Settings with fixed values, since the stack has no other, or since they have no effect here.
const FIXED: [(&str, &[&str]); 21] = [
    ("net.inet.tcp.blackhole", &["0"]),
    ("net.inet.tcp.insecure_syn", &["0"]),
    ("net.inet.tcp.drop_synfin", &["0"]),
    ("net.inet.tcp.hostcache.purgenow", &["1"]),
    ("net.inet.tcp.path_mtu_discovery", &["1"]),
    ("net.inet.tcp.tolerate_missing_ts", &["0", "1"]),
    ("net.ipv4.tcp_dsack", &["1"]),
    ("net.ipv4.tcp_fack", &["0"]),
    ("net.ipv4.tcp_retries1", &["3"]),
    ("net.ipv4.tcp_invalid_ratelimit", &["0"]),
    // Sizes for a network card that cuts segments: here segments leave uncut.
    ("net.ipv4.tcp_tso_win_divisor", &["3", "100"]),
    ("net.ipv4.tcp_min_tso_segs", &["1", "2", "4", "10"]),
    ("net.ipv4.tcp_ecn_option", &["0", "1", "2"]),
    ("net.ipv4.tcp_pacing_ss_ratio", &["200"]),
    ("net.ipv4.tcp_pacing_ca_ratio", &["120"]),
    ("net.ipv4.tcp_notsent_lowat", &["4294967295"]),
    // Offered only to a peer that asks.
    ("net.ipv4.tcp_fastopen", &["0", "0x70403", "1"]),
    ("net.ipv4.tcp_mtu_probing", &["0"]),
    ("net.ipv4.tcp_moderate_rcvbuf", &["0", "1"]),
    ("net.ipv4.tcp_shrink_window", &["0"]),
    ("net.ipv4.tcp_app_win", &["31"]),
];

/// Applies a shell command, as far as it concerns the stack.
///
/// # Errors
/// Why the script cannot be run.
pub(crate) fn apply(command: &str, config: &mut TcpConfig) -> Result<(), String> {
    let command = command.replace("\\\n", " ");
    for line in command.lines() {
        let line = line.split('#').next().unwrap_or_default();
        for part in line.split(';').flat_map(|part| part.split("&&")) {
            one(part.trim(), config)?;
        }
    }
    Ok(())
}

fn one(command: &str, config: &mut TcpConfig) -> Result<(), String> {
    let words = words(command);
    let Some((first, rest)) = words.split_first() else { return Ok(()) };
    if IGNORED_COMMANDS.iter().any(|known| command.starts_with(known)) {
        return Ok(());
    }
    if first.ends_with("defaults.sh") {
        *config = TcpConfig::linux();
        return Ok(());
    }
    if first != "sysctl" && !first.ends_with("set_sysctls.py") {
        return Err(format!("the command {first} is not supported"));
    }
    let unknown = |word: &&String| word.starts_with('-') && !super::is_flag(word);
    if let Some(flag) = rest.iter().find(unknown) {
        return Err(format!("the option {flag} of {first} is not supported"));
    }
    let settings = rest.iter().filter(|word| !word.starts_with('-') && !word.starts_with('>'));
    for setting in settings.filter(|word| word.contains('=')) {
        let (name, value) = setting.split_once('=').unwrap_or_default();
        let name =
            name.strip_prefix("/proc/sys/").map_or(name.to_owned(), |path| path.replace('/', "."));
        set(&name, value, config)
            .ok_or_else(|| format!("the setting {name}={value} is not supported"))?;
    }
    Ok(())
}

/// Splits a command into words; quoted text is one word.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in command.chars() {
        match letter {
            '"' | '\'' => quoted = !quoted,
            _ if letter.is_whitespace() && !quoted => words.push(String::new()),
            _ => words.last_mut().into_iter().for_each(|word| word.push(letter)),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Changes a setting; `None` if the stack does not have it.
fn set(name: &str, value: &str, config: &mut TcpConfig) -> Option<()> {
    if let Some((_, values)) = FIXED.iter().find(|(known, _)| *known == name) {
        return values.contains(&value).then_some(());
    }
    negotiation(name, value, config)
        .or_else(|| patience(name, value, config))
        .or_else(|| buffers(name, value, config))
        .or_else(|| defence(name, value, config))
        .or_else(|| linux_policy(name, value, config))
}

fn number(value: &str) -> Option<u64> {
    value.parse().ok()
}

fn flag(value: &str) -> Option<bool> {
    number(value).filter(|number| *number <= 1).map(|number| number == 1)
}

fn small(value: &str) -> Option<u8> {
    u8::try_from(number(value)?).ok()
}

fn millis(value: &str) -> Option<Duration> {
    number(value).map(Duration::from_millis)
}

/// Settings of the options that SYNs offer.
fn negotiation(name: &str, value: &str, config: &mut TcpConfig) -> Option<()> {
    let connection = &mut config.connection;
    match name {
        "net.inet.tcp.rfc1323" => {
            let on = flag(value)?;
            (connection.window_scaling, connection.timestamps) = (on, on);
        }
        "net.inet.tcp.sack.enable" | "net.ipv4.tcp_sack" => connection.sack = flag(value)?,
        "net.ipv4.tcp_timestamps" => connection.timestamps = flag(value)?,
        "net.ipv4.tcp_window_scaling" => connection.window_scaling = flag(value)?,
        "net.inet.tcp.ecn.enable" | "net.ipv4.tcp_ecn" => {
            connection.ecn = match number(value)? {
                0 => EcnMode::Off,
                1 => EcnMode::Active,
                2 => EcnMode::Passive,
                _ => return None,
            };
        }
        _ => return None,
    }
    Some(())
}

/// Settings of timeouts and retries.
fn patience(name: &str, value: &str, config: &mut TcpConfig) -> Option<()> {
    let (connection, keep_alive) = (&mut config.connection, &mut config.keep_alive);
    match name {
        "net.inet.tcp.rexmit_initial" => {
            let initial = millis(value)?;
            connection.syn_timeout = initial;
            config.edit_policy(|policy| policy.rto.initial = initial);
        }
        "net.inet.tcp.rexmit_slop" => connection.syn_timeout_slack = millis(value)?,
        "net.inet.tcp.ecn.maxretries" => connection.ecn_syn_retries = small(value)?,
        // The third SYN is the last with options.
        "net.inet.tcp.rexmit_drop_options" => {
            connection.option_syn_retries = flag(value)?.then_some(2);
        }
        "net.ipv4.tcp_syn_retries" => connection.syn_retries = small(value)?,
        "net.ipv4.tcp_synack_retries" => connection.syn_ack_retries = small(value)?,
        "net.inet.tcp.keepinit" => connection.syn_time_limit = Some(millis(value)?),
        "net.inet.tcp.delacktime" => {
            let delay = millis(value)?;
            config.edit_policy(|policy| policy.acknowledgement.delay = Some(delay));
        }
        "net.inet.tcp.keepidle" => keep_alive.idle = millis(value)?,
        "net.inet.tcp.keepintvl" => keep_alive.interval = millis(value)?,
        "net.inet.tcp.keepcnt" => keep_alive.probes = small(value)?,
        _ => return None,
    }
    Some(())
}

fn buffers(name: &str, value: &str, config: &mut TcpConfig) -> Option<()> {
    match name {
        "net.inet.tcp.recvspace" => config.connection.receive_buffer = number(value)? as usize,
        "net.inet.tcp.sendspace" => config.connection.send_buffer = number(value)? as usize,
        // The shift with which a window of 65,535 reaches the largest buffer.
        "kern.ipc.maxsockbuf" => {
            let largest = number(value)?;
            let shift = (0..14).find(|shift| 65_535 << shift >= largest).unwrap_or(14);
            config.connection.window_shift = Some(shift);
        }
        _ => return None,
    }
    Some(())
}

/// Sets an option against attacks; none if this is no such option, or the value is none of it.
fn defence(name: &str, value: &str, config: &mut TcpConfig) -> Option<()> {
    match name {
        // As in RFC 793, before RFC 5961.
        "net.inet.tcp.insecure_rst" => config.connection.strict_resets = !flag(value)?,
        "net.inet.tcp.icmp_may_rst" => config.icmp_refusals = flag(value)?,
        "net.inet.tcp.syncookies" | "net.ipv4.tcp_syncookies" => {
            config.endpoint.syn_cookies = match number(value)? {
                0 => SynCookies::Off,
                1 => SynCookies::WhenFull,
                2 => SynCookies::Always,
                _ => return None,
            };
        }
        "net.inet.tcp.syncookies_only" => {
            if flag(value)? {
                config.endpoint.syn_cookies = SynCookies::Always;
            }
        }
        _ => return None,
    }
    Some(())
}

/// Settings of Linux's loss recovery.
fn linux_policy(name: &str, value: &str, config: &mut TcpConfig) -> Option<()> {
    match (name, value) {
        ("net.ipv4.tcp_reordering", _) => {
            let threshold = small(value)?;
            config.edit_policy(|policy| policy.loss.dup_threshold = threshold);
        }
        ("net.ipv4.tcp_early_retrans", "1") => {
            config.edit_policy(|policy| policy.loss.early_retransmit = true);
        }
        // A quarter of a round trip later, to allow for reordering (RFC 5827, appendix A), as in
        // RACK.
        ("net.ipv4.tcp_early_retrans", "2") => config.edit_policy(|policy| policy.loss.rack = true),
        // The preset's value.
        ("net.ipv4.tcp_early_retrans", "3" | "4")
        | ("net.ipv4.tcp_recovery", "1")
        | ("net.ipv4.tcp_frto", "2")
        | ("net.ipv4.tcp_congestion_control", "cubic") => {}
        ("net.ipv4.tcp_congestion_control", "reno") => {
            config.edit_policy(|policy| policy.congestion.controller = Controller::NewReno);
        }
        ("net.ipv4.tcp_slow_start_after_idle", value @ ("0" | "1")) => {
            let restart = if value == "0" { IdleRestart::Keep } else { IdleRestart::Halve };
            config.edit_policy(|policy| policy.congestion.idle_restart = restart);
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_reach_the_stack() {
        let mut config = TcpConfig::freebsd();
        apply("sysctl -w net.inet.tcp.rfc1323=0", &mut config).unwrap();
        assert!(!config.connection.timestamps && !config.connection.window_scaling);
        apply(
            "sysctl -w kern.ipc.maxsockbuf=2097152; sysctl net.inet.tcp.delacktime=40",
            &mut config,
        )
        .unwrap();
        assert_eq!(config.connection.window_shift, Some(6));
        let delay = config.connection.policy.acknowledgement.delay;
        assert_eq!(delay, Some(Duration::from_millis(40)));
        let script = "../common/defaults.sh\n../common/set_sysctls.py \\\n \
                      /proc/sys/net/ipv4/tcp_timestamps=0 /proc/sys/net/ipv4/tcp_min_tso_segs=10\n\
                      sysctl -q net.ipv4.tcp_ecn=1  # fully enabled\n`";
        apply(script.trim_end_matches('`'), &mut config).unwrap();
        assert!(config.counts_segments && !config.connection.timestamps);
        apply("sysctl -q net.ipv4.tcp_congestion_control=reno", &mut config).unwrap();
        assert_eq!(config.connection.policy.congestion.controller, Controller::NewReno);
        assert_eq!(config.connection.ecn, EcnMode::Active);
    }

    #[test]
    fn what_is_not_understood_is_never_ignored() {
        let mut config = TcpConfig::default();
        for command in [
            "sysctl -w net.inet.tcp.insecure_syn=1",
            "sysctl -q net.ipv4.tcp_fack=1",
            "sysctl net.inet.sctp.ecn_enable=1",
            "ip route change 192.0.2.1 via 192.168.0.2",
            "../common/set_sysctls.py /proc/sys/net/ipv4/tcp_mtu_probing=2",
            "rm -rf x",
        ] {
            assert!(apply(command, &mut config).is_err(), "{command}");
        }
    }

    #[test]
    fn quotation_marks_keep_words_together() {
        assert_eq!(words("a  b=\"c d\" e"), ["a", "b=c d", "e"]);
        assert!(words(" ").is_empty());
    }
}
