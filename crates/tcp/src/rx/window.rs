//! The receive window (RFC 9293, section 3.8.6; RFC 7323, section 2).

use crate::memory::LEAST;
use crate::wire::MAX_WINDOW_SCALE;

/// The range in which the peer may send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Most bytes waiting for the application.
    capacity: u64,
    /// Offset after the last byte that the peer was ever allowed to send. It never decreases
    /// (section 3.8.6: a receiver should not shrink the window).
    edge: u64,
    /// Shift of the window field; 0 while SYNs are exchanged.
    scale: u8,
    /// Bytes of data in a full-sized segment.
    mss: u32,
    /// Whether memory is scarce, so that the window only opens to the minimum.
    scarce: bool,
}

/// Window field for a number of bytes, without a scale.
pub(super) fn unscaled(capacity: u64) -> u16 {
    u16::try_from(capacity).unwrap_or(u16::MAX)
}

impl Window {
    /// A window that begins at `start`, as a SYN advertises it: unscaled.
    pub(super) fn new(capacity: u64, mss: u32, start: u64) -> Window {
        let edge = start + u64::from(unscaled(capacity));
        Window { capacity, edge, scale: 0, mss: mss.max(1), scarce: false }
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The capacity that the window field can express: at least two of its units, since a buffer
    /// smaller than one unit would never open its window again.
    fn room(&self) -> u64 {
        let least = if self.scale > 0 { 2 << self.scale } else { 1 };
        let capacity = if self.scarce { self.capacity.min(LEAST as u64) } else { self.capacity };
        capacity.max(least)
    }

    /// Changes the capacity. A smaller one does not shrink the advertised window.
    pub(super) fn set_capacity(&mut self, capacity: u64) {
        self.capacity = capacity;
    }

    /// Sets whether memory is scarce.
    pub(super) fn set_scarce(&mut self, scarce: bool) {
        self.scarce = scarce;
    }

    pub(super) fn edge(&self) -> u64 {
        self.edge
    }

    pub(super) fn mss(&self) -> u64 {
        u64::from(self.mss)
    }

    /// Sets the negotiated shift of the window, 14 at most (RFC 7323, section 2.3).
    pub(super) fn set_scale(&mut self, scale: u8) {
        self.scale = scale.min(MAX_WINDOW_SCALE);
    }

    /// The right edge to advertise, rounded to the field's precision, and the field.
    ///
    /// The edge stays until it can move by a full-sized segment or half the buffer (section
    /// 3.8.6.2.2: silly window syndrome).
    fn compute(&self, rcv_nxt: u64, unread: u64) -> (u64, u16) {
        let unit = 1 << self.scale;
        let room = self.room();
        let free = rcv_nxt + room.saturating_sub(unread);
        let step = u64::from(self.mss).min(room / 2).max(unit);
        let edge = if free >= self.edge.saturating_add(step) { free } else { self.edge };
        let window = edge.saturating_sub(rcv_nxt);
        let mut units = window >> self.scale;
        // A remainder below the field's unit is rounded up, by at most one unit beyond the buffer,
        // so that the edge does not seem to go back as data arrives (RFC 7323, section
        // 2.4).
        if units << self.scale < window && edge == self.edge && edge <= free {
            units += 1;
        }
        let field = u16::try_from(units).unwrap_or(u16::MAX);
        (rcv_nxt + (u64::from(field) << self.scale), field)
    }

    /// Window field of a segment that leaves now, up to which the peer may send from now on.
    pub(super) fn advertise(&mut self, rcv_nxt: u64, unread: u64) -> u16 {
        let (edge, field) = self.compute(rcv_nxt, unread);
        self.edge = self.edge.max(edge);
        field
    }

    /// Whether the window can open so far that a window update should be sent.
    ///
    /// This takes two full-sized segments or half the buffer, and either a quarter of the buffer or
    /// a nearly closed window: an update after each read would double the number of
    /// acknowledgements.
    pub(super) fn update_due(&self, rcv_nxt: u64, unread: u64) -> bool {
        let (edge, _) = self.compute(rcv_nxt, unread);
        let gain = edge.saturating_sub(self.edge);
        let left = self.edge.saturating_sub(rcv_nxt);
        let (two, room) = (2 * u64::from(self.mss), self.room());
        gain > 0
            && (gain >= two || gain >= room / 2 || left == 0)
            && (gain >= room / 4 || left <= room / 8 || room <= 4 * two)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    #[test]
    fn data_that_waits_closes_the_window_and_the_edge_stays() {
        let mut window = Window::new(4000, MSS, 1);
        assert_eq!(window.edge(), 4001);
        assert_eq!(window.advertise(1, 0), 4000);
        assert_eq!(window.advertise(1001, 1000), 3000);
        assert_eq!(window.advertise(4001, 4000), 0);
        assert_eq!(window.edge(), 4001);
    }

    #[test]
    fn the_edge_moves_only_by_a_full_sized_segment_or_half_the_buffer() {
        let mut window = Window::new(4000, MSS, 1);
        assert_eq!(window.advertise(4001, 3001), 0);
        assert_eq!(window.advertise(4001, 3000), 1000);
        let mut small = Window::new(600, MSS, 1);
        assert_eq!(small.advertise(601, 301), 0);
        assert_eq!(small.advertise(601, 300), 300);
    }

    #[test]
    fn a_smaller_buffer_takes_back_nothing() {
        let mut window = Window::new(4000, MSS, 1);
        window.set_capacity(1000);
        assert_eq!(window.advertise(1, 0), 4000);
        assert_eq!(window.advertise(2001, 0), 2000);
        assert_eq!(window.advertise(3401, 0), 600);
        assert_eq!(window.advertise(4001, 0), 1000);
    }

    #[test]
    fn a_scaled_window_never_seems_to_shrink_nor_promises_more_than_a_unit_too_much() {
        let mut window = Window::new(100_000, MSS, 1);
        window.set_scale(7);
        let mut seen = 0;
        let capacity = 100_000;
        for received in 0..capacity {
            let rcv_nxt = 1 + received;
            let field = window.advertise(rcv_nxt, received);
            let edge = rcv_nxt + (u64::from(field) << 7);
            assert!(edge + 128 > seen, "{edge} after {seen}");
            assert!(edge < 1 + capacity + 128);
            assert!(edge <= window.edge());
            seen = seen.max(edge);
        }
    }

    #[test]
    fn a_buffer_smaller_than_a_unit_of_the_field_opens_its_window_again() {
        let mut window = Window::new(1 << 20, MSS, 1);
        window.set_scale(14);
        window.set_capacity(1000);
        assert_eq!(window.advertise(65_536, 65_535), 0);
        assert!(window.update_due(65_536, 0));
        assert_eq!(window.advertise(65_536, 0), 2);
    }

    #[test]
    fn a_window_larger_than_the_field_is_what_the_field_can_say() {
        let mut window = Window::new(1 << 20, MSS, 1);
        assert_eq!(window.advertise(1, 0), u16::MAX);
        assert_eq!(window.edge(), 1 + 65_535);
        window.set_scale(4);
        assert_eq!(window.advertise(1, 0), u16::MAX);
        assert_eq!(window.edge(), 1 + 65_535 * 16);
    }

    #[test]
    fn the_peer_is_told_of_a_window_that_opened_when_it_is_worth_a_segment() {
        let mut window = Window::new(40_000, MSS, 1);
        window.advertise(20_001, 20_000);
        // Half is left: an update for a quarter more is sent, for two segments it is not.
        assert!(!window.update_due(20_001, 18_000));
        assert!(window.update_due(20_001, 10_000));
        window.advertise(40_001, 40_000);
        // Nothing is left: an update for a segment is sent.
        assert!(!window.update_due(40_001, 39_001));
        assert!(window.update_due(40_001, 39_000));
    }
}
