//! How large segments are: what the path MTU makes of them, and probes of a larger one (RFC 4821, section 7).

use core::ops::Range;

use base::Instant;
use recovery::path_mtu::Suspicion;
use recovery::policy::PathMtuPolicy;

use super::{Connection, headers};
use crate::tx::{Outgoing, Sender};

/// Full segments that should follow a probe, so that its loss is seen before the timer expires (RFC 4821, section 7.4).
const FOLLOWERS: u64 = 3;

impl Connection {
    /// A packet was too big for a link on its way (RFC 1191, RFC 8201): what is outstanding was dropped and is
    /// sent again in smaller segments.
    pub(super) fn on_packet_too_big(&mut self, now: Instant, mtu: u32) {
        let packet = self.packet_of(self.tx.largest_in_flight());
        if self.options.path_mtu_discovery
            && self.path_mtu.on_too_big(now, mtu, packet, mtu_policy(&self.tx))
        {
            self.count_reduction();
            self.resize(now, true);
        }
    }

    /// The retransmission timer expired `expiries` times in a row, and nothing small was missing: perhaps what is sent again, as
    /// much of it as makes a segment, is too big, and no router reports it (RFC 2923, section 2.1).
    pub(super) fn suspect_black_hole(&mut self, now: Instant, expiries: u8) {
        if !self.options.path_mtu_discovery {
            return;
        }
        let data = self.tx.unacked_bytes().min(u64::from(self.tx.mss())) as u32;
        match self.path_mtu.on_expiry(expiries, self.packet_of(data), mtu_policy(&self.tx)) {
            Suspicion::None => {}
            Suspicion::Arisen => self.resize(now, true),
            Suspicion::Refuted => self.resize(now, false),
        }
    }

    /// The peer acknowledged what it had not before.
    pub(super) fn on_mtu_progress(&mut self, now: Instant) {
        if self.path_mtu.on_progress(now, mtu_policy(&self.tx)) {
            self.count_reduction();
        }
        if self.path_mtu.on_acked(now, self.tx.snd_una(), mtu_policy(&self.tx)) {
            self.resize(now, false);
        }
    }

    fn count_reduction(&mut self) {
        self.tally.path_mtu_reductions = self.tally.path_mtu_reductions.saturating_add(1);
    }

    /// The path MTU is another; `dropped`: what is larger was lost.
    fn resize(&mut self, now: Instant, dropped: bool) {
        let mss = u32::from(self.send_mss());
        self.tx.set_mss(now, mss, dropped);
    }

    /// The next segment of the sending side: a probe, if one is due and can be made of new data.
    pub(super) fn poll_outgoing(&mut self, now: Instant) -> Option<Outgoing> {
        if let Some((size, mss)) = self.due_probe(now) {
            let usual = self.tx.mss();
            let probe = self.tx.poll_sized(now, mss);
            if let Some(probe) = probe.as_ref().filter(|probe| probe.len() > usual as usize) {
                self.path_mtu.on_probe_sent(size, range_of(probe));
            }
            if probe.is_some() {
                return probe;
            }
        }
        let next = self.tx.poll(now)?;
        if next.retransmission {
            self.path_mtu.on_sent_again(now, range_of(&next), mtu_policy(&self.tx));
        }
        Some(next)
    }

    /// The size of packet that is to be tried with the next new data, and the bytes of data in it. Nothing that
    /// waits to be repaired and no narrow window may stand in its way.
    fn due_probe(&mut self, now: Instant) -> Option<(u16, u32)> {
        let due = self.path_mtu.due(now, mtu_policy(&self.tx));
        let size = due.filter(|_| self.options.path_mtu_discovery)?;
        let (mss, usual) = (self.mss_in(size).into(), self.tx.mss());
        if mss <= usual {
            // The peer takes no larger segments: nothing is to be found out.
            self.path_mtu.on_confirmed(now, size, mtu_policy(&self.tx));
            return None;
        }
        let unsent = self.tx.unsent_bytes();
        let (mss, wanted) = self.probe_of(now, mss, unsent);
        let window = self.tx.snd_wnd().saturating_sub(self.tx.unacked_bytes());
        let undisturbed = self.tx.timeouts() == 0 && self.tx.recovery().next_again(0, 0).is_none();
        let ready = undisturbed && mss > usual && unsent >= wanted && window >= wanted;
        // Segments of the usual size do not wait for it. As a window grows, it has room for it before long: bytes
        // that are too few for a segment are left over until they are enough for a larger one.
        let fits = ready && self.tx.snapshot().cwnd >= wanted;
        (fits && self.tx.has_room_for(now, mss)).then(|| (self.packet_of(mss), mss))
    }

    /// Bytes of data in a probe, `most` at the most, and bytes that there must be with those that follow it.
    ///
    /// A stream of messages never has as much waiting, and would stay with small segments for ever. So a message
    /// that goes alone is the probe by itself, as much of it as there is, and so is whatever is at hand once
    /// followers did not come for a while: the timer finds its loss then.
    fn probe_of(&self, now: Instant, most: u32, unsent: u64) -> (u32, u64) {
        let wanted = u64::from(most) + FOLLOWERS * u64::from(self.tx.mss());
        let alone = unsent < wanted && self.tx.unacked_bytes() == 0;
        if !alone && !self.path_mtu.is_overdue(now, mtu_policy(&self.tx)) {
            return (most, wanted);
        }
        let at_hand = most.min(u32::try_from(unsent).unwrap_or(most));
        (at_hand, at_hand.into())
    }

    /// Bytes of the IP packet that carries `data` bytes.
    fn packet_of(&self, data: u32) -> u16 {
        let timestamps = if self.negotiated.timestamps { 12 } else { 0 };
        let packet = data + timestamps + u32::from(headers(self.local.is_ipv6()));
        u16::try_from(packet).unwrap_or(u16::MAX)
    }
}

/// When larger segments are tried, and when large ones are thought to vanish.
fn mtu_policy(tx: &Sender) -> &PathMtuPolicy {
    &tx.recovery().policy().path_mtu
}

/// Offsets of a segment's data.
fn range_of(segment: &Outgoing) -> Range<u64> {
    segment.start..segment.start + segment.len() as u64
}
