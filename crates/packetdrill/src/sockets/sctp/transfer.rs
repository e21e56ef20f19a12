//! Calls that carry messages: write(), sendmsg(), read() and their like.

use crate::sockets::Transfer;
use crate::sockets::arguments::{integer, part, refuse_contents};
use base::Instant;
use bytes::Bytes;
use sctp::{AssociationId, Message, Reliability, SendError};

use super::receiving::Incoming;
use super::sending;
use super::user_data::Written;
use super::{Outcome, Returned, Role, Sockets};
use crate::expression::Expression;
use crate::script::Call;
use crate::stop::Stop;

/// Bytes of a DATA chunk besides its payload.
const DATA_OVERHEAD: usize = 16;

impl Transfer for Sockets {
    const READS: &'static [&'static str] =
        &["read", "recv", "recvmsg", "sctp_recvmsg", "sctp_recvv"];
    const WRITES: &'static [&'static str] =
        &["sctp_send", "sctp_sendmsg", "sctp_sendv", "sctp_sendx", "send", "sendmsg", "write"];

    /// Sends a message whose length and options the call gives.
    fn send(&mut self, now: Instant, descriptor: i64, call: &Call) -> Result<Outcome, Stop> {
        let Ok(socket) = self.socket(descriptor) else { return Ok(Returned::error("EBADF")) };
        let outgoing = sending::outgoing(call, |outgoing| socket.defaults.apply(outgoing))?;
        let (shut, whole) = (socket.common.write_shut, socket.defaults.refuses_fragments);
        let largest =
            usize::from(socket.options.path_mtu.saturating_sub(self.overhead(descriptor)));
        if whole && outgoing.length + DATA_OVERHEAD > largest {
            return Ok(Returned::error("EMSGSIZE"));
        }
        let role = match self.open_to_send(now, descriptor, &outgoing) {
            Ok(role) => role,
            Err(outcome) => return Ok(outcome),
        };
        let Role::Association(stack, id) = role else { return Ok(Returned::error("ENOTCONN")) };
        if shut {
            return Ok(Returned::error("EPIPE"));
        }
        let payload = Bytes::from(self.user_data_of(stack, id).next_message(outgoing.length));
        let written = Written {
            stream: outgoing.stream.0,
            unordered: outgoing.options.unordered,
            length: outgoing.length,
            may_expire: outgoing.options.reliability != Reliability::Full,
        };
        let endpoint = &mut self.stacks[stack].endpoint;
        let sent = endpoint.association_mut(id).map_or(Err(sctp::SendError::Closed), |mut own| {
            own.send(now, outgoing.stream, outgoing.ppid, payload, outgoing.options)
        });
        Ok(match sent {
            Ok(()) => {
                self.user_data_of(stack, id).note_written(written);
                self.stacks[stack].messages.entry(id).or_default().note(&outgoing);
                Returned::value(outgoing.length as i64)
            }
            Err(SendError::BufferFull) => self.sockets.would_block(descriptor),
            Err(SendError::TooLarge { .. }) => Returned::error("EMSGSIZE"),
            Err(
                SendError::NoSuchStream { .. }
                | SendError::Empty
                | SendError::NoSuchKey(_)
                | SendError::MessageOpen
                | SendError::Abandoned,
            ) => Returned::error("EINVAL"),
            Err(SendError::Closed) => {
                let error = self.status(role).and_then(|status| status.error.take());
                Returned::error(error.unwrap_or("EPIPE"))
            }
        })
    }

    /// Reads a message or a notification.
    fn receive(&mut self, now: Instant, descriptor: i64, call: &Call) -> Result<Outcome, Stop> {
        let room = room(call)?;
        refuse_flags(call)?;
        refuse_contents(call)?;
        let Ok(socket) = self.socket(descriptor) else { return Ok(Returned::error("EBADF")) };
        let role = socket.role;
        if let Some((id, message, offset)) = socket.left_over.take() {
            return Ok(self.deliver(descriptor, call, (id, message), (offset, room)));
        }
        let (stack, ids) = match role {
            Role::Association(stack, id) => (stack, vec![id]),
            Role::Many(stack) => (stack, self.readable(stack)),
            Role::Fresh | Role::Listening(_) => return Ok(Returned::error("ENOTCONN")),
        };
        for id in &ids {
            let of_one = Role::Association(stack, *id);
            if let Some(outcome) = self.receive_notification((descriptor, of_one), room, call) {
                return Ok(outcome);
            }
        }
        let endpoint = &mut self.stacks[stack].endpoint;
        let message = ids.iter().find_map(|id| {
            Some((*id, endpoint.association_mut(*id).and_then(|mut own| own.receive(now))?))
        });
        if let Some((id, message)) = message {
            let bytes = message.payload.clone().into_bytes();
            let user_data = self.user_data_of(stack, id);
            let checked = user_data.check_delivered(message.stream.0, message.unordered, &bytes);
            checked.map_err(Stop::Fail)?;
            return Ok(self.deliver(descriptor, call, (id, message), (0, room)));
        }
        match self.status(role) {
            Some(status) if status.ended => Ok(match status.error.take() {
                Some(error) => Returned::error(error),
                None => Returned::value(0),
            }),
            _ => Ok(self.sockets.would_block(descriptor)),
        }
    }
}

impl Sockets {
    /// Delivers as much of a message as there is room for, from `offset` on, and keeps the rest for
    /// the next call.
    fn deliver(
        &mut self,
        descriptor: i64,
        call: &Call,
        (id, message): (AssociationId, Message),
        (offset, room): (usize, usize),
    ) -> Outcome {
        let length = message.payload.len();
        let read = (length - offset).min(room);
        let Ok(socket) = self.socket(descriptor) else { return Returned::error("EBADF") };
        let (role, wants, context) = (socket.role, socket.wants, socket.defaults.context);
        let (Role::Association(stack, _) | Role::Many(stack)) = role else {
            return Returned::error("ENOTCONN");
        };
        let own = &mut self.stacks[stack];
        let association = matches!(role, Role::Many(_)).then(|| own.number(id));
        let found = own.endpoint.association(id);
        let incoming = Incoming {
            message: &message,
            association,
            context,
            read,
            whole: offset + read == length,
            cumulative: found.and_then(sctp::Association::cumulative_tsn),
            next: found.and_then(sctp::Association::next_message),
        };
        let outcome = incoming.outcome(call, wants);
        if offset + read < length
            && let Ok(socket) = self.socket(descriptor)
        {
            socket.left_over = Some((id, message, offset + read));
        }
        outcome
    }
}

/// Refuses flags that change a reading call's behaviour (MSG_PEEK).
fn refuse_flags(call: &Call) -> Result<(), Stop> {
    let at = match call.name.as_str() {
        "recv" => 3,
        "recvmsg" => 2,
        _ => return Ok(()),
    };
    match call.arguments.get(at) {
        Some(Expression::Integer(0)) => Ok(()),
        _ => Err(Stop::skip(format!("{}() with flags is not supported", call.name))),
    }
}

/// Room in bytes of a reading call.
fn room(call: &Call) -> Result<usize, Stop> {
    let room = match (call.name.as_str(), call.arguments.get(1)) {
        ("recvmsg", Some(header)) => match part(header, "msg_iov") {
            Some(Expression::List(vectors)) => match vectors.as_slice() {
                [vector] => integer("recvmsg", part(vector, "iov_len"))?,
                _ => return Err(Stop::skip("recvmsg() to several buffers is not supported")),
            },
            _ => return Err(Stop::skip("recvmsg() of this form is not supported")),
        },
        ("sctp_recvv", Some(Expression::List(vectors))) => match vectors.as_slice() {
            [vector] => integer("sctp_recvv", part(vector, "iov_len"))?,
            _ => return Err(Stop::skip("sctp_recvv() to several buffers is not supported")),
        },
        _ => integer(&call.name, call.arguments.get(2))?,
    };
    Ok(usize::try_from(room).unwrap_or(0))
}
