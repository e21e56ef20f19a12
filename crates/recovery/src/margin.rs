//! The timer's margin above the smoothed round trip, learned from expiries that came too soon.
//!
//! RFC 6298 takes four times the variation, which suffices with a minimum timeout of a second. A
//! timer with a minimum of milliseconds expires early whenever the distribution of round trips
//! exceeds four mean deviations: with a queue that comes and goes, at each of its peaks. Each early
//! expiry sends data twice into that queue.

/// Fraction of one variation that one delivered packet removes.
const UNIT: u32 = 1;
/// Half a variation, which one early expiry adds. Without loss one packet in 4096 is sent early.
const STEP: u32 = 4096 * UNIT;
/// Amount that any expiry removes, early or not: of the expiries on a path with loss, one half may
/// be early.
const RELIEF: u32 = STEP / 2;
/// Units that make up one variation.
const VARIATION: u32 = 2 * STEP;
/// Most variations added to the four of RFC 6298.
const MOST: u32 = 12 * VARIATION;

/// Variations added to the four of RFC 6298, in units of 2^-13.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Margin(u32);

impl Margin {
    /// Lowers the margin a little, since the retransmission timer expired.
    pub(crate) fn on_expiry(&mut self) {
        self.0 = self.0.saturating_sub(RELIEF);
    }

    /// The first transmission of retransmitted data was acknowledged after the timer had expired.
    pub(crate) fn on_early(&mut self) {
        self.0 = (self.0 + STEP).min(MOST);
    }

    /// Lowers the margin by one unit for each of `packets` delivered packets.
    pub(crate) fn on_delivered(&mut self, packets: u32) {
        self.0 = self.0.saturating_sub(packets.saturating_mul(UNIT));
    }

    /// The margin for a variation, in nanoseconds.
    pub(crate) fn of(self, variation: i64) -> i64 {
        let more = variation.saturating_mul(i64::from(self.0)) / i64::from(VARIATION);
        variation.saturating_mul(4).saturating_add(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_learned_is_what_rfc_6298_says() {
        assert_eq!(Margin::default().of(1000), 4000);
        assert_eq!(Margin::default().of(-1000), -4000);
    }

    #[test]
    fn each_early_expiry_adds_half_a_variation_up_to_sixteen() {
        let mut margin = Margin::default();
        margin.on_early();
        assert_eq!(margin.of(1000), 4500);
        (0..100).for_each(|_| margin.on_early());
        assert_eq!(margin.of(1000), 16_000);
    }

    #[test]
    fn without_loss_one_packet_in_four_thousand_is_sent_early() {
        // A path that needs seven variations: below that, each packet is early. The resulting share
        // of early packets is the rule's own.
        let (mut margin, mut early) = (Margin::default(), 0);
        let packets = 200_000;
        for _ in 0..packets {
            margin.on_delivered(1);
            if margin.of(1000) < 7000 {
                margin.on_expiry();
                margin.on_early();
                early += 1;
            }
        }
        assert!((90..130).contains(&early), "{early}");
    }

    #[test]
    fn where_every_expiry_is_needed_the_margin_goes_within_a_few_of_them() {
        let mut margin = Margin::default();
        (0..6).for_each(|_| margin.on_early());
        (0..12).for_each(|_| margin.on_expiry());
        assert_eq!(margin, Margin::default());
    }
}
