//! Proportional rate reduction (RFC 9937): twenty segments in flight, the first of which is lost.

use recovery::RecoveryPolicy;
use recovery::policy::WindowCounts;

use crate::line::{Left, Line, plain};

fn policy(prr: bool) -> RecoveryPolicy {
    let mut policy = plain();
    policy.congestion.prr = prr;
    policy
}

/// Bytes that each of the nineteen acknowledgements releases; the second one stands for `lost` lost
/// segments.
fn run(prr: bool, lost: u64) -> (Line, Vec<Vec<u64>>) {
    let mut line = Line::new(policy(prr), 20);
    line.send(0, 20);
    let segments = |left: Vec<Left>| left.into_iter().map(|(_, segment, _)| segment).collect();
    let ack = |last| {
        // New data arrives with the third report; before that, each report releases a segment.
        line.unsent += if last == lost + 2 { 100 } else { 0 };
        segments(line.ack(100 + last, 0, &[lost..last + 1]))
    };
    let left = (lost..20).map(ack).collect();
    (line, left)
}

fn counts(left: &[Vec<u64>]) -> Vec<usize> {
    left.iter().map(Vec::len).collect()
}

#[test]
fn ten_segments_leave_for_every_eighteen_that_arrive() {
    let (mut line, left) = run(true, 1);
    // 18 are in flight before the third report: RecoverFS. It releases the retransmission, and the
    // d-th one from there on lets 10/18 d be out: 1.1 with d = 2, 1.7, 2.2, 2.8, 3.3, 3.9, 4.4,
    // 5.0, 5.6, 6.1. With d = 13 no more are in flight than should be: from then on one leaves
    // for each that arrives.
    assert_eq!(counts(&left), [0, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 1]);
    assert_eq!(left[2], [0]);
    assert_eq!(line.flight(), 10);
    let after = line.ack(220, 20, &[]);
    assert_eq!(line.windows(), (10, 10));
    assert_eq!(after.len(), 1);
}

#[test]
fn without_it_half_a_window_passes_in_silence_first() {
    let (line, left) = run(false, 1);
    assert_eq!(counts(&left), [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(line.flight(), 10);
}

#[test]
fn heavy_loss_is_repaired_one_for_one_and_not_in_a_burst() {
    // Fifteen of twenty are lost: the third report finds two in flight, where ten are allowed.
    let (_, left) = run(true, 15);
    assert_eq!(counts(&left), [0, 0, 1, 1, 1]);
    let (_, left) = run(false, 15);
    assert_eq!(counts(&left), [0, 0, 8, 1, 1]);
}

/// Segments that leave from 48 ms on, of a message of 30 bytes every 24 ms with a round trip of 130
/// ms, when the third is lost.
fn thin(prr: bool, window_counts: WindowCounts) -> Vec<Left> {
    let mut policy = RecoveryPolicy::tcp_linux();
    policy.congestion.window_counts = window_counts;
    policy.congestion.prr = prr;
    let mut line = Line::new(policy, 10).of(30);
    let mut left = Vec::new();
    for step in 0..12u64 {
        left.extend(line.wait(24 * step));
        left.extend(line.send(24 * step, 1));
        // Before the next message, the acknowledgement of the segment sent 130 ms ago arrives.
        let Some(arrived) = (24 * step + 10).checked_sub(130).map(|sent| sent / 24) else {
            continue;
        };
        left.extend(line.wait(24 * step + 10));
        match arrived {
            2 => {}
            0..2 => left.extend(line.ack(24 * step + 10, arrived + 1, &[])),
            _ => left.extend(line.ack(24 * step + 10, 2, &[3..arrived + 1])),
        }
    }
    left.retain(|(at, ..)| *at >= 48);
    left
}

/// The times of retransmissions and of new messages.
fn times(left: Vec<Left>) -> (Vec<Left>, Vec<u64>) {
    let (again, new): (Vec<Left>, Vec<Left>) = left.into_iter().partition(|left| left.2);
    (again, new.iter().map(|(at, ..)| *at).collect())
}

#[test]
fn a_thin_stream_sends_each_message_at_its_time_while_a_loss_is_repaired() {
    for prr in [true, false] {
        // The report of the fourth message arrives at 202 ms. The third is lost a round trip and a
        // quarter of the shortest one, the handshake's 100 ms, after it left: 48 + 130 +
        // 25. PRR releases at least a full segment, which holds dozens of such messages.
        let (again, new) = times(thin(prr, WindowCounts::Bytes));
        assert_eq!(again, [(203, 2, true)]);
        assert_eq!(new, (2..12).map(|step| 24 * step).collect::<Vec<_>>(), "{prr}");
    }
}

#[test]
fn where_the_window_counts_packets_a_message_waits_for_the_next_acknowledgement() {
    // PRR released the retransmission: each message behind it waits for the report of another,
    // which arrives 10 ms after the message was written.
    let (again, new) = times(thin(true, WindowCounts::Packets));
    assert_eq!(again, [(203, 2, true)]);
    assert_eq!(new, [48, 72, 96, 120, 144, 168, 192, 226, 250, 274]);
    // CUBIC leaves seven of ten, and six are in flight.
    let (_, new) = times(thin(false, WindowCounts::Packets));
    assert_eq!(new, (2..12).map(|step| 24 * step).collect::<Vec<_>>());
}
