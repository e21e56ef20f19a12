//! Socket options for one address of the peer (RFC 6458, sections 8.1.9, 8.1.12 and 8.2.2), and
//! lists of addresses.

use crate::sockets::arguments::{Numbers, address_of, integer, is_usual, part};
use core::net::{IpAddr, SocketAddr};

use base::{Duration, Instant};
use sctp::{PathHeartbeats, PathOptions, PathState};

use super::{Outcome, Output, PORT, Returned, Role, Sockets};
use crate::expression::Expression;
use crate::script::Call;
use crate::stop::Stop;

const HB_ENABLE: i64 = 1;
const HB_DISABLE: i64 = 2;
const HB_DEMAND: i64 = 4;

/// Bytes of a UDP header.
const UDP_HEADER: usize = 8;

/// Bytes of SCTP's common header.
const COMMON_HEADER: usize = 12;

/// Bytes of all headers before the chunks of a packet to an address.
fn overhead_of(address: IpAddr, udp_port: u16) -> u16 {
    let ip = if address.is_ipv6() { 40 } else { 20 };
    let udp = if udp_port > 0 { UDP_HEADER } else { 0 };
    (ip + udp + COMMON_HEADER) as u16
}

/// Parses `[192.0.2.1, 192.0.2.2], 2`, a call's second and third argument. `...` and `[...]` mean
/// `usual`.
pub(super) fn addresses(call: &Call, usual: IpAddr) -> Result<Vec<IpAddr>, Stop> {
    let unknown = || Stop::skip("a list of addresses wanted");
    let list = match call.arguments.get(1) {
        Some(Expression::Any) => return Ok(vec![usual]),
        Some(Expression::List(list)) => list,
        _ => return Err(unknown()),
    };
    match call.arguments.get(2) {
        Some(Expression::Any) => {}
        Some(Expression::Integer(count)) if usize::try_from(*count) == Ok(list.len()) => {}
        other => {
            let (name, listed) = (&call.name, list.len());
            return Err(Stop::fail(format!("{name}() lists {listed} addresses, not {other:?}")));
        }
    }
    let address = |entry: &Expression| match entry {
        Expression::Any => Ok(usual),
        entry => address_of(entry).ok_or_else(unknown),
    };
    list.iter().map(address).collect()
}

impl Sockets {
    /// Bytes of all headers before the chunks of a packet.
    pub(super) fn overhead(&mut self, descriptor: i64) -> u16 {
        let udp_port = self.socket(descriptor).map_or(0, |socket| socket.udp_port);
        overhead_of(self.hosts.local, udp_port)
    }

    /// The peer's address in a call: the script's first one, unless the call gives another.
    pub(super) fn remote_of(&self, argument: Option<&Expression>) -> Result<IpAddr, Stop> {
        if is_usual(argument, PORT)? {
            return Ok(self.hosts.remote);
        }
        let address = argument.and_then(address_of).unwrap_or(self.hosts.remote);
        if address.is_ipv6() != self.hosts.local.is_ipv6() {
            return Err(Stop::skip("addresses of both families are not supported"));
        }
        Ok(address)
    }

    /// Sets an option for one address of the peer; `None` if it is another option or for all
    /// addresses.
    pub(super) fn set_address_option(
        &mut self,
        now: Instant,
        (descriptor, role): (i64, Role),
        (name, value): (&str, Option<&Expression>),
        numbers: &Numbers<'_>,
    ) -> Result<Option<Outcome>, Stop> {
        let field = match name {
            "SCTP_PRIMARY_ADDR" => "ssp_addr",
            "SCTP_PEER_ADDR_PARAMS" => "spp_address",
            "SCTP_STATUS" | "SCTP_GET_PEER_ADDR_INFO" => {
                return Ok(Some(Returned::error("ENOPROTOOPT")));
            }
            _ => return Ok(None),
        };
        let given = value.and_then(|value| part(value, field));
        let Some(address) = given.and_then(address_of) else {
            let about_all = name == "SCTP_PEER_ADDR_PARAMS";
            return if about_all { Ok(None) } else { Err(Stop::skip("an address wanted")) };
        };
        if address.is_ipv6() != self.hosts.local.is_ipv6() {
            return Err(Stop::skip("addresses of both families are not supported"));
        }
        let remote = SocketAddr::new(address, 0);
        let Role::Association(stack, id) = role else {
            return Ok(Some(Returned::error("EINVAL")));
        };
        let endpoint = &mut self.stacks[stack].endpoint;
        let known = if name == "SCTP_PRIMARY_ADDR" {
            endpoint.association_mut(id).is_some_and(|mut own| own.set_primary(remote))
        } else {
            let Ok(socket) = self.socket(descriptor) else {
                return Ok(Some(Returned::error("EBADF")));
            };
            let general = socket.options.heartbeat_interval;
            let overhead = overhead_of(address, socket.udp_port);
            let options = socket.paths.entry(address).or_default();
            change_path(options, (general, overhead), numbers);
            let options = options.clone();
            let endpoint = &mut self.stacks[stack].endpoint;
            let demands = numbers.get("spp_flags").is_some_and(|flags| flags & HB_DEMAND != 0);
            endpoint.association_mut(id).is_some_and(|mut own| {
                let known = own.set_path_options(now, remote, &options);
                if demands {
                    own.request_heartbeat(now, remote);
                }
                known
            })
        };
        Ok(Some(if known { Returned::value(0) } else { Returned::error("EINVAL") }))
    }

    /// sctp_getpaddrs() and sctp_getladdrs() (RFC 6458, sections 9.3 and 9.5): the addresses of an
    /// association's peer, or its own, and their number.
    pub(super) fn list_addresses(&self, role: Role, call: &Call) -> Result<Outcome, Stop> {
        let number = integer(&call.name, call.arguments.get(1))?;
        let Role::Association(stack, id) = self.association_of(role, Some(number)) else {
            return Ok(Returned::error("ENOENT"));
        };
        let Some(association) = self.stacks[stack].endpoint.association(id) else {
            return Ok(Returned::error("ENOENT"));
        };
        let paths = association.stats().paths.into_iter().filter(|path| !path.removed);
        let mut found: Vec<IpAddr> = Vec::new();
        for path in paths {
            let address = match call.name.as_str() {
                "sctp_getpaddrs" => Some(path.remote.ip()),
                _ => Some(path.local.map_or(self.hosts.local, |local| local.ip())),
            };
            found.extend(address.filter(|address| !found.contains(address)));
        }
        let value = found.len() as i64;
        // `[...]` is any list.
        let is_any = call.arguments.get(2) == Some(&Expression::List(vec![Expression::Any]));
        let list = Output::List(found.into_iter().map(Output::Address).collect());
        let outputs = if is_any { Vec::new() } else { vec![(2, list)] };
        Ok(Outcome::Returned(Returned { value, errno: None, outputs }))
    }

    /// SCTP_PEER_ADDR_PARAMS of one path, or of the association or socket if the script gives none
    /// (RFC 6458, section 8.1.12).
    pub(super) fn peer_address_params(
        &mut self,
        descriptor: i64,
        role: Role,
        asked: Option<&Expression>,
    ) -> Option<Output> {
        let socket = self.socket(descriptor).ok()?;
        let general = socket.options.clone();
        let asked = asked.and_then(|value| part(value, "spp_address")).and_then(address_of);
        let own = asked.and_then(|address| socket.paths.get(&address)).cloned().unwrap_or_default();
        let overhead = self.overhead(descriptor);
        let configured = own.path_mtu.unwrap_or(general.path_mtu).saturating_sub(overhead);
        let path_mtu = match role {
            Role::Association(stack, id) => {
                let stats = self.stacks.get(stack)?.endpoint.association(id)?.stats();
                let path = match asked {
                    Some(address) => stats.paths.iter().find(|path| path.remote.ip() == address),
                    None => stats.paths.get(usize::from(stats.primary_path)),
                }?;
                path.max_packet.saturating_sub(COMMON_HEADER) as u64
            }
            _ => configured.into(),
        };
        let interval = match own.heartbeats {
            PathHeartbeats::Off => None,
            PathHeartbeats::Every(interval) => Some(interval),
            _ => general.heartbeat_interval,
        };
        let number = |number: u64| Output::Number(i64::try_from(number).unwrap_or(i64::MAX));
        let flags: &[&str] = match (interval.is_some(), general.path_mtu_discovery) {
            (true, true) => &["SPP_HB_ENABLE", "SPP_PMTUD_ENABLE"],
            (true, false) => &["SPP_HB_ENABLE", "SPP_PMTUD_DISABLE"],
            (false, true) => &["SPP_HB_DISABLE", "SPP_PMTUD_ENABLE"],
            (false, false) => &["SPP_HB_DISABLE", "SPP_PMTUD_DISABLE"],
        };
        let limit = own.path_max_retrans.unwrap_or(general.path_max_retrans);
        let mut fields = vec![
            ("spp_hbinterval", number(interval.map_or(0, Duration::as_millis))),
            ("spp_pathmaxrxt", number(limit.into())),
            ("spp_pathmtu", number(path_mtu)),
            ("spp_flags", Output::Names(flags)),
            ("spp_ipv6_flowlabel", number(0)),
            ("spp_dscp", number(0)),
        ];
        fields.extend(asked.map(|address| ("spp_address", Output::Address(address))));
        Some(Output::Struct(fields))
    }

    /// Address of the primary path, as getsockopt() writes it.
    pub(super) fn primary_address(&self, role: Role) -> Option<Output> {
        let Role::Association(stack, id) = role else { return None };
        let stats = self.stacks.get(stack)?.endpoint.association(id)?.stats();
        let primary = stats.paths.get(usize::from(stats.primary_path))?.remote.ip();
        Some(Output::Struct(vec![("ssp_addr", Output::Address(primary))]))
    }

    /// State of an address of the peer, by default of the primary one.
    pub(super) fn peer_address_info(
        &self,
        role: Role,
        asked: Option<&Expression>,
    ) -> Option<Output> {
        let Role::Association(stack, id) = role else { return None };
        let stats = self.stacks.get(stack)?.endpoint.association(id)?.stats();
        let asked = asked.and_then(|value| part(value, "spinfo_address")).and_then(address_of);
        let path = match asked {
            Some(address) => stats.paths.iter().find(|path| path.remote.ip() == address),
            None => stats.paths.get(usize::from(stats.primary_path)),
        }?;
        let number = |number: u64| Output::Number(i64::try_from(number).unwrap_or(i64::MAX));
        let state = match (path.confirmed, path.state) {
            (false, _) => "SCTP_UNCONFIRMED",
            (true, PathState::Active) => "SCTP_ACTIVE",
            (true, PathState::PotentiallyFailed) => "SCTP_POTENTIALLY_FAILED",
            (true, PathState::Inactive) => "SCTP_INACTIVE",
        };
        let (ip, udp) = (if path.remote.is_ipv6() { 40 } else { 20 }, path.remote.port() > 0);
        let headers = if udp { ip + UDP_HEADER } else { ip };
        let srtt = path.recovery.srtt.map_or(0, |srtt| srtt.as_millis());
        Some(Output::Struct(vec![
            ("spinfo_address", Output::Address(path.remote.ip())),
            ("spinfo_state", Output::Name(state)),
            ("spinfo_cwnd", number(path.recovery.cwnd)),
            ("spinfo_srtt", number(srtt)),
            ("spinfo_rto", number(path.recovery.rto.as_millis())),
            ("spinfo_mtu", number((path.max_packet + headers) as u64)),
        ]))
    }
}

fn change_path(
    options: &mut PathOptions,
    (general, overhead): (Option<Duration>, u16),
    numbers: &Numbers<'_>,
) {
    let number = |key: &str| numbers.get(key).copied().unwrap_or(0);
    let flags = number("spp_flags");
    if flags & HB_DISABLE != 0 {
        options.heartbeats = PathHeartbeats::Off;
    } else if flags & HB_ENABLE != 0 {
        let asked = u64::try_from(number("spp_hbinterval")).ok().filter(|millis| *millis > 0);
        let interval = asked.map(Duration::from_millis).or(general);
        options.heartbeats = PathHeartbeats::Every(interval.unwrap_or(Duration::from_secs(30)));
    }
    if let Ok(limit @ 1..) = u8::try_from(number("spp_pathmaxrxt")) {
        options.path_max_retrans = Some(limit);
    }
    if let Ok(mtu @ 1..) = u16::try_from(number("spp_pathmtu")) {
        options.path_mtu = Some(mtu.saturating_add(overhead));
    }
}
