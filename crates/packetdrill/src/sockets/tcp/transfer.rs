//! Calls that carry bytes.
//!
//! Scripts give the number of bytes written and read, not the bytes. Here each byte is a function
//! of its position in the stream, so that a wrong byte, sent or delivered, is found.

use crate::sockets::Transfer;
use crate::sockets::arguments::{header, integer, part, refuse_contents};
use base::Instant;
use bytes::Bytes;
use tcp::{Connection, ConnectionId, Received, SendError, SendFlags, State};

use super::{Outcome, Output, Returned, Role, Socket, Sockets};
use crate::expression::Expression;
use crate::script::Call;
use crate::stop::Stop;

/// The byte that the stack's application writes at `offset` (the first is 1).
pub(crate) fn stack_byte(offset: u32) -> u8 {
    (offset.wrapping_mul(0x9e37_79b1) >> 21) as u8
}

/// The byte that the peer sends at `offset` (the first is 1).
pub(crate) fn peer_byte(offset: u32) -> u8 {
    (offset.wrapping_mul(0x85eb_ca77) >> 19) as u8
}

/// Longest write or read of a script.
const LENGTH_MAX: i64 = 1 << 26;

/// Flags without effect here: there are no signals.
const HARMLESS: [&str; 1] = ["MSG_NOSIGNAL"];

/// Flags of a call that carries bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    peek: bool,
    dont_wait: bool,
    send: SendFlags,
}

impl Transfer for Sockets {
    const READS: &'static [&'static str] = &["read", "readv", "recv", "recvfrom", "recvmsg"];
    const WRITES: &'static [&'static str] =
        &["send", "sendfile", "sendmsg", "sendto", "write", "writev"];

    /// Sends bytes, or blocks while the send buffer is full.
    fn send(&mut self, now: Instant, descriptor: i64, call: &Call) -> Result<Outcome, Stop> {
        let (length, mut flags) = (length(call)?, flags(call)?);
        let Ok(socket) = self.socket(descriptor) else { return Ok(Returned::error("EBADF")) };
        let Role::Connection(id) = socket.role else { return Ok(Returned::error("EPIPE")) };
        if socket.common.write_shut {
            return Ok(Returned::error("EPIPE"));
        }
        if is_nowhere(call) {
            return Ok(Returned::error("EFAULT"));
        }
        flags.send.more |= socket.corked;
        let (begin, progress) = (socket.written, socket.progress);
        let rest = length.saturating_sub(progress);
        let bytes = (0..rest as u64).map(|index| stack_byte((begin + index + 1) as u32)).collect();
        let bytes = Bytes::from_owner::<Vec<u8>>(bytes);
        let own = self.endpoint().connection_mut(id);
        let taken = match own.map(|mut own| own.send(now, bytes, flags.send)) {
            Some(Ok(taken)) => taken,
            Some(Err(why)) => return Ok(self.refused(id, progress, Some(why), descriptor)),
            None => return Ok(self.refused(id, progress, None, descriptor)),
        };
        let Ok(socket) = self.socket(descriptor) else { return Ok(Returned::error("EBADF")) };
        socket.written += taken as u64;
        socket.progress = 0;
        let so_far = progress + taken;
        if so_far == length {
            return Ok(Returned::value(length as i64));
        }
        if socket.common.nonblocking || flags.dont_wait {
            return Ok(match so_far {
                0 => Returned::error("EAGAIN"),
                some => Returned::value(some as i64),
            });
        }
        socket.progress = so_far;
        Ok(Outcome::Blocks)
    }

    /// Reads bytes, or blocks until there are some.
    fn receive(&mut self, now: Instant, descriptor: i64, call: &Call) -> Result<Outcome, Stop> {
        let (room, flags) = (length(call)?, flags(call)?);
        refuse_contents(call)?;
        let Ok(socket) = self.socket(descriptor) else { return Ok(Returned::error("EBADF")) };
        let (read_shut, begin) = (socket.common.read_shut, socket.read);
        let id = match socket.role {
            Role::Connection(id) => id,
            _ => return Ok(Returned::error("ENOTCONN")),
        };
        let readable = self.endpoint().connection(id).map_or(0, |one| one.readable_bytes());
        if readable > 0 && is_nowhere(call) {
            return Ok(Returned::error("EFAULT"));
        }
        if readable > 0 && flags.peek {
            return Ok(Returned::value(readable.min(room) as i64));
        }
        let mut read = 0;
        let nothing = loop {
            if read == room {
                break None;
            }
            let own = self.endpoint().connection_mut(id);
            match own.map(|mut own| own.receive(now, room - read)) {
                Some(Ok(Received::Data(bytes))) => {
                    let offset = begin + read as u64 + 1;
                    if !is_from(&bytes, offset) {
                        return Err(Stop::fail("the bytes read are not those that were sent"));
                    }
                    read += bytes.len();
                }
                other => break Some(other),
            }
        };
        if let Ok(socket) = self.socket(descriptor) {
            socket.read += read as u64;
        }
        Ok(match nothing {
            _ if read > 0 => received(call, read),
            None | Some(Some(Ok(Received::Finished | Received::Data(_)))) => received(call, 0),
            Some(Some(Ok(Received::Nothing))) if read_shut => received(call, 0),
            Some(Some(Ok(Received::Nothing))) if flags.dont_wait => Returned::error("EAGAIN"),
            Some(Some(Ok(Received::Nothing))) => self.sockets.would_block(descriptor),
            Some(Some(Err(_))) => self.unreadable(id, Returned::value(0)),
            Some(None) => self.unreadable(id, Returned::error("ENOTCONN")),
        })
    }
}

impl Sockets {
    /// Result of a write of which the connection accepts nothing; `why` is `None` without a
    /// connection.
    fn refused(
        &mut self,
        id: ConnectionId,
        progress: usize,
        why: Option<SendError>,
        descriptor: i64,
    ) -> Outcome {
        if let Ok(socket) = self.socket(descriptor) {
            socket.progress = 0;
        }
        if progress > 0 {
            return Returned::value(progress as i64);
        }
        let error = self.status(Role::Connection(id)).and_then(|status| status.error.take());
        match why {
            Some(SendError::Finished) => Returned::error("EPIPE"),
            None | Some(SendError::Failed(_)) => Returned::error(error.unwrap_or("EPIPE")),
        }
    }

    /// Result of a read without data: the connection's error, which is reported once, or
    /// `otherwise`.
    fn unreadable(&mut self, id: ConnectionId, otherwise: Outcome) -> Outcome {
        let error = self.status(Role::Connection(id)).and_then(|status| status.error.take());
        error.map_or(otherwise, Returned::error)
    }

    /// poll() on one or more descriptors, for the supported conditions.
    pub(super) fn poll(&mut self, call: &Call) -> Result<Outcome, Stop> {
        let unknown = || Stop::skip("poll() of this form is not supported");
        let Some(Expression::List(entries)) = call.arguments.first() else { return Err(unknown()) };
        let mut ready = 0;
        let mut outputs = Vec::new();
        for entry in entries {
            let descriptor = integer("poll", part(entry, "fd"))?;
            let wanted = integer("poll", part(entry, "events"))?;
            let found = self.ready(descriptor) & (wanted | POLLERR | POLLHUP);
            ready += i64::from(found != 0);
            outputs.push(Output::Struct(vec![
                ("fd", Output::Number(descriptor)),
                ("events", Output::Number(wanted)),
                ("revents", Output::Number(found)),
            ]));
        }
        if ready == 0 && integer("poll", call.arguments.get(2))? != 0 {
            return Ok(Outcome::Blocks);
        }
        let outputs = vec![(0, Output::List(outputs))];
        Ok(Outcome::Returned(Returned { value: ready, errno: None, outputs }))
    }

    fn ready(&mut self, descriptor: i64) -> i64 {
        let Ok(Socket { role: Role::Connection(id), .. }) = self.socket(descriptor) else {
            return 0;
        };
        let id = *id;
        let status = self.connections.get(&id).copied().unwrap_or_default();
        let Some(connection) = self.endpoint().connection(id) else { return POLLHUP };
        let finished = matches!(
            connection.state(),
            State::CloseWait | State::LastAck | State::Closing | State::TimeWait | State::Closed
        );
        let mut ready = 0;
        if status.error.is_some() {
            ready |= POLLERR;
        }
        if status.ended {
            ready |= POLLHUP | POLLIN | POLLOUT;
        }
        if connection.readable_bytes() > 0 || finished {
            ready |= POLLIN;
        }
        if connection.state().is_synchronized() && is_writable(connection) {
            ready |= POLLOUT;
        }
        ready
    }
}

const POLLIN: i64 = 1;
const POLLOUT: i64 = 4;
const POLLERR: i64 = 8;
const POLLHUP: i64 = 16;

fn is_writable(connection: &Connection) -> bool {
    connection.writable_bytes() > 0
}

/// Whether bytes are those that the peer sent from `offset` on.
fn is_from(bytes: &[u8], offset: u64) -> bool {
    (offset..).zip(bytes).all(|(offset, byte)| peer_byte(offset as u32) == *byte)
}

fn received(call: &Call, read: usize) -> Outcome {
    let mut outputs = Vec::new();
    if call.name == "recvmsg" {
        outputs.push((1, {
            let control = Output::Unsupported("ancillary data");
            header(None, Output::Number(0), control)
        }));
    }
    Outcome::Returned(Returned { value: read as i64, errno: None, outputs })
}

/// Whether a call has no buffer.
fn is_nowhere(call: &Call) -> bool {
    matches!(call.arguments.get(1), Some(Expression::Name(name)) if name == "NULL")
}

/// Number of bytes of a call.
fn length(call: &Call) -> Result<usize, Stop> {
    let vectors = |list: Option<&Expression>| match list {
        Some(Expression::List(parts)) => parts.iter().try_fold(0, |all, part| {
            let size = part.fields().and_then(|fields| fields.last());
            Ok(all + integer(&call.name, size.map(|size| &size.value))?)
        }),
        _ => Err(Stop::skip(format!("{}() of this form is not supported", call.name))),
    };
    let length = match call.name.as_str() {
        "readv" | "writev" => vectors(call.arguments.get(1))?,
        "recvmsg" | "sendmsg" => {
            let header = call.arguments.get(1);
            vectors(header.and_then(|header| part(header, "msg_iov")))?
        }
        "sendfile" => integer("sendfile", call.arguments.get(3))?,
        name => integer(name, call.arguments.get(2))?,
    };
    if !(0..=LENGTH_MAX).contains(&length) {
        return Err(Stop::skip("a length out of all proportion"));
    }
    Ok(length as usize)
}

fn flags(call: &Call) -> Result<Flags, Stop> {
    let at = match call.name.as_str() {
        "send" | "sendto" | "recv" | "recvfrom" => 3,
        "sendmsg" | "recvmsg" => 2,
        _ => return Ok(Flags::default()),
    };
    let mut flags = Flags::default();
    let mut names = Vec::new();
    match call.arguments.get(at) {
        None | Some(Expression::Integer(0)) => {}
        Some(Expression::Name(name)) => names.push(name),
        Some(Expression::Or(parts)) => {
            for part in parts {
                match part {
                    Expression::Name(name) => names.push(name),
                    _ => return Err(Stop::skip("flags of this form are not supported")),
                }
            }
        }
        Some(_) => return Err(Stop::skip("flags of this form are not supported")),
    }
    for name in names {
        match name.as_str() {
            "MSG_PEEK" => flags.peek = true,
            "MSG_DONTWAIT" => flags.dont_wait = true,
            "MSG_MORE" => flags.send.more = true,
            "MSG_OOB" => flags.send.urgent = true,
            name if HARMLESS.contains(&name) => {}
            name => return Err(Stop::skip(format!("the flag {name} is not supported"))),
        }
    }
    Ok(flags)
}
