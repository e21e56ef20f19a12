//! FORWARD TSN and I-FORWARD-TSN: what the peer is not to wait for (RFC 3758, sections 3.2 and 3.5;
//! RFC 8260, section 2.3.1).
//!
//! One is sent only when the data next to the cumulative point was given up, and again when
//! acknowledgements show that it did not arrive or none comes: at an expiry of T3-rtx while data is in
//! flight, else by a timer of its own.

use std::collections::BTreeMap;

use base::{Duration, Instant};
use recovery::Recovery;

use super::outstanding::{Outstanding, ssn};
use crate::backoff::backed_off;
use crate::path_id::PathId;
use crate::wire::chunk::{ForwardTsn, IForwardTsn, ISkip, Skip};
use crate::wire::ids::{Mid, StreamId, Tsn};
use crate::wire::{DoesNotFit, PacketBuilder};

/// Bytes of a FORWARD TSN or I-FORWARD-TSN without streams, and of a stream in either.
const HEADER: usize = 8;
const SKIP: usize = 4;
const I_SKIP: usize = 8;

/// An acknowledgement that does not cover a FORWARD TSN may have been under way when it was sent. It
/// is repeated for one no sooner than this after it left, or a round trip if that is shorter
/// (section 3.5, rule F3, lets it be delayed so long).
const REPEAT_AFTER: Duration = Duration::from_millis(200);

/// What the peer is told of data given up.
#[derive(Debug, Default)]
pub(super) struct Forward {
    /// One past the Advanced.Peer.Ack.Point: units below are acknowledged or given up.
    advanced: u64,
    /// The point as last told to the peer, and when.
    told: u64,
    told_at: Instant,
    /// The path on which it was told.
    path: PathId,
    /// A FORWARD TSN is to be sent.
    due: bool,
    /// When it is sent again if nothing else happens.
    timer: Option<Instant>,
    /// Expiries of the timer in a row.
    expiries: u8,
}

impl Forward {
    /// Moves the Advanced.Peer.Ack.Point over what was given up of the chunks outstanding beyond `cumulative` (rules
    /// C1 and C2). A FORWARD TSN is due if there was any.
    pub(super) fn advance(&mut self, cumulative: u64, outstanding: &Outstanding) {
        let before = self.advanced.max(cumulative);
        self.advanced = before;
        while outstanding.get(self.advanced - cumulative).is_some_and(|chunk| chunk.is_abandoned())
        {
            self.advanced += 1;
        }
        self.due |= self.advanced > before;
    }

    /// One past the Advanced.Peer.Ack.Point.
    pub(super) fn advanced(&self) -> u64 {
        self.advanced
    }

    /// The peer acknowledged something: does it know what was given up (rule C3)? `advanced`: the cumulative point
    /// moved.
    pub(super) fn on_acked(&mut self, now: Instant, recovery: &Recovery, advanced: bool) {
        if advanced {
            self.expiries = 0;
        }
        if !self.is_outstanding(recovery) {
            self.due = false;
            self.timer = None;
        } else {
            // Not all of it fitted the packet before, or what told it is lost.
            let rtt = recovery.snapshot(self.path.number()).srtt.unwrap_or(REPEAT_AFTER);
            self.due |= advanced && self.told < self.advanced
                || now.since(self.told_at) >= rtt.min(REPEAT_AFTER);
        }
    }

    /// T3-rtx expired (rule A5).
    pub(super) fn on_lost(&mut self, recovery: &Recovery) {
        self.due |= self.is_outstanding(recovery);
    }

    /// Whether a FORWARD TSN is to be sent now.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.due
    }

    /// Whether the peer has not acknowledged what was given up.
    pub(super) fn is_outstanding(&self, recovery: &Recovery) -> bool {
        self.advanced > recovery.ledger().cumulative()
    }

    /// When it is sent again.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.timer
    }

    /// Time has come to `now`: if the timer expired, on which path that is an error.
    pub(super) fn on_timer(&mut self, now: Instant) -> Option<PathId> {
        if self.timer.is_none_or(|at| at > now) {
            return None;
        }
        self.timer = None;
        self.due = true;
        self.expiries = self.expiries.saturating_add(1);
        Some(self.path)
    }

    /// The timer runs while something is to be acknowledged and T3-rtx does not (rule C5).
    pub(super) fn update_timer(&mut self, now: Instant, recovery: &Recovery) {
        let wanted = self.is_outstanding(recovery) && !self.due && !recovery.is_timer_running();
        let (rto, max) = (recovery.rto(self.path.number()), recovery.policy().rto.max);
        let due = now + backed_off(rto, self.expiries, max);
        self.timer = wanted.then(|| self.timer.unwrap_or(due));
    }

    /// Appends the FORWARD TSN that is due, or the I-FORWARD-TSN where messages are `interleaving`, with as many
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

    /// The last message given up of each stream, at most `limit` of them, and one past the point to
    /// which they reach. FORWARD TSN names ordered messages only (rule C4).
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
