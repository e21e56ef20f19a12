//! Calls of getsockopt() and setsockopt() on sockets of SCTP.

use crate::sockets::Options;
use crate::sockets::arguments::{Numbers, numbers, part, single};
use crate::vocabulary::constant;
use std::sync::Arc;

use base::{Duration, Instant};
use sctp::{Association, AssociationOptions, ErrorDetection, Extensions};

use super::{Outcome, Output, Returned, Role, Socket, Sockets};
use super::{notifications, reconfiguration};
use crate::expression::Expression;
use crate::script::Call;
use crate::stop::Stop;

const HB_ENABLE: i64 = 1;
const HB_DISABLE: i64 = 2;
const PMTUD_ENABLE: i64 = 8;
const PMTUD_DISABLE: i64 = 0x10;

impl Options for Sockets {
    /// Answers getsockopt(); an unknown option skips the script.
    fn get_option(
        &mut self,
        _now: Instant,
        descriptor: i64,
        name: &str,
        call: &Call,
    ) -> Result<Outcome, Stop> {
        let Ok(socket) = self.socket(descriptor) else { return Ok(Returned::error("EBADF")) };
        if let Some(output) = socket.defaults.get(name) {
            return Ok(Returned::option(output));
        }
        if let Some(output) = of_socket(socket, name, call)? {
            return Ok(Returned::option(output));
        }
        let role = socket.role;
        let value = call.arguments.get(3);
        let numbers = value.map(numbers).unwrap_or_default();
        let own = self.association_numbers(descriptor);
        let role = self.association_of(role, association_number(&numbers));
        let (found, error) = match name {
            "SCTP_GET_ASSOC_NUMBER" => (own.map(|own| Output::Number(own.len() as i64)), "EINVAL"),
            "SCTP_GET_ASSOC_ID_LIST" => (own.map(list_of_numbers), "EINVAL"),
            "SO_ERROR" => {
                let error = self.status(role).and_then(|status| status.error.take());
                (Some(error.map_or(Output::Number(0), Output::Name)), "EINVAL")
            }
            "SCTP_PEER_ADDR_PARAMS" => {
                (self.peer_address_params(descriptor, role, value), "EINVAL")
            }
            "SCTP_PEER_AUTH_CHUNKS" => (self.peer_auth_chunks(role), "EINVAL"),
            "SCTP_PRIMARY_ADDR" => (self.primary_address(role), "EINVAL"),
            "SCTP_GET_PEER_ADDR_INFO" => (self.peer_address_info(role, value), "EINVAL"),
            "SCTP_STATUS" => {
                let association = match role {
                    Role::Association(stack, id) => self.stacks[stack].endpoint.association(id),
                    _ => None,
                };
                (association.map(status), "ENOTCONN")
            }
            _ => return Err(Stop::skip(format!("getsockopt({name}) is not supported"))),
        };
        Ok(found.map_or(Returned::error(error), Returned::option))
    }

    /// Sets the option `name` of a socket and of what belongs to it.
    fn set_option(
        &mut self,
        now: Instant,
        descriptor: i64,
        name: &str,
        value: Option<&Expression>,
    ) -> Result<Outcome, Stop> {
        // Read-only options are refused whatever their value.
        let is_set = !matches!(name, "SCTP_STATUS" | "SCTP_GET_PEER_ADDR_INFO");
        if let Some(field) = value.and_then(not_understood).filter(|_| is_set) {
            return Err(Stop::skip(format!(
                "setsockopt({name}) with this {field} is not supported"
            )));
        }
        let numbers = value.map(numbers).unwrap_or_default();
        let flag = value.and_then(single);
        let Ok(socket) = self.socket(descriptor) else { return Ok(Returned::error("EBADF")) };
        let own_role = socket.role;
        let before = socket.notifications.clone();
        if let Some(outcome) = set_of_socket(socket, name, value, &numbers)? {
            self.tell_at_once(descriptor, &before);
            return Ok(outcome);
        }
        let role = self.association_of(own_role, association_number(&numbers));
        let Ok(socket) = self.socket(descriptor) else { return Ok(Returned::error("EBADF")) };
        refuse_discovery(role, &socket.options, name, &numbers)?;
        if let Some(field) = unheeded(name, &numbers) {
            return Err(Stop::skip(format!("setsockopt({name}) with {field} is not supported")));
        }
        if let Some(outcome) = self.set_key(descriptor, name, value)? {
            return Ok(outcome);
        }
        if let Some(outcome) = self.reconfigure(now, role, name, value)? {
            return Ok(outcome);
        }
        let about = (name, value);
        let outcome = self.set_address_option(now, (descriptor, role), about, &numbers)?;
        if let Some(outcome) = outcome {
            return Ok(outcome);
        }
        let overhead = self.overhead(descriptor);
        let Ok(socket) = self.socket(descriptor) else { return Ok(Returned::error("EBADF")) };
        let mut options = socket.options.clone();
        if !is_sensible(&options, name, &numbers, flag) {
            return Ok(Returned::error("EINVAL"));
        }
        change(&mut options, name, &numbers, (flag, overhead))?;
        socket.options = options.clone();
        match role {
            Role::Fresh => {}
            Role::Listening(stack) | Role::Many(stack) => {
                self.stacks[stack].endpoint.set_accepted_options(options);
            }
            Role::Association(stack, id) => {
                if let Some(mut own) = self.stacks[stack].endpoint.association_mut(id) {
                    own.set_policy(Arc::clone(&options.policy));
                    own.set_path_mtu(options.path_mtu);
                    own.set_options(|own| *own = options);
                }
            }
        }
        Ok(Returned::value(0))
    }
}

/// Value of an option that the socket itself stores; `None` if it concerns an association.
fn of_socket(socket: &Socket, name: &str, call: &Call) -> Result<Option<Output>, Stop> {
    let (options, wants) = (&socket.options, socket.wants);
    let policy = &options.policy;
    let millis = |span: Duration| Output::Number(span.as_millis() as i64);
    Ok(Some(match name {
        "SCTP_NODELAY" => Output::Number(options.no_delay.into()),
        "SCTP_RECVRCVINFO" => Output::Number(wants.info.into()),
        "SCTP_RECVNXTINFO" => Output::Number(wants.next.into()),
        // Idle associations never end.
        "SCTP_AUTOCLOSE" => Output::Number(0),
        "SCTP_REUSE_PORT" => Output::Number(socket.reuses_port.into()),
        "SCTP_USE_EXT_RCVINFO" => Output::Number(wants.extended.into()),
        "SCTP_FRAGMENT_INTERLEAVE" => Output::Number(socket.interleave_level),
        "SCTP_DELAYED_SACK" => Output::Struct(vec![
            ("sack_delay", millis(policy.acknowledgement.delay.unwrap_or_default())),
            ("sack_freq", Output::Number(policy.acknowledgement.every_packets.into())),
        ]),
        "SCTP_EVENTS" => notifications::subscriptions(&socket.notifications, wants.data_io),
        "SCTP_EVENT" => {
            let event = call.arguments.get(3).and_then(|value| part(value, "se_type"));
            notifications::subscription(&socket.notifications, event)?
        }
        "SCTP_INITMSG" => init_message(options),
        "SCTP_MAX_BURST" => {
            let burst = policy.congestion.max_burst;
            Output::Struct(vec![("assoc_value", Output::Number(burst.into()))])
        }
        "SCTP_AUTH_ACTIVE_KEY" => {
            let key = options.authentication.as_ref().map_or(0, |own| own.active_key.0);
            Output::Struct(vec![("scact_keynumber", Output::Number(key.into()))])
        }
        "SCTP_RTOINFO" => Output::Struct(vec![
            ("srto_initial", millis(policy.rto.initial)),
            ("srto_max", millis(policy.rto.max)),
            ("srto_min", millis(policy.rto.min)),
        ]),
        "SCTP_ENABLE_STREAM_RESET" => reconfiguration::enabled(options.reconfiguration),
        _ => return Ok(None),
    }))
}

/// Sets an option that the socket itself stores; `None` if it is another one.
fn set_of_socket(
    socket: &mut Socket,
    name: &str,
    value: Option<&Expression>,
    numbers: &Numbers<'_>,
) -> Result<Option<Outcome>, Stop> {
    if let Some(outcome) = socket.defaults.set(name, value, numbers)? {
        return Ok(Some(outcome));
    }
    match (name, value.and_then(single)) {
        (name, Some(on)) if socket.set_wants(name, on != 0) => {}
        // Messages are delivered whole, so there is no interleaving for the application.
        ("SCTP_FRAGMENT_INTERLEAVE", Some(level @ 0..=2)) => socket.interleave_level = level,
        ("SCTP_REUSE_PORT", Some(on)) => socket.reuses_port = on != 0,
        // One-to-many sockets only (RFC 6458, section 8.1.8).
        ("SCTP_AUTOCLOSE", Some(_)) if !socket.many => {
            return Ok(Some(Returned::error("EINVAL")));
        }
        ("SCTP_AUTOCLOSE", Some(0)) => {}
        ("SCTP_EVENTS", _) => {
            if let Some(on) = numbers.get("sctp_data_io_event") {
                socket.wants.data_io = *on != 0;
            }
            notifications::subscribe_all(&mut socket.notifications, numbers)?;
        }
        ("SCTP_EVENT", _) => {
            let event = value.and_then(|value| part(value, "se_type"));
            let on = numbers.get("se_on").copied();
            notifications::subscribe(&mut socket.notifications, event, on)?;
        }
        ("SCTP_REMOTE_UDP_ENCAPS_PORT", _) => {
            let port = numbers.get("sue_port").and_then(|port| u16::try_from(*port).ok());
            let (Role::Fresh, Some(port)) = (socket.role, port) else {
                let why = "SCTP_REMOTE_UDP_ENCAPS_PORT but before connect() is not supported";
                return Err(Stop::skip(why));
            };
            socket.udp_port = port;
        }
        _ => return Ok(None),
    }
    Ok(Some(Returned::value(0)))
}

/// The first field of a struct that is neither open nor the subject of any option.
fn not_understood(value: &Expression) -> Option<&str> {
    let is_understood = |value: &Expression| {
        let is_number = value.number(&constant).is_some();
        is_number
            || matches!(
                value,
                Expression::Any
                    | Expression::List(_)
                    | Expression::Struct(_)
                    | Expression::Address(_)
            )
    };
    // Kinds of notifications and policies of partial reliability are names.
    let is_name = |name: Option<&str>| matches!(name, Some("se_type" | "pr_policy"));
    let field = |field: &&crate::expression::Field| {
        !is_name(field.name.as_deref()) && !is_understood(&field.value)
    };
    value.fields()?.iter().find(field).map(|field| field.name.as_deref().unwrap_or("field"))
}

/// SCTP_GET_ASSOC_ID_LIST (RFC 6458, section 8.2.6).
fn list_of_numbers(numbers: Vec<i64>) -> Output {
    let count = Output::Number(numbers.len() as i64);
    let list = Output::List(numbers.into_iter().map(Output::Number).collect());
    Output::Struct(vec![("gaids_number_of_ids", count), ("gaids_assoc_id", list)])
}

fn init_message(options: &AssociationOptions) -> Output {
    Output::Struct(vec![
        ("sinit_num_ostreams", Output::Number(options.outbound_streams.into())),
        ("sinit_max_instreams", Output::Number(options.inbound_streams.into())),
        ("sinit_max_attempts", Output::Number(options.max_init_retransmits.into())),
    ])
}

fn status(association: &Association) -> Output {
    let state = match association.state_name() {
        "COOKIE-WAIT" => "SCTP_COOKIE_WAIT",
        "COOKIE-ECHOED" => "SCTP_COOKIE_ECHOED",
        "ESTABLISHED" => "SCTP_ESTABLISHED",
        "SHUTDOWN-PENDING" => "SCTP_SHUTDOWN_PENDING",
        "SHUTDOWN-SENT" => "SCTP_SHUTDOWN_SENT",
        "SHUTDOWN-RECEIVED" => "SCTP_SHUTDOWN_RECEIVED",
        "SHUTDOWN-ACK-SENT" => "SCTP_SHUTDOWN_ACK_SENT",
        _ => "SCTP_CLOSED",
    };
    Output::Struct(vec![
        ("sstat_state", Output::Name(state)),
        ("sstat_instrms", Output::Number(association.inbound_streams().into())),
        ("sstat_outstrms", Output::Number(association.outbound_streams().into())),
    ])
}

/// The association id in a struct.
fn association_number(numbers: &Numbers<'_>) -> Option<i64> {
    numbers.iter().find(|(key, _)| key.ends_with("assoc_id")).map(|(_, number)| *number)
}

/// Refuses to switch path MTU discovery within an association.
fn refuse_discovery(
    role: Role,
    options: &AssociationOptions,
    name: &str,
    numbers: &Numbers<'_>,
) -> Result<(), Stop> {
    let flags = numbers.get("spp_flags").copied().unwrap_or(0);
    let wanted = match (flags & PMTUD_ENABLE != 0, flags & PMTUD_DISABLE != 0) {
        (on, off) if on == off => options.path_mtu_discovery,
        (on, _) => on,
    };
    let is_asked = name == "SCTP_PEER_ADDR_PARAMS" && wanted != options.path_mtu_discovery;
    match role {
        Role::Association(..) if is_asked => {
            Err(Stop::skip("path MTU discovery cannot be switched on within an association"))
        }
        _ => Ok(()),
    }
}

/// Fields without effect here, by option.
const UNHEEDED: [(&str, &str); 4] = [
    ("SCTP_PEER_ADDR_PARAMS", "spp_dscp"),
    ("SCTP_PEER_ADDR_PARAMS", "spp_ipv6_flowlabel"),
    ("SCTP_PEER_ADDR_PARAMS", "spp_sackdelay"),
    ("SCTP_ASSOCINFO", "sasoc_cookie_life"),
];

/// A field with a value that should have an effect and has none.
fn unheeded(name: &str, numbers: &Numbers<'_>) -> Option<&'static str> {
    let is_set = |field: &str| numbers.get(field).is_some_and(|value| *value != 0);
    let mut fields = UNHEEDED.iter().filter(|(option, _)| *option == name);
    fields.find(|(_, field)| is_set(field)).map(|(_, field)| *field)
}

/// Whether a socket accepts these values: the bounds of the RTO in their order, existing levels.
fn is_sensible(
    options: &AssociationOptions,
    name: &str,
    numbers: &Numbers<'_>,
    flag: Option<i64>,
) -> bool {
    if let ("SCTP_FRAGMENT_INTERLEAVE", Some(level)) = (name, flag) {
        return (0..=2).contains(&level);
    }
    // Flags that are switched on and off at once (RFC 6458, section 8.1.12).
    let flags = numbers.get("spp_flags").copied().unwrap_or(0);
    let both = |one: i64, other: i64| flags & one != 0 && flags & other != 0;
    if both(HB_ENABLE, HB_DISABLE) || both(PMTUD_ENABLE, PMTUD_DISABLE) {
        return false;
    }
    let rto = &options.policy.rto;
    let millis = |key: &str, old: Duration| {
        let given = numbers.get(key).copied().filter(|value| *value > 0);
        given.map_or(old, |value| Duration::from_millis(value as u64))
    };
    let (initial, min) = (millis("srto_initial", rto.initial), millis("srto_min", rto.min));
    let max = millis("srto_max", rto.max);
    name != "SCTP_RTOINFO" || (min <= initial && initial <= max)
}

/// Applies a call to `options`. Zero leaves a value unchanged (RFC 6458, section 8.1).
fn change(
    options: &mut AssociationOptions,
    name: &str,
    numbers: &Numbers<'_>,
    (flag, overhead): (Option<i64>, u16),
) -> Result<(), Stop> {
    let refuse = || Stop::skip(format!("setsockopt({name}) with this value is not supported"));
    let positive = |key: &str| numbers.get(key).copied().filter(|value| *value > 0);
    let millis = |key: &str| positive(key).map(|value| Duration::from_millis(value as u64));
    let small = |key: &str| {
        positive(key).map(|value| u8::try_from(value).map_err(|_| refuse())).transpose()
    };
    match name {
        "SO_REUSEADDR" => {}
        "SO_RCVBUF" => {
            let size = u32::try_from(flag.ok_or_else(refuse)?);
            options.receive_buffer = size.map_err(|_| refuse())?;
        }
        "SO_SNDBUF" => options.send_buffer = flag.ok_or_else(refuse)?.max(1) as usize,
        "SCTP_NODELAY" => options.no_delay = flag.ok_or_else(refuse)? != 0,
        "SCTP_RTOINFO" => {
            let rto = &mut Arc::make_mut(&mut options.policy).rto;
            rto.initial = millis("srto_initial").unwrap_or(rto.initial);
            rto.max = millis("srto_max").unwrap_or(rto.max);
            rto.min = millis("srto_min").unwrap_or(rto.min);
        }
        "SCTP_INITMSG" => {
            let streams = |key: &str, old: u16| {
                positive(key).map_or(Ok(old), |value| u16::try_from(value).map_err(|_| refuse()))
            };
            options.outbound_streams = streams("sinit_num_ostreams", options.outbound_streams)?;
            options.inbound_streams = streams("sinit_max_instreams", options.inbound_streams)?;
            let attempts = small("sinit_max_attempts")?;
            options.max_init_retransmits = attempts.unwrap_or(options.max_init_retransmits);
            // sinit_max_init_timeo bounds T1, as RTO.Max does here; no script depends on a smaller
            // value.
        }
        "SCTP_ASSOCINFO" => {
            let limit = small("sasoc_asocmaxrxt")?;
            options.association_max_retrans = limit.unwrap_or(options.association_max_retrans);
        }
        "SCTP_PEER_ADDR_PARAMS" => change_path(options, numbers, overhead),
        "SCTP_DELAYED_SACK" => {
            let acknowledgement = &mut Arc::make_mut(&mut options.policy).acknowledgement;
            acknowledgement.delay = millis("sack_delay").or(acknowledgement.delay);
            let packets = small("sack_freq")?.unwrap_or(acknowledgement.every_packets);
            acknowledgement.every_packets = packets;
        }
        "SCTP_MAX_BURST" => {
            let burst = small("assoc_value")?.ok_or_else(refuse)?;
            Arc::make_mut(&mut options.policy).congestion.max_burst = burst;
        }
        _ => return change_extensions(options, name, numbers, flag),
    }
    Ok(())
}

/// Changes the extensions that `options` offer.
fn change_extensions(
    options: &mut AssociationOptions,
    name: &str,
    numbers: &Numbers<'_>,
    flag: Option<i64>,
) -> Result<(), Stop> {
    let refuse = || Stop::skip(format!("setsockopt({name}) with this value is not supported"));
    match name {
        // RFC 9653, section 7.1: the error detection method that replaces the checksum.
        "SCTP_ACCEPT_ZERO_CHECKSUM" => {
            options.zero_checksum = match flag {
                Some(0) => None,
                Some(1) => Some(ErrorDetection::Dtls),
                _ => return Err(refuse()),
            };
        }
        "SCTP_AUTH_SUPPORTED" => {
            offer(options, Extensions::AUTHENTICATION, numbers).ok_or_else(refuse)?;
        }
        "SCTP_ASCONF_SUPPORTED" => {
            offer(options, Extensions::ADDRESS_RECONFIGURATION, numbers).ok_or_else(refuse)?;
        }
        "SCTP_INTERLEAVING_SUPPORTED" => {
            offer(options, Extensions::INTERLEAVING, numbers).ok_or_else(refuse)?;
        }
        "SCTP_PR_SUPPORTED" => {
            offer(options, Extensions::PARTIAL_RELIABILITY, numbers).ok_or_else(refuse)?;
        }
        "SCTP_RECONFIG_SUPPORTED" => {
            offer(options, Extensions::STREAM_RECONFIGURATION, numbers).ok_or_else(refuse)?;
        }
        "SCTP_ENABLE_STREAM_RESET" => {
            reconfiguration::enable(options, numbers).ok_or_else(refuse)?
        }
        _ => return Err(Stop::skip(format!("setsockopt({name}) is not supported"))),
    }
    Ok(())
}

/// Offers an extension or not, by `assoc_value`.
fn offer(
    options: &mut AssociationOptions,
    extension: Extensions,
    numbers: &Numbers<'_>,
) -> Option<()> {
    options.extensions = match numbers.get("assoc_value")? {
        0 => options.extensions.without(extension),
        1 => options.extensions | extension,
        _ => return None,
    };
    Some(())
}

/// spp_pathmtu is the room of a packet without headers of `overhead` bytes (RFC 6458, section
/// 8.1.12).
fn change_path(options: &mut AssociationOptions, numbers: &Numbers<'_>, overhead: u16) {
    let number = |key: &str| numbers.get(key).copied().unwrap_or(0);
    let flags = number("spp_flags");
    if flags & HB_DISABLE != 0 {
        options.heartbeat_interval = None;
    } else if flags & HB_ENABLE != 0 {
        let interval = options.heartbeat_interval.unwrap_or(Duration::from_secs(30));
        let millis = number("spp_hbinterval");
        let asked = (millis > 0).then(|| Duration::from_millis(millis as u64));
        options.heartbeat_interval = Some(asked.unwrap_or(interval));
    }
    options.path_mtu_discovery |= flags & PMTUD_ENABLE != 0;
    options.path_mtu_discovery &= flags & PMTUD_DISABLE == 0;
    if let Ok(limit @ 1..) = u8::try_from(number("spp_pathmaxrxt")) {
        options.path_max_retrans = limit;
    }
    if let Ok(mtu @ 1..) = u16::try_from(number("spp_pathmtu")) {
        options.path_mtu = mtu.saturating_add(overhead);
    }
}
