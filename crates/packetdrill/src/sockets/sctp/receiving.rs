//! What sctp_recvv() says besides a message or a notification (RFC 6458, section 9.13).

use sctp::Message;

use super::{Outcome, Output, Returned};

/// Bytes of struct sctp_rcvinfo.
const RCVINFO_SIZE: i64 = 28;

/// A message, with struct sctp_rcvinfo if the application asked for it (SCTP_RECVRCVINFO).
pub(super) fn with_info(
    message: &Message,
    association: Option<i64>,
    read: usize,
    whole: bool,
    wants_info: bool,
) -> Outcome {
    let flags = if whole { Output::Name("MSG_EOR") } else { Output::Number(0) };
    if !wants_info {
        return outcome(read as i64, None, flags, Vec::new());
    }
    let number = |number: u32| Output::Number(number.into());
    let mut info = vec![
        ("rcv_sid", number(message.stream.0.into())),
        ("rcv_ssn", number(message.ssn().0.into())),
        ("rcv_flags", Output::Name(if message.unordered { "SCTP_UNORDERED" } else { "0" })),
        ("rcv_ppid", number(message.ppid.0)),
        ("rcv_tsn", Output::Tsn(message.tsn.0)),
        ("rcv_context", number(0)),
    ];
    info.extend(association.map(|number| ("rcv_assoc_id", Output::Number(number))));
    outcome(read as i64, Some(info), flags, Vec::new())
}

/// A notification.
pub(super) fn of_notification(length: i64, notification: Output) -> Outcome {
    let length_field = Output::Unsupported("iov_len");
    let vector = Output::Struct(vec![("iov_base", notification), ("iov_len", length_field)]);
    let flags = Output::Names(&["MSG_NOTIFICATION", "MSG_EOR"]);
    outcome(length, None, flags, vec![(1, Output::List(vec![vector]))])
}

fn outcome(
    value: i64,
    info: Option<Vec<(&'static str, Output)>>,
    flags: Output,
    mut outputs: Vec<(usize, Output)>,
) -> Outcome {
    let (size, kind) = match info {
        None => (0, "SCTP_RECVV_NOINFO"),
        Some(_) => (RCVINFO_SIZE, "SCTP_RECVV_RCVINFO"),
    };
    outputs.extend(info.map(|info| (5, Output::Struct(info))));
    outputs.extend([(6, Output::Number(size)), (7, Output::Name(kind)), (8, flags)]);
    Outcome::Returned(Returned { value, errno: None, outputs })
}
