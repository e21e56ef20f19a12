//! Outputs of calls that read, besides a message or a notification (RFC 6458, sections 5.3, 8.4 and
//! 9.13).

use crate::vocabulary::constant;
use sctp::{Message, Tsn};

use super::{Outcome, Output, Returned, Socket};
use crate::expression::Expression;
use crate::script::Call;
use crate::sockets::arguments::header;

/// Size in bytes of struct sctp_rcvinfo and sctp_nxtinfo.
const RCVINFO_SIZE: i64 = 28;
const NXTINFO_SIZE: i64 = 16;

/// Bytes of ancillary data by kind, on FreeBSD and on Linux, whose headers and structs differ.
const RCVINFO_LENGTHS: &[i64] = &[40, 44];
const NXTINFO_LENGTHS: &[i64] = &[28, 32];
const SNDRCV_LENGTHS: &[i64] = &[140, 44, 48];

/// Information about received messages that an application asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wants {
    /// Whether SCTP_RECVRCVINFO is set: information about the message (RFC 6458, section 5.3.5).
    pub(super) info: bool,
    /// Whether SCTP_RECVNXTINFO is set: information about the next message (section 5.3.6).
    pub(super) next: bool,
    /// Whether sctp_data_io_event of SCTP_EVENTS is set (section 5.3.2).
    pub(super) data_io: bool,
    /// SCTP_USE_EXT_RCVINFO: information about the next message (section 5.3.3).
    pub(super) extended: bool,
}

/// A message, or the part of it for which there was room.
pub(super) struct Incoming<'a> {
    pub(super) message: &'a Message,
    /// Id of its association, on one-to-many sockets.
    pub(super) association: Option<i64>,
    /// Value of SCTP_CONTEXT, which is returned with each message.
    pub(super) context: i64,
    /// Number of bytes that the call read.
    pub(super) read: usize,
    /// Whether the message was read completely.
    pub(super) whole: bool,
    /// The peer's cumulative TSN when it was read.
    pub(super) cumulative: Option<Tsn>,
    /// The next message, if one waits.
    pub(super) next: Option<&'a Message>,
}

type Fields = Vec<(&'static str, Output)>;

impl Incoming<'_> {
    /// Return value and outputs of a call.
    pub(super) fn outcome(&self, call: &Call, wants: Wants) -> Outcome {
        let outputs = match call.name.as_str() {
            "sctp_recvmsg" => vec![(5, Output::Struct(self.sndrcv())), (6, self.flags())],
            "recvmsg" => {
                let control = Output::List(self.control(wants));
                vec![(1, header(None, self.flags(), control))]
            }
            "sctp_recvv" => self.with_info(wants, room_for_info(call)),
            _ => Vec::new(),
        };
        Outcome::Returned(Returned { value: self.read as i64, errno: None, outputs })
    }

    fn flags(&self) -> Output {
        if self.whole { Output::Name("MSG_EOR") } else { Output::Number(0) }
    }

    fn with_association(&self, mut fields: Fields, key: &'static str) -> Fields {
        fields.extend(self.association.map(|number| (key, Output::Number(number))));
        fields
    }

    fn cumulative(&self) -> Output {
        self.cumulative.map_or(Output::Unsupported("a cumulative TSN"), |tsn| Output::Tsn(tsn.0))
    }

    /// Fields of `struct sctp_sndrcvinfo` (section 5.3.2).
    fn sndrcv(&self) -> Fields {
        self.with_association(self.sndrcv_but("sinfo_timetolive"), "sinfo_assoc_id")
    }

    /// Fields of `struct sctp_extrcvinfo` (section 5.3.3).
    fn extrcv(&self) -> Fields {
        let mut fields = self.sndrcv_but("sinfo_pr_value");
        let flags = match self.next {
            None => Output::Number(0),
            Some(next) if next.unordered => Output::Names(&[
                "SCTP_NEXT_MSG_AVAIL",
                "SCTP_NEXT_MSG_ISCOMPLETE",
                "SCTP_NEXT_MSG_IS_UNORDERED",
            ]),
            Some(_) => Output::Names(&["SCTP_NEXT_MSG_AVAIL", "SCTP_NEXT_MSG_ISCOMPLETE"]),
        };
        let of_next = |value: fn(&Message) -> i64| Output::Number(self.next.map_or(0, value));
        fields.extend([
            ("serinfo_next_flags", flags),
            ("serinfo_next_stream", of_next(|next| next.stream.0.into())),
            ("serinfo_next_aid", Output::Number(0)),
            ("serinfo_next_length", of_next(|next| next.payload.len() as i64)),
            ("serinfo_next_ppid", of_next(|next| next.ppid.0.into())),
        ]);
        self.with_association(fields, "sinfo_assoc_id")
    }

    /// Fields common to both structs; the last has no meaning for a received message.
    fn sndrcv_but(&self, last: &'static str) -> Fields {
        let message = self.message;
        vec![
            ("sinfo_stream", number(message.stream.0)),
            ("sinfo_ssn", number(message.ssn().0)),
            ("sinfo_flags", flags(message)),
            ("sinfo_ppid", number(message.ppid.0)),
            ("sinfo_context", number(self.context)),
            (last, number(0_u16)),
            ("sinfo_tsn", Output::Tsn(message.tsn.0)),
            ("sinfo_cumtsn", self.cumulative()),
        ]
    }

    /// Fields of `struct sctp_rcvinfo` (section 5.3.5).
    fn rcvinfo(&self) -> Fields {
        let message = self.message;
        let fields = vec![
            ("rcv_sid", number(message.stream.0)),
            ("rcv_ssn", number(message.ssn().0)),
            ("rcv_flags", flags(message)),
            ("rcv_ppid", number(message.ppid.0)),
            ("rcv_tsn", Output::Tsn(message.tsn.0)),
            ("rcv_cumtsn", self.cumulative()),
            ("rcv_context", number(self.context)),
        ];
        self.with_association(fields, "rcv_assoc_id")
    }

    /// Fields of `struct sctp_nxtinfo` (section 5.3.6), if there is a next message. Messages are
    /// delivered whole.
    fn nxtinfo(&self) -> Option<Fields> {
        let next = self.next?;
        let names: &[&str] =
            if next.unordered { &["SCTP_UNORDERED", "SCTP_COMPLETE"] } else { &["SCTP_COMPLETE"] };
        let fields = vec![
            ("nxt_sid", number(next.stream.0)),
            ("nxt_flags", Output::Names(names)),
            ("nxt_ppid", number(next.ppid.0)),
            ("nxt_length", number(next.payload.len() as u32)),
        ];
        Some(self.with_association(fields, "nxt_assoc_id"))
    }

    /// The ancillary data that the application asked for, in the order in which systems write it.
    fn control(&self, wants: Wants) -> Vec<Output> {
        let mut control = Vec::new();
        if wants.info {
            control.push(entry("SCTP_RCVINFO", RCVINFO_LENGTHS, self.rcvinfo()));
        }
        if let Some(next) = self.nxtinfo().filter(|_| wants.next) {
            control.push(entry("SCTP_NXTINFO", NXTINFO_LENGTHS, next));
        }
        if wants.data_io && wants.extended {
            control.push(entry("SCTP_EXTRCV", SNDRCV_LENGTHS, self.extrcv()));
        } else if wants.data_io {
            control.push(entry("SCTP_SNDRCV", SNDRCV_LENGTHS, self.sndrcv()));
        }
        control
    }

    /// Outputs of sctp_recvv(): the requested struct, if there is room for it, its size and its
    /// kind.
    fn with_info(&self, wants: Wants, room: i64) -> Vec<(usize, Output)> {
        let next = self.nxtinfo().filter(|_| wants.next && room >= NXTINFO_SIZE);
        let both = next.is_some() && room < RCVINFO_SIZE + NXTINFO_SIZE;
        let info = wants.info && room >= RCVINFO_SIZE;
        // If there is no room for both, the information about this message has precedence.
        let next = next.filter(|_| !(info && both));
        let (size, kind, info) = match (info, next) {
            (false, None) => (0, "SCTP_RECVV_NOINFO", None),
            (true, None) => (RCVINFO_SIZE, "SCTP_RECVV_RCVINFO", Some(self.rcvinfo())),
            (false, Some(next)) => (NXTINFO_SIZE, "SCTP_RECVV_NXTINFO", Some(next)),
            (true, Some(next)) => {
                let both = vec![
                    ("recvv_rcvinfo", Output::Struct(self.rcvinfo())),
                    ("recvv_nxtinfo", Output::Struct(next)),
                ];
                (RCVINFO_SIZE + NXTINFO_SIZE, "SCTP_RECVV_RN", Some(both))
            }
        };
        let mut outputs =
            vec![(6, Output::Number(size)), (7, Output::Name(kind)), (8, self.flags())];
        outputs.extend(info.map(|info| (5, Output::Struct(info))));
        outputs
    }
}

/// Room of sctp_recvv() in bytes besides the message; unlimited without a number.
fn room_for_info(call: &Call) -> i64 {
    let info = call.arguments.get(5);
    let is_nowhere = matches!(info, Some(Expression::Name(name)) if name == "NULL");
    match call.arguments.get(6) {
        Some(Expression::List(list)) if is_nowhere => {
            list.first().and_then(|room| room.number(&constant)).unwrap_or(0)
        }
        _ => i64::MAX,
    }
}

fn number(number: impl Into<i64>) -> Output {
    Output::Number(number.into())
}

fn flags(message: &Message) -> Output {
    Output::Name(if message.unordered { "SCTP_UNORDERED" } else { "0" })
}

/// An entry of the ancillary data (struct cmsghdr and its contents).
fn entry(kind: &'static str, lengths: &'static [i64], data: Fields) -> Output {
    Output::Struct(vec![
        ("cmsg_len", Output::OneOf(lengths)),
        ("cmsg_level", Output::Name("IPPROTO_SCTP")),
        ("cmsg_type", Output::Name(kind)),
        ("cmsg_data", Output::Struct(data)),
    ])
}

impl Socket {
    /// Changes the requested information by an option; returns false if it is another option.
    pub(super) fn set_wants(&mut self, name: &str, on: bool) -> bool {
        match name {
            "SCTP_RECVRCVINFO" => self.wants.info = on,
            "SCTP_RECVNXTINFO" => self.wants.next = on,
            "SCTP_USE_EXT_RCVINFO" => self.wants.extended = on,
            _ => return false,
        }
        true
    }
}

/// A notification as the output of sctp_recvv().
pub(super) fn of_notification(length: i64, notification: Output, flags: Output) -> Outcome {
    let length_field = Output::Unsupported("iov_len");
    let vector = Output::Struct(vec![("iov_base", notification), ("iov_len", length_field)]);
    let outputs = vec![
        (1, Output::List(vec![vector])),
        (6, Output::Number(0)),
        (7, Output::Name("SCTP_RECVV_NOINFO")),
        (8, flags),
    ];
    Outcome::Returned(Returned { value: length, errno: None, outputs })
}
