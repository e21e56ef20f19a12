//! Active open: connections that the application opens, and the initial addresses and numbers of a
//! connection.

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use base::Instant;

use super::{ConnectionId, Endpoint, ports};
use crate::connection::{Connection, Identity};
use crate::options::ConnectionOptions;
use crate::wire::SeqNumber;

/// Reason for which a connection cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// A connection between these addresses and ports exists.
    Exists,
    /// A connection between these addresses and ports existed recently, whose old segments could be
    /// confused with the new one's: TIME-WAIT must end first (RFC 9293, section 3.6.1).
    TimeWait,
    /// The endpoint has its maximum number of connections.
    TooMany,
    /// The peer's port is 0, or its address cannot have a connection.
    BadRemote,
    /// This side's address is unspecified, or of another family than the peer's.
    BadLocal,
    /// Every ephemeral port is in use with this peer.
    NoPort,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConnectError::Exists => "a connection between these addresses and ports exists already",
            ConnectError::TimeWait => {
                "a connection between these addresses and ports ended too short a time ago (TIME-WAIT)"
            }
            ConnectError::TooMany => "the endpoint has as many connections as it may",
            ConnectError::BadRemote => "the peer's address or port is none",
            ConnectError::BadLocal => "the own address is unspecified or of another family",
            ConnectError::NoPort => "every ephemeral port is in use",
        })
    }
}

impl core::error::Error for ConnectError {}

impl Endpoint {
    /// Opens a connection from `local` to `remote`; with port 0, from an ephemeral port (RFC 6056).
    /// Data may be sent at once; it leaves when the peer has answered. A connection between the
    /// same addresses and ports in TIME-WAIT ends a second after its last segment if both have
    /// timestamps, which distinguish old segments from new ones.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub fn connect(
        &mut self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
        options: impl Into<Arc<ConnectionOptions>>,
    ) -> Result<ConnectionId, ConnectError> {
        let options = options.into();
        let (local, remote) = (canonical(local), canonical(remote));
        if remote.port() == 0 || !is_unicast(remote.ip()) {
            return Err(ConnectError::BadRemote);
        }
        if !is_unicast(local.ip()) || local.is_ipv4() != remote.is_ipv4() {
            return Err(ConnectError::BadLocal);
        }
        if self.table.len() >= self.options.max_connections {
            return Err(ConnectError::TooMany);
        }
        let (local, old) = self.choose_local(now, local, remote, options.timestamps)?;
        let mut identity = self.identity(now, local, remote);
        if let Some(old) = old {
            self.end_old(local, remote);
            identity = identity.after(old);
        }
        let options = self.share(options);
        let id = self.table.insert(Connection::open(now, options, identity));
        self.settle(now, id);
        Ok(id)
    }

    /// `local` with a free port, or with one that TIME-WAIT can release, since the segments are
    /// `stamped` and so differ from old ones; with the end of the old connection's sequence
    /// numbers.
    fn choose_local(
        &mut self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
        stamped: bool,
    ) -> Result<(SocketAddr, Option<SeqNumber>), ConnectError> {
        let (table, time_waits, listeners) = (&self.table, &self.time_waits, &self.listeners);
        let exists = |local| table.find(local, remote).is_some();
        let waits = |local| time_waits.contains(local, remote);
        let reusable = |local| time_waits.reusable(now, local, remote).filter(|_| stamped);
        if local.port() != 0 {
            return match reusable(local) {
                _ if exists(local) => Err(ConnectError::Exists),
                None if waits(local) => Err(ConnectError::TimeWait),
                old => Ok((local, old)),
            };
        }
        let range = &self.options.ephemeral_ports;
        let with_port = |port| SocketAddr::new(local.ip(), port);
        let is_used = |local| exists(local) || listeners.find(local).is_some();
        let is_free = |port| !is_used(with_port(port)) && !waits(with_port(port));
        if let Some(port) = ports::choose(range, &mut self.random, is_free) {
            return Ok((with_port(port), None));
        }
        let is_reusable = |port| !is_used(with_port(port)) && reusable(with_port(port)).is_some();
        let port = ports::choose(range, &mut self.random, is_reusable);
        let local = with_port(port.ok_or(ConnectError::NoPort)?);
        Ok((local, reusable(local)))
    }

    /// Initial numbers of a connection between these addresses at `now`.
    pub(super) fn identity(&self, now: Instant, local: SocketAddr, remote: SocketAddr) -> Identity {
        Identity {
            local,
            remote,
            iss: self.secrets.initial_sequence(now, local, remote),
            timestamp_offset: self.secrets.timestamp_offset(local, remote),
        }
    }

    /// Shares equal options: thousands of connections with the same options store them once.
    fn share(&mut self, options: Arc<ConnectionOptions>) -> Arc<ConnectionOptions> {
        if self.shared_options != options {
            self.shared_options = options;
        }
        Arc::clone(&self.shared_options)
    }
}

/// The address in segments: an IPv4-mapped IPv6 address becomes an IPv4 address.
pub(super) fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// Whether a connection can have this address (RFC 9293, section 3.9.2.3, MUST-46 and MUST-57):
/// neither a multicast nor a reserved one (240.0.0.0/4 with the broadcast address: RFC 6890,
/// section 2.2.2). Broadcast addresses of subnets are unknown here.
pub(super) fn is_unicast(ip: IpAddr) -> bool {
    let reserved = matches!(ip, IpAddr::V4(ip) if ip.octets()[0] >= 240);
    !(ip.is_unspecified() || ip.is_multicast() || reserved)
}
