//! Calls that create, connect and close sockets.

use crate::sockets::arguments::{
    address_of, descriptor, integer, is_name, is_usual, refuse_peer_address,
};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use base::Instant;
use tcp::{ConnectError, ListenOptions};

use super::{Outcome, Output, PORT, Returned, Role, Sockets};
use crate::expression::Expression;
use crate::script::Call;
use crate::stop::Stop;

/// Supported calls on a descriptor.
const SUPPORTED: [&str; 21] = [
    "accept",
    "bind",
    "close",
    "connect",
    "fcntl",
    "getsockopt",
    "ioctl",
    "listen",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "send",
    "sendfile",
    "sendmsg",
    "sendto",
    "setsockopt",
    "shutdown",
    "write",
    "writev",
];

impl Sockets {
    /// Makes a call, as far as it can proceed now.
    ///
    /// # Errors
    /// [`Stop::Skip`] for a call that is not supported.
    pub(crate) fn call(&mut self, now: Instant, call: &Call) -> Result<Outcome, Stop> {
        let name = call.name.as_str();
        match name {
            "socket" => return self.open_socket(call),
            "open" => {
                let options = self.config.connection.clone();
                return Ok(Returned::value(self.add(call, Role::File, options)));
            }
            "poll" => return self.poll(call),
            _ => {}
        }
        let descriptor = descriptor(call, &SUPPORTED)?;
        let role = match self.socket(descriptor) {
            Ok(socket) => socket.role,
            Err(outcome) => return Ok(outcome),
        };
        match name {
            "bind" => self.sockets.bind(descriptor, call.arguments.get(1)),
            "listen" => self.listen(descriptor, role, call),
            "accept" => {
                refuse_peer_address(call)?;
                Ok(self.accept(descriptor, role, call))
            }
            "connect" => {
                let address = call.arguments.get(1);
                let is_peer = is_usual(address, PORT)?
                    || address.and_then(address_of) == Some(self.hosts.remote);
                if !is_peer {
                    return Err(Stop::skip("connect() to another address is not supported"));
                }
                Ok(self.connect(now, descriptor, role))
            }
            "fcntl" => self.sockets.fcntl(descriptor, call),
            "shutdown" => self.shutdown(now, descriptor, role, call),
            "close" => Ok(self.close(now, descriptor)),
            "getsockopt" => self.getsockopt(now, descriptor, call),
            "setsockopt" => self.setsockopt(now, descriptor, call),
            "ioctl" => self.ioctl(now, role, call),
            "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => {
                self.receive(now, descriptor, call)
            }
            "write" | "send" | "sendto" | "writev" | "sendmsg" | "sendfile" => {
                self.send(now, descriptor, call)
            }
            _ => Err(Stop::skip(format!("the call {name} is not supported"))),
        }
    }

    fn open_socket(&mut self, call: &Call) -> Result<Outcome, Stop> {
        let is = |index: usize, wanted| is_name(call.arguments.get(index), wanted);
        if !is(2, "IPPROTO_TCP") || !is(1, "SOCK_STREAM") {
            return Err(Stop::skip("sockets of other protocols beside TCP are not supported"));
        }
        let options = self.config.connection.clone();
        Ok(Returned::value(self.add(call, Role::Fresh, options)))
    }

    fn listen(&mut self, descriptor: i64, role: Role, call: &Call) -> Result<Outcome, Stop> {
        let backlog = integer("listen", call.arguments.get(1))?;
        if role != Role::Fresh {
            return Ok(Returned::error("EINVAL"));
        }
        let accepted = match self.socket(descriptor) {
            Ok(socket) => socket.options.clone(),
            Err(outcome) => return Ok(outcome),
        };
        let any = match self.hosts.local {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        // Systems accept one more than the backlog.
        let backlog = usize::try_from(backlog).unwrap_or(0).min(1 << 16) + 1;
        let options = ListenOptions { backlog, accepted: self.granted(&accepted) };
        let Ok(id) = self.endpoint().listen(SocketAddr::new(any, PORT), options) else {
            return Ok(Returned::error("EADDRINUSE"));
        };
        if let Ok(socket) = self.socket(descriptor) {
            socket.role = Role::Listening(id);
        }
        self.active = false;
        Ok(Returned::value(0))
    }

    fn accept(&mut self, descriptor: i64, role: Role, call: &Call) -> Outcome {
        let Role::Listening(listener) = role else { return Returned::error("EINVAL") };
        let Some(id) = self.endpoint().accept(listener) else {
            return self.sockets.would_block(descriptor);
        };
        let options = match self.socket(descriptor) {
            Ok(socket) => socket.options.clone(),
            Err(outcome) => return outcome,
        };
        self.set_latest(id, false);
        Returned::value(self.add(call, Role::Connection(id), options))
    }

    fn connect(&mut self, now: Instant, descriptor: i64, role: Role) -> Outcome {
        if let Role::Connection(id) = role {
            let progress = self.connections.entry(id).or_default();
            return self.sockets.connect_again(descriptor, progress);
        }
        if role != Role::Fresh {
            return Returned::error("EOPNOTSUPP");
        }
        let (port, options) = match self.socket(descriptor) {
            Ok(socket) => (socket.port.unwrap_or(0), socket.options.clone()),
            Err(outcome) => return outcome,
        };
        let options = self.granted(&options);
        let local = SocketAddr::new(self.hosts.local, port);
        let remote = SocketAddr::new(self.hosts.remote, PORT);
        let id = match self.endpoint().connect(now, local, remote, options) {
            Ok(id) => id,
            Err(ConnectError::Exists | ConnectError::TimeWait) => {
                return Returned::error("EADDRINUSE");
            }
            Err(_) => return Returned::error("EADDRNOTAVAIL"),
        };
        self.set_latest(id, true);
        self.hosts.active_port = self.ports().0;
        if let Ok(socket) = self.socket(descriptor) {
            socket.role = Role::Connection(id);
        }
        self.sockets.begin_connect(descriptor)
    }

    fn shutdown(
        &mut self,
        now: Instant,
        descriptor: i64,
        role: Role,
        call: &Call,
    ) -> Result<Outcome, Stop> {
        let how = integer("shutdown", call.arguments.get(1))?;
        if !(0..=2).contains(&how) {
            return Ok(Returned::error("EINVAL"));
        }
        let Role::Connection(id) = role else { return Ok(Returned::error("ENOTCONN")) };
        let Ok(socket) = self.socket(descriptor) else { return Ok(Returned::error("EBADF")) };
        // Only the application's reading ends; the peer is not told.
        socket.read_shut |= how != 1;
        socket.write_shut |= how != 0;
        if how != 0
            && let Some(mut own) = self.endpoint().connection_mut(id)
        {
            own.shutdown_write(now);
        }
        Ok(Returned::value(0))
    }

    fn close(&mut self, now: Instant, descriptor: i64) -> Outcome {
        let socket = match self.sockets.close(descriptor) {
            Ok(socket) => socket,
            Err(outcome) => return outcome,
        };
        match socket.role {
            Role::Fresh | Role::File => {}
            Role::Listening(id) => self.endpoint().close_listener(now, id),
            Role::Connection(id) => self.endpoint().release(now, id),
        }
        Returned::value(0)
    }

    fn ioctl(&mut self, now: Instant, role: Role, call: &Call) -> Result<Outcome, Stop> {
        let Role::Connection(id) = role else { return Ok(Returned::error("EINVAL")) };
        let Some(connection) = self.endpoint().connection(id) else {
            return Ok(Returned::error("ENOTCONN"));
        };
        let info = connection.info(now);
        let bytes = match call.arguments.get(1) {
            Some(Expression::Name(name)) => match name.as_str() {
                "SIOCINQ" | "FIONREAD" => connection.readable_bytes() as u64,
                "SIOCATMARK" => u64::from(connection.urgent_mark() == Some(0)),
                "SIOCOUTQ" => info.unacked_bytes + info.unsent_bytes,
                "SIOCOUTQNSD" => info.unsent_bytes,
                _ => return Err(Stop::skip(format!("ioctl({name}) is not supported"))),
            },
            _ => return Err(Stop::skip("ioctl() of this form is not supported")),
        };
        Ok(Returned::output(2, Output::Number(bytes as i64)))
    }
}
