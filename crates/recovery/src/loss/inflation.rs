//! The window of TCP-ER (Yin et al., algorithm 1): after an early retransmission a small window is opened
//! far enough that something new leaves, whose acknowledgement finds what else was lost.
//!
//! The paper counts packets and inflates the window by those that duplicates report to have left the
//! network. Here these do not count as in flight, so that the window inflates by itself; what remains of
//! the algorithm is by how much a small window is opened beyond that. Where the peer reports gaps, what it is opened
//! by waits for the acknowledgement after the one that began recovery.

/// Windows of fewer packets than this are small.
const SMALL: u64 = 4;
/// What a small window becomes, in packets, and by how many it is inflated.
const LEAST: u64 = 2;

/// The window after a retransmission, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inflated {
    /// The window that remains when recovery ends; the threshold too.
    pub window: u64,
    /// By how much it is larger until then, beyond what left the network.
    pub inflation: u64,
}

/// What an early retransmission makes of a window of `cwnd` bytes after `duplicates` duplicate
/// acknowledgements.
pub fn after_early_retransmission(cwnd: u64, mss: u64, duplicates: u32) -> Inflated {
    if cwnd < SMALL * mss {
        let inflation = LEAST.saturating_sub(u64::from(duplicates)) * mss;
        return Inflated { window: LEAST * mss, inflation };
    }
    Inflated { window: cwnd / 2, inflation: 0 }
}

/// The window while recovery lasts where the peer reports gaps: with those ns-2's sender counts what is in
/// flight, and sends while it is below the window.
pub fn window_in_recovery(inflated: Inflated, mss: u64, gaps: bool) -> u64 {
    if gaps && inflated.window == LEAST * mss {
        return 2 * LEAST * mss;
    }
    inflated.window + inflated.inflation
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    #[test]
    fn the_rows_of_algorithm_1() {
        // Window, duplicates: window after, and the paper's inflated one less the duplicates.
        for (cwnd, duplicates, window, inflation) in [
            (1, 1, 2, 1), // 2 + 2 - 1
            (2, 1, 2, 1),
            (3, 1, 2, 1),
            (3, 2, 2, 0), // 2 + 2 - 2
            (4, 1, 2, 0), // 4/2 + 1 - 1
            (8, 2, 4, 0),
            (20, 3, 10, 0),
        ] {
            let inflated = after_early_retransmission(cwnd * MSS, MSS, duplicates);
            let expected = Inflated { window: window * MSS, inflation: inflation * MSS };
            assert_eq!(inflated, expected, "{cwnd} {duplicates}");
        }
        assert_eq!(after_early_retransmission(3999, MSS, 1).window, 2 * MSS);
        assert_eq!(after_early_retransmission(5000, MSS, 1).window, 2500);
    }

    #[test]
    fn where_gaps_are_reported_a_small_window_is_four_until_recovery_ends() {
        let small = after_early_retransmission(3 * MSS, MSS, 1);
        assert_eq!(window_in_recovery(small, MSS, true), 4 * MSS);
        assert_eq!(window_in_recovery(small, MSS, false), 3 * MSS);
        let large = after_early_retransmission(10 * MSS, MSS, 1);
        assert_eq!(window_in_recovery(large, MSS, true), 5 * MSS);
    }
}
