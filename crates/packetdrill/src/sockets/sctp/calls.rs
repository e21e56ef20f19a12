//! Calls that create, connect and close sockets.

use crate::sockets::Calls;
use crate::sockets::arguments::is_name;
use crate::sockets::descriptors::{Descriptors, Progress};
use core::net::{IpAddr, SocketAddr};

use base::Instant;
use bytes::Bytes;
use sctp::{AssociationId, AssociationOptions};

use super::addresses::addresses;
use super::{EPHEMERAL_PORT, Outcome, PORT, Returned, Role, Socket, Sockets};
use crate::expression::Expression;
use crate::script::Call;
use crate::stop::Stop;

impl Calls for Sockets {
    type Socket = Socket;
    type Destination = Vec<IpAddr>;

    const FURTHER: &'static [&'static str] =
        &["sctp_bindx", "sctp_connectx", "sctp_getladdrs", "sctp_getpaddrs", "sctp_peeloff"];

    fn descriptors(&mut self) -> &mut Descriptors<Socket> {
        &mut self.sockets
    }

    fn progress(&mut self, descriptor: i64) -> Option<&mut Progress> {
        let role = self.socket(descriptor).ok()?.role;
        self.status(self.association_of(role, None))
    }

    fn call_of_host(&mut self, call: &Call) -> Result<Option<Outcome>, Stop> {
        match call.name.as_str() {
            "socket" => self.open(call).map(Some),
            "sctp_freeladdrs" | "sctp_freepaddrs" => Ok(Some(Returned::value(0))),
            _ => Ok(None),
        }
    }

    fn call_of_protocol(
        &mut self,
        now: Instant,
        descriptor: i64,
        call: &Call,
    ) -> Result<Outcome, Stop> {
        let role = match self.socket(descriptor) {
            Ok(socket) => socket.role,
            Err(outcome) => return Ok(outcome),
        };
        match call.name.as_str() {
            "sctp_bindx" => self.bindx(now, descriptor, role, call),
            "sctp_connectx" => {
                let listed = addresses(call, self.hosts.remote)?;
                let outcome = self.connect(now, descriptor, listed);
                // A call that asks for the association's id gets it, and no error.
                let id = matches!(call.arguments.get(3), Some(Expression::List(id)) if id != &[Expression::Any]);
                let under_way = matches!(&outcome, Outcome::Returned(found) if found.errno == Some("EINPROGRESS"));
                Ok(if id && under_way { Returned::value(0) } else { outcome })
            }
            "sctp_peeloff" => self.peel_off(descriptor, role, call),
            _ => self.list_addresses(role, call),
        }
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
                let port = socket.common.port.unwrap_or(EPHEMERAL_PORT);
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

    fn next_accepted(&mut self, descriptor: i64) -> Result<Option<Socket>, Outcome> {
        let Role::Listening(stack) = self.socket(descriptor)?.role else {
            return Err(Returned::error("EINVAL"));
        };
        let Some(id) = self.stacks[stack].backlog.pop_front() else { return Ok(None) };
        let port = Some(self.stacks[stack].port);
        let listener = self.socket(descriptor)?;
        let notifications = listener.notifications.clone();
        let role = Role::Association(stack, id);
        let accepted = Socket::new(role, listener.options.clone()).with_port(port);
        Ok(Some(Socket { notifications, ..accepted }))
    }

    fn destination(&self, call: &Call) -> Result<Vec<IpAddr>, Stop> {
        Ok(vec![self.remote_of(call.arguments.get(1))?])
    }

    fn begin_connect(
        &mut self,
        now: Instant,
        descriptor: i64,
        remotes: Vec<IpAddr>,
    ) -> Result<(), Outcome> {
        let socket = self.socket(descriptor)?;
        if socket.many {
            let role = self.many(descriptor)?;
            return self.begin_association(now, descriptor, role, &remotes).map(|_| ());
        }
        if socket.role != Role::Fresh {
            return Err(Returned::error("EOPNOTSUPP"));
        }
        let port = socket.common.port.unwrap_or(EPHEMERAL_PORT);
        let (addresses, options) = (socket.addresses.clone(), socket.options.clone());
        let stack = Role::Many(self.add_stack(port, false, &addresses, &options));
        let role = self.begin_association(now, descriptor, stack, &remotes)?;
        self.socket(descriptor)?.role = role;
        Ok(())
    }

    fn finish_writing(&mut self, now: Instant, descriptor: i64) {
        if let Ok(Socket { role: Role::Association(stack, id), .. }) = self.socket(descriptor) {
            let (stack, id) = (*stack, *id);
            if let Some(mut own) = self.stacks[stack].endpoint.association_mut(id) {
                own.shutdown(now);
            }
        }
    }

    fn let_go(&mut self, now: Instant, socket: Socket) {
        match socket.role {
            Role::Fresh => {}
            Role::Many(stack) => {
                self.stacks[stack].endpoint.set_listen(false);
                for id in self.readable(stack) {
                    self.close_association(now, stack, id);
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
            Role::Association(stack, id) => self.close_association(now, stack, id),
        }
    }
}

impl Sockets {
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
                socket.common.port = Some(PORT);
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

    /// The association has no descriptor any more: it shuts down gracefully.
    fn close_association(&mut self, now: Instant, stack: usize, id: AssociationId) {
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
