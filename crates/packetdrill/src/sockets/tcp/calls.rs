//! Calls that create, connect and close sockets.

use crate::sockets::Calls;
use crate::sockets::arguments::{address_of, is_name, is_usual};
use crate::sockets::descriptors::{Descriptors, Progress};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use base::Instant;
use tcp::{ConnectError, ConnectionId, ListenOptions};

use super::{Outcome, Output, PORT, Returned, Role, Socket, Sockets};
use crate::expression::Expression;
use crate::script::Call;
use crate::stop::Stop;

impl Calls for Sockets {
    type Socket = Socket;
    /// The peer is the only destination.
    type Destination = ();

    const FURTHER: &'static [&'static str] = &["ioctl"];

    fn descriptors(&mut self) -> &mut Descriptors<Socket> {
        &mut self.sockets
    }

    /// Descriptors are the script's, since it may have opened files of which nothing is known here.
    fn wanted(call: &Call) -> Option<i64> {
        match &call.returns {
            Expression::Integer(wanted) => Some(*wanted),
            _ => None,
        }
    }

    fn progress(&mut self, descriptor: i64) -> Option<&mut Progress> {
        let role = self.socket(descriptor).ok()?.role;
        self.status(role)
    }

    fn call_of_host(&mut self, call: &Call) -> Result<Option<Outcome>, Stop> {
        match call.name.as_str() {
            "socket" => self.open_socket(call).map(Some),
            "open" => Ok(Some(self.add(call, Role::File))),
            "poll" => self.poll(call).map(Some),
            _ => Ok(None),
        }
    }

    fn call_of_protocol(
        &mut self,
        now: Instant,
        descriptor: i64,
        call: &Call,
    ) -> Result<Outcome, Stop> {
        match self.socket(descriptor) {
            Ok(Socket { role: Role::Connection(id), .. }) => {
                let id = *id;
                self.ioctl(now, id, call)
            }
            Ok(_) => Ok(Returned::error("EINVAL")),
            Err(outcome) => Ok(outcome),
        }
    }

    fn listen(&mut self, descriptor: i64, backlog: i64) -> Outcome {
        let accepted = match self.socket(descriptor) {
            Ok(socket) if socket.role == Role::Fresh => socket.options.clone(),
            Ok(_) => return Returned::error("EINVAL"),
            Err(outcome) => return outcome,
        };
        let any = match self.hosts.local {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        // Systems accept one more than the backlog.
        let backlog = usize::try_from(backlog).unwrap_or(0).min(1 << 16) + 1;
        let options = ListenOptions { backlog, accepted: self.granted(&accepted) };
        let Ok(id) = self.endpoint().listen(SocketAddr::new(any, PORT), options) else {
            return Returned::error("EADDRINUSE");
        };
        if let Ok(socket) = self.socket(descriptor) {
            socket.role = Role::Listening(id);
        }
        self.active = false;
        Returned::value(0)
    }

    fn next_accepted(&mut self, descriptor: i64) -> Result<Option<Socket>, Outcome> {
        let Role::Listening(listener) = self.socket(descriptor)?.role else {
            return Err(Returned::error("EINVAL"));
        };
        let Some(id) = self.endpoint().accept(listener) else { return Ok(None) };
        let options = self.socket(descriptor)?.options.clone();
        self.set_latest(id, false);
        Ok(Some(Socket::new(Role::Connection(id), options)))
    }

    fn destination(&self, call: &Call) -> Result<(), Stop> {
        let address = call.arguments.get(1);
        let is_peer =
            is_usual(address, PORT)? || address.and_then(address_of) == Some(self.hosts.remote);
        if is_peer {
            Ok(())
        } else {
            Err(Stop::skip("connect() to another address is not supported"))
        }
    }

    fn begin_connect(
        &mut self,
        now: Instant,
        descriptor: i64,
        _destination: (),
    ) -> Result<(), Outcome> {
        let socket = self.socket(descriptor)?;
        if socket.role != Role::Fresh {
            return Err(Returned::error("EOPNOTSUPP"));
        }
        let (port, options) = (socket.common.port.unwrap_or(0), socket.options.clone());
        let options = self.granted(&options);
        let local = SocketAddr::new(self.hosts.local, port);
        let remote = SocketAddr::new(self.hosts.remote, PORT);
        let id = self.endpoint().connect(now, local, remote, options).map_err(|why| match why {
            ConnectError::Exists | ConnectError::TimeWait => Returned::error("EADDRINUSE"),
            _ => Returned::error("EADDRNOTAVAIL"),
        })?;
        self.set_latest(id, true);
        self.hosts.active_port = self.ports().0;
        self.socket(descriptor)?.role = Role::Connection(id);
        Ok(())
    }

    fn finish_writing(&mut self, now: Instant, descriptor: i64) {
        if let Ok(Socket { role: Role::Connection(id), .. }) = self.socket(descriptor) {
            let id = *id;
            if let Some(mut own) = self.endpoint().connection_mut(id) {
                own.shutdown_write(now);
            }
        }
    }

    fn let_go(&mut self, now: Instant, socket: Socket) {
        match socket.role {
            Role::Fresh | Role::File => {}
            Role::Listening(id) => self.endpoint().close_listener(now, id),
            Role::Connection(id) => self.endpoint().release(now, id),
        }
    }
}

impl Sockets {
    /// Opens a socket or a file.
    fn add(&mut self, call: &Call, role: Role) -> Outcome {
        let socket = Socket::new(role, self.config.connection.clone());
        Returned::value(self.sockets.open(socket, Self::wanted(call)))
    }

    fn open_socket(&mut self, call: &Call) -> Result<Outcome, Stop> {
        let is = |index: usize, wanted| is_name(call.arguments.get(index), wanted);
        if !is(2, "IPPROTO_TCP") || !is(1, "SOCK_STREAM") {
            return Err(Stop::skip("sockets of other protocols beside TCP are not supported"));
        }
        Ok(self.add(call, Role::Fresh))
    }

    fn ioctl(&mut self, now: Instant, id: ConnectionId, call: &Call) -> Result<Outcome, Stop> {
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
