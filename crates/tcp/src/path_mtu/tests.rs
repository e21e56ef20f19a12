use base::Duration;

use recovery::policy::ProbeSizes;

use super::*;

const NOW: Instant = Instant::ZERO;
const POLICY: PathMtuPolicy = PathMtuPolicy::TCP;

fn at(seconds: u64) -> Instant {
    NOW + Duration::from_secs(seconds)
}

#[test]
fn a_router_lowers_it_to_what_its_link_takes_and_never_below_the_least() {
    let mut path = PathMtu::new(1500, false);
    assert!(path.on_too_big(NOW, 1400, 1500, &POLICY));
    assert!(!path.on_too_big(NOW, 1450, 1500, &POLICY));
    assert_eq!(path.get(), 1400);
    assert!(!path.may_fragment(500) && path.on_too_big(NOW, 20, 1400, &POLICY));
    assert_eq!((path.get(), path.may_fragment(552), path.may_fragment(553)), (552, true, false));
    let mut path = PathMtu::new(1500, true);
    assert!(
        !path.on_too_big(NOW, 70_000, 1500, &POLICY) && !path.on_too_big(NOW, 1279, 1500, &POLICY)
    );
    assert!(path.on_too_big(NOW, 1280, 1500, &POLICY));
    assert_eq!(path.get(), 1280);
}

#[test]
fn a_router_that_names_no_size_makes_it_the_next_plateau() {
    let mut path = PathMtu::new(1500, false);
    assert!(path.on_too_big(NOW, 0, 1500, &POLICY));
    assert_eq!(path.get(), 1492);
    assert!(path.on_too_big(NOW, 0, 1492, &POLICY));
    assert_eq!(path.get(), 1006);
}

#[test]
fn what_a_router_said_holds_for_ten_minutes() {
    let mut path = PathMtu::new(1500, false);
    path.on_too_big(NOW, 1400, 1500, &POLICY);
    assert_eq!(path.due(at(600).before(Duration::from_nanos(1)), &POLICY), None);
    assert_eq!(path.due(at(600), &POLICY), Some(1492));
}

#[test]
fn a_packet_that_may_be_fragmented_is_soon_tried_whole() {
    let mut path = PathMtu::new(552, false);
    path.largest = 1500;
    assert!(path.on_too_big(NOW, 500, 552, &POLICY) && path.may_fragment(552));
    assert_eq!(path.due(at(600), &POLICY), Some(1006));
    path.on_confirmed(at(600), 1006, &POLICY);
    assert!(!path.may_fragment(500));
}

#[test]
fn large_and_small_segments_take_turns_while_nothing_arrives() {
    let mut path = PathMtu::new(1500, false);
    assert_eq!(path.on_expiry(2, 1500, &POLICY), Suspicion::None);
    assert_eq!(path.on_expiry(3, 552, &POLICY), Suspicion::None);
    for expiries in [3, 5, 7] {
        assert_eq!(path.on_expiry(expiries, 1500, &POLICY), Suspicion::Arisen);
        assert_eq!((path.get(), path.due(at(9999), &POLICY)), (552, None));
        assert_eq!(path.on_expiry(expiries + 1, 552, &POLICY), Suspicion::Refuted);
        assert_eq!(path.get(), 1500);
    }
    // A large one arrives.
    assert!(!path.on_progress(NOW, &POLICY));
    assert_eq!((path.get(), path.due(at(9999), &POLICY)), (1500, None));
}

#[test]
fn where_small_ones_arrive_the_search_goes_upward_at_once_and_ends_at_the_largest() {
    let mut path = PathMtu::new(1500, false);
    path.on_expiry(3, 1500, &POLICY);
    assert!(path.on_progress(at(1), &POLICY) && !path.on_progress(at(1), &POLICY));
    let mut sizes = Vec::new();
    while let Some(size) = path.due(at(1), &POLICY) {
        sizes.push(size);
        path.on_probe_sent(size, 4000..5000);
        assert_eq!(path.due(at(1), &POLICY), None, "one at a time");
        assert!(!path.on_acked(at(1), 4999, &POLICY) && path.on_acked(at(1), 5000, &POLICY));
        assert_eq!(path.get(), size);
    }
    assert_eq!(sizes, [1006, 1280, 1400, 1492, 1500]);
    assert!(path.search.is_none(), "nothing is left to look for");
}

#[test]
fn a_size_that_is_lost_three_times_waits_for_ten_minutes() {
    let mut path = PathMtu::new(1500, false);
    path.on_expiry(3, 1500, &POLICY);
    path.on_progress(NOW, &POLICY);
    path.on_confirmed(NOW, 1400, &POLICY);
    for (seconds, next) in [(0, 15), (15, 30), (30, 630)] {
        assert_eq!(path.due(at(seconds), &POLICY), Some(1492));
        path.on_probe_sent(1492, 4000..5000);
        // What stands before it and what stands behind it.
        path.on_sent_again(at(seconds), 3000..4000, &POLICY);
        path.on_sent_again(at(seconds), 5000..6000, &POLICY);
        assert!(path.search.as_ref().unwrap().probe().is_some());
        path.on_sent_again(at(seconds), 4000..4500, &POLICY);
        assert_eq!(path.due(at(next).before(Duration::from_nanos(1)), &POLICY), None);
    }
    assert_eq!((path.get(), path.due(at(630), &POLICY)), (1400, Some(1492)));
}

#[test]
fn the_policy_says_how_many_probes_are_sent_and_how_far_apart() {
    let probe_timer = Duration::from_secs(4);
    let policy = PathMtuPolicy { max_probes: 2, probe_timer, ..POLICY };
    let mut path = PathMtu::new(1500, false);
    path.on_expiry(3, 1500, &policy);
    path.on_progress(NOW, &POLICY);
    path.on_confirmed(NOW, 1400, &policy);
    for (seconds, next) in [(0, 4), (4, 604)] {
        assert_eq!(path.due(at(seconds), &POLICY), Some(1492));
        path.on_probe_sent(1492, 4000..5000);
        path.on_sent_again(at(seconds), 4000..4500, &policy);
        assert_eq!(path.due(at(next).before(Duration::from_nanos(1)), &POLICY), None);
    }
    assert_eq!((path.get(), path.due(at(604), &POLICY)), (1400, Some(1492)));
}

#[test]
fn the_policy_says_which_sizes_are_tried_and_where_the_search_begins() {
    let policy = PathMtuPolicy { base: 600, sizes: ProbeSizes::Halving, ..POLICY };
    let mut path = PathMtu::new(1500, false);
    path.on_expiry(3, 1500, &policy);
    assert!(path.on_progress(NOW, &policy));
    assert_eq!((path.get(), path.due(NOW, &policy)), (600, Some(1500)));
    path.on_probe_sent(1500, 4000..5000);
    path.on_too_big(NOW, 1400, 1500, &policy);
    assert_eq!(path.due(NOW, &policy), Some(1400));
    for seconds in [0, 15, 30] {
        path.on_probe_sent(1400, 4000..5000);
        path.on_sent_again(at(seconds), 4000..5000, &policy);
    }
    assert_eq!(path.due(at(30), &policy), Some(1000));
    // Of IPv6 every link carries the base.
    let mut path = PathMtu::new(1500, true);
    path.on_expiry(3, 1500, &policy);
    assert_eq!(path.get(), 1280);
}

#[test]
fn what_a_router_says_of_a_probe_comes_next_and_then_holds() {
    let mut path = PathMtu::new(1500, false);
    path.on_too_big(NOW, 1400, 1500, &POLICY);
    path.on_probe_sent(1492, 4000..5000);
    assert!(!path.on_too_big(at(600), 1420, 1492, &POLICY));
    assert_eq!((path.get(), path.due(at(600), &POLICY)), (1400, Some(1420)));
    path.on_probe_sent(1420, 8000..9000);
    assert!(path.on_acked(at(601), 9000, &POLICY));
    assert_eq!((path.get(), path.due(at(1200), &POLICY)), (1420, None));
    assert_eq!(path.due(at(1201), &POLICY), Some(1492));
    // No probe of 1450 was sent.
    assert!(!path.on_too_big(at(1201), 1450, 1420, &POLICY));
    assert_eq!((path.get(), path.due(at(1201), &POLICY)), (1420, Some(1492)));
}

#[test]
fn a_router_that_speaks_late_settles_what_was_suspected() {
    let mut path = PathMtu::new(1500, false);
    path.on_expiry(3, 1500, &POLICY);
    assert!(!path.on_too_big(at(1), 1500, 552, &POLICY));
    assert!(path.on_too_big(at(1), 1400, 552, &POLICY));
    assert_eq!(
        (path.get(), path.due(at(600), &POLICY), path.due(at(601), &POLICY)),
        (1400, None, Some(1492))
    );
    assert_eq!(path.on_expiry(4, 552, &POLICY), Suspicion::None);
}

#[test]
fn a_smaller_probe_that_arrives_leaves_what_a_router_told() {
    let mut path = PathMtu::new(1500, false);
    path.on_expiry(3, 1500, &POLICY);
    assert!(path.on_progress(NOW, &POLICY));
    path.on_probe_sent(1006, 1..967);
    path.on_too_big(NOW, 900, 1006, &POLICY);
    assert_eq!(path.due(NOW, &POLICY), Some(900));
    path.on_confirmed(NOW, 700, &POLICY);
    assert_eq!((path.get(), path.due(NOW, &POLICY)), (700, Some(900)));
    path.on_confirmed(NOW, 900, &POLICY);
    assert_eq!((path.due(at(599), &POLICY), path.due(at(600), &POLICY)), (None, Some(1006)));
}
