//! FORWARD TSN and I-FORWARD-TSN: what the peer is not to wait for (RFC 3758, sections 3.2 and 3.5;
//! RFC 8260, section 2.3.1).
//!
//! One is sent only when the data next to the cumulative point was given up, and again when
//! acknowledgements show that it did not arrive or none comes: at an expiry of T3-rtx while data is in
//! flight, else by a timer of its own.

use std::collections::BTreeMap;

use base::{Duration, Instant};

use super::outstanding::ssn;
use super::sender::Sender;
use crate::backoff::backed_off;
use crate::paths::id::PathId;
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
    pub(super) advanced: u64,
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

impl Sender {
    /// Moves the Advanced.Peer.Ack.Point over what was given up (rules C1 and C2). A FORWARD TSN is due
    /// if there was any.
    pub(super) fn advance_forward(&mut self) {
        let cumulative = self.recovery.ledger().cumulative();
        let Some(partial) = &mut self.partial else { return };
        let forward = &mut partial.forward;
        let before = forward.advanced.max(cumulative);
        forward.advanced = before;
        while self
            .outstanding
            .get(forward.advanced - cumulative)
            .is_some_and(|chunk| chunk.is_abandoned())
        {
            forward.advanced += 1;
        }
        forward.due |= forward.advanced > before;
    }

    /// The peer acknowledged something: does it know what was given up (rule C3)?
    pub(super) fn on_forward_acked(&mut self, now: Instant, advanced: bool) {
        let cumulative = self.recovery.ledger().cumulative();
        let Some(partial) = &mut self.partial else { return };
        let rtt =
            self.recovery.snapshot(partial.forward.path.number()).srtt.unwrap_or(REPEAT_AFTER);
        let forward = &mut partial.forward;
        if advanced {
            forward.expiries = 0;
        }
        if forward.advanced <= cumulative {
            forward.due = false;
            forward.timer = None;
        } else {
            // Not all of it fitted the packet before, or what told it is lost.
            forward.due |= advanced && forward.told < forward.advanced
                || now.since(forward.told_at) >= rtt.min(REPEAT_AFTER);
        }
    }

    /// T3-rtx expired (rule A5).
    pub(crate) fn on_forward_lost(&mut self) {
        let cumulative = self.recovery.ledger().cumulative();
        if let Some(partial) = &mut self.partial {
            partial.forward.due |= partial.forward.advanced > cumulative;
        }
    }

    /// Whether a FORWARD TSN is to be sent now.
    #[inline]
    pub(crate) fn is_forward_due(&self) -> bool {
        self.partial.as_ref().is_some_and(|partial| partial.forward.due)
    }

    /// Whether the peer has not acknowledged what was given up.
    pub(crate) fn is_forward_outstanding(&self) -> bool {
        let cumulative = self.recovery.ledger().cumulative();
        self.partial.as_ref().is_some_and(|partial| partial.forward.advanced > cumulative)
    }

    /// Whether all that is outstanding was given up, and the peer has nothing that waits for it.
    pub(crate) fn is_given_up(&self) -> bool {
        let ledger = self.recovery.ledger();
        let advanced = self.partial.as_ref().map(|partial| partial.forward.advanced);
        advanced == Some(ledger.next_unit()) && !ledger.has_reports()
    }

    /// When it is sent again.
    pub(crate) fn forward_deadline(&self) -> Option<Instant> {
        self.partial.as_ref()?.forward.timer
    }

    /// Time has come to `now`: if the timer expired, on which path that is an error.
    pub(crate) fn on_forward_timer(&mut self, now: Instant) -> Option<PathId> {
        let forward = &mut self.partial.as_mut()?.forward;
        if forward.timer.is_none_or(|at| at > now) {
            return None;
        }
        forward.timer = None;
        forward.due = true;
        forward.expiries = forward.expiries.saturating_add(1);
        Some(forward.path)
    }

    /// The timer runs while something is to be acknowledged and T3-rtx does not (rule C5).
    #[inline]
    pub(crate) fn update_forward_timer(&mut self, now: Instant) {
        if let Some(partial) = &self.partial {
            self.set_forward_timer(now, partial.forward.path);
        }
    }

    fn set_forward_timer(&mut self, now: Instant, path: PathId) {
        let wanted = self.is_forward_outstanding()
            && !self.is_forward_due()
            && !self.recovery.is_timer_running();
        let (rto, max) = (self.recovery.rto(path.number()), self.recovery.policy().rto.max);
        let Some(partial) = &mut self.partial else { return };
        let forward = &mut partial.forward;
        let due = now + backed_off(rto, forward.expiries, max);
        forward.timer = wanted.then(|| forward.timer.unwrap_or(due));
    }

    /// Appends the FORWARD TSN that is due, with as many streams as fit.
    pub(crate) fn append_forward(
        &mut self,
        now: Instant,
        path: PathId,
        packet: &mut PacketBuilder<'_>,
    ) -> Result<(), DoesNotFit> {
        let room = packet.remaining().checked_sub(HEADER).ok_or(DoesNotFit)?;
        let (skips, point) = self.skips(room / if self.interleaving { I_SKIP } else { SKIP });
        let cumulative = self.recovery.ledger().cumulative();
        if point > cumulative {
            let new_cumulative_tsn = Tsn((point - 1) as u32);
            if self.interleaving {
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
        if let Some(partial) = &mut self.partial {
            let forward = &mut partial.forward;
            (forward.told, forward.told_at, forward.path) = (point, now, path);
            forward.due = false;
        }
        Ok(())
    }

    /// The last message given up of each stream, at most `limit` of them, and one past the point to
    /// which they reach. FORWARD TSN names ordered messages only (rule C4).
    fn skips(&self, limit: usize) -> (BTreeMap<(StreamId, bool), Mid>, u64) {
        let mut skips = BTreeMap::new();
        let mut point = self.recovery.ledger().cumulative();
        let advanced = self.partial.as_ref().map_or(0, |partial| partial.forward.advanced);
        let given_up = (0..).map_while(|index| self.outstanding.get(index));
        for chunk in given_up.take_while(|chunk| chunk.is_abandoned()) {
            if point >= advanced {
                break;
            }
            let message = chunk.message();
            if self.interleaving || !message.unordered {
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
