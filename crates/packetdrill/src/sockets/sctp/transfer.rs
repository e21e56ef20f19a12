//! Calls that carry messages.

use base::{Duration, Instant};
use bytes::Bytes;
use sctp::{Message, Ppid, Reliability, SendError, SendOptions, StreamId};

use super::receiving;
use super::user_data::Written;
use super::{Outcome, Output, Returned, Role, Sockets, constant, integer};
use crate::expression::Expression;
use crate::script::Call;
use crate::stop::Stop;

/// A message to send, as a call describes it.
struct Outgoing {
    length: usize,
    stream: StreamId,
    ppid: Ppid,
    options: SendOptions,
}

const UNORDERED: i64 = 1;
const SACK_IMMEDIATELY: i64 = 2;
const SNDINFO_VALID: i64 = 1;
const PRINFO_VALID: i64 = 2;

impl Sockets {
    pub(super) fn send(
        &mut self,
        now: Instant,
        descriptor: i64,
        call: &Call,
    ) -> Result<Outcome, Stop> {
        let outgoing = outgoing(call)?;
        let Ok(socket) = self.socket(descriptor) else { return Ok(Returned::error("EBADF")) };
        let shut = socket.write_shut;
        let role = match self.open_to_send(now, descriptor) {
            Ok(role) => role,
            Err(outcome) => return Ok(outcome),
        };
        let Role::Association(stack, id) = role else { return Ok(Returned::error("ENOTCONN")) };
        if shut {
            return Ok(Returned::error("EPIPE"));
        }
        let payload = Bytes::from(self.user_data.next_message(outgoing.length));
        let written = Written {
            stream: outgoing.stream.0,
            unordered: outgoing.options.unordered,
            length: outgoing.length,
            may_expire: outgoing.options.reliability != Reliability::Full,
        };
        let endpoint = &mut self.stacks[stack].endpoint;
        let sent =
            endpoint.send(now, id, outgoing.stream, outgoing.ppid, payload, outgoing.options);
        Ok(match sent {
            Ok(()) => {
                self.user_data.note_written(written);
                Returned::value(outgoing.length as i64)
            }
            Err(SendError::BufferFull) => self.sockets.would_block(descriptor),
            Err(SendError::TooLarge { .. }) => Returned::error("EMSGSIZE"),
            Err(
                SendError::NoSuchStream { .. }
                | SendError::Empty
                | SendError::MessageOpen
                | SendError::Abandoned,
            ) => Returned::error("EINVAL"),
            Err(SendError::Closed) => {
                let error = self.status(role).and_then(|status| status.error.take());
                Returned::error(error.unwrap_or("EPIPE"))
            }
        })
    }

    pub(super) fn receive(
        &mut self,
        now: Instant,
        descriptor: i64,
        call: &Call,
    ) -> Result<Outcome, Stop> {
        let room = room(call)?;
        refuse_flags(call)?;
        refuse_contents(call)?;
        let Ok(socket) = self.socket(descriptor) else { return Ok(Returned::error("EBADF")) };
        let role = socket.role;
        if socket.left_over > 0 {
            let read = socket.left_over.min(room);
            socket.left_over -= read;
            return Ok(Returned::value(read as i64));
        }
        let (stack, ids) = match role {
            Role::Association(stack, id) => (stack, vec![id]),
            Role::Many(stack) => (stack, self.readable(stack)),
            Role::Fresh | Role::Listening(_) => return Ok(Returned::error("ENOTCONN")),
        };
        for id in &ids {
            let of_one = Role::Association(stack, *id);
            if let Some(outcome) = self.receive_notification(descriptor, of_one, &call.name) {
                return Ok(outcome);
            }
        }
        let endpoint = &mut self.stacks[stack].endpoint;
        let message = ids.iter().find_map(|id| Some((*id, endpoint.receive(now, *id)?)));
        if let Some((id, message)) = message {
            let bytes = message.payload.clone().into_bytes();
            let checked =
                self.user_data.check_delivered(message.stream.0, message.unordered, &bytes);
            checked.map_err(Stop::Fail)?;
            let length = message.payload.len();
            let read = length.min(room);
            if let Ok(socket) = self.socket(descriptor) {
                socket.left_over = length - read;
            }
            let number = matches!(role, Role::Many(_)).then(|| self.stacks[stack].number(id));
            let whole = read == length;
            if call.name == "sctp_recvv" {
                let wants_info = self.socket(descriptor).is_ok_and(|socket| socket.wants_info);
                return Ok(receiving::with_info(&message, number, read, whole, wants_info));
            }
            return Ok(received(call, &message, number, read, whole));
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

/// What sctp_recvmsg() says besides the message.
fn received(
    call: &Call,
    message: &Message,
    association: Option<i64>,
    read: usize,
    whole: bool,
) -> Outcome {
    let mut outputs = Vec::new();
    if call.name == "sctp_recvmsg" {
        let flags = if message.unordered { "SCTP_UNORDERED" } else { "0" };
        let number = |number: u32| Output::Number(number.into());
        let mut fields = vec![
            ("sinfo_stream", number(message.stream.0.into())),
            ("sinfo_ssn", number(message.ssn().0.into())),
            ("sinfo_flags", Output::Name(flags)),
            ("sinfo_ppid", number(message.ppid.0)),
            ("sinfo_context", number(0)),
            ("sinfo_timetolive", number(0)),
            ("sinfo_tsn", Output::Tsn(message.tsn.0)),
        ];
        fields.extend(association.map(|number| ("sinfo_assoc_id", Output::Number(number))));
        outputs.push((5, Output::Struct(fields)));
        outputs.push((6, if whole { Output::Name("MSG_EOR") } else { Output::Number(0) }));
    }
    if call.name == "recvmsg" {
        let flags = if whole { Output::Name("MSG_EOR") } else { Output::Number(0) };
        outputs.push((1, header(None, flags)));
    }
    Outcome::Returned(Returned { value: read as i64, errno: None, outputs })
}

/// What recvmsg() writes to its struct: a notification, or a message, whose bytes nobody compares.
pub(in crate::sockets) fn header(notification: Option<Output>, flags: Output) -> Output {
    let base = notification.unwrap_or(Output::Unsupported("iov_base of a message"));
    let length = Output::Unsupported("iov_len");
    let vector = Output::Struct(vec![("iov_base", base), ("iov_len", length)]);
    Output::Struct(vec![
        ("msg_name", Output::Unsupported("msg_name")),
        ("msg_iov", Output::List(vec![vector])),
        ("msg_control", Output::Unsupported("ancillary data")),
        ("msg_flags", flags),
    ])
}

/// Flags of a call that reads change what it does (MSG_PEEK), or are not there.
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

/// What a call reads is compared with what came, and not with a text of the script.
pub(in crate::sockets) fn refuse_contents(call: &Call) -> Result<(), Stop> {
    match call.arguments.get(1) {
        Some(Expression::Text(_)) => {
            Err(Stop::skip(format!("{}() with the bytes to be read is not supported", call.name)))
        }
        _ => Ok(()),
    }
}

/// Bytes that a call has room for.
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

fn outgoing(call: &Call) -> Result<Outgoing, Stop> {
    let argument = |index: usize| integer(&call.name, call.arguments.get(index));
    let mut outgoing =
        Outgoing { length: 0, stream: StreamId(0), ppid: Ppid(0), options: SendOptions::default() };
    match call.name.as_str() {
        "sctp_sendmsg" => {
            outgoing.length = length(argument(2)?)?;
            outgoing.ppid = Ppid(argument(5)? as u32);
            outgoing.stream = StreamId(argument(7)? as u16);
            let reliability = match u64::try_from(argument(8)?) {
                Ok(millis @ 1..) => Reliability::Lifetime(Duration::from_millis(millis)),
                _ => Reliability::Full,
            };
            outgoing.options = send_options(argument(6)?, reliability)?;
        }
        "sctp_sendv" => sendv(call, &mut outgoing)?,
        "sctp_send" => {
            let info = call.arguments.get(3).filter(|info| info.fields().is_some());
            let info =
                info.ok_or_else(|| Stop::skip("sctp_send() of this form is not supported"))?;
            let number =
                |name| part(info, name).map_or(Ok(0), |value| integer("sctp_send", Some(value)));
            outgoing.length = length(argument(2)?)?;
            outgoing.stream = StreamId(number("sinfo_stream")? as u16);
            outgoing.ppid = Ppid(number("sinfo_ppid")? as u32);
            let reliability = match u64::try_from(number("sinfo_timetolive")?) {
                Ok(millis @ 1..) => Reliability::Lifetime(Duration::from_millis(millis)),
                _ => Reliability::Full,
            };
            outgoing.options = send_options(number("sinfo_flags")?, reliability)?;
        }
        _ => outgoing.length = length(argument(2)?)?,
    }
    if call.name == "send" && call.arguments.get(3) != Some(&Expression::Integer(0)) {
        return Err(Stop::skip("send() with flags is not supported"));
    }
    Ok(outgoing)
}

/// `sctp_sendv(fd, [{..., length}], 1, ..., 1, {sendv_...}, size, SCTP_SENDV_SPA, flags)`
fn sendv(call: &Call, outgoing: &mut Outgoing) -> Result<(), Stop> {
    let unknown = || Stop::skip("sctp_sendv() of this form is not supported");
    let parts = match call.arguments.get(1) {
        Some(Expression::List(parts)) => parts,
        _ => return Err(unknown()),
    };
    for part in parts {
        let size = part.fields().and_then(|fields| fields.get(1)).ok_or_else(unknown)?;
        outgoing.length += length(integer("sctp_sendv", Some(&size.value))?)?;
    }
    let info = call.arguments.get(5).ok_or_else(unknown)?;
    let kind = match call.arguments.get(7) {
        Some(Expression::Name(kind)) => kind.as_str(),
        _ => return Err(unknown()),
    };
    let (sending, reliability) = match kind {
        "SCTP_SENDV_NOINFO" => (None, None),
        "SCTP_SENDV_SNDINFO" => (Some(info), None),
        "SCTP_SENDV_PRINFO" => (None, Some(info)),
        "SCTP_SENDV_SPA" => {
            let valid = part(info, "sendv_flags").and_then(|flags| flags.number(&constant));
            let valid = valid.ok_or_else(unknown)?;
            let is = |bit, name| if valid & bit != 0 { part(info, name) } else { None };
            (is(SNDINFO_VALID, "sendv_sndinfo"), is(PRINFO_VALID, "sendv_prinfo"))
        }
        _ => return Err(unknown()),
    };
    let mut flags = 0;
    if let Some(sending) = sending {
        let number = |name| integer("sctp_sendv", part(sending, name));
        outgoing.stream = StreamId(number("snd_sid")? as u16);
        outgoing.ppid = Ppid(number("snd_ppid")? as u32);
        flags = number("snd_flags")?;
    }
    let reliability = match reliability {
        None => Reliability::Full,
        Some(reliability) => {
            let value = integer("sctp_sendv", part(reliability, "pr_value"))? as u64;
            match part(reliability, "pr_policy") {
                Some(Expression::Name(name)) if name == "SCTP_PR_SCTP_NONE" => Reliability::Full,
                Some(Expression::Name(name)) if name == "SCTP_PR_SCTP_TTL" => {
                    Reliability::Lifetime(Duration::from_millis(value))
                }
                Some(Expression::Name(name)) if name == "SCTP_PR_SCTP_RTX" => {
                    Reliability::Retransmissions(u32::try_from(value).unwrap_or(u32::MAX))
                }
                Some(Expression::Name(name)) if name == "SCTP_PR_SCTP_PRIO" => {
                    Reliability::Priority(u32::try_from(value).unwrap_or(u32::MAX))
                }
                _ => return Err(unknown()),
            }
        }
    };
    outgoing.options = send_options(flags, reliability)?;
    Ok(())
}

/// The field of a struct.
pub(in crate::sockets) fn part<'e>(of: &'e Expression, name: &str) -> Option<&'e Expression> {
    let field = |field: &&crate::Field| field.name.as_deref() == Some(name);
    of.fields()?.iter().find(field).map(|field| &field.value)
}

/// Longest message that a script may ask for.
const LENGTH_MAX: usize = 1 << 24;

fn length(length: i64) -> Result<usize, Stop> {
    let length = usize::try_from(length).ok().filter(|length| *length <= LENGTH_MAX);
    length.ok_or_else(|| Stop::skip("a message of this length is not supported"))
}

fn send_options(flags: i64, reliability: Reliability) -> Result<SendOptions, Stop> {
    if flags & !(UNORDERED | SACK_IMMEDIATELY) != 0 {
        return Err(Stop::skip(format!("sending with the flags {flags:#x} is not supported")));
    }
    Ok(SendOptions {
        unordered: flags & UNORDERED != 0,
        immediate: flags & SACK_IMMEDIATELY != 0,
        reliability,
        ..SendOptions::default()
    })
}
