//! Thin-stream detection: whether a stream has too few packets in flight for a fast retransmission
//! (Petlund et al. 2009, section 5.1).

use base::{Duration, Probability};

use crate::ledger::Flight;
use crate::policy::ThinDetector;

/// Duplicate acknowledgements that trigger a fast retransmission, for detectors without a threshold
/// of their own.
const THRESHOLD: u8 = 3;

/// Whether a stream with `in_flight` packets in flight is thin at the estimated loss rate and
/// smoothed round-trip time.
pub fn detect(
    detector: ThinDetector,
    in_flight: u32,
    loss: Probability,
    srtt: Option<Duration>,
) -> bool {
    match detector {
        ThinDetector::Off => false,
        ThinDetector::Always => true,
        ThinDetector::FewerThanFour => in_flight < 4,
        ThinDetector::Interval { least } => {
            srtt.is_none_or(|srtt| least * u64::from(in_flight) < srtt)
        }
        ThinDetector::FewOrSlow { .. } => is_few(in_flight, loss, THRESHOLD, false),
        ThinDetector::InFlight { threshold, inclusive } => {
            is_few(in_flight, loss, threshold, inclusive)
        }
    }
}

/// `in_flight < (threshold + 1) / (1 - loss)`, without a division.
fn is_few(in_flight: u32, loss: Probability, threshold: u8, inclusive: bool) -> bool {
    let one = Probability::ONE.to_fixed_point();
    let arriving = u64::from(in_flight) * (one - loss.to_fixed_point());
    let needed = (u64::from(threshold) + 1) * one;
    if inclusive { arriving <= needed } else { arriving < needed }
}

/// Second condition of [`ThinDetector::FewOrSlow`]: the packets in flight, which left within
/// `span`, are at most half full, and those without retransmissions (all but `resending`) left more
/// than `least` apart on average. A stream that fills its packets is not thin, however slow its
/// path: the detector by interval alone takes a transfer over 1 Mbit/s for thin. `span` is only
/// called if it matters.
pub fn is_slow(
    flight: Flight,
    resending: u32,
    span: impl FnOnce() -> Duration,
    least: Duration,
    mss: u64,
) -> bool {
    let gaps = u64::from(flight.packets.saturating_sub(resending).saturating_sub(1));
    flight.bytes * 2 <= u64::from(flight.packets) * mss && span() > least * gaps
}

/// A running estimate of the share of lost packets: a moving average over packets with known fate,
/// each with a weight of 1/64, at most one half; and the number of packets since the last loss.
#[derive(Clone, Debug)]
pub struct LossEstimator {
    /// Estimated loss rate in units of 2⁻³².
    loss: u32,
    /// Packets with known fate since the last loss; [`LossEstimator::NONE`] and more: no loss yet.
    since_loss: u16,
    /// Value of `since_loss` at the last loss; 0 once that packet proved to have arrived.
    before_loss: u16,
}

impl Default for LossEstimator {
    fn default() -> Self {
        LossEstimator { loss: 0, since_loss: Self::NONE, before_loss: 0 }
    }
}

impl LossEstimator {
    const WEIGHT: u64 = 64;
    const MOST: u64 = 1 << 31;
    /// Packets since a loss while no packet was lost, for a new path; counts of a real loss stay
    /// below it.
    const NONE: u16 = u16::MAX - 255;

    /// A packet's fate is known.
    pub fn on_fate(&mut self, lost: bool) {
        let target = if lost { Probability::ONE.to_fixed_point() } else { 0 };
        let loss = (u64::from(self.loss) * (Self::WEIGHT - 1) + target) / Self::WEIGHT;
        self.loss = loss.min(Self::MOST) as u32;
        if lost {
            self.begin_after_loss();
        } else if self.since_loss != Self::NONE - 1 {
            self.since_loss = self.since_loss.saturating_add(1);
        }
    }

    #[cold]
    #[inline(never)]
    fn begin_after_loss(&mut self) {
        // Of several losses in a row, none may be genuine.
        let since = core::mem::take(&mut self.since_loss);
        self.before_loss = if since == 0 { self.before_loss } else { since };
    }

    /// A packet that was declared lost had arrived.
    pub fn on_spurious(&mut self) {
        let one = Probability::ONE.to_fixed_point() / Self::WEIGHT;
        self.loss = u64::from(self.loss).saturating_sub(one) as u32;
        self.since_loss = self.since_loss.saturating_add(self.before_loss);
        self.before_loss = 0;
    }

    /// Whether a packet was lost among the last `packets`.
    pub fn is_recent(&self, packets: u16) -> bool {
        self.since_loss < packets.min(Self::NONE - 1)
    }

    /// Whether no packet was lost and too few packets have a known fate to conclude that the path
    /// loses none.
    pub fn is_new(&self) -> bool {
        (Self::NONE..u16::MAX).contains(&self.since_loss)
    }

    /// The estimated share of packets lost, at most one half.
    pub fn estimate(&self) -> Probability {
        Probability::from_fixed_point(self.loss.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(detector: ThinDetector, in_flight: u32, loss: Probability) -> bool {
        super::detect(detector, in_flight, loss, None)
    }

    const PAPER: ThinDetector = ThinDetector::InFlight { threshold: 3, inclusive: false };

    #[test]
    fn without_loss_four_packets_in_flight_are_thick() {
        assert!(detect(PAPER, 3, Probability::ZERO));
        assert!(!detect(PAPER, 4, Probability::ZERO));
        assert!(detect(
            ThinDetector::InFlight { threshold: 3, inclusive: true },
            4,
            Probability::ZERO
        ));
        assert!(detect(ThinDetector::FewerThanFour, 3, Probability::ONE));
        assert!(!detect(ThinDetector::FewerThanFour, 4, Probability::ONE));
    }

    #[test]
    fn loss_raises_the_number_of_packets_that_count_as_thin() {
        let five_percent = Probability::from_ratio(5, 100);
        assert!(detect(PAPER, 4, five_percent)); // 4 / 0.95 = 4.21
        assert!(!detect(PAPER, 5, five_percent));
        assert!(detect(PAPER, 7, Probability::from_ratio(1, 2)));
        assert!(!detect(PAPER, 8, Probability::from_ratio(1, 2)));
    }

    #[test]
    fn the_estimate_approaches_the_share_of_lost_packets_and_never_passes_one_half() {
        let mut loss = LossEstimator::default();
        for packet in 0..2000 {
            loss.on_fate(packet % 20 == 0);
        }
        let estimate = loss.estimate().as_f64();
        assert!((0.03..0.07).contains(&estimate), "{estimate}");
        for _ in 0..1000 {
            loss.on_fate(true);
        }
        assert_eq!(loss.estimate(), Probability::from_ratio(1, 2));
    }

    fn fates(loss: &mut LossEstimator, delivered: u32) {
        (0..delivered).for_each(|_| loss.on_fate(false));
    }

    #[test]
    fn a_loss_is_recent_for_as_many_packets_as_asked_and_a_path_is_new_for_255() {
        let mut loss = LossEstimator::default();
        assert!(loss.is_new() && !loss.is_recent(u16::MAX));
        fates(&mut loss, 254);
        assert!(loss.is_new());
        fates(&mut loss, 1);
        assert!(!loss.is_new() && !loss.is_recent(u16::MAX));
        loss.on_fate(true);
        fates(&mut loss, 999);
        assert!(loss.is_recent(1000) && !loss.is_new());
        fates(&mut loss, 1);
        assert!(!loss.is_recent(1000) && loss.is_recent(1001));
        fates(&mut loss, 200_000);
        assert!(!loss.is_recent(u16::MAX) && !loss.is_new(), "not even by an overflow");
    }

    #[test]
    fn what_was_not_lost_after_all_is_no_recent_loss_but_the_one_before_it_is() {
        let mut loss = LossEstimator::default();
        (0..2).for_each(|_| loss.on_fate(true));
        (0..3).for_each(|_| loss.on_spurious());
        assert!(!loss.is_recent(u16::MAX));
        loss.on_fate(true);
        fates(&mut loss, 100);
        loss.on_fate(true);
        fates(&mut loss, 10);
        (0..2).for_each(|_| loss.on_spurious());
        assert!(!loss.is_recent(110) && loss.is_recent(111));
    }

    #[test]
    fn a_longer_round_trip_may_have_more_packets_of_a_thin_stream() {
        let detector = ThinDetector::Interval { least: Duration::from_millis(10) };
        let thin = |in_flight, srtt| {
            super::detect(detector, in_flight, Probability::ZERO, Some(Duration::from_millis(srtt)))
        };
        assert!(thin(9, 100) && !thin(10, 100));
        assert!(thin(12, 130) && !thin(13, 130));
        assert!(!thin(1, 10), "faster than one packet each 10 ms");
        assert!(detect(detector, 1000, Probability::ZERO), "nothing measured");
    }
}
