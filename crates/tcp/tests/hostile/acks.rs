//! Peers that lie about what they received, to a sender with each preset of recovery.

use std::sync::Arc;

use allocation_counter::measure;
use base::{Duration, Purpose, RandomStream};
use recovery::{RecoveryPolicy, TCP_PRESETS};
use tcp::wire::{Options, SackBlock, Segment, SeqNumber, Timestamps};
use tcp::{ConnectionOptions, EndpointOptions, SendFlags};

use crate::crowd::{Crowd, Honest};
use crate::support::address;

fn presets() -> impl Iterator<Item = &'static str> {
    TCP_PRESETS.iter().map(|(name, _)| *name)
}

/// A connection with the recovery preset `preset` and `bytes` bytes to send, to a peer whose SYN
/// has these options.
fn sending(preset: &str, bytes: usize, options: Options) -> (Crowd, Honest) {
    let policy = Arc::new(RecoveryPolicy::tcp_preset(preset).unwrap());
    let accepted =
        ConnectionOptions { policy, send_buffer: 4 << 20, ..ConnectionOptions::default() };
    let mut crowd = Crowd::new(EndpointOptions::default(), accepted);
    let honest = crowd.connect(address("10.0.7.7:777"), options);
    let id = crowd.accepted[0];
    let data = vec![1; bytes].into();
    crowd.endpoint.connection_mut(id).unwrap().send(crowd.now, data, SendFlags::default()).unwrap();
    (crowd, honest)
}

#[test]
fn what_was_not_sent_cannot_be_acknowledged() {
    for preset in presets() {
        let (mut crowd, honest) = sending(preset, 1 << 20, Options::default());
        let sent = crowd.drain();
        let info =
            |crowd: &Crowd| crowd.endpoint.connection(crowd.accepted[0]).unwrap().info(crowd.now);
        let before = info(&crowd);
        for step in 1..1000 {
            let mut ack = honest.segment(0);
            ack.ack = honest.ack.advance(before.unacked_bytes as u32 + step);
            crowd.give(honest.remote, &ack);
        }
        let after = info(&crowd);
        assert_eq!(
            (after.path.cwnd, after.unacked_bytes),
            (before.path.cwnd, before.unacked_bytes)
        );
        assert!(crowd.drain() <= 1, "{sent} were sent");
    }
}

#[test]
fn blocks_that_name_what_was_not_sent_change_nothing() {
    for preset in presets() {
        let options = Options { sack_permitted: true, ..Options::default() };
        let (mut crowd, honest) = sending(preset, 1 << 20, options);
        crowd.drain();
        let sent =
            crowd.endpoint.connection(crowd.accepted[0]).unwrap().info(crowd.now).unacked_bytes;
        for step in 0..1000u32 {
            let mut ack = honest.segment(0);
            let at = |offset: u32| honest.ack.advance(offset);
            ack.options.sack = [
                SackBlock { start: at(sent as u32 + step), end: at(sent as u32 + step + 1000) },
                SackBlock { start: at(step + 10), end: at(step) },
                SackBlock { start: SeqNumber(step), end: SeqNumber(u32::MAX - step) },
            ]
            .into_iter()
            .collect();
            crowd.give(honest.remote, &ack);
        }
        let info = crowd.endpoint.connection(crowd.accepted[0]).unwrap().info(crowd.now);
        assert_eq!(info.unacked_bytes, sent);
        crowd.wait(Duration::from_secs(10));
    }
}

/// A segment without a new acknowledgement that reports these bytes, counted from the first byte
/// sent.
fn reporting(honest: &Honest, blocks: impl IntoIterator<Item = (u32, u32)>) -> Segment {
    let mut ack = honest.segment(0);
    let at = |offset| honest.ack.advance(offset);
    let block = |(start, end)| SackBlock { start: at(start), end: at(end) };
    ack.options.sack = blocks.into_iter().map(block).collect();
    ack
}

fn with_sack(mss: u16) -> Options {
    Options { mss: Some(mss), sack_permitted: true, ..Options::default() }
}

fn unacked(crowd: &Crowd) -> u32 {
    let own = crowd.endpoint.connection(crowd.accepted[0]).unwrap();
    own.info(crowd.now).unacked_bytes as u32
}

#[test]
fn reports_of_every_other_byte_cut_what_is_outstanding_into_a_bounded_number_of_pieces() {
    for preset in presets() {
        let (mut crowd, honest) = sending(preset, 1 << 20, with_sack(1460));
        crowd.drain();
        let bytes = unacked(&crowd);
        assert!(bytes > 10_000);
        let used = measure(|| {
            for start in (1..bytes - 8).step_by(8) {
                let blocks = (0..4).map(|index| start + 2 * index);
                crowd.give(honest.remote, &reporting(&honest, blocks.map(|at| (at, at + 1))));
                crowd.drain();
            }
        });
        assert!(used.bytes_current < 64 << 10, "{} bytes", used.bytes_current);
        let mut ack = honest.segment(0);
        ack.ack = honest.ack.advance(unacked(&crowd));
        crowd.give(honest.remote, &ack);
        crowd.wait(Duration::from_secs(10));
        crowd.serves();
    }
}

#[test]
fn segments_as_small_as_can_be_are_reported_in_any_order_and_all_are_acknowledged() {
    for preset in presets() {
        let mut random = RandomStream::new(11, Purpose("test", 0));
        let (mut crowd, mut honest) = sending(preset, 60_000, with_sack(48));
        let mut left = 60_000;
        while left > 0 {
            crowd.drain();
            let sent = unacked(&crowd);
            for _ in 0..200 {
                let start = random.below(sent.into()) as u32;
                let end = start + 1 + random.below(u64::from(sent - start)) as u32;
                crowd.give(honest.remote, &reporting(&honest, [(start, end), (start / 2, start)]));
                crowd.drain();
            }
            let sent = unacked(&crowd);
            (honest.ack, left) = (honest.ack.advance(sent), left - sent);
            crowd.give(honest.remote, &honest.segment(0));
        }
        crowd.drain();
        assert_eq!(unacked(&crowd), 0);
        crowd.serves();
    }
}

#[test]
fn acknowledging_in_many_small_steps_grows_the_window_by_bytes_only() {
    for preset in presets() {
        let (mut crowd, mut honest) = sending(preset, 1 << 20, Options::default());
        crowd.drain();
        let cwnd = |crowd: &Crowd| {
            crowd.endpoint.connection(crowd.accepted[0]).unwrap().info(crowd.now).path.cwnd
        };
        let before = cwnd(&crowd);
        for _ in 0..1000 {
            honest.ack = honest.ack.next();
            crowd.give(honest.remote, &honest.segment(0));
            crowd.drain();
        }
        let grown = cwnd(&crowd) - before;
        assert!((1..=1000).contains(&grown), "{grown} bytes for 1000");
    }
}

#[test]
fn duplicates_without_end_open_the_window_by_no_more_than_what_is_outstanding() {
    for preset in presets() {
        let (mut crowd, honest) = sending(preset, 1 << 20, Options::default());
        crowd.drain();
        let before = unacked(&crowd);
        for _ in 0..10_000 {
            crowd.give(honest.remote, &honest.segment(0));
            crowd.drain();
        }
        let after = unacked(&crowd);
        assert!(after <= 2 * before, "{after} bytes, {before} before");
    }
}

#[test]
fn duplicates_between_acknowledgements_of_single_bytes_open_it_no_further() {
    for preset in presets() {
        let (mut crowd, mut honest) = sending(preset, 1 << 20, Options::default());
        crowd.drain();
        let before = unacked(&crowd);
        for _ in 0..1000 {
            for _ in 0..20 {
                crowd.give(honest.remote, &honest.segment(0));
                crowd.drain();
            }
            honest.ack = honest.ack.next();
            crowd.give(honest.remote, &honest.segment(0));
            crowd.drain();
        }
        let after = unacked(&crowd);
        assert!(after <= 2 * before, "{after} bytes, {before} before");
    }
}

#[test]
fn an_acknowledgement_is_never_answered_by_an_acknowledgement_for_long() {
    for preset in presets() {
        // Two peers that disagree about sequence numbers would exchange ACKs forever.
        let (mut crowd, honest) = sending(preset, 0, Options::default());
        crowd.drain();
        let mut answers = 0;
        for _ in 0..10_000 {
            let mut old = honest.segment(0);
            old.seq = SeqNumber(honest.seq.0.wrapping_sub(5000));
            crowd.give(honest.remote, &old);
            answers += crowd.drain();
        }
        assert_eq!(answers, 5);
        for _ in 0..1000 {
            crowd.give(honest.remote, &honest.segment(0));
            assert_eq!(crowd.drain(), 0);
        }
    }
}

#[test]
fn a_peer_with_an_mss_of_nothing_does_not_make_segments_of_single_bytes() {
    for preset in presets() {
        for mss in [0, 1, 10] {
            let (mut crowd, _) =
                sending(preset, 100_000, Options { mss: Some(mss), ..Options::default() });
            let mut sizes = Vec::new();
            while let Some((_, segment)) = crowd.next() {
                sizes.push(segment.payload.len());
            }
            assert!(!sizes.is_empty() && sizes.iter().all(|size| *size >= 36), "{sizes:?}");
        }
    }
}

#[test]
fn a_window_that_opens_byte_by_byte_gets_no_segments_of_single_bytes() {
    for preset in presets() {
        let (mut crowd, honest) = sending(preset, 100_000, Options::default());
        while crowd.drain() > 0 {}
        let mut small = 0;
        let sent =
            crowd.endpoint.connection(crowd.accepted[0]).unwrap().info(crowd.now).unacked_bytes;
        for step in 0..1000 {
            let mut ack = honest.segment(0);
            ack.ack = honest.ack.advance(sent as u32);
            ack.window = step;
            crowd.give(honest.remote, &ack);
            while let Some((_, segment)) = crowd.next() {
                small += u32::from(segment.payload.len() < 200);
            }
        }
        assert!(small <= 1, "{small} segments");
    }
}

/// Acknowledgements of a peer that knows all sequence numbers and lies about each: it acknowledges
/// and reports data that may not have arrived, revokes reports, reports data that arrived once as
/// duplicate, and echoes arbitrary timestamps.
fn lie(random: &mut RandomStream, honest: &mut Honest, outstanding: u32) -> Segment {
    let below = |random: &mut RandomStream, most: u32| random.below(u64::from(most) + 1) as u32;
    if random.below(4) == 0 {
        let step = below(random, outstanding.min(4 * 1448));
        honest.ack = honest.ack.advance(step);
    }
    let outstanding = outstanding.max(2);
    let start = below(random, outstanding - 1);
    let end = start + 1 + below(random, outstanding - start - 1);
    let past = below(random, 3000);
    let blocks = match random.below(5) {
        0 => vec![],
        1 => vec![(1, outstanding)],
        2 => vec![(start, end)],
        // D-SACK about acknowledged and about unacknowledged data (RFC 2883, section 4).
        3 => vec![(past.wrapping_neg(), 0), (start, end)],
        _ => vec![(start, end), (start / 2, outstanding)],
    };
    reporting(honest, blocks)
}

/// The window, the bytes sent for the first time, and all bytes sent.
fn measured(crowd: &Crowd) -> (u64, u64, u64) {
    let info = crowd.endpoint.connection(crowd.accepted[0]).unwrap().info(crowd.now);
    let (once, again) = (info.counters.bytes_sent, info.counters.bytes_retransmitted);
    (info.path.cwnd, once, once + again)
}

/// The timestamp of the last of the segments that leave now.
fn told(crowd: &mut Crowd) -> Option<u32> {
    let segments = core::iter::from_fn(|| crowd.next());
    segments.last()?.1.options.timestamps.map(|stamps| stamps.value)
}

#[test]
fn no_lie_opens_the_window_beyond_what_was_sent_or_releases_more_than_the_widest_window() {
    let stamps = Some(Timestamps { value: 1, echo: 0 });
    let options = Options { timestamps: stamps, window_scale: Some(7), ..with_sack(1460) };
    for (preset, seed) in presets().flat_map(|preset| (0..4).map(move |seed| (preset, seed))) {
        let mut random = RandomStream::new(seed, Purpose(preset, 0));
        let (mut crowd, mut honest) = sending(preset, 4 << 20, options.clone());
        let first = measured(&crowd).0;
        let mut widest = first;
        let mut clock = told(&mut crowd).unwrap();
        for step in 0..2000 {
            let (cwnd, _, before) = measured(&crowd);
            let mut ack = lie(&mut random, &mut honest, unacked(&crowd));
            let echo = clock.wrapping_sub(random.below(1000) as u32);
            ack.options.timestamps = Some(Timestamps { value: 1, echo });
            crowd.give(honest.remote, &ack);
            clock = told(&mut crowd).unwrap_or(clock);
            let (opened, once, after) = measured(&crowd);
            let what = format!("{preset}, seed {seed}, step {step}");
            assert!(opened <= first + once, "{what}: {opened} bytes after {once} were sent");
            // The earlier window, not the present one: rate reduction releases at once what it held
            // back (RFC 9937, 6.2). Limited transmit and a probe add to it.
            widest = widest.max(cwnd).max(opened);
            let most = widest + 3 * 1448;
            assert!(after - before <= most, "{what}: {} bytes of {most} left", after - before);
            if random.below(16) == 0 {
                crowd.wait(Duration::from_millis(random.below(400)));
            }
        }
        crowd.serves();
    }
}
