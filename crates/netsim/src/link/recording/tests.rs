use base::{Duration, Instant, Rate};

use super::super::{
    Admission, Discipline, DropCause, Link, LinkConfig, LinkConfigError, LossModel, QueueLimit,
    parse_profile,
};
use super::*;

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn link(config: LinkConfig) -> Link<u64> {
    Link::new(config, 1, 0).unwrap()
}

fn playing(recording: &str) -> LinkConfig {
    LinkConfig { recording: parse_recording(recording).unwrap(), ..LinkConfig::default() }
}

/// Milliseconds at which packets arrive.
fn arrivals(link: &mut Link<u64>) -> Vec<(u64, f64)> {
    let arrived = core::iter::from_fn(|| link.poll(link.poll_timeout()?));
    arrived.map(|one| (one.packet, one.due.as_nanos() as f64 / 1e6)).collect()
}

/// The opportunities that full packets take which wait from the beginning.
fn taken(recording: &str, count: u64) -> Vec<f64> {
    let mut link = link(playing(recording));
    for number in 0..count {
        link.send(ms(0), number, OPPORTUNITY);
    }
    arrivals(&mut link).into_iter().map(|(_, millis)| millis).collect()
}

#[test]
fn full_packets_leave_one_for_each_opportunity_and_the_recording_repeats() {
    assert_eq!(taken("2\n5\n5\n9\n", 10), [2., 5., 5., 9., 11., 14., 14., 18., 20., 23.]);
    // An opportunity at 0 comes again with the last.
    assert_eq!(taken("0\n3\n", 5), [0., 3., 3., 6., 6.]);
    // One packet a millisecond, as mahimahi's manual has it.
    assert_eq!(taken("1\n", 4), [1., 2., 3., 4.]);
}

#[test]
fn small_packets_share_an_opportunity_and_large_ones_go_on_in_the_next() {
    let mut shared = link(playing("10\n20\n"));
    for (number, size) in [(0, 700), (1, 700), (2, 700), (3, 1500), (4, 100)] {
        shared.send(ms(0), number, size);
    }
    // 1400 and 100 of the third at 10 ms, its other 600 and 900 of the fourth at 20 ms; then 600
    // are left at 30 ms.
    assert_eq!(arrivals(&mut shared), [(0, 10.), (1, 10.), (2, 20.), (3, 30.), (4, 30.)]);
    let mut large = link(playing("10\n"));
    large.send(ms(0), 0, 4_500);
    large.send(ms(0), 1, 1);
    assert_eq!(arrivals(&mut large), [(0, 30.), (1, 40.)]);
    let mut huge = link(playing("10\n"));
    huge.send(ms(0), 0, u64::MAX);
    assert!(arrivals(&mut huge)[0].1 > 1e9);
}

#[test]
fn an_opportunity_is_lost_if_nothing_waits_when_it_comes() {
    let mut late = link(playing("10\n20\n"));
    late.send(ms(5), 0, 100);
    late.send(ms(10), 1, 100);
    late.send(Instant::from_nanos(10_000_001), 2, 100);
    late.send(ms(1_000_015), 3, 1500);
    assert_eq!(arrivals(&mut late), [(0, 10.), (1, 10.), (2, 20.), (3, 1_000_020.)]);
}

#[test]
fn packets_wait_in_the_queue_for_their_opportunity_under_every_discipline() {
    for queue in ["2p", "codel 2p", "red 50p 60p 2p", "pie 2p"] {
        let queue: crate::link::QueueText = queue.parse().unwrap();
        let config = playing("10\n20\n30\n");
        let (limit, discipline) = queue.resolve(config.mean_rate().unwrap(), Duration::ZERO);
        let mut link = link(LinkConfig { queue: limit, discipline, ..config });
        let admitted: Vec<bool> = (0..3)
            .map(|number| matches!(link.send(ms(0), number, 1500), Admission::Accepted { .. }))
            .collect();
        assert_eq!(admitted, [true, true, false], "{discipline:?}");
        assert_eq!((link.queued(ms(5)).packets, link.queued(ms(15)).packets), (2, 1));
        assert_eq!(arrivals(&mut link), [(0, 10.), (1, 20.)], "{discipline:?}");
    }
}

#[test]
fn codel_measures_the_wait_for_an_opportunity_too() {
    // The line pauses for half a second, and packets come each 20 ms.
    let config = LinkConfig {
        discipline: Discipline::Codel(Default::default()),
        queue: QueueLimit::packets(1_000),
        ..playing("500\n502\n504\n506\n508\n510\n512\n514\n516\n518\n520\n700\n")
    };
    let mut link = link(config);
    for number in 0..50 {
        while link.poll(ms(number * 20)).is_some() {}
        link.send(ms(number * 20), number, 1500);
    }
    arrivals(&mut link);
    assert!(link.statistics().dropped_by_queue.packets > 0);
}

#[test]
fn opportunities_take_the_place_of_a_rate() {
    let recorded = parse_recording("1\n1\n2\n3\n").unwrap().opportunities.unwrap();
    // Four in 3 ms.
    assert_eq!(recorded.mean_rate(), Rate::from_bits_per_second(16_000_000));
    let error = |config| Link::<u64>::new(config, 1, 0).err();
    let both = LinkConfig { rate: Rate::from_bits_per_second(1), ..playing("1\n") };
    assert_eq!(error(both), Some(LinkConfigError::OpportunitiesAndRate));
    let profile = parse_profile("1s rate=1mbit").unwrap();
    let changed = LinkConfig { profile, ..playing("1\n") };
    assert_eq!(error(changed), Some(LinkConfigError::OpportunitiesAndRate));
}

/// Delays in milliseconds of packets sent at these milliseconds, each to an idle link.
fn delays(config: &LinkConfig, times: &[u64]) -> Vec<f64> {
    let one = |at: &u64| {
        let mut link = link(config.clone());
        link.send(ms(*at), 0, 100);
        arrivals(&mut link)[0].1 - *at as f64
    };
    times.iter().map(one).collect()
}

#[test]
fn a_delay_holds_until_the_next_and_comes_again() {
    let steps = playing("time_s,delay_ms\n0,20\n0.1,30\n0.3,10\n");
    // The last holds for as long as the one before: the recording takes 0.5 s.
    let times = [0, 99, 100, 299, 300, 499, 500, 600, 50_300];
    assert_eq!(delays(&steps, &times), [20., 20., 30., 30., 10., 10., 20., 30., 10.]);
    let even = playing("every 50ms: delay_ms\n20\n30\n10.5\n");
    assert_eq!(delays(&even, &[0, 50, 100, 149, 150]), [20., 30., 10.5, 10.5, 20.]);
    let behind = LinkConfig { delay: Duration::from_millis(5), ..even };
    assert_eq!(delays(&behind, &[60]), [35.], "the link's own delay is added");
    assert_eq!(behind.least_delay(), Duration::from_micros(15_500));
    let one = playing("time,delay\n3s,7ms\n");
    assert_eq!(delays(&one, &[0, 2_999, 3_000, 9_000]), [7.; 4]);
}

#[test]
fn delays_between_two_recorded_ones_lie_on_the_line_between_them_if_asked_for() {
    let mut config = playing("time_ms,delay_ms\n0,20\n100,30\n200,10\n");
    config.recording.interpolated = true;
    assert_eq!(delays(&config, &[0, 50, 100, 150, 250, 300]), [20., 25., 30., 20., 15., 20.]);
}

#[test]
fn recorded_losses_are_by_number_or_by_time_besides_those_of_the_model() {
    let lost = |config: LinkConfig, times: &[u64]| -> Vec<u64> {
        let mut link = link(config);
        let mut lost = Vec::new();
        for (number, at) in (1..).zip(times) {
            if let Admission::Dropped { packet, cause } = link.send(ms(*at), number, 100) {
                assert_eq!(cause, DropCause::Loss);
                lost.push(packet);
            }
        }
        lost
    };
    let packets = playing("every packet: lost\n0110\n0\n");
    assert_eq!(lost(packets.clone(), &[0; 13]), [2, 3, 7, 8, 12, 13]);
    let both = LinkConfig { loss: LossModel::List(vec![1, 2]), ..packets };
    assert_eq!(lost(both, &[0; 5]), [1, 2, 3]);
    let times = playing("every 10ms: lost\n0 1 0\n");
    assert_eq!(lost(times, &[0, 9, 10, 19, 20, 30, 40, 45, 50]), [3, 4, 7, 8]);
    let told = playing("time_s,delay_ms,lost\n0,20,0\n1,,1\n2,30,0\n");
    assert_eq!(delays(&told, &[500, 2_500]), [20., 30.]);
    assert_eq!(lost(told, &[0, 1_000, 1_999, 2_000, 3_000, 4_000]), [2, 3, 6]);
}

#[test]
fn a_shifted_recording_begins_at_the_same_share_in_both_directions_of_a_path() {
    let rows: Vec<String> = (0..1_000).map(|number| number.to_string()).collect();
    let text = format!("every 1s: delay_ms\n{}", rows.join("\n"));
    let mut config = playing(&text);
    config.recording.shifted = true;
    config.allow_reordering = true;
    let first = |seed, index| {
        let mut link: Link<u64> = Link::new(config.clone(), seed, index).unwrap();
        link.send(ms(0), 0, 100);
        let first = arrivals(&mut link)[0].1;
        link.send(ms(1_000), 1, 100);
        assert_eq!(arrivals(&mut link)[0].1, 1_000. + (first + 1.) % 1_000.);
        first
    };
    assert_eq!(first(1, 0), first(1, 1));
    assert_ne!(first(1, 0), first(1, 2));
    assert_ne!(first(1, 0), first(2, 0));
    let mean: f64 = (0..200).map(|seed| first(seed, 0)).sum::<f64>() / 200.;
    assert!((400. ..600.).contains(&mean), "{mean}");
    let mut shifted = playing("1\n2\n3\n4\n5\n6\n7\n8\n9\n100\n");
    shifted.recording.shifted = true;
    let begins = (0..100).map(|seed| {
        let mut link: Link<u64> = Link::new(shifted.clone(), seed, 0).unwrap();
        link.send(ms(0), 0, 1_500);
        arrivals(&mut link)[0].1
    });
    let waits: Vec<f64> = begins.collect();
    assert!(waits.iter().all(|wait| (0. ..=91.).contains(wait)), "{waits:?}");
    assert!(waits.iter().filter(|wait| **wait > 50.).count() > 20, "{waits:?}");
}

#[test]
fn a_line_that_cannot_be_read_is_named_with_the_reason() {
    for (text, line, part) in [
        ("", 1, "nothing in it"),
        ("# only a comment\n", 1, "nothing in it"),
        ("1\n2\nthree\n", 3, "\"three\" is no millisecond"),
        ("5\n\n3\n", 3, "before"),
        ("0\n0\n", 2, "never end"),
        ("speed\n", 1, "\"speed\" is no column"),
        ("time_s\n1\n", 1, "names no columns"),
        ("delay_ms\n1\n", 1, "names no columns"),
        ("every 0s: delay_ms\n1\n", 1, "no distance"),
        ("every day: delay_ms\n1\n", 1, "day"),
        ("every packet: delay_ms\n1\n", 1, "names no columns"),
        ("time_s,delay_ms,delay\n1,2,3\n", 1, "names no columns"),
        ("time_s,delay_ms\n0,1\n1,2,3\n", 3, "3 cells under 2"),
        ("time_s,delay_ms\n0,1\n1,slow\n", 3, "slow"),
        ("time_s,delay_ms\n0,-1\n", 2, "-1"),
        ("time_s,delay_ms\n,1\n", 2, "no time"),
        ("time_s,delay_ms\n1,1\n1,2\n", 3, "not after"),
        ("every packet: lost\n001x\n", 2, "\"x\" under lost"),
        ("time_s,delay_ms\n", 1, "no values"),
        ("time_s,delay_ms\n3,\n", 2, "no values"),
    ] {
        let error = parse_recording(text).unwrap_err().to_string();
        let place = format!("recording line {line}:");
        assert!(error.starts_with(&place) && error.contains(part), "{text:?}: {error}");
    }
}

#[test]
fn recordings_are_named_with_how_they_are_played() {
    let read = |name: &str| match name {
        "up.trace" => Ok(parse_recording("1\n").unwrap()),
        "delays.csv" => Ok(parse_recording("every 1s: delay_ms\n1\n").unwrap()),
        _ => Err(format!("no {name}")),
    };
    let resolve = |text: &str| text.parse::<RecordingText>().unwrap().resolve(read);
    let both = resolve("up.trace+delays.csv shifted").unwrap();
    assert!(both.opportunities.is_some() && both.delays.is_some() && both.losses.is_none());
    assert_eq!((both.shifted, both.interpolated, both.is_empty()), (true, false, false));
    assert!(resolve("delays.csv interpolated").unwrap().interpolated);
    assert!(resolve("up.trace+up.trace").unwrap_err().contains("two recordings of opportunities"));
    assert_eq!(resolve("gone").unwrap_err(), "no gone");
    for text in ["", "up.trace twice", "+", "a++b"] {
        let error = text.parse::<RecordingText>().unwrap_err().to_string();
        assert!(error.contains("drive.csv"), "{error}");
    }
}

#[test]
fn whatever_is_read_is_played_without_a_panic() {
    const PIECES: [&str; 22] = [
        "time_s",
        "time",
        "delay_ms",
        "delay",
        "lost",
        "every ",
        "packet",
        "50ms",
        ":",
        ",",
        "\n",
        "\n",
        "\n",
        "0",
        "1",
        "7",
        "9",
        ".5",
        "ms",
        "18446744073709551615",
        " ",
        "#",
    ];
    let mut random = RandomStream::new(1, Purpose("test", 0));
    let mut read = 0;
    for _ in 0..200_000 {
        let text: String = (0..random.below(14))
            .map(|_| PIECES[random.below(PIECES.len() as u64) as usize])
            .collect();
        let Ok(recording) = parse_recording(&text) else { continue };
        read += 1;
        let recording = Recording { interpolated: true, shifted: true, ..recording };
        let mut link = link(LinkConfig { recording, ..LinkConfig::default() });
        for (number, at) in (0..).zip([0, 1, 999_999_999, u64::MAX / 2, u64::MAX - 1, u64::MAX]) {
            link.send(Instant::from_nanos(at), number, 1 << (number * 12));
            while link.poll(Instant::from_nanos(at)).is_some() {}
        }
    }
    assert!(read > 100, "{read}");
}
