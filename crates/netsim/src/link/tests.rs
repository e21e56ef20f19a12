use super::*;
use base::{Duration, Rate};

fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn link(config: LinkConfig) -> Link<u64> {
    Link::new(config, 1, 0).unwrap()
}

/// All packets that arrive, with the nanosecond of its arrival, by sleeping as a driver does.
fn drain(link: &mut Link<u64>) -> Vec<(u64, u64)> {
    let mut arrived = Vec::new();
    while let Some(due) = link.poll_timeout() {
        let early = due.before(Duration::from_nanos(1));
        assert!(early <= link.latest || link.poll(early).is_none());
        let delivery = link.poll(due).unwrap();
        assert_eq!(delivery.due, due);
        arrived.push((delivery.packet, due.as_nanos()));
    }
    arrived
}

fn mbit(count: u64) -> Option<Rate> {
    Rate::from_bits_per_second(count * 1_000_000)
}

#[test]
fn a_perfect_link_delivers_at_once_and_in_order() {
    let mut link = link(LinkConfig::default());
    link.send(ms(3), 1, 100);
    link.send(ms(3), 2, 100);
    assert_eq!(drain(&mut link), [(1, 3_000_000), (2, 3_000_000)]);
    assert_eq!(link.statistics().delivered, Traffic { packets: 2, bytes: 200 });
}

#[test]
fn delay_follows_serialisation_to_the_nanosecond() {
    let config = LinkConfig { rate: mbit(10), ..LinkConfig::with_delay(Duration::from_millis(50)) };
    let mut link = link(config);
    // 128 bytes at 10 Mbit/s take 102.4 us, 1 byte 800 ns.
    link.send(ms(1), 1, 128);
    link.send(ms(1), 2, 1);
    link.send(ms(2), 3, 128);
    let expected = [(1, 51_102_400), (2, 51_103_200), (3, 52_102_400)];
    assert_eq!(drain(&mut link), expected);
}

#[test]
fn framing_makes_serialisation_longer_and_is_not_counted_as_traffic() {
    let framing = Framing::PPP;
    let rate = Rate::from_bits_per_second(9_600);
    let mut link = link(LinkConfig { rate, framing, ..LinkConfig::default() });
    link.send(ms(0), 1, 89);
    link.send(ms(0), 2, 89);
    // 96 octets of ten bits are 0.1 s.
    assert_eq!(drain(&mut link), [(1, 100_000_000), (2, 200_000_000)]);
    assert_eq!(link.statistics().delivered, Traffic { packets: 2, bytes: 178 });
}

#[test]
fn a_full_queue_drops_the_newcomer_and_drains_with_time() {
    let mut link = link(LinkConfig {
        rate: mbit(8), // 1000 bytes take 1 ms
        queue: QueueLimit::packets(2),
        ..LinkConfig::default()
    });
    let admitted = |link: &mut Link<u64>, at, packet| {
        matches!(link.send(at, packet, 1_000), Admission::Accepted { .. })
    };
    assert!((1..=3).all(|packet| admitted(&mut link, ms(0), packet)));
    assert_eq!(link.queued(ms(0)), Traffic { packets: 2, bytes: 2_000 });
    assert!(!admitted(&mut link, ms(0), 4));
    assert!(!admitted(&mut link, Instant::from_nanos(999_999), 5));
    assert!(admitted(&mut link, ms(1), 6));
    assert_eq!(drain(&mut link), [(1, 1_000_000), (2, 2_000_000), (3, 3_000_000), (6, 4_000_000)]);
    assert_eq!(link.statistics().dropped_by_queue, Traffic { packets: 2, bytes: 2_000 });
}

#[test]
fn a_queue_limited_in_bytes_takes_a_small_packet_where_a_large_one_does_not_fit() {
    let mut link = link(LinkConfig {
        rate: mbit(8),
        queue: QueueLimit::bytes(1_500),
        ..LinkConfig::default()
    });
    for (packet, size) in [(1, 1_000), (2, 1_000), (3, 501), (4, 500), (5, 1)] {
        link.send(ms(0), packet, size);
    }
    assert_eq!(drain(&mut link), [(1, 1_000_000), (2, 2_000_000), (4, 2_500_000)]);
}

#[test]
fn a_lost_packet_uses_its_share_of_the_rate() {
    let mut link =
        link(LinkConfig { rate: mbit(8), loss: LossModel::List(vec![1]), ..LinkConfig::default() });
    let lost = link.send(ms(0), 1, 1_000);
    assert_eq!(lost, Admission::Dropped { packet: 1, cause: DropCause::Loss });
    link.send(ms(0), 2, 1_000);
    assert_eq!(drain(&mut link), [(2, 2_000_000)]);
}

#[test]
fn the_oracle_takes_the_place_of_the_loss_model_and_sees_the_packet() {
    let config = LinkConfig { loss: LossModel::List(vec![1, 2, 3]), ..LinkConfig::default() };
    let mut link = link(config).with_oracle(Box::new(|now, packet| *packet == 7 && now >= ms(2)));
    link.send(ms(1), 7, 1);
    link.send(ms(2), 7, 1);
    link.send(ms(2), 8, 1);
    assert_eq!(drain(&mut link), [(7, 1_000_000), (8, 2_000_000)]);
}

#[test]
fn a_blackout_swallows_what_leaves_during_it_and_nothing_else() {
    let mut link = link(LinkConfig {
        blackouts: vec![ms(20)..ms(30), ms(5)..ms(10), ms(8)..ms(12)],
        ..LinkConfig::with_delay(Duration::from_millis(7))
    });
    for at in [4, 5, 11, 12, 19, 20, 29, 30] {
        link.send(ms(at), at, 1);
    }
    let arrived = drain(&mut link).into_iter().map(|(packet, _)| packet);
    assert_eq!(arrived.collect::<Vec<_>>(), [4, 12, 19, 30]);
    assert_eq!(link.statistics().dropped_by_blackout.packets, 4);
    assert_eq!(link.statistics().dropped().bytes, 4);
}

#[test]
fn a_blackout_does_not_shift_later_draws() {
    let survivors = |blackouts| {
        let mut link = link(LinkConfig {
            blackouts,
            ..LinkConfig::lossy(Duration::ZERO, "50%".parse().unwrap())
        });
        for at in 0..200 {
            link.send(ms(at), at, 1);
        }
        let arrived = drain(&mut link).into_iter().map(|(packet, _)| packet);
        arrived.filter(|packet| *packet >= 100).collect::<Vec<_>>()
    };
    assert_eq!(survivors(vec![]), survivors(vec![ms(10)..ms(90)]));
}

#[test]
fn jitter_keeps_the_order_unless_it_may_not() {
    let spread = Duration::from_millis(20);
    let run = |allow_reordering| {
        let mut link = link(LinkConfig {
            jitter: Jitter::Uniform { spread },
            allow_reordering,
            ..LinkConfig::with_delay(Duration::from_millis(50))
        });
        for at in 0..1_000 {
            link.send(ms(at), at, 1);
        }
        let arrived = drain(&mut link);
        assert!(arrived.is_sorted_by_key(|(_, at)| *at));
        assert!(arrived.iter().all(|(packet, at)| at - packet * 1_000_000 >= 30_000_000));
        assert!(arrived.iter().all(|(packet, at)| at - packet * 1_000_000 <= 70_000_000));
        (arrived.is_sorted_by_key(|(packet, _)| *packet), link.statistics().reordered.packets)
    };
    assert_eq!(run(false), (true, 0));
    let (in_order, reordered) = run(true);
    assert!(!in_order && reordered > 500, "{reordered}");
}

/// Mean and standard deviation of what `jitter` adds to a delay of 100 ms, in milliseconds.
fn moments(jitter: Jitter) -> (f64, f64) {
    let mut random = LazyStream::new(3, "test", 0);
    let delay = Duration::from_millis(100);
    let samples: Vec<f64> =
        (0..200_000).map(|_| jitter.apply(delay, &mut random).as_millis_f64() - 100.0).collect();
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / samples.len() as f64;
    (mean, variance.sqrt())
}

#[test]
fn jitters_have_the_mean_and_the_deviation_of_their_law() {
    let ten = Duration::from_millis(10);
    let near = |(mean, deviation): (f64, f64), expected: (f64, f64)| {
        assert!((mean - expected.0).abs() < 0.1, "mean {mean} instead of {}", expected.0);
        assert!((deviation / expected.1 - 1.0).abs() < 0.05, "deviation {deviation}");
    };
    near(moments(Jitter::Uniform { spread: ten }), (0.0, 10.0 / 3f64.sqrt()));
    near(moments(Jitter::Normal { deviation: ten }), (0.0, 10.0));
    near(moments(Jitter::Exponential { mean: ten }), (10.0, 10.0));
    let pareto = Jitter::Pareto { scale: ten, shape: 5.0, limit: Duration::MAX };
    near(moments(pareto), (2.5, 2.5 * (5f64 / 3.0).sqrt()));
}

#[test]
fn delays_never_turn_negative_and_a_heavy_tail_is_cut() {
    let mut random = LazyStream::new(3, "test", 0);
    let ten = Duration::from_millis(10);
    let heavy = Jitter::Pareto { scale: ten, shape: 0.1, limit: ten };
    let wide = Jitter::Normal { deviation: ten };
    let samples: Vec<_> =
        (0..1_000).map(|_| (heavy.apply(ten, &mut random), wide.apply(ten, &mut random))).collect();
    assert!(samples.iter().all(|(heavy, _)| *heavy >= ten && *heavy <= ten * 2));
    assert!(samples.iter().any(|(_, wide)| wide.is_zero()));
}

#[test]
fn a_packet_held_back_is_overtaken() {
    let mut link = link(LinkConfig {
        reorder: Reorder {
            probability: Probability::from_ratio(1, 10),
            extra_delay: Duration::from_millis(25),
        },
        ..LinkConfig::with_delay(Duration::from_millis(10))
    });
    for at in 0..10_000 {
        link.send(ms(10 * at), at, 1);
    }
    let arrived = drain(&mut link);
    let held =
        arrived.iter().filter(|(packet, at)| *at == packet * 10_000_000 + 35_000_000).count();
    let others = arrived.iter().filter(|(packet, at)| *at == packet * 10_000_000 + 10_000_000);
    assert_eq!(others.count() + held, 10_000);
    assert!((900..1_100).contains(&held), "{held}");
    // One whose two successors are held back as well is not overtaken.
    let reordered = link.statistics().reordered.packets as usize;
    assert!(reordered <= held && reordered > held * 95 / 100, "{reordered} of {held}");
}

#[test]
fn duplicates_arrive_beside_their_originals() {
    let mut link = link(LinkConfig {
        duplicate: Probability::ONE,
        rate: mbit(8),
        ..LinkConfig::with_delay(Duration::from_millis(1))
    });
    assert_eq!(link.send(ms(0), 1, 1_000), Admission::Accepted { copies: 2 });
    assert_eq!(link.in_transit(), 2);
    assert_eq!(drain(&mut link), [(1, 2_000_000), (1, 2_000_000)]);
    let statistics = link.statistics();
    assert_eq!((statistics.offered.packets, statistics.duplicated.packets), (1, 1));
    assert_eq!((statistics.delivered.packets, statistics.reordered.packets), (2, 0));
}

#[test]
fn a_corrupted_packet_differs_in_one_bit() {
    let mut link = link(LinkConfig { corrupt: Probability::ONE, ..LinkConfig::default() });
    link.send(ms(0), 1, 1);
    let bits = link.poll(ms(0)).unwrap().corrupted.unwrap();
    let mut bytes = [0u8; 100];
    flip_bit(&mut bytes, bits);
    assert_eq!(bytes.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
    flip_bit(&mut [], bits);
    assert_eq!(link.statistics().corrupted.packets, 1);
}

#[test]
fn a_profile_changes_delay_rate_and_loss_at_its_times() {
    let profile = parse_profile(
        "10ms delay=5ms rate=8mbit # 1000 bytes take 1 ms
         20ms loss=100%
         30ms loss=0 rate=unlimited delay=1ms",
    );
    let mut link = link(LinkConfig { profile: profile.unwrap(), ..LinkConfig::default() });
    for at in [9, 10, 19, 20, 30] {
        link.send(ms(at), at, 1_000);
    }
    // The packet sent at 19 ms has been serialised at 20 ms, when everything is lost.
    assert_eq!(drain(&mut link), [(9, 9_000_000), (10, 16_000_000), (30, 31_000_000)]);
}

#[test]
fn a_shorter_delay_does_not_reorder_unless_it_may() {
    let run = |allow_reordering| {
        let profile = parse_profile("2ms delay=10ms").unwrap();
        let delay = Duration::from_millis(100);
        let config = LinkConfig { profile, allow_reordering, delay, ..LinkConfig::default() };
        let mut link = link(config);
        link.send(ms(1), 1, 1);
        link.send(ms(2), 2, 1);
        drain(&mut link)
    };
    assert_eq!(run(false), [(1, 101_000_000), (2, 101_000_000)]);
    assert_eq!(run(true), [(2, 12_000_000), (1, 101_000_000)]);
}

#[test]
fn configurations_without_sense_are_refused_with_the_reason() {
    let refuse = |config: LinkConfig| Link::<()>::new(config, 0, 0).err().unwrap().to_string();
    let default = LinkConfig::default;
    let text = refuse(LinkConfig { blackouts: vec![ms(5)..ms(5)], ..default() });
    assert!(text.contains("0.005000000s"), "{text}");
    let profile = parse_profile("1s loss=2%\n2s loss=1%").unwrap().into_iter().rev().collect();
    assert!(refuse(LinkConfig { profile, ..default() }).contains("order of time"));
    let jitter = Jitter::Pareto { scale: Duration::ZERO, shape: f64::NAN, limit: Duration::ZERO };
    assert!(refuse(LinkConfig { jitter, ..default() }).contains("Pareto"));
}

#[test]
fn a_profile_line_that_cannot_be_read_is_named() {
    let error = parse_profile("1s delay=5ms\n\n2s speed=3mbit").unwrap_err().to_string();
    assert_eq!(error, "profile line 3: \"speed=3mbit\" is not delay=, jitter=, rate= or loss=");
    assert!(parse_profile("soon").unwrap_err().to_string().contains("soon"));
}

#[test]
fn time_that_goes_back_counts_as_the_latest() {
    let mut link = link(LinkConfig::default());
    link.send(ms(5), 1, 1);
    link.send(ms(3), 2, 1);
    assert_eq!(drain(&mut link), [(1, 5_000_000), (2, 5_000_000)]);
}

#[test]
fn everything_offered_is_delivered_dropped_or_on_its_way() {
    let mut link = link(LinkConfig {
        rate: mbit(1),
        queue: QueueLimit::packets(10),
        jitter: Jitter::Exponential { mean: Duration::from_millis(30) },
        allow_reordering: true,
        duplicate: "10%".parse().unwrap(),
        corrupt: "10%".parse().unwrap(),
        blackouts: vec![ms(100)..ms(200)],
        ..LinkConfig::lossy(Duration::from_millis(20), "10%".parse().unwrap())
    });
    for at in 0..1_000 {
        link.send(ms(at), at, 200);
        while link.poll(ms(at)).is_some() {}
        let statistics = link.statistics();
        assert_eq!(
            statistics.offered.packets + statistics.duplicated.packets,
            statistics.delivered.packets + statistics.dropped().packets + link.in_transit() as u64
        );
    }
    let statistics = link.statistics();
    let causes = [
        statistics.dropped_by_loss,
        statistics.dropped_by_queue,
        statistics.dropped_by_blackout,
        statistics.corrupted,
        statistics.reordered,
    ];
    assert!(causes.iter().all(|traffic| traffic.packets > 0), "{statistics:?}");
}

#[test]
fn interference_loses_packets_beside_the_loss_model_and_shifts_none_of_its_draws() {
    let config = LinkConfig {
        loss: LossModel::Bernoulli(Probability::from_ratio(1, 5)),
        ..LinkConfig::default()
    };
    let arrived = |lost: u64| {
        let mut link = link(config.clone());
        link.set_interference(Box::new(move |_, packet| *packet == lost));
        for packet in 0..200 {
            link.send(ms(packet), packet, 100);
        }
        drain(&mut link).into_iter().map(|(packet, _)| packet).collect::<Vec<_>>()
    };
    let none = arrived(1000);
    assert!((140..180).contains(&none.len()));
    let one = none[50];
    let rest: Vec<u64> = none.iter().copied().filter(|packet| *packet != one).collect();
    assert_eq!(arrived(one), rest);
}

#[test]
fn a_delay_that_is_set_holds_for_packets_from_then_on() {
    let mut link = link(LinkConfig::with_delay(Duration::from_millis(50)));
    link.send(ms(0), 1, 100);
    link.set_delay(Duration::from_millis(80));
    link.send(ms(1), 2, 100);
    assert_eq!(drain(&mut link), [(1, 50_000_000), (2, 81_000_000)]);
}
