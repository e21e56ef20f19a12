//! Addresses as people write them: an IP address or a name, and a port.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use base::ParseQuantityError;

use crate::failure::Failure;

/// The port of SCTP over UDP (RFC 6951), where none is named.
const SCTP_OVER_UDP_PORT: u16 = 9899;

/// A host and a port, the name of the host not yet looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostPort(String);

impl FromStr for HostPort {
    type Err = ParseQuantityError;

    /// Reads `127.0.0.1:9899`, `[::1]:9899`, `server.example:9899`, or a host alone.
    fn from_str(text: &str) -> Result<HostPort, ParseQuantityError> {
        const FORM: &str =
            "a host, or a host and port such as 127.0.0.1:9899, [::1]:9899 or localhost:9899";
        let wrong = || ParseQuantityError::new(text, FORM);
        let has_port = text.rfind(':').is_some_and(|at| !text[at..].contains(']'));
        let usual = SCTP_OVER_UDP_PORT.to_string();
        let (host, port) = match has_port {
            true => text.rsplit_once(':').ok_or_else(wrong)?,
            false => (text, usual.as_str()),
        };
        let host_is_fine = match host.strip_prefix('[') {
            Some(inner) => inner.len() > 1 && inner.find(']') == Some(inner.len() - 1),
            None => !host.is_empty() && !host.contains([':', ']']),
        };
        let port = Some(port).filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
        let port = port.and_then(|port| port.parse::<u16>().ok()).filter(|_| host_is_fine);
        Ok(HostPort(format!("{}:{}", one_form(host), port.ok_or_else(wrong)?)))
    }
}

/// A host in the one form by which known peers are told apart: letters of names small, addresses as
/// short as they can be.
fn one_form(host: &str) -> String {
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let (address, zone) = inner.map_or(("", None), |inner| match inner.split_once('%') {
        Some((address, zone)) => (address, Some(zone)),
        None => (inner, None),
    });
    match (address.parse::<Ipv6Addr>(), zone) {
        (Ok(address), None) => format!("[{address}]"),
        // Names of interfaces may differ by case alone.
        (Ok(address), Some(zone)) => format!("[{address}%{zone}]"),
        (Err(_), _) => host.to_ascii_lowercase(),
    }
}

impl HostPort {
    /// The name or the address of the host, without brackets.
    pub(crate) fn host(&self) -> &str {
        let host = self.0.rsplit_once(':').map_or(&*self.0, |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Refuses port 0, at which nothing can be reached.
    pub(crate) fn check_reachable(&self) -> Result<(), Failure> {
        match self.0.ends_with(":0") {
            true => Err(Failure::usage(format!(
                "nothing can be reached at port 0 of \"{}\": expected a port from 1 to 65535",
                self.host()
            ))),
            false => Ok(()),
        }
    }

    /// The first address that the system's resolver knows for the host, with the port.
    pub(crate) fn resolve(&self) -> Result<SocketAddr, Failure> {
        Ok(self.resolve_both(None)?.0)
    }

    /// The first address that the system's resolver knows for the host, and the first of the other
    /// family. With `is_ipv4`, only the first address of that family, if there is one.
    pub(crate) fn resolve_both(
        &self,
        is_ipv4: Option<bool>,
    ) -> Result<(SocketAddr, Option<SocketAddr>), Failure> {
        let failed = |why: &dyn fmt::Display| {
            Failure::network(format!("cannot find the address of \"{}\": {why}", self.0))
        };
        let addresses = io::lookup(&self.0).map_err(|error| failed(&error))?;
        pick(&addresses, is_ipv4).ok_or_else(|| failed(&"it has none"))
    }
}

/// The address to try first, and one of the other family.
fn pick(
    addresses: &[SocketAddr],
    is_ipv4: Option<bool>,
) -> Option<(SocketAddr, Option<SocketAddr>)> {
    let of_family = |wanted: bool| addresses.iter().copied().find(|one| one.is_ipv4() == wanted);
    let first = *addresses.first()?;
    match is_ipv4 {
        Some(wanted) => Some((of_family(wanted).unwrap_or(first), None)),
        None => Some((first, of_family(!first.is_ipv4()))),
    }
}

/// An address of this machine, and a port or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocalAddress(pub(crate) SocketAddr);

impl FromStr for LocalAddress {
    type Err = ParseQuantityError;

    /// Reads `10.0.0.1`, `10.0.0.1:9899`, `::1`, `[::1]:9899`, `fe80::1%eth0`,
    /// `[fe80::1%eth0]:9899`.
    fn from_str(text: &str) -> Result<LocalAddress, ParseQuantityError> {
        let alone = || text.parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, 0));
        let zoned = || {
            let whole = match text.starts_with('[') {
                true => text.to_owned(),
                false => format!("[{text}]:0"),
            };
            let found = text.contains('%').then(|| io::lookup(&whole).ok()).flatten();
            found.and_then(|found| found.first().copied())
        };
        let address = text.parse().ok().or_else(alone).or_else(zoned).map(LocalAddress);
        address.ok_or_else(|| {
            ParseQuantityError::new(
                text,
                "an IP address of this machine such as 10.0.0.1, 10.0.0.1:9899 or ::1",
            )
        })
    }
}

impl LocalAddress {
    /// The address, at `port` if it names none.
    pub(crate) fn or_port(self, port: u16) -> SocketAddr {
        let mut address = self.0;
        if address.port() == 0 {
            address.set_port(port);
        }
        address
    }
}

/// Refuses an IP address that is named twice: it would be one path.
pub(crate) fn check_distinct(local: &[LocalAddress]) -> Result<(), Failure> {
    let twice = local
        .iter()
        .enumerate()
        .find(|(index, one)| local[..*index].iter().any(|earlier| earlier.0.ip() == one.0.ip()));
    match twice {
        Some((_, one)) => Err(Failure::usage(format!("--local {} is given twice", one.0.ip()))),
        None => Ok(()),
    }
}

/// Refuses addresses between which there is no way, since they are not of the family of the
/// server's.
pub(crate) fn check_family(
    to: SocketAddr,
    local: &[LocalAddress],
    further: &[SocketAddr],
) -> Result<(), Failure> {
    let other = |option: &str, ip: IpAddr| {
        let family = if to.is_ipv4() { "IPv4" } else { "IPv6" };
        Failure::usage(format!("{option} {ip} is no {family} address, but the server's {to} is"))
    };
    let named = local.iter().map(|local| ("--local", local.0));
    let mut all = named.chain(further.iter().map(|address| ("--also", *address)));
    match all.find(|(_, address)| address.is_ipv4() != to.is_ipv4()) {
        Some((option, address)) => Err(other(option, address.ip())),
        None => Ok(()),
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_families_and_names_are_read() {
        for (text, address) in [("127.0.0.1:80", "127.0.0.1:80"), ("[::1]:80", "[::1]:80")] {
            let parsed: HostPort = text.parse().unwrap();
            assert_eq!(parsed.resolve().unwrap().to_string(), address);
        }
        assert!("localhost:80".parse::<HostPort>().is_ok());
    }

    #[test]
    fn a_name_with_addresses_of_both_families_gives_one_of_each() {
        let [six, six_too, four] = ["[::1]:80", "[::2]:80", "127.0.0.1:80"]
            .map(|text| text.parse::<SocketAddr>().unwrap());
        assert_eq!(pick(&[six, six_too, four], None), Some((six, Some(four))));
        assert_eq!(pick(&[four, six], None), Some((four, Some(six))));
        assert_eq!(pick(&[six, six_too], None), Some((six, None)));
        assert_eq!(pick(&[six, four], Some(true)), Some((four, None)));
        assert_eq!(pick(&[six], Some(true)), Some((six, None)), "refused later, with the reason");
        assert_eq!(pick(&[], None), None);
    }

    #[test]
    fn a_host_alone_means_the_port_of_sctp_over_udp() {
        for (text, whole) in [("localhost", "localhost:9899"), ("[::1]", "[::1]:9899")] {
            assert_eq!(text.parse::<HostPort>().unwrap().to_string(), whole);
        }
    }

    #[test]
    fn one_host_and_port_has_one_form_however_it_is_written() {
        for (text, whole) in [
            ("LocalHost:09899", "localhost:9899"),
            ("[0:0::0001]:7", "[::1]:7"),
            ("[2001:DB8::A]", "[2001:db8::a]:9899"),
            ("[FE80::0:1%Lan]", "[fe80::1%Lan]:9899"),
        ] {
            assert_eq!(text.parse::<HostPort>().unwrap().to_string(), whole);
        }
        assert!("localhost:+9899".parse::<HostPort>().is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_link_local_address_names_its_interface() {
        let loopback = "[fe80::1%1]:7".parse().unwrap();
        assert_eq!("[fe80::1%lo]:7".parse::<HostPort>().unwrap().resolve().unwrap(), loopback);
        for text in ["fe80::1%lo", "[fe80::1%lo]:7", "fe80::1%1"] {
            assert_eq!(text.parse::<LocalAddress>().unwrap().or_port(7), loopback, "{text}");
        }
        let error = "[fe80::1%none]".parse::<HostPort>().unwrap().resolve().unwrap_err();
        assert!(error.to_string().contains("fe80::1%none"), "{error}");
    }

    #[test]
    fn port_0_is_none_to_go_to() {
        let refused = "localhost:0".parse::<HostPort>().unwrap().check_reachable().unwrap_err();
        assert!(refused.to_string().contains("from 1 to 65535"), "{refused}");
        "localhost:10".parse::<HostPort>().unwrap().check_reachable().unwrap();
    }

    #[test]
    fn local_addresses_are_numbers_with_a_port_or_without() {
        for (text, address) in [
            ("10.0.0.1", "10.0.0.1:0"),
            ("10.0.0.1:7", "10.0.0.1:7"),
            ("::1", "[::1]:0"),
            ("[::1]:7", "[::1]:7"),
        ] {
            assert_eq!(text.parse::<LocalAddress>().unwrap().0.to_string(), address);
        }
        let error = "eth0".parse::<LocalAddress>().unwrap_err().to_string();
        assert!(error.contains("eth0") && error.contains("10.0.0.1"), "{error}");
    }

    #[test]
    fn an_address_that_is_none_is_refused_with_an_example() {
        for text in ["", ":80", "::1:80", "localhost:http", "host:70000", "[::1", "::1]:7", "[]"] {
            let error = text.parse::<HostPort>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("127.0.0.1:9899"), "{error}");
        }
    }
}
