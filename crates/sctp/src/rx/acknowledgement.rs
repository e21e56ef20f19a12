//! Times at which a SACK is sent (RFC 9260, section 6.2; the I bit of RFC 7053).

use base::{Duration, Instant};
use recovery::policy::AcknowledgementPolicy;
use recovery::{AckTiming, DelayedAck};

/// The longest SACK.Delay that is allowed (RFC 9260, section 6.2).
const DELAY_MAX: Duration = Duration::from_millis(500);

/// The first packet with DATA is acknowledged at once (section 5.1), whatever the policy says.
const QUICK: u8 = 1;

/// The receiving side's part of the policy.
pub(crate) fn sack_timing(policy: &AcknowledgementPolicy) -> AckTiming {
    AckTiming { quick: QUICK, ..AckTiming::of(policy, DELAY_MAX) }
}

/// Contents of one packet, collected chunk by chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PacketSummary {
    /// DATA chunks not received before, and FORWARD-TSNs with news.
    pub(crate) new: u32,
    /// DATA chunks received before, and outdated FORWARD-TSNs.
    pub(crate) duplicates: u32,
    /// Whether TSNs are missing, or were before this packet arrived.
    pub(crate) gap: bool,
    /// Whether a DATA chunk was dropped for lack of room (or an older one to make room).
    pub(crate) dropped: bool,
    /// Whether a DATA chunk carried the I bit, or a SACK seems to be lost.
    pub(crate) immediate: bool,
}

/// The delayed acknowledgement of one association, with SCTP's reasons for immediate ones.
#[derive(Clone, Debug)]
pub(crate) struct Acknowledgement(DelayedAck);

impl Acknowledgement {
    /// The state before the first packet.
    pub(crate) fn new(timing: AckTiming) -> Acknowledgement {
        Acknowledgement(DelayedAck::new(timing))
    }

    /// Changes the timing; a pending SACK keeps its deadline.
    pub(crate) fn set_timing(&mut self, timing: AckTiming) {
        self.0.set_timing(timing);
    }

    /// A packet with DATA was processed. `shutdown_sent`: the association is in SHUTDOWN-SENT,
    /// where every packet is answered (section 9.2).
    pub(crate) fn on_packet(&mut self, now: Instant, packet: PacketSummary, shutdown_sent: bool) {
        if packet.new == 0 && packet.duplicates == 0 && !packet.dropped {
            return;
        }
        // Section 6.2: duplicates without new data are answered at once; with new data that is
        // optional, and would defeat delayed SACKs for a sender that bundles redundant
        // data. Section 6.7: a packet that leaves or meets a gap is answered at once too.
        let duplicates_only = packet.new == 0;
        let at_once =
            duplicates_only || packet.gap || packet.dropped || packet.immediate || shutdown_sent;
        self.0.on_packet(now, at_once);
    }

    /// Makes a SACK due now for another reason, such as a window that opened.
    pub(crate) fn request(&mut self, now: Instant) {
        self.0.request(now);
    }

    /// Whether a SACK must be sent at `now`.
    pub(crate) fn due(&self, now: Instant) -> bool {
        self.0.is_due(now)
    }

    /// Deadline of a pending SACK.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.0.due()
    }

    /// Whether a SACK has news for the peer: then it is bundled with DATA that leaves (section
    /// 6.1).
    pub(crate) fn waiting(&self) -> bool {
        self.0.due().is_some()
    }

    /// A packet with the current SACK left: nothing is pending.
    pub(crate) fn on_sack_sent(&mut self) {
        self.0.on_sent();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: PacketSummary =
        PacketSummary { new: 1, duplicates: 0, gap: false, dropped: false, immediate: false };

    fn sctp() -> AckTiming {
        sack_timing(&recovery::RecoveryPolicy::sctp_rfc().acknowledgement)
    }

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// An acknowledgement state whose first packet was answered at time zero.
    fn settled(timing: AckTiming) -> Acknowledgement {
        let mut acknowledgement = Acknowledgement::new(timing);
        acknowledgement.on_packet(at(0), NEW, false);
        acknowledgement.on_sack_sent();
        acknowledgement
    }

    #[test]
    fn the_first_data_is_acknowledged_at_once() {
        let mut acknowledgement = Acknowledgement::new(sctp());
        assert!(!acknowledgement.due(at(0)));
        acknowledgement.on_packet(at(0), NEW, false);
        assert!(acknowledgement.due(at(0)));
    }

    #[test]
    fn a_single_packet_is_acknowledged_after_200_ms() {
        let mut acknowledgement = settled(sctp());
        acknowledgement.on_packet(at(10), NEW, false);
        assert!(acknowledgement.waiting());
        assert_eq!(acknowledgement.deadline(), Some(at(210)));
        assert!(!acknowledgement.due(at(209)) && acknowledgement.due(at(210)));
    }

    #[test]
    fn every_second_packet_is_acknowledged_at_once() {
        let mut acknowledgement = settled(sctp());
        for start in [10, 20, 30] {
            acknowledgement.on_packet(at(start), NEW, false);
            assert!(!acknowledgement.due(at(start)));
            acknowledgement.on_packet(at(start + 1), NEW, false);
            assert!(acknowledgement.due(at(start + 1)));
            acknowledgement.on_sack_sent();
            assert_eq!(acknowledgement.deadline(), None);
        }
    }

    #[test]
    fn a_third_packet_does_not_postpone_the_delay() {
        let mut acknowledgement = settled(AckTiming { every: 9, ..sctp() });
        acknowledgement.on_packet(at(10), NEW, false);
        acknowledgement.on_packet(at(150), NEW, false);
        assert_eq!(acknowledgement.deadline(), Some(at(210)));
    }

    #[test]
    fn what_the_rfc_wants_answered_at_once_is_answered_at_once() {
        let cases = [
            PacketSummary { new: 0, duplicates: 1, ..NEW },
            PacketSummary { gap: true, ..NEW },
            PacketSummary { immediate: true, ..NEW },
            PacketSummary { new: 0, dropped: true, ..NEW },
        ];
        for packet in cases {
            let mut acknowledgement = settled(sctp());
            acknowledgement.on_packet(at(10), packet, false);
            assert!(acknowledgement.due(at(10)), "{packet:?}");
        }
        let mut acknowledgement = settled(sctp());
        acknowledgement.on_packet(at(10), NEW, true);
        assert!(acknowledgement.due(at(10)));
    }

    #[test]
    fn a_duplicate_along_with_new_data_may_wait() {
        let mut acknowledgement = settled(sctp());
        acknowledgement.on_packet(at(10), PacketSummary { duplicates: 3, ..NEW }, false);
        assert_eq!(acknowledgement.deadline(), Some(at(210)));
    }

    #[test]
    fn without_delay_every_packet_is_acknowledged_and_packets_without_data_never() {
        let mut acknowledgement = settled(AckTiming { delay: None, ..sctp() });
        acknowledgement.on_packet(at(10), PacketSummary::default(), true);
        assert!(!acknowledgement.waiting());
        acknowledgement.on_packet(at(10), NEW, false);
        assert!(acknowledgement.due(at(10)));
    }

    #[test]
    fn a_requested_sack_does_not_wait_for_the_delay() {
        let mut acknowledgement = settled(sctp());
        acknowledgement.on_packet(at(10), NEW, false);
        acknowledgement.request(at(20));
        assert!(acknowledgement.due(at(20)));
    }
}
