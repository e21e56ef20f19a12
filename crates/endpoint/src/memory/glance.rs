//! Times at which a member's account is updated: not after each input, since adding up all of its
//! memory often costs more than the input.

use super::LEAST;

/// Divisor of the load: the share by which it may change before the account is updated.
const PART: usize = 4;

/// Number of first inputs of a new member that each update its account, since it allocates most of
/// its memory then.
const EAGER: u8 = 8;

/// The most inputs between two accounts of a member.
const EVERY: u8 = 64;

/// Decides whether a member's account is updated after an input; kept beside the account.
///
/// A member's *load* is a figure that takes a few additions to compute and changes with the
/// member's memory. In between the account [follows](super::Budget::follow) the load. It is updated
/// when the load has changed by a quarter, or by 4 KiB if that is more, and after 64 inputs for
/// memory that does not show in the load. Once memory is scarce, the caller takes every account.
#[derive(Clone, Copy, Debug)]
pub struct Glance {
    /// The load at the last update of the account, and the permitted change; both saturate at 32
    /// bits.
    load: u32,
    lag: u32,
    /// Inputs until the account is updated regardless of the load.
    left: u8,
    /// Remaining inputs that each update the account.
    eager: u8,
}

impl Default for Glance {
    fn default() -> Self {
        Glance { load: 0, lag: 0, left: 1, eager: EAGER }
    }
}

impl Glance {
    /// Whether the account of a member with this load must be updated after an input; if so, call
    /// [`Glance::on_account`].
    #[inline]
    pub fn is_due(&mut self, load: usize) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0 || load.abs_diff(self.load as usize) > self.lag as usize
    }

    /// Notes an update of the account at this load.
    pub fn on_account(&mut self, load: usize) {
        let bits_32 = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
        (self.load, self.lag) = (bits_32(load), bits_32(LEAST.max(load / PART)));
        self.eager = self.eager.saturating_sub(1);
        self.left = if self.eager > 0 { 1 } else { EVERY };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inputs, of a number of inputs with one load, after which the account is taken.
    fn accounts(glance: &mut Glance, load: usize, inputs: u32) -> Vec<u32> {
        let taken = |_: &u32| {
            let due = glance.is_due(load);
            if due {
                glance.on_account(load);
            }
            due
        };
        (1..=inputs).filter(taken).collect()
    }

    fn settled() -> Glance {
        let mut glance = Glance::default();
        assert_eq!(accounts(&mut glance, 0, 8).len(), 8);
        glance
    }

    #[test]
    fn the_account_of_a_member_that_does_not_change_is_taken_eight_times_and_then_after_64_inputs()
    {
        let taken = accounts(&mut Glance::default(), 0, 200);
        assert_eq!(taken, [1, 2, 3, 4, 5, 6, 7, 8, 72, 136, 200]);
    }

    #[test]
    fn a_load_may_change_by_a_quarter_or_4_kib_whichever_is_more() {
        for (before, lag) in [(0, LEAST), (10_000, LEAST), (160_000, 40_000), (1 << 30, 1 << 28)] {
            let loads = [before + lag, before.saturating_sub(lag), before + lag + 1];
            for load in loads.into_iter().chain(before.checked_sub(lag + 1)) {
                let mut glance = settled();
                glance.on_account(before);
                let due = load.abs_diff(before) > lag;
                assert_eq!(glance.is_due(load), due, "{load} after {before}");
            }
        }
    }

    #[test]
    fn an_account_taken_for_a_load_that_changed_puts_off_the_next_one() {
        let mut glance = settled();
        assert_eq!(accounts(&mut glance, 0, 63), [0u32; 0]);
        assert_eq!(accounts(&mut glance, 5000, 70), [1, 65]);
    }

    #[test]
    fn a_load_beyond_32_bits_counts_as_the_largest_of_them() {
        let mut glance = settled();
        glance.on_account(usize::MAX);
        assert!(glance.is_due(usize::MAX));
    }
}
