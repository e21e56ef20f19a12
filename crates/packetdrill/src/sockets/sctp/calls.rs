//! Calls that create, connect and close sockets.

use crate::sockets::arguments::{descriptor, integer, is_name, refuse_peer_address};
use core::net::{IpAddr, SocketAddr};

use base::Instant;
use bytes::Bytes;
use sctp::{AssociationId, AssociationOptions};

use super::addresses::addresses;
use super::{EPHEMERAL_PORT, Outcome, PORT, Returned, Role, Socket, Sockets};
use crate::expression::Expression;
use crate::script::Call;
use crate::stop::Stop;

/// Supported calls on a descriptor.
const SUPPORTED: [&str; 26] = [
    "accept",
    "bind",
    "close",
    "connect",
    "fcntl",
    "getsockopt",
    "listen",
    "read",
    "recv",
    "recvmsg",
    "sctp_bindx",
    "sctp_connectx",
    "sctp_getladdrs",
    "sctp_getpaddrs",
    "sctp_peeloff",
    "sctp_recvmsg",
    "sctp_recvv",
    "sctp_send",
    "sctp_sendmsg",
    "sctp_sendv",
    "sctp_sendx",
    "send",
    "sendmsg",
    "setsockopt",
    "shutdown",
    "write",
];

impl Sockets {
    /// Makes a call, as far as it can proceed now.
    ///
    /// # Errors
    /// [`Stop::Skip`] for a call that is not supported.
    pub(crate) fn call(&mut self, now: Instant, call: &Call) -> Result<Outcome, Stop> {
        let name = call.name.as_str();
        if name == "socket" {
            return self.open(call);
        }
        if matches!(name, "sctp_freeladdrs" | "sctp_freepaddrs") {
            return Ok(Returned::value(0));
        }
        let descriptor = descriptor(call, &SUPPORTED)?;
        let role = match self.socket(descriptor) {
            Ok(socket) => socket.role,
            Err(outcome) => return Ok(outcome),
        };
        match name {
            "sctp_bindx" => self.bindx(now, descriptor, role, call),
            "bind" => self.sockets.bind(descriptor, call.arguments.get(1)),
            "listen" => {
                let backlog = integer(name, call.arguments.get(1))?;
                Ok(self.listen(descriptor, backlog))
            }
            "accept" => {
                refuse_peer_address(call)?;
                Ok(self.accept(descriptor, role))
            }
            "connect" => {
                let remote = self.remote_of(call.arguments.get(1))?;
                Ok(self.connect(now, descriptor, role, &[remote]))
            }
            "sctp_connectx" => {
                let listed = addresses(call, self.hosts.remote)?;
                let outcome = self.connect(now, descriptor, role, &listed);
                // A call that asks for the association's id gets it, and no error.
                let id = matches!(call.arguments.get(3), Some(Expression::List(id)) if id != &[Expression::Any]);
                let under_way = matches!(&outcome, Outcome::Returned(found) if found.errno == Some("EINPROGRESS"));
                Ok(if id && under_way { Returned::value(0) } else { outcome })
            }
            "sctp_getladdrs" | "sctp_getpaddrs" => self.list_addresses(role, call),
            "sctp_peeloff" => self.peel_off(descriptor, role, call),
            "fcntl" => self.sockets.fcntl(descriptor, call),
            "shutdown" => self.shutdown(now, descriptor, call),
            "close" => Ok(self.close(now, descriptor)),
            "getsockopt" => self.getsockopt(descriptor, call),
            "setsockopt" => self.setsockopt(now, descriptor, call),
            "read" | "recv" | "recvmsg" | "sctp_recvmsg" | "sctp_recvv" => {
                self.receive(now, descriptor, call)
            }
            "write" | "send" | "sendmsg" | "sctp_send" | "sctp_sendmsg" | "sctp_sendv"
            | "sctp_sendx" => self.send(now, descriptor, call),
            _ => Err(Stop::skip(format!("the call {name} is not supported"))),
        }
    }

    fn open(&mut self, call: &Call) -> Result<Outcome, Stop> {
        let is = |index: usize, wanted| is_name(call.arguments.get(index), wanted);
        if !is(2, "IPPROTO_SCTP") {
            return Err(Stop::skip("sockets of other protocols than SCTP are not supported"));
        }
        let many = is(1, "SOCK_SEQPACKET");
        if !many && !is(1, "SOCK_STREAM") {
            return Err(Stop::skip("sockets of this type are not supported"));
        }
        let options = self.config.association.clone();
        let socket = Socket { many, ..Socket::new(Role::Fresh, options) };
        Ok(Returned::value(self.sockets.open(socket, None)))
    }

    /// Adds local addresses to the list in INIT and INIT ACK.
    fn bindx(
        &mut self,
        now: Instant,
        descriptor: i64,
        role: Role,
        call: &Call,
    ) -> Result<Outcome, Stop> {
        if let Role::Association(stack, id) = role {
            return self.rebind(now, (stack, id), call);
        }
        let added = match call.arguments.get(3) {
            Some(Expression::Name(flag)) if flag == "SCTP_BINDX_ADD_ADDR" => {
                addresses(call, self.hosts.local)?
            }
            _ => return Err(Stop::skip("sctp_bindx() but to add addresses is not supported")),
        };
        match self.socket(descriptor) {
            Ok(socket) if socket.role == Role::Fresh => {
                socket.port = Some(PORT);
                socket.addresses.extend(added);
                Ok(Returned::value(0))
            }
            Ok(_) => Err(Stop::skip("sctp_bindx() on a socket in use is not supported")),
            Err(outcome) => Ok(outcome),
        }
    }

    /// Adds addresses to an association or removes them, which the peer learns (RFC 5061).
    fn rebind(
        &mut self,
        now: Instant,
        (stack, id): (usize, AssociationId),
        call: &Call,
    ) -> Result<Outcome, Stop> {
        let addresses = addresses(call, self.hosts.local)?;
        let adds = match call.arguments.get(3) {
            Some(Expression::Name(flag)) if flag == "SCTP_BINDX_ADD_ADDR" => true,
            Some(Expression::Name(flag)) if flag == "SCTP_BINDX_REM_ADDR" => false,
            _ => return Err(Stop::skip("sctp_bindx() of this form is not supported")),
        };
        for address in addresses {
            let (endpoint, local) = (&mut self.stacks[stack].endpoint, SocketAddr::new(address, 0));
            let done = match adds {
                true => endpoint
                    .association_mut(id)
                    .map_or(Err(sctp::AddressError::NotEstablished), |mut own| {
                        own.add_address(now, local)
                    }),
                false => endpoint
                    .association_mut(id)
                    .map_or(Err(sctp::AddressError::NotEstablished), |mut own| {
                        own.remove_address(now, local)
                    }),
            };
            if done.is_err() {
                return Ok(Returned::error("EINVAL"));
            }
        }
        Ok(Returned::value(0))
    }

    /// A backlog of 0 ends listening on a one-to-many socket (RFC 6458, section 3.1.3).
    fn listen(&mut self, descriptor: i64, backlog: i64) -> Outcome {
        if self.socket(descriptor).is_ok_and(|socket| socket.many) {
            return match self.many(descriptor) {
                Ok(Role::Many(stack)) => {
                    self.stacks[stack].endpoint.set_listen(backlog != 0);
                    Returned::value(0)
                }
                Ok(_) => Returned::error("EINVAL"),
                Err(outcome) => outcome,
            };
        }
        let (port, own, options) = match self.socket(descriptor) {
            Ok(socket) if socket.role == Role::Fresh => {
                let port = socket.port.unwrap_or(EPHEMERAL_PORT);
                (port, socket.addresses.clone(), socket.options.clone())
            }
            _ => return Returned::error("EINVAL"),
        };
        let stack = self.add_stack(port, true, &own, &options);
        if let Ok(socket) = self.socket(descriptor) {
            socket.role = Role::Listening(stack);
        }
        Returned::value(0)
    }

    fn accept(&mut self, descriptor: i64, role: Role) -> Outcome {
        let Role::Listening(stack) = role else { return Returned::error("EINVAL") };
        let Some(id) = self.stacks[stack].backlog.pop_front() else {
            return self.sockets.would_block(descriptor);
        };
        let (options, notifications) = match self.socket(descriptor) {
            Ok(listener) => (listener.options.clone(), listener.notifications.clone()),
            Err(outcome) => return outcome,
        };
        let port = Some(self.stacks[stack].port);
        let role = Role::Association(stack, id);
        let socket = Socket { port, notifications, ..Socket::new(role, options) };
        Returned::value(self.sockets.open(socket, None))
    }

    pub(super) fn connect(
        &mut self,
        now: Instant,
        descriptor: i64,
        role: Role,
        remotes: &[IpAddr],
    ) -> Outcome {
        if let Role::Association(stack, id) = self.association_of(role, None) {
            let status = self.stacks[stack].associations.entry(id).or_default();
            return self.sockets.connect_again(descriptor, &mut status.progress);
        }
        if self.socket(descriptor).is_ok_and(|socket| socket.many) {
            let begun = self.many(descriptor);
            let begun =
                begun.and_then(|role| self.begin_association(now, descriptor, role, remotes));
            return match begun {
                Ok(_) => self.sockets.begin_connect(descriptor),
                Err(outcome) => outcome,
            };
        }
        let (port, addresses, options) = match self.socket(descriptor) {
            Ok(socket) => {
                let port = socket.port.unwrap_or(EPHEMERAL_PORT);
                (port, socket.addresses.clone(), socket.options.clone())
            }
            Err(outcome) => return outcome,
        };
        if role != Role::Fresh {
            return Returned::error("EOPNOTSUPP");
        }
        let stack = self.add_stack(port, false, &addresses, &options);
        match self.begin_association(now, descriptor, Role::Many(stack), remotes) {
            Ok(role) => {
                if let Ok(socket) = self.socket(descriptor) {
                    socket.role = role;
                }
                self.sockets.begin_connect(descriptor)
            }
            Err(outcome) => outcome,
        }
    }

    /// Opens an association of an endpoint.
    pub(super) fn begin_association(
        &mut self,
        now: Instant,
        descriptor: i64,
        role: Role,
        remotes: &[IpAddr],
    ) -> Result<Role, Outcome> {
        let options = self.socket(descriptor)?.options.clone();
        self.begin_with(now, descriptor, role, remotes, options)
    }

    /// Opens an association of an endpoint with other options than the socket's.
    pub(super) fn begin_with(
        &mut self,
        now: Instant,
        descriptor: i64,
        role: Role,
        remotes: &[IpAddr],
        options: AssociationOptions,
    ) -> Result<Role, Outcome> {
        let udp_port = self.socket(descriptor)?.udp_port;
        let Role::Many(stack) = role else { return Err(Returned::error("EOPNOTSUPP")) };
        let own = &mut self.stacks[stack];
        let remotes: Vec<_> =
            remotes.iter().map(|remote| SocketAddr::new(*remote, udp_port)).collect();
        let Ok(id) = own.endpoint.connect(now, remotes.as_slice(), PORT, options) else {
            return Err(Returned::error("EADDRNOTAVAIL"));
        };
        own.associations.entry(id).or_default().active = true;
        own.number(id);
        Ok(Role::Association(stack, id))
    }

    fn shutdown(&mut self, now: Instant, descriptor: i64, call: &Call) -> Result<Outcome, Stop> {
        let how = integer("shutdown", call.arguments.get(1))?;
        if !(0..=2).contains(&how) {
            return Ok(Returned::error("EINVAL"));
        }
        let Ok(socket) = self.socket(descriptor) else { return Ok(Returned::error("EBADF")) };
        let Role::Association(stack, id) = socket.role else {
            return Ok(Returned::error("ENOTCONN"));
        };
        if how != 0 {
            socket.write_shut = true;
            if let Some(mut own) = self.stacks[stack].endpoint.association_mut(id) {
                own.shutdown(now);
            }
        }
        Ok(Returned::value(0))
    }

    fn close(&mut self, now: Instant, descriptor: i64) -> Outcome {
        let socket = match self.sockets.close(descriptor) {
            Ok(socket) => socket,
            Err(outcome) => return outcome,
        };
        match socket.role {
            Role::Fresh => {}
            Role::Many(stack) => {
                self.stacks[stack].endpoint.set_listen(false);
                for id in self.readable(stack) {
                    self.let_go(now, stack, id);
                }
            }
            Role::Listening(stack) => {
                let stack = &mut self.stacks[stack];
                stack.endpoint.set_listen(false);
                for id in core::mem::take(&mut stack.backlog) {
                    if let Some(mut own) = stack.endpoint.association_mut(id) {
                        own.abort(Bytes::new());
                    }
                }
            }
            Role::Association(stack, id) => self.let_go(now, stack, id),
        }
        Returned::value(0)
    }

    /// The association has no descriptor any more: it shuts down gracefully.
    fn let_go(&mut self, now: Instant, stack: usize, id: AssociationId) {
        let stack = &mut self.stacks[stack];
        let status = stack.associations.entry(id).or_default();
        status.closed = true;
        if status.progress.ended {
            stack.associations.remove(&id);
            stack.endpoint.release(id);
        } else {
            if let Some(mut own) = stack.endpoint.association_mut(id) {
                own.shutdown(now);
            }
        }
    }
}
