//! TIME-WAIT (RFC 9293, section 3.10.7.4, eighth; RFC 6191): the remaining state of a connection
//! that both sides have finished.

use core::net::SocketAddr;

use base::{Duration, Instant};

use super::clock::timestamp;
use crate::wire::{Flags, Segment, SeqNumber, Timestamps};

/// State of a connection in TIME-WAIT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimeWait {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) snd_nxt: SeqNumber,
    pub(crate) rcv_nxt: SeqNumber,
    /// Window field of its acknowledgements.
    pub(crate) window: u16,
    /// TS.Recent and this side's offset, if timestamps are used.
    pub(crate) timestamps: Option<(u32, u32)>,
    /// Duration, counted anew from each repeated FIN.
    pub(crate) lasts: Duration,
}

/// Response to a segment in TIME-WAIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The segment gets no answer.
    Nothing,
    /// The segment is answered by an acknowledgement.
    Acknowledge,
    /// The peer repeated its FIN: it is acknowledged, and TIME-WAIT restarts.
    Restart,
    /// A new connection that cannot be confused with the old one. Its initial sequence number must
    /// follow the old one's last.
    NewConnection {
        /// SND.NXT of the old one.
        after: SeqNumber,
    },
}

impl TimeWait {
    /// Response to `segment`; `listens`: a listener accepts new connections. Resets have no effect:
    /// an old or forged one must not end the state that keeps old segments away (RFC 1337,
    /// section 3, fix F1).
    pub(crate) fn judge(&self, segment: &Segment, listens: bool) -> Verdict {
        let flags = segment.flags;
        if flags.rst() {
            return Verdict::Nothing;
        }
        if listens && flags.syn() && !flags.ack() && self.is_newer(segment) {
            return Verdict::NewConnection { after: self.snd_nxt };
        }
        // Fifth check: a segment without ACK is dropped.
        if !flags.ack() && !flags.syn() {
            return Verdict::Nothing;
        }
        if flags.fin() && segment.seq.advance(segment.length()) == self.rcv_nxt {
            return Verdict::Restart;
        }
        if segment.length() == 0 && segment.seq == self.rcv_nxt {
            return Verdict::Nothing;
        }
        Verdict::Acknowledge
    }

    /// Whether a SYN is newer than all segments of the old connection (RFC 6191, section 2): by its
    /// timestamp, or without one by its sequence number.
    fn is_newer(&self, syn: &Segment) -> bool {
        let by_number = syn.seq.is_after(self.rcv_nxt);
        match (self.timestamps, syn.options.timestamps) {
            (Some((recent, _)), Some(new)) => {
                let step = new.value.wrapping_sub(recent) as i32;
                step > 0 || (step == 0 && by_number)
            }
            _ => by_number,
        }
    }

    /// The acknowledgement sent in TIME-WAIT at `now`.
    pub(crate) fn acknowledgement(&self, now: Instant) -> Segment {
        let mut ack = Segment::new(self.local.port(), self.remote.port());
        ack.seq = self.snd_nxt;
        ack.ack = self.rcv_nxt;
        ack.flags = Flags::ACK;
        ack.window = self.window;
        ack.options.timestamps = self
            .timestamps
            .map(|(recent, offset)| Timestamps { value: timestamp(now, offset), echo: recent });
        ack
    }
}
