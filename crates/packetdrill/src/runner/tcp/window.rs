//! Advertised windows of the stack: their size is the stack's choice, but their right edge never
//! moves back (RFC 9293, section 3.8.6).

use super::wire::{self, WireSegment};
use crate::script::TcpOption;

/// The right edge of the stack's window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Promise {
    /// Shift of windows after the SYN (RFC 7323, section 2).
    shift: u32,
    /// Shift that the stack's own SYN offers, until the script's SYN decides whether it counts,
    /// and that SYN's window.
    offered: Option<(u32, u16)>,
    /// The furthest right edge advertised, on the wire.
    edge: Option<u32>,
}

impl Promise {
    /// Records a segment of the stack.
    pub(super) fn note(&mut self, found: &WireSegment) {
        if found.flags & wire::SYN != 0 {
            let shift = shift(&found.options);
            *self = match found.flags & wire::ACK {
                0 => Promise { offered: Some((shift, found.window)), ..Promise::default() },
                _ => Promise { shift, edge: Some(right_edge(found, 0)), offered: None },
            };
        } else if promises(found) && !self.is_broken_by(found) {
            self.edge = Some(right_edge(found, self.shift));
        }
    }

    /// Records a segment of the script: the answer to the stack's SYN decides whether windows are
    /// scaled, and where that SYN's window begins.
    pub(super) fn note_script(&mut self, segment: &WireSegment) {
        if segment.flags & wire::SYN != 0
            && let Some((offered, window)) = self.offered.take()
        {
            self.shift = if segment.options.iter().any(is_scale) { offered } else { 0 };
            self.edge = Some(segment.sequence.wrapping_add(1).wrapping_add(window.into()));
        }
    }

    /// Shift that applies to a segment's window field: 0 for a SYN.
    pub(super) fn shift_of(&self, found: &WireSegment) -> u32 {
        if found.flags & wire::SYN != 0 { 0 } else { self.shift }
    }

    /// Whether the window of a segment ends before the furthest edge.
    pub(super) fn is_broken_by(&self, found: &WireSegment) -> bool {
        let shift = self.shift_of(found);
        let goes_back = |edge: u32| right_edge(found, shift).wrapping_sub(edge).cast_signed() < 0;
        promises(found) && self.edge.is_some_and(goes_back)
    }

    /// Whether the window of a segment ends, to within `unit` bytes, at the furthest edge.
    pub(super) fn is_kept_by(&self, found: &WireSegment, unit: u64) -> bool {
        let shift = self.shift_of(found);
        let distance = |edge: u32| right_edge(found, shift).wrapping_sub(edge).cast_signed();
        self.edge.is_some_and(|edge| u64::from(distance(edge).unsigned_abs()) <= unit)
    }
}

/// Whether a segment advertises a window.
fn promises(segment: &WireSegment) -> bool {
    segment.flags & wire::ACK != 0 && segment.flags & wire::RST == 0
}

fn right_edge(segment: &WireSegment, shift: u32) -> u32 {
    segment.ack.wrapping_add(u32::from(segment.window) << shift)
}

fn is_scale(option: &TcpOption) -> bool {
    matches!(option, TcpOption::WindowScale(_))
}

/// The shift in a SYN's options; more than 14 counts as 14 (RFC 7323, section 2.3).
fn shift(options: &[TcpOption]) -> u32 {
    let shift = options.iter().find_map(|option| match option {
        TcpOption::WindowScale(shift) => Some((*shift).min(14)),
        _ => None,
    });
    shift.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(flags: &str, ack: u32, window: u16, options: &[TcpOption]) -> WireSegment {
        WireSegment {
            source: 1,
            destination: 2,
            sequence: 0,
            ack,
            flags: wire::flags(flags),
            window,
            urgent: 0,
            options: options.to_vec(),
            payload: Vec::new(),
        }
    }

    #[test]
    fn an_edge_may_stay_or_move_on_and_not_go_back() {
        let mut promise = Promise::default();
        promise.note(&found("S.", u32::MAX, 1000, &[]));
        assert!(!promise.is_broken_by(&found(".", 99, 900, &[])), "it stays, and wraps");
        assert!(!promise.is_broken_by(&found(".", 99, 1000, &[])));
        assert!(promise.is_broken_by(&found(".", 99, 899, &[])));
        assert!(!promise.is_broken_by(&found("R.", 99, 0, &[])), "a reset promises nothing");
        promise.note(&found(".", 99, 1000, &[]));
        assert!(promise.is_broken_by(&found(".", 99, 900, &[])));
        promise.note(&found("S.", 5, 10, &[]));
        assert!(!promise.is_broken_by(&found(".", 5, 10, &[])), "another connection");
    }

    #[test]
    fn an_edge_is_kept_where_it_was_to_the_unit_and_nowhere_else() {
        let mut promise = Promise::default();
        assert!(!promise.is_kept_by(&found(".", 1, 1000, &[]), 1), "nothing was promised yet");
        promise.note(&found("S.", 1, 1000, &[]));
        for (window, is_kept) in [(900, true), (899, true), (901, true), (898, false), (902, false)]
        {
            assert_eq!(promise.is_kept_by(&found(".", 101, window, &[]), 1), is_kept, "{window}");
        }
    }

    #[test]
    fn windows_behind_the_syn_are_scaled_if_both_sides_offered_it() {
        let scale = TcpOption::WindowScale(6);
        let mut accepted = Promise::default();
        accepted.note(&found("S.", 1, 640, core::slice::from_ref(&scale)));
        assert!(!accepted.is_broken_by(&found(".", 1, 10, &[])));
        assert!(accepted.is_broken_by(&found(".", 1, 9, &[])));
        for (answer, is_broken) in [(vec![scale.clone()], true), (vec![], false)] {
            let mut opened = Promise::default();
            opened.note(&found("S", 0, 640, core::slice::from_ref(&scale)));
            opened.note_script(&found("S.", 1, 9, &answer));
            assert!(opened.is_broken_by(&found(".", 2, 9, &[])), "less than the SYN said");
            opened.note(&found(".", 1, 640, &[]));
            assert!(!opened.is_broken_by(&found(".", 65, 639, &[])));
            assert_eq!(opened.is_broken_by(&found(".", 33, 639, &[])), is_broken);
        }
    }
}
