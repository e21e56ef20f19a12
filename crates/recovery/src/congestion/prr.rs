//! Proportional rate reduction (RFC 9937): the amount that each acknowledgement of a recovery
//! releases, so that the recovery ends with as much in flight as the controller wants, without a
//! silence or a burst.

/// A recovery in progress. All amounts are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prr {
    /// RecoverFS: the most that may be delivered during the recovery.
    recover_fs: u64,
    /// The window at the end of the recovery.
    ssthresh: u64,
    delivered: u64,
    out: u64,
}

/// Facts of an acknowledgement during recovery.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrrAck {
    /// DeliveredData: newly acknowledged, by gap reports or cumulatively.
    pub delivered: u64,
    /// Bytes in flight after the acknowledgement, without data declared lost.
    pub in_flight: u64,
    /// SafeACK: the cumulative point advanced, and no further loss was found.
    pub safe: bool,
}

impl Prr {
    /// Begins a recovery. `recover_fs`: bytes that may still be delivered: sent, and neither
    /// acknowledged cumulatively nor reported by gap before the acknowledgement that begins the
    /// recovery.
    pub fn new(recover_fs: u64, ssthresh: u64) -> Self {
        Prr { recover_fs, ssthresh, delivered: 0, out: 0 }
    }

    /// SndCnt (section 6.2): bytes that may be sent now.
    pub fn quota(&mut self, ack: PrrAck, mss: u64) -> u64 {
        if ack.delivered == 0 {
            return 0;
        }
        self.delivered = self.delivered.saturating_add(ack.delivered);
        let quota = if ack.in_flight > self.ssthresh {
            let product = u128::from(self.delivered) * u128::from(self.ssthresh);
            let share = product.div_ceil(u128::from(self.recover_fs.max(1)));
            let share = u64::try_from(share).unwrap_or(u64::MAX).saturating_sub(self.out);
            // At most as much in flight as when recovery began. An honest peer never exceeds this;
            // one that revokes reports and repeats them would otherwise release any
            // amount.
            share.min(self.recover_fs.saturating_sub(ack.in_flight))
        } else {
            // The conservative bound, or slow start's while no further loss is found. A sender that
            // counts segments rounds the quota up to one. Here up to a segment may
            // leave beyond what was delivered, so that small packets, of which
            // acknowledgements report few bytes, are not held back for each other.
            let ahead = self.delivered.saturating_add(mss).saturating_sub(self.out).min(mss);
            let bound = self.delivered.saturating_sub(self.out).max(ack.delivered).max(ahead);
            let bound = if ack.safe { bound + mss } else { bound };
            bound.min(self.ssthresh - ack.in_flight)
        };
        // The retransmission that begins the recovery is never held back.
        if quota == 0 && self.out == 0 { mss } else { quota }
    }

    /// Data left, new or again.
    pub fn on_sent(&mut self, bytes: u64) {
        self.out = self.out.saturating_add(bytes);
    }

    /// The window at the end of the recovery.
    pub fn target(&self) -> u64 {
        self.ssthresh
    }

    /// Bytes delivered in this recovery.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Bytes sent in this recovery.
    pub fn sent(&self) -> u64 {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// Bytes that each acknowledgement releases: of `acks` segments in turn, with `in_flight` bytes
    /// in flight before.
    fn released(mut prr: Prr, mut in_flight: u64, lost: u64, acks: usize, safe: bool) -> Vec<u64> {
        in_flight -= lost;
        let step = |_| {
            in_flight -= MSS;
            let quota = prr.quota(PrrAck { delivered: MSS, in_flight, safe }, MSS);
            let sent = quota / MSS * MSS;
            prr.on_sent(sent);
            in_flight += sent;
            sent / MSS
        };
        (0..acks).map(step).collect()
    }

    #[test]
    fn one_loss_of_twenty_is_paced_evenly_down_to_half() {
        // RecoverFS 20, ssthresh 10: one segment leaves for every two that are delivered. The
        // sixteenth acknowledgement finds ten in flight, the target; from then on one
        // leaves for each delivered.
        let sent = released(Prr::new(20 * MSS, 10 * MSS), 20 * MSS, MSS, 18, false);
        assert_eq!(sent, [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1]);
    }

    #[test]
    fn what_is_reported_over_and_over_releases_no_more_than_was_in_flight_at_the_beginning() {
        let mut prr = Prr::new(10 * MSS, 2 * MSS);
        // Ten segments are reported and revoked again and again while no packet leaves.
        for _ in 0..50 {
            prr.quota(PrrAck { delivered: 10 * MSS, in_flight: MSS, safe: false }, MSS);
        }
        let again = PrrAck { delivered: MSS, in_flight: 4 * MSS, safe: false };
        assert_eq!(prr.quota(again, MSS), 6 * MSS);
        prr.on_sent(6 * MSS);
        assert_eq!(prr.quota(PrrAck { in_flight: 10 * MSS, ..again }, MSS), 0);
    }

    #[test]
    fn cubics_seven_tenths_are_paced_by_ceilings() {
        // ceil(n · 14 / 20) for n = 1, 2, … is 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, …
        let mut prr = Prr::new(20 * MSS, 14 * MSS);
        let mut sent = Vec::new();
        for _ in 0..5 {
            let quota = prr.quota(PrrAck { delivered: MSS, in_flight: 15 * MSS, safe: false }, MSS);
            sent.push(quota);
            prr.on_sent(quota);
        }
        assert_eq!(sent, [700; 5]);
    }

    #[test]
    fn heavy_losses_are_repaired_no_faster_than_data_is_delivered_until_it_goes_well() {
        // 20 in flight, 15 lost: 5 in flight, less than ssthresh 10.
        let conservative = released(Prr::new(20 * MSS, 10 * MSS), 20 * MSS, 15 * MSS, 4, false);
        assert_eq!(conservative, [1, 1, 1, 1]);
        let safe = released(Prr::new(20 * MSS, 10 * MSS), 20 * MSS, 15 * MSS, 7, true);
        assert_eq!(safe, [2, 2, 2, 2, 2, 1, 1]); // to ten in flight, and not beyond
    }

    #[test]
    fn small_packets_leave_before_as_many_bytes_have_arrived_but_no_more_than_one_full_one() {
        let mut prr = Prr::new(150, 10 * MSS);
        let mut quota = |sent| {
            prr.on_sent(sent);
            prr.quota(PrrAck { delivered: 30, in_flight: 120, safe: false }, MSS)
        };
        assert_eq!(quota(0), MSS);
        // A retransmission and a new segment left when one arrived: 1000 + 60 - 90.
        assert_eq!(quota(90), 970);
        assert_eq!(quota(970), 30, "what was delivered in any case");
    }

    #[test]
    fn what_was_held_back_may_be_caught_up() {
        let mut prr = Prr::new(20 * MSS, 10 * MSS);
        prr.on_sent(MSS);
        let ack = PrrAck { delivered: 5 * MSS, in_flight: 9 * MSS, safe: false };
        assert_eq!(prr.quota(ack, MSS), MSS); // as far as ssthresh lets it
        let ack = PrrAck { delivered: MSS, in_flight: 2 * MSS, safe: false };
        assert_eq!(prr.quota(ack, MSS), 5 * MSS); // six delivered, one sent
    }

    #[test]
    fn an_acknowledgement_that_delivers_nothing_releases_nothing() {
        let mut prr = Prr::new(20 * MSS, 10 * MSS);
        let ack = PrrAck { delivered: 0, in_flight: MSS, safe: true };
        assert_eq!(prr.quota(ack, MSS), 0);
    }

    #[test]
    fn the_first_retransmission_leaves_even_if_nothing_may() {
        let mut prr = Prr::new(20 * MSS, 10 * MSS);
        prr.delivered = 0;
        let ack = PrrAck { delivered: 1, in_flight: 10 * MSS, safe: false };
        assert_eq!(prr.quota(ack, MSS), MSS);
        prr.on_sent(MSS);
        assert_eq!(prr.quota(ack, MSS), 0);
    }
}
