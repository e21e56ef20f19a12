//! Parsing of `HOST:PORT`, and lookup of its addresses.

use std::io::{Error, ErrorKind, Result};
use std::net::{SocketAddr, ToSocketAddrs};

/// Host and port of `HOST:PORT`; brackets around an IPv6 address are removed. None if the port is
/// missing or not a number.
pub fn host_and_port(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    Some((inner.unwrap_or(host), port.parse().ok()?))
}

/// The addresses of `HOST:PORT`; the host is a name or an address, and a link-local one may name
/// its interface as in `[fe80::1%eth0]:9899` (RFC 4007, section 11). Blocks during the lookup.
///
/// # Errors
/// The port is missing, or the system finds no such host.
pub fn lookup(text: &str) -> Result<Vec<SocketAddr>> {
    let wrong = || Error::new(ErrorKind::InvalidInput, "expected HOST:PORT");
    let found = host_and_port(text).ok_or_else(wrong)?.to_socket_addrs()?;
    Ok(found.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn addresses_are_found_with_their_interface_by_name_and_by_number() {
        for (text, address) in [
            ("127.0.0.1:7", "127.0.0.1:7"),
            ("[::1]:7", "[::1]:7"),
            ("[fe80::1%1]:7", "[fe80::1%1]:7"),
            ("[fe80::1%lo]:7", "[fe80::1%1]:7"),
        ] {
            assert_eq!(lookup(text).unwrap(), [address.parse().unwrap()], "{text}");
        }
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for text in ["", "localhost", "localhost:port", "[fe80::1%none such]:7"] {
            assert!(lookup(text).is_err(), "{text}");
        }
    }
}
