use results::Results;
use serde_json::json;

use super::*;
use crate::run;

fn near(here: f64, expected: f64, by: f64) {
    assert!((here - expected).abs() <= by, "{here} instead of {expected}");
}

#[test]
fn angles_follow_from_the_law_of_cosines() {
    let place = |x, y| Place { x, y };
    let at = |one, other| angle(place(0.0, 0.0), one, other).unwrap();
    near(at(place(1.0, 0.0), place(0.0, 5.0)), 90.0, 1e-9);
    near(at(place(3.0, 3.0), place(7.0, 0.0)), 45.0, 1e-9);
    near(at(place(2.0, 1.0), place(4.0, 2.0)), 0.0, 1e-5);
    assert_eq!(angle(place(1.0, 1.0), place(1.0, 1.0), place(2.0, 2.0)), None);
}

#[test]
fn the_paper_s_distances_follow_from_its_angles() {
    // Half of a tank's width of 2.8 wu; 30 wu at 2.7 degrees, 23 at 3.5.
    assert_eq!(reach(2.7, 1.4).round(), 30.0);
    assert_eq!(reach(3.5, 1.4).round(), 23.0);
    near(deviation(2.7, reach(2.7, 1.4)), 1.4, 1e-9);
}

#[test]
fn the_chance_is_the_share_of_angles_that_are_small_enough() {
    // At 50 wu, 1.4 wu are 1.604 degrees.
    let angles = [0.0, 1.6, 1.61, 90.0];
    near(chance(&angles, 50.0, 1.4), 0.5, 0.0);
    near(chance(&angles, 1.0, 1.4), 0.75, 0.0);
    near(chance(&[], 1.0, 1.4), 0.0, 0.0);
}

#[test]
fn tanks_stay_on_the_field_at_their_speed_and_tell_of_every_turn() {
    let field = Field::default();
    let tank = field.drive(RandomStream::new(1, Purpose("tank", 0)), Duration::from_secs(120));
    let step = |step: u64| tank.at(Duration::from_millis(20 * step));
    for number in 0..6_000 {
        let place = step(number);
        assert_eq!(field.within(place), place);
        assert!(place.distance(step(number + 1)) <= 0.5 + 1e-9, "25 wu/s are half a unit in 20 ms");
    }
    let gaps = tank.updates.windows(2).map(|pair| pair[1].since - pair[0].since);
    assert!(gaps.clone().all(|gap| gap <= Duration::from_millis(720)));
    let turns = tank.updates.windows(2).filter(|pair| pair[0].turn != pair[1].turn).count();
    assert!(turns > 20, "{turns}");
}

fn line(loss: u64, policy: RecoveryPolicy) -> Line {
    Line {
        policy,
        rtt: Duration::from_millis(130),
        loss: Probability::from_ratio(loss, 100),
        size: 30,
    }
}

#[test]
fn messages_are_read_half_a_round_trip_after_they_were_due() {
    let due: Vec<Duration> = (0..100).map(|number| Duration::from_millis(number * 24)).collect();
    let read = carry(&due, &line(0, RecoveryPolicy::tcp_sack()), 1, 0).unwrap();
    let expected: Vec<Duration> = due.iter().map(|due| *due + Duration::from_millis(65)).collect();
    assert_eq!(read, expected);
}

#[test]
fn losses_delay_what_follows_and_everything_is_read_in_order() {
    let due: Vec<Duration> = (0..2_000).map(|number| Duration::from_millis(number * 24)).collect();
    let late = |policy| {
        let read = carry(&due, &line(2, policy), 1, 0).unwrap();
        assert!(read.is_sorted() && read.len() == due.len());
        let above = |(read, due): (&Duration, &Duration)| *read > *due + Duration::from_millis(66);
        read.iter().zip(&due).filter(|pair| above(*pair)).count()
    };
    let (sack, thin) = (late(RecoveryPolicy::tcp_sack()), late(RecoveryPolicy::tcp_thin_rdb()));
    assert!(sack > 120 && thin * 2 < sack, "{sack} and {thin} of 2000 were late");
}

fn game(policy: &str, duration: &str, seed: u64) -> Results {
    let parameters = json!({ "policy": policy, "duration": duration, "tanks": 8 });
    run(NAME, parameters, seed).unwrap()
}

#[test]
fn without_latency_and_turns_everything_is_where_it_seems() {
    let parameters = json!({
        "rtt": "0ms", "loss": "0%", "tanks": 3, "duration": "30s",
        "field": { "decides": "100000s", "update_within": "20ms", "speed": 25.0 },
    });
    let findings = run(NAME, parameters, 1).unwrap();
    assert!(findings.value("looks", &[]).unwrap() >= 16.0);
    assert!(findings.value("angle.mean", &[]).unwrap() < 1e-3);
    assert_eq!(findings.value("hit", &[("distance", "100"), ("side", "front")]), Some(100.0));
}

#[test]
fn the_modifications_make_the_angle_smaller_and_hits_likelier() {
    let of = |policy| {
        let findings: Vec<_> = (1..=3).map(|seed| game(policy, "120s", seed)).collect();
        let value = |measure, labels: &[(&str, &str)]| {
            mean(findings.iter().map(|one| one.value(measure, labels).unwrap()))
        };
        let hit = value("hit", &[("distance", "50"), ("side", "front")]);
        (value("angle.mean", &[]), hit, value("latency.prompt", &[]))
    };
    let (sack, thin) = (of("sack"), of("thin-rdb"));
    assert!(thin.0 < sack.0 && thin.1 > sack.1, "{sack:?} {thin:?}");
    assert!(thin.2 > sack.2, "{sack:?} {thin:?}");
}

#[test]
fn the_same_seed_plays_the_same_game() {
    assert_eq!(game("sack", "20s", 5), game("sack", "20s", 5));
    assert_ne!(game("sack", "20s", 5).rows, game("sack", "20s", 6).rows);
}

#[test]
fn a_game_is_played_with_a_policy_of_ones_own_as_with_a_preset() {
    let play = |policy: serde_json::Value| {
        let parameters = json!({ "policy": policy, "duration": "60s", "tanks": 6 });
        run(NAME, parameters, 1).unwrap().rows
    };
    let preset = play(json!("sack"));
    assert_eq!(preset, play(json!({ "name": "unmodified", "preset": "sack" })));
    assert_ne!(
        preset,
        play(json!({ "preset": "sack", "backoff": "linear", "dup-threshold-thin": 1 }))
    );
}

#[test]
fn wrong_parameters_are_named() {
    let refused = |parameters| run(NAME, parameters, 1).unwrap_err().to_string();
    assert!(refused(json!({ "policy": "fast" })).contains("thin-rdb"));
    let field = refused(json!({ "policy": { "preset": "sack", "dup-treshold": 1 } }));
    assert!(field.contains("dup-treshold"), "{field}");
    assert!(refused(json!({ "tanks": 1 })).contains("`tanks`"));
    assert!(refused(json!({ "field": { "side": 0.0 } })).contains("field.side"));
}
