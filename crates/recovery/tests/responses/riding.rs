//! Units in flight that ride along with new data.

use std::sync::Arc;

use base::Instant;
use recovery::policy::BundlingPolicy;
use recovery::{
    Bundle, Feedback, GapRanges, PathId, Recovery, RecoveryPolicy, Ride, Silence, Space,
};

/// Units that ride along with the next packet, when the third of four units of `len` bytes in
/// separate packets, from 1000 on, is reported.
fn rides(len: u32, ride: Ride) -> Bundle {
    let mut policy = RecoveryPolicy::tcp_thin_paper();
    policy.redundancy.bundling = Some(BundlingPolicy::PAPER);
    policy.loss.dup_threshold_while_thin = None;
    let mut recovery = Recovery::new(Arc::new(policy), Silence::Nothing, 1000, 1000);
    for _ in 0..4 {
        recovery.draft_new(PathId::FIRST, len, len);
        recovery.on_sent(Instant::ZERO, PathId::FIRST);
    }
    let step = u64::from(len);
    let third = 1000 + 2 * step;
    let ranges: GapRanges = core::iter::once(third..third + step).collect();
    let report = Feedback { ranges: Some(&ranges), ..Feedback::up_to(1000) };
    recovery.on_feedback(Instant::from_millis(100), &report, 0);
    let next = recovery.ledger().next_unit();
    let space = Space { room: 500, ride, cost: |weight| weight };
    recovery.bundle_before(Instant::from_millis(100), PathId::FIRST, next, len, space)
}

#[test]
fn where_copies_must_touch_what_was_reported_rides_along_however_short_it_is() {
    for len in [1, 10] {
        let step = u64::from(len);
        let all = [(1000 + 3 * step, len), (1000 + 2 * step, len), (1000 + step, len), (1000, len)];
        assert_eq!(rides(len, Ride::Joined)[..], all);
    }
}

#[test]
fn where_each_rides_by_itself_what_was_reported_is_left_out() {
    assert_eq!(rides(1, Ride::Apart)[..], [(1003, 1), (1001, 1), (1000, 1)]);
}
