//! `dead_after`: a dead peer is detected in time, and a living one never.

use base::{Duration, Instant, Probability};
use netsim::link::{ProfileStep, RateChange};
use netsim::topology::Directions;
use netsim::{LinkConfig, LossModel};
use recovery::policy::PRESETS;
use sctp::wire::ChunkType;
use sctp::{AssociationOptions, Event, Failure};

use crate::support::{Pair, RTT, half, options, plain, preset};

const LIMIT: Duration = Duration::from_secs(30);

/// A 36th of [`LIMIT`].
const STEP: Duration = Duration::from_nanos(LIMIT.as_nanos() / 36);

fn watchful() -> AssociationOptions {
    AssociationOptions { dead_after: Some(LIMIT), ..options(plain()) }
}

/// Both sides over links that are silent at these times, in milliseconds.
fn pair_with(own: AssociationOptions, peer: AssociationOptions, silent: &[(u64, u64)]) -> Pair {
    let at = Instant::from_millis;
    let blackouts = silent.iter().map(|(from, until)| at(*from)..at(*until)).collect();
    let link = LinkConfig { blackouts, ..half(RTT) };
    Pair::with_server(Directions::both(link), own, peer, 1)
}

fn at_s(seconds: u64) -> Instant {
    Instant::from_millis(seconds * 1_000)
}

fn run_to(pair: &mut Pair, seconds: u64) {
    pair.sim.run_until(at_s(seconds)).unwrap();
}

fn step_at(at: Instant) -> ProfileStep {
    ProfileStep { at, delay: None, jitter: None, rate: RateChange::Keep, loss: None }
}

/// Time at which the association with the server failed at the client, and the reason.
fn end(pair: &Pair) -> Option<(Instant, &Event)> {
    let ended = |event: &Event| matches!(event, Event::Failed(_) | Event::Closed);
    let mut all = pair.client().events.iter();
    all.find(|(_, _, event)| ended(event)).map(|(at, _, event)| (*at, event))
}

fn heartbeats(pair: &Pair) -> Vec<Instant> {
    let sent = pair.sim.checker().sent.iter();
    let ours = sent.filter(|sent| sent.from == pair.client && sent.has(ChunkType::HEARTBEAT));
    ours.map(|sent| sent.at).collect()
}

#[test]
fn an_idle_peer_that_dies_is_given_up_to_the_step_and_asked_in_between() {
    let mut pair = pair_with(watchful(), options(plain()), &[(1_000, 10_000_000)]);
    run_to(&mut pair, 100);
    // COOKIE ACK came after two round trips.
    let heard = Instant::ZERO + RTT * 2;
    let silent = Failure::Silent { span: STEP * 36 };
    assert_eq!(end(&pair), Some((heard + STEP * 36, &Event::Failed(silent))));
    let expected: Vec<Instant> = (3..36).map(|step| heard + STEP * step).collect();
    assert_eq!(heartbeats(&pair), expected);
    let last = pair.sim.checker().sent.last().unwrap();
    assert!(last.has(ChunkType::ABORT) && last.from == pair.client);
}

#[test]
fn without_the_option_nothing_is_asked_and_nobody_given_up() {
    let mut pair = pair_with(options(plain()), options(plain()), &[(1_000, 10_000_000)]);
    run_to(&mut pair, 10_000);
    assert_eq!((end(&pair), heartbeats(&pair).len()), (None, 0));
}

#[test]
fn an_idle_peer_that_dies_is_given_up_within_half_a_minute_under_every_preset() {
    for (policy, _) in PRESETS {
        let own = AssociationOptions { dead_after: Some(LIMIT), ..options(preset(policy)) };
        let mut pair = pair_with(own, options(preset(policy)), &[(100_000, 10_000_000)]);
        pair.sim.run_until(at_s(1)).unwrap();
        pair.send(vec![1; 100]).unwrap();
        run_to(&mut pair, 200);
        let (at, _) = end(&pair).unwrap();
        // The silence begins with the last sign of life, at most the 3/36 before in which none is
        // asked for.
        let latest = at_s(100) + LIMIT;
        assert!((latest.before(STEP * 4)..=latest).contains(&at), "{policy}: {at}");
    }
}

#[test]
fn a_peer_that_dies_while_data_flows_is_given_up_as_soon() {
    let cases = PRESETS.iter().flat_map(|(policy, _)| [20, 100, 1_000].map(|gap| (*policy, gap)));
    for (policy, gap) in cases {
        let own = AssociationOptions { dead_after: Some(LIMIT), ..options(preset(policy)) };
        let mut pair = pair_with(own, options(preset(policy)), &[(5_000, 10_000_000)]);
        for message in 0..40_000 / gap {
            pair.sim.run_until(Instant::from_millis(1_000 + message * gap)).unwrap();
            let _ = pair.send(vec![1; 100]);
        }
        run_to(&mut pair, 100);
        let (at, _) = end(&pair).unwrap();
        // The last message before five seconds was acknowledged until then, or the one before it.
        let latest = at_s(5) + STEP * 36 + RTT;
        let earliest = latest.before(Duration::from_millis(gap) + RTT * 5);
        assert!((earliest..=latest).contains(&at), "{policy}, each {gap} ms: {at}");
    }
}

#[test]
fn outages_shorter_than_it_are_survived() {
    // Idle before: up to eleven twelfths of it less a step and a round trip.
    let mut pair = pair_with(watchful(), watchful(), &[(10_000, 36_500), (50_000, 76_500)]);
    run_to(&mut pair, 200);
    assert_eq!(end(&pair), None);
    // Busy before: up to a step less than all of it.
    let mut pair = pair_with(watchful(), watchful(), &[(10_000, 38_900)]);
    for tenth in 0..900 {
        pair.sim.run_until(Instant::from_millis(1_000 + tenth * 100)).unwrap();
        let _ = pair.send(vec![1; 100]);
    }
    run_to(&mut pair, 300);
    assert_eq!((end(&pair), pair.server().messages.len()), (None, 900));
}

#[test]
fn a_busy_peer_that_stops_for_twenty_seconds_lives_over_any_round_trip_under_every_preset() {
    for (policy, _) in PRESETS {
        for rtt in [500, 1_000, 5_000, 20_000].map(Duration::from_micros) {
            let stopped = vec![at_s(10)..at_s(30)];
            let link = LinkConfig { blackouts: stopped, ..half(rtt) };
            let own = AssociationOptions { dead_after: Some(LIMIT), ..options(preset(policy)) };
            let peer = options(preset(policy));
            let mut pair = Pair::with_server(Directions::both(link), own, peer, 1);
            for message in 0..1_000 {
                pair.sim.run_until(Instant::from_millis(1_000 + message * 50)).unwrap();
                let _ = pair.send(vec![1; 100]);
            }
            run_to(&mut pair, 300);
            assert_eq!(
                (end(&pair), pair.server().messages.len()),
                (None, 1_000),
                "{policy}, {rtt}"
            );
        }
    }
}

#[test]
fn an_idle_day_behind_thirty_percent_of_loss_each_way_is_survived() {
    for seed in 0..4 {
        let loss = LossModel::Bernoulli(Probability::from_ratio(3, 10));
        let mut link = half(RTT);
        link.profile = vec![ProfileStep { loss: Some(loss), ..step_at(at_s(1)) }];
        // The server sends no HEARTBEATs: detection depends on the client's own.
        let mut pair =
            Pair::with_server(Directions::both(link), watchful(), options(plain()), seed);
        run_to(&mut pair, 86_400);
        assert_eq!(end(&pair), None, "seed {seed}");
        let asked = heartbeats(&pair).len();
        assert!((20_000..60_000).contains(&asked), "{asked}");
    }
}

#[test]
fn an_idle_association_costs_a_heartbeat_and_its_answer_every_twelfth_whichever_side_asks() {
    let mut pair = pair_with(watchful(), watchful(), &[]);
    run_to(&mut pair, 3_600);
    let all = pair.sim.checker().sent.len();
    // 2.5 s of silence, and what is asked arrives: 1,440 questions an hour at most, and their
    // answers.
    assert!((2 * 1_300..=2 * 1_440 + 4).contains(&all), "{all} packets");
    assert_eq!(end(&pair), None);
    let bytes: usize = pair.sim.checker().sent.iter().map(|sent| sent.size).sum();
    assert!(bytes <= all * 32 + 2_000, "{bytes} bytes in {all} packets");
}

#[test]
fn a_peer_that_is_only_slow_lives() {
    // The round trip becomes ten seconds, at once, and later normal again.
    let mut link = half(RTT);
    let delay = |seconds, delay| ProfileStep { delay: Some(delay), ..step_at(at_s(seconds)) };
    link.profile = vec![delay(20, Duration::from_secs(10)), delay(300, RTT / 2)];
    let mut pair = Pair::with_server(Directions::both(link), watchful(), watchful(), 1);
    run_to(&mut pair, 600);
    assert_eq!(end(&pair), None);
    // Far away from the beginning, with a limit below its round trip.
    let own = AssociationOptions { dead_after: Some(Duration::from_secs(1)), ..watchful() };
    let far = half(Duration::from_secs(3));
    let mut pair = Pair::with_server(Directions::both(far), own, options(plain()), 1);
    run_to(&mut pair, 600);
    assert_eq!(end(&pair), None);
}

#[test]
fn the_option_may_be_set_and_taken_away_in_mid_life() {
    let mut pair = pair_with(options(plain()), options(plain()), &[(1_000, 10_000_000)]);
    run_to(&mut pair, 500);
    let id = pair.association;
    let set = |pair: &mut Pair, dead_after| {
        pair.sim.with_host(pair.client, |peer, _| {
            peer.endpoint
                .association_mut(id)
                .unwrap()
                .set_options(|options| options.dead_after = dead_after);
        });
    };
    set(&mut pair, Some(LIMIT));
    run_to(&mut pair, 510);
    set(&mut pair, None);
    run_to(&mut pair, 1_000);
    assert_eq!(end(&pair), None);
    set(&mut pair, Some(LIMIT));
    run_to(&mut pair, 1_100);
    // Before, `dead_after` was not set: the peer gets its eleven twelfths.
    let (at, _) = end(&pair).unwrap();
    assert_eq!(at, at_s(1_000) + STEP * 33);
}

#[test]
fn a_peer_that_dies_while_it_is_closed_is_given_up_as_well() {
    let mut pair = pair_with(watchful(), options(plain()), &[(1_000, 10_000_000)]);
    run_to(&mut pair, 2);
    let id = pair.association;
    pair.sim.with_host(pair.client, |peer, now| {
        peer.endpoint.association_mut(id).unwrap().shutdown(now)
    });
    run_to(&mut pair, 100);
    let (at, _) = end(&pair).unwrap();
    assert_eq!(at, Instant::ZERO + RTT * 2 + STEP * 36);
}
