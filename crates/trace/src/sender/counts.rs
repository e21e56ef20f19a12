//! What is counted of a direction.

/// What the packets of a direction count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) packets: u64,
    pub(crate) frame_bytes: u64,
    pub(crate) data_packets: u64,
    /// Frames with user data.
    pub(crate) data_frame_bytes: u64,
    pub(crate) payload_bytes: u64,
    pub(crate) unique_bytes: u64,
    pub(crate) retransmitted_bytes: u64,
    pub(crate) redundant_bytes: u64,
    /// Packets with nothing but retransmissions.
    pub(crate) retransmission_packets: u64,
    /// Packets with something new and a copy of something old.
    pub(crate) bundle_packets: u64,
    pub(crate) by_order: [u64; 4],
    pub(crate) by_cause: [u64; 6],
    pub(crate) needless_reported: u64,
    pub(crate) needless_inferred: u64,
    pub(crate) needless: u64,
    /// Copies that were reported to have come in vain.
    pub(crate) redundant_reported: u64,
    /// Reports of duplicates that nobody sent.
    pub(crate) other_duplicates: u64,
    /// Acknowledgements that repeat, by their place in their run: first, second, third, later.
    pub(crate) repeated: [u64; 4],
    /// Acknowledged, but never seen to be sent: the capture missed it.
    pub(crate) unseen_bytes: u64,
}

impl Counts {
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
        self.needless_reported += other.needless_reported;
        self.needless_inferred += other.needless_inferred;
        self.needless += other.needless;
        self.redundant_reported += other.redundant_reported;
        self.other_duplicates += other.other_duplicates;
        self.unseen_bytes += other.unseen_bytes;
    }
}
