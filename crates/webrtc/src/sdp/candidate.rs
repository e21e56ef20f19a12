//! Candidates: addresses at which a side may be reached (RFC 8839, section 5.1).

use core::fmt;
use core::net::{IpAddr, SocketAddr};

/// Priority of the first host candidate of a component (RFC 8445, section 5.1.2.2).
const HOST_PRIORITY: u32 = (126 << 24) | (65_535 << 8) | 255;

/// An IP address, or a multicast DNS name that stands for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CandidateAddress {
    /// Written as in `192.0.2.1` or `2001:db8::1`, ready to be used.
    Ip(IpAddr),
    /// A name to be resolved: browsers hide host addresses behind multicast DNS names.
    Name(String),
}

/// An ICE candidate over UDP (RFC 8839, section 5.1): an address at which the peer may be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Groups candidates of the same kind, base and server.
    pub foundation: String,
    /// Component, 1 for the only one that data channels have.
    pub component: u16,
    /// Preference of its side; higher values are preferred.
    pub priority: u32,
    /// IP address, or the mDNS name that hides it.
    pub address: CandidateAddress,
    /// UDP port at which the side may be reached.
    pub port: u16,
    /// `host`, `srflx`, `prflx` or `relay`.
    pub kind: String,
}

impl Candidate {
    /// The host candidate at `address`, number `index` in its description; lower numbers are
    /// preferred.
    pub fn host(address: SocketAddr, index: u8) -> Candidate {
        Candidate {
            foundation: (u32::from(index) + 1).to_string(),
            component: 1,
            priority: HOST_PRIORITY - (u32::from(index) << 8),
            address: CandidateAddress::Ip(address.ip()),
            port: address.port(),
            kind: "host".to_owned(),
        }
    }

    /// Parses the value of `a=candidate`. `Ok(None)` is a candidate over anything but UDP. What
    /// follows the kind is ignored.
    pub(super) fn parse(value: &str) -> Result<Option<Candidate>, ()> {
        let mut fields = value.split_ascii_whitespace();
        let mut next = || fields.next().ok_or(());
        let foundation = next()?;
        let component = next()?.parse().map_err(|_| ())?;
        let transport = next()?;
        let priority = next()?.parse().map_err(|_| ())?;
        let address = next()?;
        let port = next()?.parse().map_err(|_| ())?;
        let (typ, kind) = (next()?, next()?);
        if typ != "typ" || !(1..=32).contains(&foundation.len()) || address.len() > 255 {
            return Err(());
        }
        let known = ["host", "srflx", "prflx", "relay"].contains(&kind);
        if !known || !transport.eq_ignore_ascii_case("udp") {
            return Ok(None);
        }
        let address = match address.parse() {
            Ok(ip) => CandidateAddress::Ip(ip),
            Err(_) => CandidateAddress::Name(address.to_owned()),
        };
        let (foundation, kind) = (foundation.to_owned(), kind.to_owned());
        Ok(Some(Candidate { foundation, component, priority, address, port, kind }))
    }

    /// Address and port, if the address is not a name.
    pub fn socket(&self) -> Option<SocketAddr> {
        match self.address {
            CandidateAddress::Ip(ip) => Some(SocketAddr::new(ip, self.port)),
            CandidateAddress::Name(_) => None,
        }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} udp {} ", self.foundation, self.component, self.priority)?;
        match &self.address {
            CandidateAddress::Ip(ip) => write!(f, "{ip}")?,
            CandidateAddress::Name(name) => f.write_str(name)?,
        }
        write!(f, " {} typ {}", self.port, self.kind)?;
        if self.kind != "host" {
            // RFC 8839 asks for the base there, and browsers that hide it write zeros.
            f.write_str(" raddr 0.0.0.0 rport 0")?;
        }
        Ok(())
    }
}
