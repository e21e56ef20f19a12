//! The window of TCP-ER (Yin et al., algorithm 1): after an early retransmission a small window opens far enough
//! for new data, whose acknowledgement reveals other losses.
//!
//! The paper counts packets and inflates the window by those that duplicates report as having left the network.
//! Here such packets do not count as in flight, so that the window inflates by itself; what remains of the
//! algorithm is the additional opening of a small window. If the peer reports gaps, the additional opening waits
//! for the acknowledgement after the one that began recovery.

/// Windows of fewer packets than this count as small.
const SMALL: u64 = 4;
/// Size of a reduced small window, and its inflation, in packets.
const LEAST: u64 = 2;

/// Windows after a retransmission, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inflated {
    /// The window after recovery, and the threshold.
    pub window: u64,
    /// Additional window until then, apart from packets that left the network.
    pub inflation: u64,
}

/// Windows after an early retransmission at a window of `cwnd` bytes and after `duplicates` duplicate
/// acknowledgements.
pub fn after_early_retransmission(cwnd: u64, mss: u64, duplicates: u32) -> Inflated {
    if cwnd < SMALL * mss {
        let inflation = LEAST.saturating_sub(u64::from(duplicates)) * mss;
        return Inflated { window: LEAST * mss, inflation };
    }
    Inflated { window: cwnd / 2, inflation: 0 }
}

/// Window during recovery if the peer reports gaps: ns-2's sender then counts packets in flight, and sends while
/// they are below the window.
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
        // Window, duplicates; then the new window, and the paper's inflated one less the duplicates.
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
