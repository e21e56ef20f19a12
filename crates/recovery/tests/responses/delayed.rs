//! Timeouts to a receiver that acknowledges every second segment at once, and others 200 ms late.

use base::Duration;
use recovery::{PathId, RecoveryPolicy};

use crate::line::Line;

/// The path's round trip is 300 ms, steady for long. Segments leave at 0, 10, 20 and 300 ms; the
/// receiver acknowledges the first two at 310, and the third at 520, before the fourth arrives.
#[test]
fn the_oldest_of_two_segments_waits_for_the_next_or_for_the_receivers_delay() {
    let mut line = Line::new(RecoveryPolicy::tcp_thin(), 10).of(100);
    for _ in 0..100 {
        line.recovery.on_rtt_sample(PathId::FIRST, Duration::from_millis(300));
    }
    for at in [0, 10, 20, 300] {
        assert_eq!(line.send(at, 1).len(), 1);
    }
    assert_eq!(line.ack(310, 2, &[]), []);
    assert_eq!(line.wait(519), [], "no needless timeout at 321");
    assert_eq!(line.ack(520, 3, &[]), []);
    assert_eq!(line.ack(800, 4, &[]), []);
    assert_eq!(line.recovery.stats().timeouts, 0);
}
