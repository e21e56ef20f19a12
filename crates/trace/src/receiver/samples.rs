//! Delays whose zero is known only at the end, when the difference of the clocks is: samples are
//! kept until then, and thinned out evenly where there are too many.

use base::Instant;

/// One delay with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Beginning, by the sender's clock.
    pub(crate) sent: Instant,
    /// Length of the delay, plus the difference of the clocks, in nanoseconds.
    pub(crate) delay: i64,
    /// User data that the delay is of, in bytes: its weight in distributions.
    pub(crate) bytes: u32,
}

/// Samples in the order in which they came; every n-th of them, where n is a power of two.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    kept: Vec<Sample>,
    /// Binary logarithm of n, where every n-th sample is kept.
    thinning: u32,
    seen: u64,
}

impl Samples {
    /// Adds one, keeping no more than `room`.
    pub(crate) fn push(&mut self, sample: Sample, room: usize) {
        if self.seen.is_multiple_of(self.stands_for()) {
            if self.kept.len() >= room.max(1) {
                let mut index = 0;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.thinning += 1;
            }
            if self.seen.is_multiple_of(self.stands_for()) {
                self.kept.push(sample);
            }
        }
        self.seen += 1;
    }

    pub(crate) fn kept(&self) -> &[Sample] {
        &self.kept
    }

    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// Number of samples for which each kept one stands.
    pub(crate) fn stands_for(&self) -> u64 {
        1 << self.thinning.min(63)
    }

    /// Whether only some were kept.
    pub(crate) fn is_thinned(&self) -> bool {
        self.thinning > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_no_room_every_nth_stays() {
        let mut samples = Samples::default();
        for at in 0..1000 {
            samples.push(Sample { sent: Instant::from_nanos(at), delay: 0, bytes: 1 }, 100);
        }
        let kept: Vec<u64> = samples.kept().iter().map(|sample| sample.sent.as_nanos()).collect();
        assert_eq!(kept, (0..1000).step_by(16).collect::<Vec<_>>());
        assert_eq!((samples.seen(), samples.is_thinned()), (1000, true));
    }
}
