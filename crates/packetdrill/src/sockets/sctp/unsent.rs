//! Notifications of messages that did not arrive (RFC 6458, sections 6.1.4 and 6.1.11).

use std::collections::VecDeque;

use sctp::{Abandoned, LeftBehind};

use super::Output;
use super::notifications::{Notification, SEND_FAILED, SEND_FAILED_EVENT};
use super::sending::Outgoing;

/// Bytes of struct sctp_send_failed_event before the message, and of struct sctp_send_failed on
/// FreeBSD and Linux.
const EVENT_LENGTHS: &[i64] = &[32];
const FAILED_LENGTHS: &[i64] = &[144, 48];

/// SCTP_DATA_NOT_FRAG: the whole message is returned.
const WHOLE: i64 = 3;

/// A message accepted for sending.
#[derive(Clone, Copy, Debug)]
struct Accepted {
    stream: u16,
    ppid: u32,
    context: u32,
    length: usize,
}

/// The messages of an association, in the order of acceptance.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages(VecDeque<Accepted>);

impl Messages {
    pub(super) fn note(&mut self, outgoing: &Outgoing) {
        self.0.push_back(Accepted {
            stream: outgoing.stream.0,
            ppid: outgoing.ppid.0,
            context: outgoing.options.context,
            length: outgoing.length,
        });
    }

    /// Removes an abandoned message; returns the notifications of its failure.
    pub(super) fn give_up(&mut self, abandoned: &Abandoned) -> Vec<Notification> {
        let is_it = |message: &Accepted| {
            (message.stream, message.context) == (abandoned.stream.0, abandoned.context)
        };
        let Some(place) = self.0.iter().position(is_it) else { return Vec::new() };
        let message = self.0.remove(place);
        message.map_or_else(Vec::new, |message| message.failed(abandoned.sent))
    }

    /// The association failed: the last messages did not arrive.
    pub(super) fn fail(&mut self, left: LeftBehind) -> Vec<Notification> {
        let all = (left.unsent + left.unacknowledged) as usize;
        let first = self.0.len().saturating_sub(all);
        let behind = self.0.split_off(first);
        let sent = left.unacknowledged as usize;
        let told = behind.into_iter().enumerate();
        told.flat_map(|(index, message)| message.failed(index < sent)).collect()
    }
}

impl Accepted {
    /// Both forms of the notification, of which an application subscribes to one.
    fn failed(self, sent: bool) -> Vec<Notification> {
        let flags = if sent { "SCTP_DATA_SENT" } else { "SCTP_DATA_UNSENT" };
        let number = |value: i64| Output::Number(value);
        let (stream, ppid) = (number(self.stream.into()), number(self.ppid.into()));
        let info = vec![
            ("snd_sid", stream.clone()),
            ("snd_flags", number(WHOLE)),
            ("snd_ppid", ppid.clone()),
            ("snd_context", number(self.context.into())),
        ];
        let old_info = vec![
            ("sinfo_stream", stream),
            ("sinfo_ssn", number(0)),
            ("sinfo_flags", number(WHOLE)),
            ("sinfo_ppid", ppid),
            ("sinfo_context", number(self.context.into())),
            ("sinfo_timetolive", number(0)),
            ("sinfo_tsn", number(0)),
            ("sinfo_cumtsn", number(0)),
        ];
        let header = ["ssfe_type", "ssfe_flags", "ssfe_length"];
        let event = Notification::flagged(SEND_FAILED_EVENT, header, flags, EVENT_LENGTHS)
            .longer(self.length as i64)
            .with("ssfe_error", number(0))
            .with("ssfe_info", Output::Struct(info));
        let header = ["ssf_type", "ssf_flags", "ssf_length"];
        let old = Notification::flagged(SEND_FAILED, header, flags, FAILED_LENGTHS)
            .longer(self.length as i64)
            .with("ssf_error", number(0))
            .with("ssf_info", Output::Struct(old_info));
        vec![event, old]
    }
}
