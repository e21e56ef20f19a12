//! Counts of a direction's packets and bytes by content.

/// Counts of the packets of a direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) packets: u64,
    pub(crate) frame_bytes: u64,
    pub(crate) data_packets: u64,
    /// Bytes of frames with user data, link-layer headers included.
    pub(crate) data_frame_bytes: u64,
    pub(crate) payload_bytes: u64,
    pub(crate) unique_bytes: u64,
    pub(crate) retransmitted_bytes: u64,
    pub(crate) redundant_bytes: u64,
    /// Packets with nothing but retransmissions.
    pub(crate) retransmission_packets: u64,
    /// Packets with something new and a copy of something old.
    pub(crate) bundle_packets: u64,
    /// Packets that arrived, and those that were lost, as far as acknowledgements show.
    pub(crate) arrived_packets: u64,
    pub(crate) lost_packets: u64,
    /// Lost packets of which a redundant copy arrived. Known only if the receiver reports
    /// duplicates.
    pub(crate) repaired_packets: u64,
    /// Packets that were lost, unless it was the acknowledgement of two that carried the same.
    pub(crate) doubtful_packets: u64,
    /// Retransmissions that were lost, or needless with a lost report. Known only if the receiver
    /// reports duplicates.
    pub(crate) silent_packets: u64,
    /// Directions with redundant copies whose receiver reported no duplicate.
    pub(crate) unreported: u64,
    pub(crate) by_order: [u64; 4],
    pub(crate) by_cause: [u64; 6],
    pub(crate) needless_reported: u64,
    pub(crate) needless_inferred: u64,
    pub(crate) needless: u64,
    /// Copies that were reported to have come in vain.
    pub(crate) redundant_reported: u64,
    /// Runs, or TSNs, that the receiver reported to have got twice.
    pub(crate) duplicates_reported: u64,
    /// Number of these of data that were sent once.
    pub(crate) other_duplicates: u64,
    /// Acknowledgements that repeat, by their place in their run: first, second, third, later.
    pub(crate) repeated: [u64; 4],
    /// Acknowledged, but never seen to be sent: the capture missed it.
    pub(crate) unseen_bytes: u64,
}

impl Counts {
    /// Ends the counts after the last acknowledgement. If the receiver never reported a duplicate,
    /// nothing shows whether copies were needed: losses that they repaired are then unknown.
    pub(crate) fn close(&mut self) {
        if self.duplicates_reported == 0 {
            self.unreported = u64::from(self.repaired_packets > 0);
            self.repaired_packets = 0;
            self.silent_packets = 0;
        }
    }

    /// The share of packets that were lost, of those of which that is known; where nothing was
    /// acknowledged, the share of retransmissions.
    pub(crate) fn loss_estimate(&self) -> f64 {
        let lost = self.lost_packets + self.repaired_packets;
        let known = lost + self.arrived_packets + self.doubtful_packets + self.silent_packets;
        if known == 0 {
            return ratio(self.retransmission_packets, self.data_packets);
        }
        // One of two packets was lost, or the acknowledgement of both: three cases, of which
        // nothing says that one is likelier than another. A retransmission was lost, or the
        // report of it: two.
        ratio(6 * lost + 4 * self.doubtful_packets + 3 * self.silent_packets, 6 * known)
    }

    pub(super) fn add(&mut self, other: &Counts) {
        let Counts { by_order, by_cause, repeated, .. } = self;
        let arrays = by_order.iter_mut().zip(other.by_order);
        let arrays = arrays.chain(by_cause.iter_mut().zip(other.by_cause));
        for (ours, theirs) in arrays.chain(repeated.iter_mut().zip(other.repeated)) {
            *ours += theirs;
        }
        self.packets += other.packets;
        self.frame_bytes += other.frame_bytes;
        self.data_packets += other.data_packets;
        self.data_frame_bytes += other.data_frame_bytes;
        self.payload_bytes += other.payload_bytes;
        self.unique_bytes += other.unique_bytes;
        self.retransmitted_bytes += other.retransmitted_bytes;
        self.redundant_bytes += other.redundant_bytes;
        self.retransmission_packets += other.retransmission_packets;
        self.bundle_packets += other.bundle_packets;
        self.arrived_packets += other.arrived_packets;
        self.lost_packets += other.lost_packets;
        self.repaired_packets += other.repaired_packets;
        self.doubtful_packets += other.doubtful_packets;
        self.silent_packets += other.silent_packets;
        self.unreported += other.unreported;
        self.needless_reported += other.needless_reported;
        self.needless_inferred += other.needless_inferred;
        self.needless += other.needless;
        self.redundant_reported += other.redundant_reported;
        self.duplicates_reported += other.duplicates_reported;
        self.other_duplicates += other.other_duplicates;
        self.unseen_bytes += other.unseen_bytes;
    }
}

/// A share; 0 of nothing.
pub(crate) fn ratio(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}
