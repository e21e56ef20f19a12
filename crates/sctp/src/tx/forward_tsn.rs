//! FORWARD TSN and I-FORWARD-TSN: the report of abandoned data (RFC 3758, sections 3.2 and 3.5; RFC
//! 8260, section 2.3.1).
//!
//! A report is sent only when the data next to the cumulative point was abandoned, and repeated
//! when acknowledgements show that it did not arrive or none arrive: at an expiry of T3-rtx while
//! data is in flight, otherwise by a timer of its own.

use std::collections::BTreeMap;

use base::{Duration, Instant};
use recovery::{PathId, Recovery};

use super::outstanding::{Outstanding, ssn};
use crate::backoff::backed_off;
use crate::wire::chunk::{ForwardTsn, IForwardTsn, ISkip, Skip};
use crate::wire::ids::{Mid, StreamId, Tsn};
use crate::wire::{DoesNotFit, PacketBuilder};

/// Bytes of a FORWARD TSN or I-FORWARD-TSN without streams, and of a stream in either.
const HEADER: usize = 8;
const SKIP: usize = 4;
const I_SKIP: usize = 8;

/// An acknowledgement that does not cover a FORWARD TSN may have been under way when that was sent.
/// It causes a repetition no sooner than this after the transmission, or a round trip if that is
/// shorter (section 3.5, rule F3, allows this delay).
const REPEAT_AFTER: Duration = Duration::from_millis(200);

/// State of the reports of abandoned data.
#[derive(Debug, Default)]
pub(super) struct Forward {
    /// One past the Advanced.Peer.Ack.Point: all units below are acknowledged or abandoned.
    advanced: u64,
    /// The point in the last report, and its transmission.
    told: u64,
    told_at: Instant,
    /// Path of the last report.
    path: PathId,
    /// Whether a chunk is to be sent in the next packet.
    due: bool,
    /// Deadline at which the FORWARD TSN is sent once more.
    timer: Option<Instant>,
    /// Consecutive expiries of the timer.
    expiries: u8,
}

impl Forward {
    /// Moves the Advanced.Peer.Ack.Point over abandoned chunks beyond `cumulative` (rules C1 and
    /// C2). A FORWARD TSN is due if there was any.
    pub(super) fn advance(&mut self, cumulative: u64, outstanding: &Outstanding) {
        let before = self.advanced.max(cumulative);
        self.advanced = before;
        while outstanding.get(self.advanced - cumulative).is_some_and(|chunk| chunk.is_abandoned())
        {
            self.advanced += 1;
        }
        self.due |= self.advanced > before;
    }

    /// One past the Advanced.Peer.Ack.Point (RFC 3758, section 3.5, C1).
    pub(super) fn advanced(&self) -> u64 {
        self.advanced
    }

    /// Processes an acknowledgement: a report that it does not cover is repeated (rule C3).
    /// `advanced`: the cumulative point moved.
    pub(super) fn on_acked(&mut self, now: Instant, recovery: &Recovery, advanced: bool) {
        if advanced {
            self.expiries = 0;
        }
        if !self.is_outstanding(recovery) {
            self.due = false;
            self.timer = None;
        } else {
            // Part of it did not fit the earlier packet, or the report is lost.
            let rtt = recovery.snapshot(self.path).srtt.unwrap_or(REPEAT_AFTER);
            self.due |= advanced && self.told < self.advanced
                || now.since(self.told_at) >= rtt.min(REPEAT_AFTER);
        }
    }

    /// Repeats the FORWARD TSN, since T3-rtx expired (RFC 3758, section 3.5, A5).
    pub(super) fn on_lost(&mut self, recovery: &Recovery) {
        self.due |= self.is_outstanding(recovery);
    }

    /// Whether a FORWARD TSN is to be sent now.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.due
    }

    /// Whether the peer has not acknowledged all abandoned data.
    pub(super) fn is_outstanding(&self, recovery: &Recovery) -> bool {
        self.advanced > recovery.ledger().cumulative()
    }

    /// Deadline at which the FORWARD TSN is sent once more; `None` if none is outstanding.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.timer
    }

    /// Runs the timer at `now`; returns the path on which its expiry is an error.
    pub(super) fn on_timer(&mut self, now: Instant) -> Option<PathId> {
        if self.timer.is_none_or(|at| at > now) {
            return None;
        }
        self.timer = None;
        self.due = true;
        self.expiries = self.expiries.saturating_add(1);
        Some(self.path)
    }

    /// Updates the timer, which runs while a report is unacknowledged and T3-rtx does not run (rule
    /// C5).
    pub(super) fn update_timer(&mut self, now: Instant, recovery: &Recovery) {
        let wanted = self.is_outstanding(recovery) && !self.due && !recovery.is_timer_running();
        let (rto, max) = (recovery.rto(self.path), recovery.policy().rto.max);
        let due = now + backed_off(rto, self.expiries, max);
        self.timer = wanted.then(|| self.timer.unwrap_or(due));
    }

    /// Appends the FORWARD TSN that is due, or I-FORWARD-TSN with `interleaving`, with as many
    /// streams as fit.
    pub(super) fn append(
        &mut self,
        now: Instant,
        path: PathId,
        (cumulative, outstanding): (u64, &Outstanding),
        interleaving: bool,
        packet: &mut PacketBuilder<'_>,
    ) -> Result<(), DoesNotFit> {
        let room = packet.remaining().checked_sub(HEADER).ok_or(DoesNotFit)?;
        let limit = room / if interleaving { I_SKIP } else { SKIP };
        let (skips, point) = self.skips(cumulative, outstanding, interleaving, limit);
        if point > cumulative {
            let new_cumulative_tsn = Tsn((point - 1) as u32);
            if interleaving {
                let skips = skips.into_iter().map(|((stream, unordered), mid)| ISkip {
                    stream,
                    unordered,
                    mid,
                });
                packet.append(IForwardTsn { new_cumulative_tsn, skips })?;
            } else {
                let skips =
                    skips.into_iter().map(|((stream, _), mid)| Skip { stream, ssn: ssn(mid) });
                packet.append(ForwardTsn { new_cumulative_tsn, skips })?;
            }
        }
        (self.told, self.told_at, self.path) = (point, now, path);
        self.due = false;
        Ok(())
    }

    /// The last abandoned message of each stream, at most `limit` of them, and one past the point
    /// that they reach. FORWARD TSN lists ordered messages only (rule C4).
    fn skips(
        &self,
        cumulative: u64,
        outstanding: &Outstanding,
        interleaving: bool,
        limit: usize,
    ) -> (BTreeMap<(StreamId, bool), Mid>, u64) {
        let mut skips = BTreeMap::new();
        let mut point = cumulative;
        let given_up = (0..).map_while(|index| outstanding.get(index));
        for chunk in given_up.take_while(|chunk| chunk.is_abandoned()) {
            if point >= self.advanced {
                break;
            }
            let message = chunk.message();
            if interleaving || !message.unordered {
                let key = (message.stream, message.unordered);
                if skips.len() == limit && !skips.contains_key(&key) {
                    break;
                }
                skips.insert(key, message.mid);
            }
            point += 1;
        }
        (skips, point)
    }
}
