//! Calls of getsockopt() and setsockopt() on sockets of TCP.

use crate::sockets::Options;
use crate::sockets::arguments::{numbers, single};
use crate::vocabulary::constant;
use std::sync::Arc;

use base::{Duration, Instant};
use tcp::{ConnectionOptions, KeepAlive};

use super::{Outcome, Output, Returned, Role, Sockets};
use crate::expression::Expression;
use crate::script::Call;
use crate::stop::Stop;

/// Options without effect in virtual time: sharing of ports, and marks for routers.
const IGNORED: [&str; 6] =
    ["SO_REUSEADDR", "SO_REUSEPORT", "IP_TOS", "IPV6_TCLASS", "IP_TTL", "IPV6_UNICAST_HOPS"];

impl Options for Sockets {
    /// Answers getsockopt(); an unknown option skips the script.
    fn get_option(
        &mut self,
        now: Instant,
        descriptor: i64,
        name: &str,
        _call: &Call,
    ) -> Result<Outcome, Stop> {
        let Ok(socket) = self.socket(descriptor) else { return Ok(Returned::error("EBADF")) };
        let (role, options) = (socket.role, socket.options.clone());
        let keep_alive = options.keep_alive.unwrap_or(self.config.keep_alive);
        let number = |number: u64| Output::Number(i64::try_from(number).unwrap_or(i64::MAX));
        let seconds = |span: Duration| number(span.as_millis() / 1000);
        let output = match name {
            "SO_ERROR" => {
                let error = self.status(role).and_then(|status| status.error.take());
                error.map_or(Output::Number(0), Output::Name)
            }
            "SO_RCVBUF" => Output::Size(options.receive_buffer as i64),
            "SO_SNDBUF" => Output::Size(options.send_buffer as i64),
            "TCP_NODELAY" => Output::Number(options.no_delay.into()),
            "TCP_MAXSEG" => number(self.max_segment(now, role, &options)),
            "TCP_USER_TIMEOUT" => {
                number(options.user_timeout.map_or(0, |timeout| timeout.as_millis()))
            }
            "TCP_KEEPIDLE" => seconds(keep_alive.idle),
            "TCP_KEEPINTVL" => seconds(keep_alive.interval),
            "TCP_KEEPCNT" => number(keep_alive.probes.into()),
            "TCP_KEEPINIT" => seconds(options.syn_time_limit.unwrap_or_default()),
            _ => return Err(unsupported("getsockopt", name)),
        };
        Ok(Returned::option(output))
    }

    /// Sets the option `name` of a socket and of what belongs to it.
    fn set_option(
        &mut self,
        now: Instant,
        descriptor: i64,
        name: &str,
        value: Option<&Expression>,
    ) -> Result<Outcome, Stop> {
        if IGNORED.contains(&name) {
            return Ok(Returned::value(0));
        }
        let number = value.and_then(single);
        let Ok(socket) = self.socket(descriptor) else { return Ok(Returned::error("EBADF")) };
        let role = socket.role;
        match (name, number) {
            ("TCP_CORK" | "TCP_NOPUSH", Some(on)) => {
                socket.corked = on != 0;
                return Ok(self.on_corked(now, role, on != 0));
            }
            ("TCP_QUICKACK", Some(on)) => return Ok(self.on_quick_ack(now, role, on != 0)),
            _ => {}
        }
        let mut options = socket.options.clone();
        match (name, number) {
            ("SO_KEEPALIVE", Some(on)) => socket.keep_alive = on != 0,
            ("SO_LINGER", _) => {
                let fields = value.map(numbers).unwrap_or_default();
                let field = |name| fields.get(name).copied().unwrap_or(0);
                let seconds = u64::try_from(field("linger")).unwrap_or(0);
                options.linger = (field("onoff") != 0).then(|| Duration::from_secs(seconds));
            }
            (_, Some(number)) => change(&mut options, name, number)?,
            _ => return Err(unsupported("setsockopt", name)),
        }
        if !socket.keep_alive {
            // The times are kept until it is switched on.
            socket.options = options.clone();
            options.keep_alive = None;
        } else {
            options.keep_alive.get_or_insert_default();
            socket.options = options.clone();
        }
        self.give_options(now, role, options);
        Ok(Returned::value(0))
    }
}

impl Sockets {
    /// Replaces the options of a socket's connection or listener.
    fn give_options(&mut self, now: Instant, role: Role, options: ConnectionOptions) {
        let options = self.granted(&options);
        match role {
            Role::Fresh | Role::File => {}
            Role::Listening(id) => self.endpoint().set_accepted_options(id, options),
            Role::Connection(id) => {
                if let Some(mut own) = self.endpoint().connection_mut(id) {
                    own.set_options(now, |own| *own = options);
                }
            }
        }
    }

    /// Acknowledges pending data at once.
    fn on_quick_ack(&mut self, now: Instant, role: Role, on: bool) -> Outcome {
        if let (Role::Connection(id), true) = (role, on)
            && let Some(mut own) = self.endpoint().connection_mut(id)
        {
            own.acknowledge_now(now);
        }
        Returned::value(0)
    }

    /// Sends data that waited for more, once it is not held any more.
    fn on_corked(&mut self, now: Instant, role: Role, corked: bool) -> Outcome {
        if let (Role::Connection(id), false) = (role, corked)
            && let Some(mut own) = self.endpoint().connection_mut(id)
        {
            let _ = own.send(now, bytes::Bytes::new(), tcp::SendFlags::default());
        }
        Returned::value(0)
    }

    /// TCP_MAXSEG: the segment size of a connection, otherwise the value that was set.
    fn max_segment(&mut self, now: Instant, role: Role, options: &ConnectionOptions) -> u64 {
        let configured = options.max_segment.map_or(536, u64::from);
        let Role::Connection(id) = role else { return configured };
        let connection = self.endpoint().connection(id);
        connection.map_or(configured, |connection| u64::from(connection.info(now).send_mss))
    }
}

fn unsupported(call: &str, name: &str) -> Stop {
    Stop::skip(format!("{call}({name}) is not supported"))
}

/// Sets a numeric option of a connection; an unknown one skips the script.
fn change(options: &mut ConnectionOptions, name: &str, value: i64) -> Result<(), Stop> {
    let unsigned = u64::try_from(value).map_err(|_| unsupported("setsockopt", name))?;
    let size = usize::try_from(unsigned).unwrap_or(usize::MAX).min(1 << 30);
    let small = u8::try_from(unsigned).map_err(|_| unsupported("setsockopt", name));
    let keep_alive = |options: &mut ConnectionOptions, set: &dyn Fn(&mut KeepAlive)| {
        set(options.keep_alive.get_or_insert_default());
    };
    match name {
        // The window scale follows the buffer.
        "SO_RCVBUF" => {
            options.receive_buffer = size;
            options.window_shift = None;
        }
        "SO_SNDBUF" => options.send_buffer = size,
        "TCP_NODELAY" => options.no_delay = value != 0,
        "TCP_MAXSEG" => {
            options.max_segment =
                Some(u16::try_from(unsigned).map_err(|_| unsupported("setsockopt", name))?);
        }
        "TCP_USER_TIMEOUT" => {
            options.user_timeout = (unsigned > 0).then(|| Duration::from_millis(unsigned));
        }
        "TCP_KEEPIDLE" => keep_alive(options, &|own| own.idle = Duration::from_secs(unsigned)),
        "TCP_KEEPINTVL" => {
            keep_alive(options, &|own| own.interval = Duration::from_secs(unsigned));
        }
        "TCP_KEEPCNT" => {
            let probes = small?;
            keep_alive(options, &|own| own.probes = probes);
        }
        "TCP_KEEPINIT" => options.syn_time_limit = Some(Duration::from_secs(unsigned)),
        "TCP_SYNCNT" => options.syn_retries = small?,
        "IP_MTU_DISCOVER" => options.path_mtu_discovery = value != constant_dont(),
        "TCP_LINEAR_TIMEOUTS" | "TCP_THIN_LINEAR_TIMEOUTS" => {
            let policy = Arc::make_mut(&mut options.policy);
            policy.thin = recovery::policy::ThinDetector::FewerThanFour;
            policy.backoff.while_thin = recovery::policy::ThinBackoff::LinearFor(6);
        }
        _ => return Err(unsupported("setsockopt", name)),
    }
    Ok(())
}

fn constant_dont() -> i64 {
    constant("IP_PMTUDISC_DONT").unwrap_or(0)
}
