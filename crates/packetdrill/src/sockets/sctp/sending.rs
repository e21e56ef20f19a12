//! Description of a sent message in arguments, structs and ancillary data (RFC 6458, sections 5.3,
//! 8.13, 9.7, 9.9 and 9.12).

use crate::sockets::arguments::{address_of, integer, numbers, part};
use crate::vocabulary::constant;
use core::net::IpAddr;

use base::Duration;
use sctp::{AssociationOptions, KeyId, Ppid, Reliability, SendOptions, StreamId};

use crate::expression::Expression;
use crate::script::Call;
use crate::stop::Stop;

/// A message to send, as described by a call.
pub(super) struct Outgoing {
    pub(super) length: usize,
    pub(super) stream: StreamId,
    pub(super) ppid: Ppid,
    pub(super) options: SendOptions,
    /// Destination address, on a one-to-many socket.
    pub(super) remote: Option<IpAddr>,
    /// Id of the destination association, on a one-to-many socket.
    pub(super) association: Option<i64>,
    /// Streams and attempts of an association that the message opens: SCTP_INIT.
    pub(super) set_up: Vec<(&'static str, i64)>,
}

const UNORDERED: i64 = 1;
const SACK_IMMEDIATELY: i64 = 2;
const SNDINFO_VALID: i64 = 1;
const PRINFO_VALID: i64 = 2;
const AUTHINFO_VALID: i64 = 4;

impl Outgoing {
    /// Options of an association that the message opens: SCTP_INIT applies to that one only.
    pub(super) fn with_set_up(&self, mut options: AssociationOptions) -> AssociationOptions {
        for (name, number) in self.set_up.iter().filter(|(_, number)| *number > 0) {
            let streams = u16::try_from(*number).unwrap_or(u16::MAX);
            match *name {
                "sinit_num_ostreams" => options.outbound_streams = streams,
                "sinit_max_instreams" => options.inbound_streams = streams,
                _ => options.max_init_retransmits = u8::try_from(*number).unwrap_or(u8::MAX),
            }
        }
        options
    }
}

/// The message that a call sends, with the socket's `defaults` for values that the call does not
/// give.
pub(super) fn outgoing(
    call: &Call,
    defaults: impl FnOnce(&mut Outgoing) -> Result<(), Stop>,
) -> Result<Outgoing, Stop> {
    let mut outgoing = Outgoing {
        length: 0,
        stream: StreamId(0),
        ppid: Ppid(0),
        options: SendOptions::default(),
        remote: None,
        association: None,
        set_up: Vec::new(),
    };
    defaults(&mut outgoing)?;
    outgoing.read(call)?;
    Ok(outgoing)
}

impl Outgoing {
    fn read(&mut self, call: &Call) -> Result<(), Stop> {
        let argument = |index: usize| integer(&call.name, call.arguments.get(index));
        match call.name.as_str() {
            "sctp_sendmsg" => {
                self.length = length(argument(2)?)?;
                self.set_remote(call.arguments.get(3))?;
                self.ppid = Ppid(argument(5)? as u32);
                self.stream = StreamId(small(argument(7)?)?);
                self.options.reliability = lifetime(argument(8)?);
                self.set_flags(argument(6)?)?;
                self.options.context = argument(9)? as u32;
            }
            "sctp_sendv" => self.read_sendv(call)?,
            "sendmsg" => self.read_sendmsg(call)?,
            "sctp_send" | "sctp_sendx" => {
                let (size, info) = if call.name == "sctp_send" { (2, 3) } else { (2, 5) };
                self.length = length(argument(size)?)?;
                if call.name == "sctp_sendx" {
                    self.set_remote(call.arguments.get(3))?;
                }
                let info = call.arguments.get(info).filter(|info| info.fields().is_some());
                let info = info.ok_or_else(|| unknown(call))?;
                self.heed("SCTP_SNDRCV", info)?;
            }
            _ => self.length = length(argument(2)?)?,
        }
        let flags = match call.name.as_str() {
            "send" => call.arguments.get(3),
            "sendmsg" => call.arguments.get(2),
            _ => None,
        };
        match flags {
            None | Some(Expression::Integer(0)) => Ok(()),
            Some(_) => Err(Stop::skip(format!("{}() with flags is not supported", call.name))),
        }
    }

    /// `sendmsg(fd, {msg_name=…, msg_iov=[…], msg_control=[{…}], msg_flags=0}, flags)`
    fn read_sendmsg(&mut self, call: &Call) -> Result<(), Stop> {
        let header = call.arguments.get(1).filter(|header| header.fields().is_some());
        let header = header.ok_or_else(|| unknown(call))?;
        self.set_remote(part(header, "msg_name"))?;
        self.read_vectors(call, part(header, "msg_iov"))?;
        let entries = match part(header, "msg_control") {
            None | Some(Expression::Any) => return Ok(()),
            Some(Expression::List(entries)) => entries,
            Some(_) => return Err(unknown(call)),
        };
        for entry in entries {
            let level = part(entry, "cmsg_level");
            let is_sctp = level == Some(&Expression::Name("IPPROTO_SCTP".to_owned()));
            let (Some(Expression::Name(kind)), Some(data), true) =
                (part(entry, "cmsg_type"), part(entry, "cmsg_data"), is_sctp)
            else {
                return Err(Stop::skip("ancillary data of this form is not supported"));
            };
            self.heed(kind, data)?;
        }
        Ok(())
    }

    /// `sctp_sendv(fd, [{…, length}], 1, …, 1, {sendv_…}, size, SCTP_SENDV_SPA, flags)`
    fn read_sendv(&mut self, call: &Call) -> Result<(), Stop> {
        self.read_vectors(call, call.arguments.get(1))?;
        self.set_remote(call.arguments.get(3))?;
        let info = call.arguments.get(5).ok_or_else(|| unknown(call))?;
        let kind = match call.arguments.get(7) {
            Some(Expression::Name(kind)) => kind.as_str(),
            _ => return Err(unknown(call)),
        };
        match kind {
            "SCTP_SENDV_NOINFO" => Ok(()),
            "SCTP_SENDV_SNDINFO" => self.heed("SCTP_SNDINFO", info),
            "SCTP_SENDV_PRINFO" => self.heed("SCTP_PRINFO", info),
            "SCTP_SENDV_AUTHINFO" => self.heed("SCTP_AUTHINFO", info),
            "SCTP_SENDV_SPA" => {
                let valid = part(info, "sendv_flags").and_then(|flags| flags.number(&constant));
                let valid = valid.ok_or_else(|| unknown(call))?;
                for (bit, name, kind) in [
                    (SNDINFO_VALID, "sendv_sndinfo", "SCTP_SNDINFO"),
                    (PRINFO_VALID, "sendv_prinfo", "SCTP_PRINFO"),
                    (AUTHINFO_VALID, "sendv_authinfo", "SCTP_AUTHINFO"),
                ] {
                    if valid & bit != 0 {
                        self.heed(kind, part(info, name).ok_or_else(|| unknown(call))?)?;
                    }
                }
                Ok(())
            }
            _ => Err(unknown(call)),
        }
    }

    /// Adds up the lengths of buffers, `[{iov_base=…, iov_len=1000}]` or without names.
    fn read_vectors(&mut self, call: &Call, vectors: Option<&Expression>) -> Result<(), Stop> {
        let Some(Expression::List(vectors)) = vectors else { return Err(unknown(call)) };
        for vector in vectors {
            let size = vector.fields().and_then(|fields| fields.get(1));
            let size = size.ok_or_else(|| unknown(call))?;
            self.length += length(integer(&call.name, Some(&size.value))?)?;
        }
        Ok(())
    }

    /// Applies a struct by the kind of its ancillary data.
    fn heed(&mut self, kind: &str, data: &Expression) -> Result<(), Stop> {
        let refuse = || Stop::skip(format!("{kind} with this value is not supported"));
        let fields = numbers(data);
        let number = |name: &str| fields.get(name).copied().unwrap_or(0);
        match kind {
            "SCTP_SNDINFO" => {
                self.stream = StreamId(small(number("snd_sid"))?);
                self.ppid = Ppid(number("snd_ppid") as u32);
                self.options.context = number("snd_context") as u32;
                self.association = fields.get("snd_assoc_id").copied();
                self.set_flags(integer(kind, part(data, "snd_flags"))?)
            }
            "SCTP_SNDRCV" => {
                self.stream = StreamId(small(number("sinfo_stream"))?);
                self.ppid = Ppid(number("sinfo_ppid") as u32);
                self.options.context = number("sinfo_context") as u32;
                self.association = fields.get("sinfo_assoc_id").copied();
                self.options.reliability = lifetime(number("sinfo_timetolive"));
                let flags = part(data, "sinfo_flags");
                self.set_flags(flags.map_or(Ok(0), |flags| integer(kind, Some(flags)))?)
            }
            "SCTP_PRINFO" => {
                let value = integer(kind, part(data, "pr_value"))?;
                self.options.reliability = match part(data, "pr_policy") {
                    Some(Expression::Integer(0)) => Reliability::Full,
                    Some(Expression::Name(name)) => reliability(name, value).ok_or_else(refuse)?,
                    _ => return Err(refuse()),
                };
                Ok(())
            }
            "SCTP_DSTADDRV4" | "SCTP_DSTADDRV6" => {
                self.remote = Some(address_of(data).ok_or_else(refuse)?);
                Ok(())
            }
            "SCTP_INIT" => {
                for name in ["sinit_num_ostreams", "sinit_max_instreams", "sinit_max_attempts"] {
                    self.set_up.push((name, number(name)));
                }
                Ok(())
            }
            "SCTP_AUTHINFO" => {
                let key = fields.get("auth_keynumber").or_else(|| fields.get("auth_keyid"));
                let key = key.and_then(|key| u16::try_from(*key).ok()).ok_or_else(refuse)?;
                self.options.key = Some(KeyId(key));
                Ok(())
            }
            _ => Err(refuse()),
        }
    }

    /// Sets the destination address; `...` and NULL mean the existing peer.
    fn set_remote(&mut self, argument: Option<&Expression>) -> Result<(), Stop> {
        let one = match argument {
            Some(Expression::List(list)) => match list.as_slice() {
                [one] => Some(one),
                _ => return Err(Stop::skip("sending to several addresses is not supported")),
            },
            other => other,
        };
        match one {
            None | Some(Expression::Any) => Ok(()),
            Some(Expression::Name(name)) if name == "NULL" => Ok(()),
            Some(given) => {
                let why = || Stop::skip(format!("the address {given:?} is not supported"));
                self.remote = Some(address_of(given).ok_or_else(why)?);
                Ok(())
            }
        }
    }

    pub(super) fn set_flags(&mut self, flags: i64) -> Result<(), Stop> {
        if flags & !(UNORDERED | SACK_IMMEDIATELY) != 0 {
            return Err(Stop::skip(format!("sending with the flags {flags:#x} is not supported")));
        }
        self.options.unordered = flags & UNORDERED != 0;
        self.options.immediate = flags & SACK_IMMEDIATELY != 0;
        Ok(())
    }
}

fn unknown(call: &Call) -> Stop {
    Stop::skip(format!("{}() of this form is not supported", call.name))
}

pub(super) fn lifetime(millis: i64) -> Reliability {
    match u64::try_from(millis) {
        Ok(millis @ 1..) => Reliability::Lifetime(Duration::from_millis(millis)),
        _ => Reliability::Full,
    }
}

/// Meaning of a policy of partial reliability and its value (RFC 7496, section 4).
pub(super) fn reliability(policy: &str, value: i64) -> Option<Reliability> {
    let count = u32::try_from(value).unwrap_or(u32::MAX);
    Some(match policy {
        "SCTP_PR_SCTP_NONE" => Reliability::Full,
        "SCTP_PR_SCTP_TTL" => Reliability::Lifetime(Duration::from_millis(value as u64)),
        "SCTP_PR_SCTP_RTX" => Reliability::Retransmissions(count),
        "SCTP_PR_SCTP_PRIO" => Reliability::Priority(count),
        _ => return None,
    })
}

pub(super) fn small(number: i64) -> Result<u16, Stop> {
    u16::try_from(number).map_err(|_| Stop::skip(format!("the stream {number} cannot be")))
}

/// Longest message of a script.
const LENGTH_MAX: usize = 1 << 24;

fn length(length: i64) -> Result<usize, Stop> {
    let length = usize::try_from(length).ok().filter(|length| *length <= LENGTH_MAX);
    length.ok_or_else(|| Stop::skip("a message of this length is not supported"))
}
