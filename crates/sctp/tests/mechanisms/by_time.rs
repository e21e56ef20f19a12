//! RACK and tail loss probes (RFC 8985), and undo of needless responses.

use base::{Duration, Probability};
use netsim::link::{ProfileStep, Reorder};
use netsim::topology::Directions;
use netsim::{LinkConfig, LossModel};
use recovery::RecoveryPolicy;
use recovery::policy::{Controller, EarlyWindow, FineGrainedTimer, VegasPolicy};

use crate::support::{Pair, T0, half, options, plain};

fn rack() -> RecoveryPolicy {
    let mut policy = plain();
    policy.loss.rack = true;
    policy
}

fn probes(max_ack_delay: u64) -> RecoveryPolicy {
    let mut policy = rack();
    policy.loss.tail_probe = Some(Duration::from_millis(max_ack_delay));
    policy
}

/// Time of the first message's retransmission, which is lost at first, if `count` messages leave at
/// intervals of `every` microseconds.
fn first_again(policy: RecoveryPolicy, count: u64, every: u64) -> f64 {
    let mut pair = Pair::established(policy, &[1]);
    pair.send_at(100, (0..count).map(|index| index * every));
    pair.at(3_000_000);
    let again = pair.data_sent().into_iter().filter(|(_, tsns)| tsns.contains(&0)).nth(1);
    again.unwrap().0
}

#[test]
fn rack_waits_a_quarter_of_the_round_trip_for_what_may_be_reordered_and_no_longer() {
    // The second message's SACK comes at 140 ms: the first has been gone for 140 ms, more than 100
    // + 25.
    assert_eq!(first_again(rack(), 2, 40_000), 140_000.0);
    // At 110 ms it has not: its timer ends at 125 ms, without another SACK.
    assert_eq!(first_again(rack(), 2, 10_000), 125_000.0);
    // Three SACKs at 105, 110, 115 ms are sufficient evidence at once.
    assert_eq!(first_again(rack(), 4, 5_000), 115_000.0);
    // With fewer than three, counting has to wait for the timer.
    assert_eq!(first_again(plain(), 2, 10_000), 1_000_000.0);
}

#[test]
fn while_thin_one_report_may_do_for_rack_too() {
    let mut policy = rack();
    policy.loss.dup_threshold_while_thin = Some(1);
    assert_eq!(first_again(policy, 2, 10_000), 110_000.0);
}

#[test]
fn rack_finds_a_lost_retransmission() {
    // Messages every 40 ms; the first is lost, and so is its repetition at 140 ms. The message of
    // 160 ms was sent after that; its SACK comes at 260 ms.
    let run = |policy| {
        let mut pair = Pair::established(policy, &[1, 5]);
        pair.send_at(100, (0..8).map(|index| index * 40_000));
        pair.at(2_000_000);
        let again = pair.data_sent().into_iter().filter(|(_, tsns)| tsns.contains(&0));
        again.map(|(at, _)| at).collect::<Vec<_>>()
    };
    assert_eq!(run(rack()), [0.0, 140_000.0, 260_000.0]);
    let mut counting = plain();
    counting.loss.dup_threshold_while_thin = Some(1);
    assert_eq!(run(counting), [0.0, 140_000.0, 1_140_000.0]);
}

#[test]
fn a_lone_message_that_is_lost_is_probed_for_after_two_round_trips_and_the_peers_delay() {
    let run = |policy| {
        let mut pair = Pair::established(policy, &[1]);
        pair.send_at(100, [0]);
        pair.at(3_000_000);
        pair
    };
    let probed = run(probes(0));
    probed.assert_sent(&[(0, &[0]), (200_000, &[0])]);
    let counts = probed.stats().recovery;
    assert_eq!((counts.probes, counts.retransmissions.probe, counts.timeouts), (1, 1, 0));
    run(probes(200)).assert_sent(&[(0, &[0]), (400_000, &[0])]);
    run(rack()).assert_sent(&[(0, &[0]), (1_000_000, &[0])]);
}

#[test]
fn a_probe_repeats_the_last_packet_and_its_sack_tells_rack_of_the_others() {
    // Both messages are lost. The probe is due 200 ms after the second one left; its SACK, at 350
    // ms, shows the hole in front.
    let mut pair = Pair::established(probes(0), &[1, 2]);
    pair.send_at(100, [0, 50_000]);
    pair.at(3_000_000);
    pair.assert_sent(&[(0, &[0]), (50_000, &[1]), (250_000, &[1]), (350_000, &[0])]);
}

#[test]
fn the_retransmission_timer_begins_anew_with_the_probe_and_there_is_no_second_one() {
    // Only the message and its probe are lost: the timer of 1 s runs from the probe.
    let mut pair = Pair::established(probes(0), &[1, 2]);
    pair.send_at(100, [0]);
    pair.at(3_000_000);
    pair.assert_sent(&[(0, &[0]), (200_000, &[0]), (1_200_000, &[0])]);
}

#[test]
fn an_acknowledgement_in_time_keeps_the_probe_from_leaving() {
    let mut pair = Pair::established(probes(0), &[]);
    pair.send_at(100, [0, 150_000, 300_000]);
    pair.at(3_000_000);
    pair.assert_sent(&[(0, &[0]), (150_000, &[1]), (300_000, &[2])]);
    assert_eq!(pair.stats().recovery.probes, 0);
}

#[test]
fn a_timeout_that_was_needless_is_taken_back_when_the_peer_says_so() {
    // The SACK is lost: the timer resends after 1 s, and the next SACK reports a duplicate at 1100
    // ms.
    let run = |undo| {
        let mut policy = plain();
        policy.congestion.undo = undo;
        let mut pair = Pair::established_over(policy, &[], &[1], |_| ());
        pair.send_at(100, [0]);
        pair.at(1_050_000);
        assert_eq!(pair.stats().paths[0].recovery.cwnd, 1460);
        pair.at(1_200_000);
        let stats = pair.stats();
        let path = stats.paths[0].recovery;
        (path.cwnd, path.ssthresh, stats.recovery.undone)
    };
    assert_eq!(run(true), (4404, u64::MAX, 1));
    assert_eq!(run(false), (1460, 4 * 1460, 0));
}

#[test]
fn a_timeout_that_was_needed_is_not_taken_back() {
    let mut policy = plain();
    policy.congestion.undo = true;
    let mut pair = Pair::established(policy, &[1]);
    pair.send_at(100, [0]);
    pair.at(1_200_000);
    let stats = pair.stats();
    assert_eq!((stats.paths[0].recovery.cwnd, stats.recovery.undone), (1460, 0));
}

#[test]
fn a_timeout_is_found_needless_by_new_data_and_the_rest_is_not_sent_again() {
    // Four full packets leave as the path becomes longer by 1.2 s; the timer expires at 1 s, the
    // SACKs come at 1.3 s. Two further messages wait for the window.
    let run = |frto| {
        let mut policy = plain();
        policy.loss.frto = frto;
        let mut pair = Pair::established_over(policy, &[], &[], |link| {
            let delay = Some(link.delay + Duration::from_millis(1200));
            link.profile = vec![ProfileStep { at: T0, delay, ..ProfileStep::default() }];
        });
        pair.send_at(1444, [0; 6]);
        pair.at(1_310_000);
        let undone = pair.stats().recovery.undone;
        (pair.data_sent(), undone)
    };
    let (sent, undone) = run(true);
    let times = |sent: &[(f64, Vec<u32>)]| {
        let of = sent.iter().map(|(at, tsns)| (*at as u64 / 1000, tsns[0]));
        of.collect::<Vec<_>>()
    };
    let late = [(0, 0), (0, 1), (0, 2), (0, 3), (1000, 0), (1300, 4), (1300, 5)];
    assert_eq!((times(&sent), undone), (late.to_vec(), 1));
    let (sent, undone) = run(false);
    let all_again = [(0, 0), (0, 1), (0, 2), (0, 3), (1000, 0), (1300, 1), (1300, 2)];
    assert_eq!((times(&sent)[..7].to_vec(), undone), (all_again.to_vec(), 0));
}

#[test]
fn one_report_resends_what_is_older_than_the_fine_grained_timer() {
    // The SACK of the second message comes at 190 ms: SRTT is 100 ms, RTTVAR 28.125 ms then, and
    // the first message older than 17/16 (100 + 56.25) = 166 ms. At 150 ms it would not be.
    let run = |timer, second| {
        let mut policy = plain();
        policy.loss.fine_grained = timer;
        let mut pair = Pair::established(policy, &[1]);
        pair.send_at(100, [0, second]);
        pair.at(3_000_000);
        pair.data_sent()[2].0
    };
    assert_eq!(run(FineGrainedTimer::On, 90_000), 190_000.0);
    assert_eq!(run(FineGrainedTimer::On, 50_000), 1_000_000.0);
    assert_eq!(run(FineGrainedTimer::Off, 90_000), 1_000_000.0);
}

#[test]
fn every_message_arrives_whatever_controller_and_detection_are_chosen() {
    let everything = |controller, timer| {
        let mut policy = probes(0);
        policy.loss.frto = true;
        policy.loss.rack = timer == FineGrainedTimer::Off;
        policy.loss.fine_grained = timer;
        policy.congestion.controller = controller;
        policy.congestion.prr = true;
        policy.congestion.undo = true;
        policy.congestion.hystart = true;
        policy.congestion.early_window = EarlyWindow::TcpEr;
        policy
    };
    let vegas = Controller::Vegas(VegasPolicy::default());
    for (seed, policy) in [
        (1, everything(Controller::Cubic, FineGrainedTimer::Off)),
        (2, everything(Controller::NewReno, FineGrainedTimer::Off)),
        (3, everything(Controller::Rfc9260, FineGrainedTimer::Robust)),
        (4, everything(vegas, FineGrainedTimer::On)),
        (5, everything(vegas, FineGrainedTimer::Off)),
    ] {
        let lossy = LinkConfig {
            loss: LossModel::Bernoulli(Probability::from_ratio(5, 100)),
            reorder: Reorder {
                probability: Probability::from_ratio(5, 100),
                extra_delay: Duration::from_millis(30),
            },
            duplicate: Probability::from_ratio(2, 100),
            ..half(Duration::from_millis(100))
        };
        let mut pair = Pair::new(Directions::both(lossy), options(policy), seed);
        pair.run_for(Duration::from_secs(20));
        for _ in 0..300 {
            pair.send(vec![7; 1200]).unwrap();
            pair.run_for(Duration::from_millis(5));
        }
        pair.run_for(Duration::from_secs(200));
        assert_eq!(pair.server().messages.len(), 300, "seed {seed}: {:?}", pair.stats().recovery);
    }
}
