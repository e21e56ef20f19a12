//! Reports of every shape from a lying peer: overlapping, reversed, of single bytes, beyond the
//! data sent, below the cumulative acknowledgement (D-SACK), and revoked.

use base::{Duration, Purpose, RandomStream};
use recovery::TCP_PRESETS;
use tcp::wire::{Options, SackBlock, Segment};
use tcp::{ConnectionOptions, EndpointOptions, Failure, SendFlags};

use crate::crowd::{Crowd, Honest};
use crate::support::address;

/// A connection with the recovery preset `preset` and a megabyte to send.
fn sending(preset: &str) -> (Crowd, Honest) {
    let policy = recovery::RecoveryPolicy::tcp_preset(preset).unwrap();
    let accepted = ConnectionOptions {
        policy: std::sync::Arc::new(policy),
        send_buffer: 4 << 20,
        ..ConnectionOptions::default()
    };
    let mut crowd = Crowd::new(EndpointOptions::default(), accepted);
    let options = Options { sack_permitted: true, mss: Some(1460), ..Options::default() };
    let honest = crowd.connect(address("10.0.7.7:777"), options);
    let id = crowd.accepted[0];
    crowd
        .endpoint
        .connection_mut(id)
        .unwrap()
        .send(crowd.now, vec![1; 1 << 20].into(), SendFlags::default())
        .unwrap();
    (crowd, honest)
}

/// An acknowledgement of `acked` bytes with blocks of any shape.
fn lie(honest: &Honest, acked: u32, outstanding: u32, random: &mut RandomStream) -> Segment {
    let mut ack = honest.segment(0);
    ack.ack = honest.ack.advance(acked);
    let blocks = 1 + random.below(4);
    let mut block = |_| {
        let mut below = |bound: u32| random.below(u64::from(bound.max(1))) as u32;
        let (one, other) = (below(outstanding + 1), below(outstanding + 1));
        let (start, end) = match below(7) {
            0 => (one, one.wrapping_add(1)),
            1 => (one.max(other), one.min(other)),
            2 => (outstanding + one, outstanding + one + other),
            3 => (one.wrapping_sub(100_000), one.wrapping_sub(90_000)),
            4 => (0, one),
            5 => (below(u32::MAX), below(u32::MAX)),
            _ => (one.min(other), one.max(other) + 1),
        };
        SackBlock { start: ack.ack.advance(start), end: ack.ack.advance(end) }
    };
    ack.options.sack = (0..blocks).map(&mut block).collect();
    ack
}

/// Sends twenty lies a second for `seconds` seconds, each of which acknowledges `progress` bytes;
/// returns why and when the connection ended, if it did.
fn lies(preset: &str, seconds: u32, progress: u32) -> Option<(Failure, u32)> {
    let (mut crowd, honest) = sending(preset);
    let mut random = RandomStream::new(1, Purpose("lies", 0));
    let (mut acked, id) = (0, crowd.accepted[0]);
    for step in 0..20 * seconds {
        crowd.drain();
        let Some(connection) = crowd.endpoint.connection(id) else {
            panic!("it was never released")
        };
        if let Some(failure) = connection.failure() {
            return Some((failure, step / 20));
        }
        let outstanding = connection.info(crowd.now).unacked_bytes as u32;
        let step = progress.min(outstanding);
        acked += step;
        let segment = lie(&honest, acked, outstanding - step, &mut random);
        crowd.give(honest.remote, &segment);
        crowd.wait(Duration::from_millis(50));
    }
    crowd.drain();
    crowd.serves();
    None
}

#[test]
fn lists_of_every_shape_end_no_connection_whose_peer_acknowledges_something() {
    for (preset, _) in TCP_PRESETS {
        assert_eq!(lies(preset, 120, 100), None, "{preset}");
    }
}

#[test]
fn a_peer_that_reports_and_never_acknowledges_is_given_up_as_one_that_is_silent() {
    for (preset, _) in TCP_PRESETS {
        let Some((failure, after)) = lies(preset, 3000, 0) else {
            panic!("{preset}: reports alone keep a connection for ever")
        };
        assert_eq!(failure, Failure::TimedOut, "{preset}");
        // Not before 100 seconds, the minimum of RFC 9293, section 3.8.3.
        assert!(after >= 100, "{preset}: after {after} s");
    }
}
