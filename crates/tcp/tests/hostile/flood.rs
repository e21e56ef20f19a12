//! Floods of SYNs and of segments without a connection.

use allocation_counter::measure;
use base::{Duration, Machine};
use tcp::wire::{Flags, Options, Segment, SeqNumber, Timestamps};
use tcp::{ConnectionOptions, EndpointOptions, SynCookies};

use crate::crowd::{Crowd, stranger, syn};
use crate::support::address;

fn flooded() -> Crowd {
    let mut crowd = Crowd::new(EndpointOptions::default(), ConnectionOptions::default());
    for index in 0..2000 {
        crowd.give(stranger(index), &syn(stranger(index), SeqNumber(index)));
        crowd.drain();
    }
    crowd
}

#[test]
fn a_hundred_thousand_spoofed_syns_take_no_more_than_the_backlog() {
    let mut crowd = Crowd::new(EndpointOptions::default(), ConnectionOptions::default());
    let used = measure(|| {
        for index in 0..100_000 {
            crowd.give(stranger(index), &syn(stranger(index), SeqNumber(index)));
            assert_eq!(crowd.drain(), 1);
        }
    });
    assert_eq!(crowd.endpoint.connection_count(), 1024);
    assert!(used.bytes_current < 1024 * 4096, "{} bytes", used.bytes_current);
    assert_eq!(crowd.endpoint.stats().cookies_sent, 100_000 - 1024);
    crowd.serves();
    // Half-open connections end by themselves, and leave no state.
    crowd.wait(Duration::from_secs(300));
    assert_eq!(crowd.endpoint.connection_count(), 1);
    assert!(crowd.accepted.len() == 1);
}

#[test]
fn answers_that_nobody_fetches_do_not_pile_up() {
    let mut crowd = flooded();
    let used = measure(|| {
        for index in 0..50_000 {
            crowd.give(stranger(index + 5000), &syn(stranger(index + 5000), SeqNumber(index)));
        }
    });
    assert!(used.bytes_current < 8 << 20, "{} bytes", used.bytes_current);
    let (sent, dropped) = (crowd.drain(), crowd.endpoint.stats().answers_dropped);
    assert!(dropped > 0 && sent as u64 + dropped == 50_000, "{sent} sent, {dropped} dropped");
    crowd.serves();
}

#[test]
fn a_burst_of_ten_thousand_syns_is_answered_in_full_by_a_driver_that_drains_late() {
    let mut crowd = flooded();
    for index in 0..10_000 {
        crowd.give(stranger(index + 5000), &syn(stranger(index + 5000), SeqNumber(index)));
    }
    assert_eq!((crowd.drain(), crowd.endpoint.stats().answers_dropped), (10_000, 0));
    // Resets, too: no application listens at that port.
    let mut closed = Crowd::new(EndpointOptions::default(), ConnectionOptions::default());
    for index in 0..10_000 {
        let remote = stranger(index);
        let stray = Segment { flags: Flags::ACK, ..Segment::new(remote.port(), 81) };
        closed.give(remote, &stray);
    }
    assert_eq!((closed.drain(), closed.endpoint.stats().answers_dropped), (10_000, 0));
}

#[test]
fn a_cookie_keeps_what_both_offer_where_there_are_timestamps() {
    let mut crowd = flooded();
    let offered = Options {
        mss: Some(1440),
        window_scale: Some(9),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 77, echo: 0 }),
        ..Options::default()
    };
    crowd.connect(address("10.0.7.7:777"), offered);
    let id = crowd.accepted[0];
    let info = crowd.endpoint.connection(id).unwrap().info(crowd.now);
    assert!(info.timestamps && info.sack);
    assert_eq!(info.window_scale.map(|(peers, _)| peers), Some(9));
    assert_eq!(info.send_mss, 1440 - 12);
    assert_eq!(crowd.endpoint.stats().cookies_accepted, 1);
}

#[test]
fn a_cookie_without_timestamps_keeps_the_mss_alone() {
    let mut crowd = flooded();
    let offered = Options {
        mss: Some(1300),
        window_scale: Some(9),
        sack_permitted: true,
        ..Options::default()
    };
    crowd.connect(address("10.0.7.7:777"), offered);
    let info = crowd.endpoint.connection(crowd.accepted[0]).unwrap().info(crowd.now);
    assert_eq!((info.sack, info.window_scale, info.send_mss), (false, None, 1220));
}

#[test]
fn guessed_cookies_are_refused_and_reset() {
    let mut crowd = flooded();
    for index in 0..20_000u32 {
        // The limit holds per second and host, and these hosts differ.
        let remote = stranger(index + 10_000);
        let guess = Segment {
            seq: SeqNumber(1),
            ack: SeqNumber(index.wrapping_mul(0x9e37_79b9)),
            flags: Flags::ACK,
            ..Segment::new(remote.port(), 80)
        };
        crowd.give(remote, &guess);
        crowd.drain();
    }
    assert_eq!((crowd.accepted.len(), crowd.endpoint.stats().cookies_refused), (0, 20_000));
    assert_eq!(crowd.endpoint.stats().resets, 20_000);
}

#[test]
fn a_host_in_whose_name_strays_come_gets_so_many_resets_a_second() {
    let mut crowd = Crowd::new(EndpointOptions::default(), ConnectionOptions::default());
    let victim = address("10.0.7.7:777");
    let stray = Segment { flags: Flags::ACK, ..Segment::new(victim.port(), 81) };
    let answers = |crowd: &mut Crowd| {
        let give = |_| {
            crowd.give(victim, &stray);
            crowd.drain()
        };
        (0..20_000).map(give).sum::<usize>()
    };
    assert_eq!(answers(&mut crowd), 1000);
    crowd.wait(Duration::from_millis(999));
    assert_eq!(answers(&mut crowd), 0);
    crowd.wait(Duration::from_millis(1));
    assert_eq!((answers(&mut crowd), crowd.endpoint.stats().resets), (1000, 2000));
}

#[test]
fn cookies_are_taken_only_while_some_are_out() {
    let mut crowd = flooded();
    crowd.wait(Duration::from_secs(200));
    let remote = stranger(1);
    let guess = Segment { flags: Flags::ACK, ..Segment::new(remote.port(), 80) };
    crowd.give(remote, &guess);
    assert_eq!(crowd.endpoint.stats().cookies_refused, 0);
}

#[test]
fn cookies_may_be_off_or_all_there_is() {
    let options = EndpointOptions { syn_cookies: SynCookies::Always, ..EndpointOptions::default() };
    let mut crowd = Crowd::new(options, ConnectionOptions::default());
    crowd.give(stranger(1), &syn(stranger(1), SeqNumber(1)));
    assert_eq!((crowd.drain(), crowd.endpoint.connection_count()), (1, 0));
    assert_eq!(crowd.endpoint.poll_timeout(), None);
    crowd.serves();

    let off = EndpointOptions {
        syn_cookies: SynCookies::Off,
        syn_backlog: 10,
        ..EndpointOptions::default()
    };
    let mut crowd = Crowd::new(off, ConnectionOptions::default());
    for index in 0..20 {
        crowd.give(stranger(index), &syn(stranger(index), SeqNumber(index)));
    }
    assert_eq!((crowd.drain(), crowd.endpoint.stats().syns_dropped), (10, 10));
}

#[test]
fn a_flood_of_segments_for_nobody_leaves_nothing_behind() {
    let mut crowd = Crowd::new(EndpointOptions::default(), ConnectionOptions::default());
    let mut flood = |from: u32, to: u32| {
        for index in from..to {
            let remote = stranger(index);
            let mut stray = Segment::new(remote.port(), 81);
            stray.flags = [Flags::ACK, Flags::SYN, Flags::FIN][index as usize % 3];
            crowd.give(remote, &stray);
            crowd.drain();
        }
    };
    flood(0, 1000);
    assert_eq!(measure(|| flood(1000, 50_000)).bytes_current, 0);
    crowd.serves();
}

#[test]
fn time_wait_takes_a_few_bytes_and_has_a_limit() {
    let options = EndpointOptions { max_time_wait: 5000, ..EndpointOptions::default() };
    let mut crowd = Crowd::new(options, ConnectionOptions::default());
    let pass = |crowd: &mut Crowd, from: u32, to: u32| {
        for index in from..to {
            let honest = crowd.connect(stranger(index), Options::default());
            let id = crowd.accepted.pop().unwrap();
            crowd.endpoint.release(crowd.now, id);
            crowd.drain();
            let mut fin = honest.segment(0);
            fin.flags |= Flags::FIN;
            fin.ack = fin.ack.next();
            crowd.give(honest.remote, &fin);
            crowd.drain();
        }
    };
    pass(&mut crowd, 0, 100);
    let used = measure(|| pass(&mut crowd, 100, 4100));
    assert_eq!((crowd.endpoint.connection_count(), crowd.endpoint.time_wait_count()), (0, 4100));
    let each = used.bytes_current / 4000;
    assert!(each < 320, "{each} bytes");
    pass(&mut crowd, 4100, 10_000);
    assert_eq!(crowd.endpoint.time_wait_count(), 5000);
    crowd.wait(Duration::from_secs(60));
    assert_eq!((crowd.endpoint.time_wait_count(), crowd.endpoint.poll_timeout()), (0, None));
}
