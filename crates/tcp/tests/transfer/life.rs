//! Opening over networks that lose 30 % of all packets each way, and peers that die, under every preset.

use netsim::LossModel;
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

/// Options of a side that notices a dead peer within half a minute: by its silence when idle, and by data that it does
/// not acknowledge.
fn watchful(preset: &str) -> ConnectionOptions {
    let [idle, interval] = [15, 3].map(Duration::from_secs);
    ConnectionOptions {
        keep_alive: Some(KeepAlive { idle, interval, probes: 5 }),
        user_timeout: Some(Duration::from_secs(30)),
        ..with_policy(preset)
    }
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
            // The data that is not acknowledged left within `gap` after the death; the silence may have begun before.
            let most = at(50_000 + 30_000 + gap.min(1_000)) + RTT * 2;
            assert!((at(78_000)..=most).contains(failed), "{preset}, each {gap} ms: {failed}");
        }
    }
}
