//! Segment sizes: the size that the path MTU allows, and probes of a larger one (RFC 4821, section
//! 7).

use base::Instant;
use recovery::PathId;
use recovery::path_mtu::Suspicion;
use recovery::policy::PathMtuPolicy;

use super::{Connection, headers};
use crate::tx::{Outgoing, Sender};

/// Number of full segments that should follow a probe, so that its loss is noticed before the timer
/// expires (RFC 4821, section 7.4).
const FOLLOWERS: u64 = 3;

impl Connection {
    /// A packet was too big for a link (RFC 1191, RFC 8201): outstanding data was dropped and is
    /// retransmitted in smaller segments.
    pub(super) fn on_packet_too_big(&mut self, now: Instant, mtu: u32) {
        let packet = self.packet_of(self.tx.largest_in_flight());
        if self.options.path_mtu_discovery
            && self.path_mtu.on_too_big(now, mtu, packet, mtu_policy(&self.tx))
        {
            self.count_reduction();
            self.resize(now, true);
        }
    }

    /// The retransmission timer expired `expiries` times in a row while no small segment was
    /// missing: perhaps the retransmitted segment is too big and no router reports it (RFC
    /// 2923, section 2.1).
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

    /// The peer acknowledged new data.
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

    /// Applies a changed path MTU; `dropped`: larger segments in flight were lost.
    fn resize(&mut self, now: Instant, dropped: bool) {
        let mss = u32::from(self.send_mss());
        self.tx.set_mss(now, mss, dropped);
    }

    /// The next segment of the sending side: a probe, if one is due and there is enough new data.
    pub(super) fn poll_outgoing(&mut self, now: Instant) -> Option<Outgoing> {
        if let Some((size, mss)) = self.due_probe(now) {
            let usual = self.tx.mss();
            let probe = self.tx.poll_sized(now, mss);
            if let Some(probe) = probe.as_ref().filter(|probe| probe.bytes > usual as usize) {
                self.path_mtu.on_probe_sent(size, probe.range());
            }
            if probe.is_some() {
                return probe;
            }
        }
        let next = self.tx.poll(now)?;
        if next.retransmission {
            self.path_mtu.on_sent_again(now, next.range(), mtu_policy(&self.tx));
        }
        Some(next)
    }

    /// Packet size of the probe that is due, and its bytes of data. Requires that no loss waits for
    /// repair and that the window is not small.
    fn due_probe(&mut self, now: Instant) -> Option<(u16, u32)> {
        let due = self.path_mtu.due(now, mtu_policy(&self.tx));
        let size = due.filter(|_| self.options.path_mtu_discovery)?;
        let (mss, usual) = (self.mss_in(size).into(), self.tx.mss());
        if mss <= usual {
            // The peer accepts no larger segments, so that a search is pointless.
            self.path_mtu.on_confirmed(now, size, mtu_policy(&self.tx));
            return None;
        }
        let unsent = self.tx.unsent_bytes();
        let (mss, wanted) = self.probe_of(now, mss, unsent);
        let window = self.tx.snd_wnd().saturating_sub(self.tx.unacked_bytes());
        let undisturbed =
            self.tx.timeouts() == 0 && self.tx.recovery().next_again(PathId::FIRST, 0).is_none();
        let ready = undisturbed && mss > usual && unsent >= wanted && window >= wanted;
        // Segments of the usual size do not wait for a probe. As the window grows, it soon has room
        // for one: bytes too few for a segment remain until they suffice for a larger one.
        let fits = ready && self.tx.snapshot().cwnd >= wanted;
        (fits && self.tx.has_room_for(now, mss)).then(|| (self.packet_of(mss), mss))
    }

    /// Bytes of data in a probe, at most `most`, and the bytes required for the probe and its
    /// followers.
    ///
    /// A stream of messages never has enough data for followers, and would keep small segments for
    /// ever. So a message sent alone is a probe by itself, as far as it goes, and so is any
    /// data once no followers came for a while: then the timer finds the loss.
    fn probe_of(&self, now: Instant, most: u32, unsent: u64) -> (u32, u64) {
        let wanted = u64::from(most) + FOLLOWERS * u64::from(self.tx.mss());
        let alone = unsent < wanted && self.tx.unacked_bytes() == 0;
        if !alone && !self.path_mtu.is_overdue(now, mtu_policy(&self.tx)) {
            return (most, wanted);
        }
        let at_hand = most.min(u32::try_from(unsent).unwrap_or(most));
        (at_hand, at_hand.into())
    }

    /// Size of the IP packet that carries `data` bytes.
    fn packet_of(&self, data: u32) -> u16 {
        let timestamps = if self.negotiated.timestamps { 12 } else { 0 };
        let packet = data + timestamps + u32::from(headers(self.local.is_ipv6()));
        u16::try_from(packet).unwrap_or(u16::MAX)
    }
}

/// The policy of the path MTU search.
fn mtu_policy(tx: &Sender) -> &PathMtuPolicy {
    &tx.recovery().policy().path_mtu
}
