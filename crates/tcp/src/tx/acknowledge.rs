//! Effects of an acknowledgement on outstanding data, window and buffer.

use core::ops::Range;

use base::{Duration, Instant};
use recovery::{Feedback, GapRanges, Silence};

use super::sender::{PATH, Sender};

/// An arriving segment's fields for the sending side, in offsets.
#[derive(Clone, Debug)]
pub struct Acknowledgement<'a> {
    /// Offset of the segment's sequence number in the peer's stream (SEG.SEQ).
    pub seq: u64,
    /// Offset of the next byte that the peer expects (SEG.ACK).
    pub ack: u64,
    /// The advertised window, scaled to bytes (SEG.WND).
    pub window: u64,
    /// The SACK blocks in their order, D-SACK blocks (RFC 2883) included.
    pub sack: &'a [Range<u64>],
    /// Whether both sides sent the SACK-permitted option.
    pub has_sack: bool,
    /// Whether it carries data, SYN or FIN.
    pub has_data: bool,
    /// The RTT sample from its echoed timestamp.
    pub rtt: Option<Duration>,
    /// Whether ECE is set: a segment was marked CE (RFC 3168).
    pub ece: bool,
    /// Whether a segment that the peer sent later arrived before: then its reports may be new, but
    /// its window is not.
    pub overtaken: bool,
}

/// Facts of an acknowledgement that the connection acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AckResult {
    /// Whether the acknowledgement advanced SND.UNA.
    pub advanced: bool,
    /// Whether it is the first to acknowledge the FIN.
    pub fin_acked: bool,
}

impl Sender {
    /// Processes the acknowledgement of an acceptable segment. One of unsent data has no effect.
    pub fn on_ack(&mut self, now: Instant, ack: &Acknowledgement<'_>) -> AckResult {
        let mut result = AckResult::default();
        if ack.ack > self.snd_max() {
            return result;
        }
        self.recovery.begin_burst();
        self.adopt_probe(now, ack.ack);
        let una = self.snd_una();
        let fin_acked = self.is_fin_acked();
        let was_shut_out = self.is_shut_out();
        let was_probed = self.persist.as_ref().is_some_and(|persist| persist.was_due());
        let same_window = ack.window == self.window;
        if ack.ack >= una {
            self.update_window(ack);
            if let Some(persist) = &mut self.persist {
                persist.on_answered();
                self.waiting_since = Some(now);
            }
        }
        let unsent = self.unsent_packets();
        let (blocks, needless) = reports(ack, self.snd_nxt());
        let feedback = Feedback {
            cumulative: ack.ack,
            ranges: ack.has_sack.then_some(&blocks),
            silence: Silence::Nothing,
            // The answer to a window probe does not mean that a segment left the network, and an
            // overtaken acknowledgement reports none that was not counted.
            duplicate: !ack.has_data
                && same_window
                && ack.ack == una
                && !was_shut_out
                && !ack.overtaken,
            needless: needless.as_slice(),
            echo: ack.rtt,
            marked: ack.ece,
        };
        if ack.ece {
            self.recovery.on_ecn_echo(now, PATH);
        }
        let outcome = self.recovery.on_feedback(now, &feedback, unsent);
        result.advanced = outcome.advanced;
        if outcome.advanced {
            result.fin_acked = !fin_acked && self.is_fin_acked();
            self.counters.bytes_acked +=
                ack.ack.min(self.buffer.end()) - una.min(self.buffer.end());
            self.buffer.release(ack.ack);
            (self.timeouts, self.errors) = (0, 0);
            self.waiting_since = (!self.recovery.ledger().is_empty()).then_some(now);
            self.urgent_end = self.urgent_end.filter(|end| *end > ack.ack);
        }
        if was_shut_out != self.is_shut_out() {
            self.on_shut_out_changed(now, was_probed);
        }
        result
    }

    /// Updates the window (RFC 9293, section 3.10.7.4: an older segment does not change it).
    fn update_window(&mut self, ack: &Acknowledgement<'_>) {
        let newer = self.wl1 < ack.seq || (self.wl1 == ack.seq && self.wl2 <= ack.ack);
        if !newer || ack.overtaken {
            return;
        }
        (self.wl1, self.wl2) = (ack.seq, ack.ack);
        self.window_end = ack.ack + ack.window;
        self.window = ack.window;
        self.max_window = self.max_window.max(ack.window);
        if self.window_end > self.snd_nxt() + 1 {
            // The window is not closed any more: if the rest is too small to use, it waits from now
            // on.
            self.forget_probe_before(ack.ack);
        }
    }
}

/// The reports of a SACK option: ascending ranges beyond the cumulative point, and a duplicate. The
/// first block is a duplicate if it lies below the cumulative point or inside the second (RFC 2883,
/// section 4). Ranges beyond sent data are ignored.
fn reports(ack: &Acknowledgement<'_>, next: u64) -> (GapRanges, Option<Range<u64>>) {
    let mut blocks = GapRanges::new();
    let mut needless = None;
    let sack = if ack.has_sack { ack.sack } else { &[] };
    if sack.is_empty() {
        return (blocks, needless);
    }
    for (index, block) in sack.iter().enumerate() {
        if block.is_empty() || block.end > next {
            continue;
        }
        let inside_second = index == 0
            && sack.get(1).is_some_and(|second| {
                second.start <= block.start && block.end <= second.end && second.end <= next
            });
        if index == 0 && (block.start < ack.ack || inside_second) {
            needless =
                Some(block.start..if inside_second { block.end } else { block.end.min(ack.ack) });
        } else if block.start > ack.ack {
            blocks.push(block.clone());
        }
    }
    blocks.sort_unstable_by_key(|block| block.start);
    blocks.dedup_by(|next, before| {
        let touches = next.start <= before.end;
        if touches {
            before.end = before.end.max(next.end);
        }
        touches
    });
    (blocks, needless)
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of blocks that has one")]
mod tests {
    use super::*;

    fn said(ack: u64, sack: &[Range<u64>]) -> (Vec<Range<u64>>, Option<Range<u64>>) {
        let ack = Acknowledgement {
            seq: 0,
            ack,
            window: 0,
            sack,
            has_sack: true,
            has_data: false,
            rtt: None,
            ece: false,
            overtaken: false,
        };
        let (blocks, needless) = reports(&ack, 10_000);
        (blocks.to_vec(), needless)
    }

    #[test]
    fn blocks_are_sorted_joined_and_kept_to_what_was_sent() {
        assert_eq!(said(100, &[500..600, 200..300, 600..700]), (vec![200..300, 500..700], None));
        assert_eq!(said(100, &[9000..10_001, 100..200, 300..300]), (vec![], None));
    }

    #[test]
    fn the_first_block_reports_a_duplicate_below_the_point_or_inside_the_second() {
        assert_eq!(said(1000, &[400..500]), (vec![], Some(400..500)));
        assert_eq!(said(1000, &[1500..1600, 1200..2000]), (vec![1200..2000], Some(1500..1600)));
        assert_eq!(said(1000, &[1500..1600, 1700..2000]), (vec![1500..1600, 1700..2000], None));
        assert_eq!(said(1000, &[1500..1600, 400..500]), (vec![1500..1600], None), "not the second");
    }
}
