use proptest::prelude::*;

use super::*;

const LIMITS: SizeLimits = SizeLimits { min: 548, base: 1172, max: 1472 };
const RTT: Duration = Duration::from_millis(100);
const SECOND: Duration = Duration::from_secs(1);
const POLICY: PathMtuPolicy = PathMtuPolicy::SCTP;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A path that carries packets of `passes` bytes and loses larger ones, and all that was probed on it.
struct Track {
    discovery: PathMtuDiscovery,
    now: Instant,
    passes: usize,
    probed: Vec<usize>,
}

impl Track {
    fn new(passes: usize, limits: SizeLimits) -> Track {
        let discovery = PathMtuDiscovery::new(at(0), limits);
        Track { discovery, now: at(0), passes, probed: Vec::new() }
    }

    /// Runs until the search is over.
    fn search(&mut self) {
        for _ in 0..1000 {
            let timeout = Duration::from_millis(300);
            if let Some(size) = self.discovery.take_probe(self.now, timeout, 7, &POLICY) {
                self.probed.push(size);
                assert!(!self.discovery.is_probe(8) && self.discovery.is_probe(7));
                if size <= self.passes {
                    self.now += RTT;
                    self.discovery.on_probe_acked(self.now, &POLICY);
                    assert!(!self.discovery.is_probe(7), "an answer counts once");
                } else {
                    assert_eq!(self.discovery.next_timeout(), Some(self.now + SECOND));
                    self.now += SECOND;
                    self.discovery.handle_timeout(self.now, &POLICY);
                }
            }
            if self.discovery.state() == PathMtuState::SearchComplete {
                return;
            }
        }
        panic!("no end: {:?}", self.discovery);
    }
}

#[test]
fn a_path_that_carries_the_largest_is_known_after_two_probes_and_left_alone() {
    let mut track = Track::new(1472, LIMITS);
    assert_eq!(track.discovery.size(), 1172, "before anything is known");
    track.search();
    assert_eq!(track.probed, [1172, 1472]);
    assert_eq!((track.discovery.size(), track.discovery.next_timeout()), (1472, None));
}

#[test]
fn a_size_is_too_large_when_three_probes_in_a_row_are_lost() {
    let mut track = Track::new(1300, LIMITS);
    track.search();
    assert_eq!(track.discovery.size(), 1300);
    assert_eq!(track.probed[..6], [1172, 1472, 1472, 1472, 1320, 1320]);
    assert_eq!(track.discovery.next_timeout(), Some(track.now + POLICY.raise_timer));
}

#[test]
fn a_lost_probe_whose_repetition_is_answered_changes_nothing() {
    let mut track = Track::new(1472, LIMITS);
    for _ in 0..2 {
        assert_eq!(track.discovery.take_probe(track.now, RTT, 1, &POLICY), Some(1172));
        track.now += SECOND;
        track.discovery.handle_timeout(track.now, &POLICY);
    }
    track.search();
    assert_eq!(
        (track.discovery.size(), track.discovery.state()),
        (1472, PathMtuState::SearchComplete)
    );
}

#[test]
fn after_ten_minutes_a_path_that_became_better_is_used() {
    let mut track = Track::new(1200, LIMITS);
    track.search();
    track.passes = 1472;
    let due = track.discovery.next_timeout().unwrap();
    assert_eq!(track.discovery.take_probe(due.before(SECOND), RTT, 1, &POLICY), None);
    (track.now, track.probed) = (due, Vec::new());
    assert_eq!(track.discovery.take_probe(due, RTT, 7, &POLICY), Some(1472));
    track.discovery.on_probe_acked(due, &POLICY);
    assert_eq!((track.discovery.size(), track.discovery.next_timeout()), (1472, None));
}

#[test]
fn a_path_that_does_not_carry_the_base_is_searched_below() {
    let mut track = Track::new(1000, LIMITS);
    assert_eq!(track.discovery.take_probe(at(0), RTT, 1, &POLICY), Some(1172));
    for _ in 0..3 {
        assert_eq!(track.discovery.size(), 1172);
        track.now += SECOND;
        track.discovery.handle_timeout(track.now, &POLICY);
        track.discovery.take_probe(track.now, RTT, 1, &POLICY);
    }
    assert_eq!((track.discovery.state(), track.discovery.size()), (PathMtuState::Error, 548));
    let mut track = Track::new(1000, LIMITS);
    track.search();
    assert_eq!(track.discovery.size(), 1000);
}

#[test]
fn two_timeouts_without_progress_are_a_black_hole_and_two_with_progress_are_not() {
    let mut track = Track::new(1472, LIMITS);
    track.search();
    assert!(!track.discovery.on_data_timeout(track.now, 10, &POLICY));
    assert!(!track.discovery.on_data_timeout(track.now, 11, &POLICY));
    assert_eq!(track.discovery.size(), 1472);
    track.passes = 1180;
    assert!(track.discovery.on_data_timeout(track.now, 11, &POLICY));
    assert_eq!(track.discovery.size(), 1172);
    track.search();
    assert_eq!(track.discovery.size(), 1180);
    // From the base it is to the least, and from there nowhere.
    let mut track = Track::new(1172, LIMITS);
    track.search();
    assert_eq!(
        (track.discovery.size(), track.discovery.state()),
        (1172, PathMtuState::SearchComplete)
    );
    assert!(!track.discovery.on_data_timeout(track.now, 1, &POLICY));
    assert!(track.discovery.on_data_timeout(track.now, 1, &POLICY));
    assert_eq!(track.discovery.size(), 548);
    assert!((0..9).all(|_| !track.discovery.on_data_timeout(track.now, 1, &POLICY)));
}

#[test]
fn what_a_router_says_of_a_probe_is_tried_next() {
    let mut track = Track::new(1392, LIMITS);
    track.discovery.take_probe(at(0), RTT, 1, &POLICY);
    track.discovery.on_probe_acked(at(100), &POLICY);
    assert_eq!(track.discovery.take_probe(at(100), RTT, 2, &POLICY), Some(1472));
    assert!(!track.discovery.on_packet_too_big(at(150), 1394, &POLICY));
    assert_eq!(track.discovery.take_probe(at(150), RTT, 3, &POLICY), Some(1392));
    track.discovery.on_probe_acked(at(250), &POLICY);
    assert_eq!(
        (track.discovery.size(), track.discovery.state()),
        (1392, PathMtuState::SearchComplete)
    );
}

#[test]
fn what_a_router_says_below_the_size_in_use_leads_back_to_the_base() {
    let mut track = Track::new(1472, LIMITS);
    track.search();
    track.passes = 1280;
    assert!(track.discovery.on_packet_too_big(track.now, 1280, &POLICY));
    assert_eq!((track.discovery.size(), track.discovery.state()), (1172, PathMtuState::Base));
    track.probed.clear();
    track.search();
    assert_eq!((track.probed.as_slice(), track.discovery.size()), (&[1172, 1280][..], 1280));
    // Below the base, at least what every path carries is left.
    assert!(track.discovery.on_packet_too_big(track.now, 600, &POLICY));
    assert_eq!((track.discovery.size(), track.discovery.state()), (548, PathMtuState::Error));
}

#[test]
fn nonsense_of_routers_is_ignored() {
    let mut track = Track::new(1472, LIMITS);
    track.search();
    for size in [0, 3, 547, 1472, 1473, 70_000] {
        assert!(!track.discovery.on_packet_too_big(track.now, size, &POLICY), "{size}");
    }
    assert_eq!(track.discovery.size(), 1472);
}

#[test]
fn another_limit_of_the_application_is_kept_at_once_and_tried_when_next_asked() {
    let mut track = Track::new(1472, LIMITS);
    track.search();
    track.discovery.set_max(1372);
    assert_eq!((track.discovery.size(), track.discovery.next_timeout()), (1372, None));
    assert_eq!(track.discovery.take_probe(track.now, RTT, 1, &POLICY), None);
    track.discovery.set_max(1472);
    track.probed.clear();
    assert_eq!(track.discovery.take_probe(track.now, RTT, 7, &POLICY), Some(1472));
    track.discovery.on_probe_acked(track.now, &POLICY);
    assert_eq!(track.discovery.size(), 1472);
}

proptest! {
    #[test]
    fn every_size_is_found_exactly_within_twelve_sizes(passes in 137usize..=368) {
        let passes = passes * 4;
        let mut track = Track::new(passes, LIMITS);
        track.search();
        prop_assert_eq!(track.discovery.size(), passes);
        let mut sizes = track.probed.clone();
        sizes.dedup();
        prop_assert!(sizes.len() <= 12, "{:?}", sizes);
    }

    #[test]
    fn whatever_happens_the_size_stays_within_the_limits_and_a_deadline_is_kept(
        events in prop::collection::vec((0u8..5, any::<u16>()), 0..300)
    ) {
        let mut discovery = PathMtuDiscovery::new(at(0), LIMITS);
        let mut now = at(0);
        for (event, number) in events {
            now += Duration::from_millis(u64::from(number));
            match event {
                0 => discovery.handle_timeout(now, &POLICY),
                1 => discovery.on_probe_acked(now, &POLICY),
                2 => { discovery.on_packet_too_big(now, number.into(), &POLICY); }
                3 => { discovery.on_data_timeout(now, u64::from(number % 2), &POLICY); }
                _ => {
                    if let Some(size) = discovery.take_probe(now, RTT, number.into(), &POLICY) {
                        prop_assert!((LIMITS.min..=LIMITS.max).contains(&size));
                        prop_assert_eq!(size % 4, 0);
                    }
                }
            }
            prop_assert!((LIMITS.min..=LIMITS.max).contains(&discovery.size()));
            let rests = discovery.state() == PathMtuState::SearchComplete && discovery.size() == LIMITS.max;
            prop_assert!(rests || discovery.next_timeout().is_some(), "{:?}", discovery);
        }
    }
}

#[test]
fn below_the_base_too_what_vanishes_is_noticed_and_the_least_is_used() {
    // Not even the base passes; between the least and it a size is found.
    let mut discovery = PathMtuDiscovery::new(Instant::ZERO, LIMITS);
    let mut now = Instant::ZERO;
    let passes = LIMITS.min + 40;
    while discovery.state() != PathMtuState::SearchComplete {
        now = discovery.next_timeout().unwrap().max(now);
        discovery.handle_timeout(now, &POLICY);
        if discovery.take_probe(now, Duration::ZERO, 1, &POLICY).is_some_and(|size| size <= passes)
        {
            discovery.on_probe_acked(now, &POLICY);
        }
    }
    assert_eq!((discovery.size(), discovery.floor()), (passes, LIMITS.min));
    assert!(!discovery.on_data_timeout(now, 7, &POLICY));
    assert!(discovery.on_data_timeout(now, 7, &POLICY));
    assert_eq!((discovery.size(), discovery.state()), (LIMITS.min, PathMtuState::Error));
    // The least is never given up, and the search goes on below what vanished.
    assert!(
        !discovery.on_data_timeout(now, 7, &POLICY) && !discovery.on_data_timeout(now, 7, &POLICY)
    );
    let probed = discovery.take_probe(now, Duration::ZERO, 2, &POLICY).unwrap();
    assert!((LIMITS.min + 1..passes).contains(&probed), "{probed}");
}
