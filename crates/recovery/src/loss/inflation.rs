//! The window of TCP-ER (Yin et al., algorithm 1): after an early retransmission a small window
//! opens far enough for new data, whose acknowledgement reveals other losses.
//!
//! The paper counts packets and inflates the window by those that duplicates report as having left
//! the network. Here such packets do not count as in flight, so that the window inflates by itself;
//! what remains of the algorithm is the additional opening of a small window. If the peer reports
//! gaps, the additional opening waits for the acknowledgement after the one that began recovery.

/// Windows of fewer packets than this count as small.
const SMALL: u64 = 4;
/// Size of a reduced small window, and its inflation, in packets.
const LEAST: u64 = 2;

/// Windows after a retransmission, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inflated {
    /// The window after recovery, and the threshold.
    pub window: u64,
    /// Additional window until recovery ends, apart from packets that left the network.
    pub inflation: u64,
}

/// Windows after an early retransmission at a window of `cwnd` bytes and after `duplicates`
/// duplicate acknowledgements.
pub fn after_early_retransmission(cwnd: u64, mss: u64, duplicates: u32) -> Inflated {
    if cwnd < SMALL * mss {
        let inflation = LEAST.saturating_sub(u64::from(duplicates)) * mss;
        return Inflated { window: LEAST * mss, inflation };
    }
    Inflated { window: cwnd / 2, inflation: 0 }
}

/// Window during recovery if the peer reports gaps: ns-2's sender then counts packets in flight,
/// and sends while they are below the window.
pub fn window_in_recovery(inflated: Inflated, mss: u64, gaps: bool) -> u64 {
    if gaps && inflated.window == LEAST * mss {
        return 2 * LEAST * mss;
    }
    inflated.window + inflated.inflation
}

/// Number of duplicate acknowledgements that trigger a fast retransmission in algorithm 1, and by
/// which it inflates the window.
const FAST: u64 = 3;

/// Algorithm 1 as printed, after a retransmission that `duplicates` triggered: the inflation counts
/// the duplicates even if the peer names the packets that left the network. At a fast
/// retransmission (not `early`) `window` is the controller's.
pub fn algorithm_1(cwnd: u64, window: u64, mss: u64, early: bool, duplicates: u32) -> Inflated {
    if !early {
        return Inflated { window, inflation: FAST * mss };
    }
    if cwnd < SMALL * mss {
        return Inflated { window: LEAST * mss, inflation: LEAST * mss };
    }
    Inflated { window: cwnd / 2, inflation: u64::from(duplicates) * mss }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    #[test]
    fn the_rows_of_algorithm_1() {
        // Window, duplicates; then the new window, and the paper's inflated one less the
        // duplicates.
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
    fn the_rows_of_algorithm_1_to_the_letter() {
        let inflated = |cwnd, early, duplicates| {
            let Inflated { window, inflation } =
                algorithm_1(cwnd * MSS, cwnd * MSS / 2, MSS, early, duplicates);
            (window / MSS, inflation / MSS)
        };
        assert_eq!([1, 2, 3].map(|cwnd| inflated(cwnd, true, 1)), [(2, 2); 3]);
        assert_eq!(inflated(4, true, 1), (2, 1));
        assert_eq!(inflated(8, true, 2), (4, 2));
        assert_eq!(inflated(8, false, 3), (4, 3));
        assert_eq!(
            inflated(2, false, 3),
            (1, 3),
            "algorithm 1 bounds the window at early ones only"
        );
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
