//! Opening over networks that lose 30 % of all packets each way, and peers that die, under every
//! preset.

use netsim::LossModel;
use netsim::link::{ProfileStep, RateChange};
use tcp::KeepAlive;

use super::*;

const CLIENTS: u64 = 1000;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

#[test]
fn of_a_hundred_clients_behind_30_percent_of_loss_each_way_at_most_five_fail_within_ten_seconds() {
    let loss = LossModel::Bernoulli(Probability::from_ratio(3, 10));
    for (preset, _) in TCP_PRESETS {
        let failed = (0..CLIENTS).filter(|seed| {
            let link = LinkConfig { loss: loss.clone(), ..half(RTT) };
            let own = with_policy(preset);
            let mut pair = Pair::new(Directions::both(link), own.clone(), own, *seed);
            pair.run_for(Duration::from_secs(10));
            !pair.client().has_event(Event::Established)
        });
        let failed = failed.count() as u64;
        assert!(failed * 100 <= 5 * CLIENTS, "{preset}: {failed} of {CLIENTS}");
    }
}

fn send(pair: &mut Pair) {
    pair.sim.with_host(pair.client, |peer, now| {
        peer.to_send += 100;
        peer.write(now);
    });
}

/// Options of a side that notices a dead peer within half a minute: by its silence when idle, and
/// by data that it does not acknowledge.
fn watchful(preset: &str) -> ConnectionOptions {
    let [idle, interval] = [15, 3].map(Duration::from_secs);
    ConnectionOptions {
        keep_alive: Some(KeepAlive { idle, interval, probes: 5 }),
        user_timeout: Some(Duration::from_secs(30)),
        ..with_policy(preset)
    }
}

/// Options of a side that gives a silent peer up after half a minute.
fn limited(preset: &str) -> ConnectionOptions {
    ConnectionOptions { dead_after: Some(LIMIT), ..with_policy(preset) }
}

const LIMIT: Duration = Duration::from_secs(30);

/// Time at which the client gave the server up.
fn given_up(pair: &Pair) -> Option<Instant> {
    let mut events = pair.client().events.iter();
    let (at, event) = events.find(|(_, event)| matches!(event, Event::Failed(_)))?;
    assert_eq!(*event, Event::Failed(Failure::KeepAlive));
    Some(*at)
}

/// A pair over a link that is dark at these times, in milliseconds; the server gives no peer up.
fn in_the_dark(own: ConnectionOptions, dark: &[(u64, u64)]) -> Pair {
    let blackouts = dark.iter().map(|(from, until)| at(*from)..at(*until)).collect();
    let link = LinkConfig { blackouts, ..half(RTT) };
    Pair::new(Directions::both(link), own.clone(), with_policy("rfc"), 5)
}

#[test]
fn a_silent_peer_is_given_up_after_dead_after_whatever_is_outstanding() {
    for (preset, _) in TCP_PRESETS {
        // Idle, or data from some time before or after the death on, as late as just before the end
        // of the silence.
        for first in [None, Some(49_990), Some(50_500), Some(65_000), Some(78_000)] {
            for gap in [20, 1_000, 40_000] {
                let mut pair = in_the_dark(limited(preset), &[(50_000, 100_000_000)]);
                pair.run_for(Duration::from_secs(49));
                send(&mut pair);
                let mut sends_at = first.map(at);
                while pair.sim.now() < at(120_000) {
                    if sends_at.is_some_and(|due| due <= pair.sim.now()) {
                        send(&mut pair);
                        sends_at = sends_at.map(|due| due + Duration::from_millis(gap));
                    }
                    pair.run_for(Duration::from_millis(10));
                }
                let heard = given_up(&pair).unwrap().before(LIMIT);
                let case = format!("{preset}, from {first:?}, each {gap} ms: {heard}");
                // It was heard last when it acknowledged what was sent at 49 s, or at 49.99 s.
                assert!((at(49_000)..=at(50_000) + RTT).contains(&heard), "{case}");
            }
        }
    }
}

#[test]
fn outages_up_to_two_thirds_of_dead_after_are_survived_and_longer_ones_if_the_peer_was_heard_before()
 {
    let mut idle = in_the_dark(limited("rfc"), &[(10_000, 29_000), (50_000, 69_000)]);
    idle.run_for(MINUTE * 3);
    assert_eq!(given_up(&idle), None);
    let mut busy = in_the_dark(limited("rfc"), &[(10_000, 38_500)]);
    for _ in 0..900 {
        send(&mut busy);
        busy.run_for(Duration::from_millis(100));
    }
    assert_eq!(given_up(&busy), None);
}

#[test]
fn an_idle_day_behind_thirty_percent_of_loss_each_way_is_survived_and_costs_a_probe_per_third() {
    let loss = LossModel::Bernoulli(Probability::from_ratio(3, 10));
    for seed in 0..4 {
        let (delay, jitter, rate) = (None, None, RateChange::Keep);
        let loss = Some(loss.clone());
        // The set-up is in the clear: a server that never got its last segment knows no connection.
        let profile = vec![ProfileStep { at: at(1_000), delay, jitter, rate, loss }];
        let links = Directions::both(LinkConfig { profile, ..half(RTT) });
        let mut pair = Pair::new(links, limited("rfc"), with_policy("rfc"), seed);
        pair.run_for(MINUTE * 60 * 24);
        assert!(pair.client().has_event(Event::Established), "seed {seed}");
        assert_eq!(given_up(&pair), None, "seed {seed}");
    }
    let mut clean = in_the_dark(limited("rfc"), &[]);
    clean.run_for(MINUTE * 60);
    let client = clean.client();
    let connection = client.endpoint.connection(client.id.unwrap()).unwrap();
    let probes = connection.counters().keep_alive_probes;
    assert!((355..=360).contains(&probes), "{probes}");
}

#[test]
fn a_closed_window_and_a_path_longer_than_dead_after_are_no_silence() {
    let second = Duration::from_secs(1);
    let mut shut = in_the_dark(limited("rfc"), &[]);
    shut.run_for(second);
    shut.sim.with_host(shut.server, |peer, _| peer.deaf = true);
    shut.sim.with_host(shut.client, |peer, now| {
        peer.to_send = 3 << 20;
        peer.write(now);
    });
    shut.run_for(MINUTE * 60);
    assert_eq!(given_up(&shut), None);
    let options = ConnectionOptions { dead_after: Some(second), ..with_policy("rfc") };
    let far = LinkConfig::with_delay(second);
    let mut pair = Pair::new(Directions::both(far), options, with_policy("rfc"), 5);
    pair.run_for(MINUTE * 10);
    assert_eq!((given_up(&pair), pair.client().has_event(Event::Established)), (None, true));
}

#[test]
fn a_peer_that_dies_is_noticed_within_half_a_minute_where_that_was_asked_for() {
    for (preset, _) in TCP_PRESETS {
        for gap in [20, 100, 1_000, u64::MAX] {
            let dark = LinkConfig { blackouts: vec![at(50_000)..at(100_000_000)], ..half(RTT) };
            let own = watchful(preset);
            let mut pair = Pair::new(Directions::both(dark), own.clone(), own, 5);
            pair.run_for(Duration::from_secs(49));
            send(&mut pair);
            for _ in 0..40_000 / gap {
                pair.run_for(Duration::from_millis(gap));
                send(&mut pair);
            }
            pair.run_for(MINUTE);
            let failed = |(_, event): &&(Instant, Event)| matches!(event, Event::Failed(_));
            let (failed, _) = pair.client().events.iter().find(failed).unwrap();
            // The data that is not acknowledged left within `gap` after the death; the silence may
            // have begun before.
            let most = at(50_000 + 30_000 + gap.min(1_000)) + RTT * 2;
            assert!((at(78_000)..=most).contains(failed), "{preset}, each {gap} ms: {failed}");
        }
    }
}
