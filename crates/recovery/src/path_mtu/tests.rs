use base::Duration;
use proptest::prelude::*;

use super::*;

/// Limits of UDP packets over IPv4 whose payload is in words of four bytes.
const LIMITS: SizeLimits = SizeLimits { min: 548, base: 1172, max: 1472, headers: 28, multiple: 4 };
const RTT: Duration = Duration::from_millis(100);
const SECOND: Duration = Duration::from_secs(1);
const POLICY: PathMtuPolicy = PathMtuPolicy::SCTP;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A path that carries packets of `passes` bytes and loses larger ones, and all probes sent on it.
struct Track {
    search: PathMtuSearch<()>,
    now: Instant,
    passes: u16,
    probed: Vec<u16>,
}

impl Track {
    fn new(passes: u16, limits: SizeLimits) -> Track {
        Track { search: PathMtuSearch::new(at(0), limits), now: at(0), passes, probed: Vec::new() }
    }

    /// Sends the probe that is due.
    fn probe(&mut self, policy: &PathMtuPolicy) -> Option<u16> {
        let size = self.search.due(self.now, policy)?;
        self.search.on_probe_sent(size, ());
        assert_eq!(self.search.due(self.now, policy), None, "one at a time");
        Some(size)
    }

    /// The probe in flight arrives after a round trip, or its loss is noticed after a second.
    fn settle(&mut self, policy: &PathMtuPolicy) {
        let (size, ()) = self.search.probe().unwrap();
        if size <= self.passes {
            self.now += RTT;
            self.search.on_probe_arrived(self.now, policy);
        } else {
            self.now += SECOND;
            self.search.on_probe_lost(self.now, self.now, policy);
        }
        assert!(self.search.probe().is_none(), "an answer counts once");
    }

    /// Runs until the search is complete.
    fn search(&mut self) {
        self.search_by(&POLICY);
    }

    fn search_by(&mut self, policy: &PathMtuPolicy) {
        for _ in 0..1000 {
            if let Some(size) = self.probe(policy) {
                self.probed.push(size);
                self.settle(policy);
            }
            if self.search.state() == PathMtuState::SearchComplete {
                return;
            }
        }
        panic!("no end: {:?}", self.search);
    }

    fn found(&self) -> (u16, PathMtuState) {
        (self.search.size(), self.search.state())
    }
}

#[test]
fn a_path_that_carries_the_largest_is_known_after_two_probes_and_left_alone() {
    let mut track = Track::new(1472, LIMITS);
    assert_eq!(track.search.size(), 1172, "before anything is known");
    track.search();
    assert_eq!(track.probed, [1172, 1472]);
    assert_eq!((track.search.size(), track.search.next_due()), (1472, None));
    assert!(track.search.is_at_max());
}

#[test]
fn a_size_is_too_large_when_three_probes_in_a_row_are_lost() {
    let mut track = Track::new(1300, LIMITS);
    track.search();
    assert_eq!(track.search.size(), 1300);
    assert_eq!(track.probed[..6], [1172, 1472, 1472, 1472, 1320, 1320]);
    assert_eq!(track.search.next_due(), Some(track.now + POLICY.raise_timer));
    assert!(!track.search.is_at_max());
}

#[test]
fn a_lost_probe_whose_repetition_is_answered_changes_nothing() {
    let mut track = Track::new(1472, LIMITS);
    for _ in 0..2 {
        assert_eq!(track.probe(&POLICY), Some(1172));
        track.now += SECOND;
        track.search.on_probe_lost(track.now, track.now, &POLICY);
    }
    track.search();
    assert_eq!(track.found(), (1472, PathMtuState::SearchComplete));
}

#[test]
fn after_ten_minutes_a_path_that_became_better_is_used() {
    let mut track = Track::new(1200, LIMITS);
    track.search();
    track.passes = 1472;
    let due = track.search.next_due().unwrap();
    track.now = due.before(SECOND);
    assert_eq!(track.probe(&POLICY), None);
    track.now = due;
    assert_eq!(track.probe(&POLICY), Some(1472));
    assert_eq!(track.found(), (1200, PathMtuState::Searching));
    track.settle(&POLICY);
    assert_eq!((track.search.size(), track.search.next_due()), (1472, None));
}

#[test]
fn a_path_that_does_not_carry_the_base_is_searched_below() {
    let mut track = Track::new(1000, LIMITS);
    for _ in 0..3 {
        assert_eq!((track.probe(&POLICY), track.search.size()), (Some(1172), 1172));
        track.settle(&POLICY);
    }
    assert_eq!(track.found(), (548, PathMtuState::Error));
    track.search();
    assert_eq!(track.search.size(), 1000);
}

#[test]
fn timeouts_as_the_policy_says_are_a_black_hole_and_lead_to_the_base_and_then_to_the_least() {
    let mut track = Track::new(1472, LIMITS);
    track.search();
    assert_eq!(track.search.on_timeout(1, 1472, &POLICY), Suspicion::None);
    assert_eq!(track.search.on_timeout(9, 1172, &POLICY), Suspicion::None, "too small");
    assert_eq!(track.search.size(), 1472);
    track.passes = 1180;
    assert_eq!(track.search.on_timeout(2, 1176, &POLICY), Suspicion::Arisen);
    assert_eq!(track.search.size(), 1172);
    track.search.restart(track.now);
    assert_eq!(track.found(), (1172, PathMtuState::Base));
    track.search();
    assert_eq!(track.search.size(), 1180);
    // From the base the size falls to the least, and no further.
    let mut track = Track::new(1172, LIMITS);
    track.search();
    assert_eq!(track.found(), (1172, PathMtuState::SearchComplete));
    assert_eq!(track.search.on_timeout(1, 1172, &POLICY), Suspicion::None);
    assert_eq!(track.search.on_timeout(2, 1172, &POLICY), Suspicion::Arisen);
    track.search.restart(track.now);
    assert_eq!(track.found(), (548, PathMtuState::Error));
    assert!((0..9).all(|more| track.search.on_timeout(more, 548, &POLICY) == Suspicion::None));
}

#[test]
fn a_suspicion_that_a_timeout_refutes_leaves_the_search_as_it_was() {
    let mut track = Track::new(1300, LIMITS);
    track.search();
    let due = track.search.next_due();
    for timeouts in [2, 4, 200] {
        assert_eq!(track.search.on_timeout(timeouts, 1300, &POLICY), Suspicion::Arisen);
        assert!(track.search.is_suspected() && track.search.size() == 1172);
        assert_eq!(track.search.due(at(u64::MAX / 2_000_000), &POLICY), None, "no probe meanwhile");
        assert_eq!(track.search.on_timeout(timeouts + 1, 1172, &POLICY), Suspicion::Refuted);
        assert_eq!(track.found(), (1300, PathMtuState::SearchComplete));
        assert_eq!(track.search.next_due(), due);
    }
}

#[test]
fn what_a_router_says_of_a_probe_is_tried_next() {
    let mut track = Track::new(1392, LIMITS);
    track.probe(&POLICY);
    track.settle(&POLICY);
    assert_eq!(track.probe(&POLICY), Some(1472));
    track.search.on_packet_too_big(at(150), 1394, &POLICY);
    assert_eq!((track.search.size(), track.probe(&POLICY)), (1172, None));
    track.now = at(150);
    assert_eq!(track.probe(&POLICY), Some(1392));
    track.settle(&POLICY);
    assert_eq!(track.found(), (1392, PathMtuState::SearchComplete));
}

#[test]
fn what_a_router_says_below_the_size_in_use_leads_back_to_the_base() {
    let mut track = Track::new(1472, LIMITS);
    track.search();
    track.passes = 1280;
    track.search.on_packet_too_big(track.now, 1280, &POLICY);
    assert_eq!(track.found(), (1172, PathMtuState::Base));
    track.probed.clear();
    track.search();
    assert_eq!((track.probed.as_slice(), track.search.size()), (&[1172, 1280][..], 1280));
    // Below the base, at least the size that every path carries remains.
    track.search.on_packet_too_big(track.now, 600, &POLICY);
    assert_eq!(track.found(), (548, PathMtuState::Error));
}

#[test]
fn nonsense_of_routers_is_ignored() {
    let mut track = Track::new(1472, LIMITS);
    track.search();
    for size in [0, 3, 547, 1472, 1473, u16::MAX] {
        track.search.on_packet_too_big(track.now, size, &POLICY);
        assert!(track.search.is_at_max(), "{size}");
    }
}

#[test]
fn a_router_that_is_believed_lowers_the_size_until_the_raise_timer_expires() {
    let mut track = Track::new(1472, LIMITS);
    track.search();
    assert_eq!(track.search.on_timeout(2, 1472, &POLICY), Suspicion::Arisen);
    track.search.lower(track.now, 1400, &POLICY);
    assert_eq!(track.found(), (1400, PathMtuState::SearchComplete));
    assert_eq!(track.search.next_due(), Some(track.now + POLICY.raise_timer));
    track.search.lower(track.now, 1440, &POLICY);
    assert_eq!(track.search.size(), 1400);
    track.now += POLICY.raise_timer;
    assert_eq!(track.probe(&POLICY), Some(1472));
}

#[test]
fn another_limit_of_the_application_is_kept_at_once_and_tried_when_next_asked() {
    let mut track = Track::new(1472, LIMITS);
    track.search();
    track.search.set_max(1372);
    assert_eq!((track.search.size(), track.search.next_due()), (1372, None));
    assert_eq!(track.probe(&POLICY), None);
    track.search.set_max(1472);
    assert_eq!((track.probe(&POLICY), track.search.next_due()), (Some(1472), None));
    track.settle(&POLICY);
    assert_eq!(track.search.size(), 1472);
}

#[test]
fn a_limit_that_is_known_to_pass_completes_a_search() {
    let mut track = Track::new(1300, LIMITS);
    track.probe(&POLICY);
    track.settle(&POLICY);
    assert_eq!(track.probe(&POLICY), Some(1472));
    track.search.set_max(1172);
    assert_eq!(track.found(), (1172, PathMtuState::SearchComplete));
    assert_eq!((track.probe(&POLICY), track.search.next_due()), (None, None));
}

#[test]
fn common_sizes_are_climbed_until_one_is_lost() {
    let policy = PathMtuPolicy { sizes: ProbeSizes::Common, ..POLICY };
    for (passes, probed) in [
        (1472, &[1172, 1252, 1372, 1464, 1472][..]),
        (1400, &[1172, 1252, 1372, 1464, 1464, 1464]),
        (1180, &[1172, 1252, 1252, 1252]),
    ] {
        let mut track = Track::new(passes, LIMITS);
        track.search_by(&policy);
        assert_eq!(track.probed, probed);
        // After the loss of all, the last size that passed.
        let known = probed.iter().rev().find(|size| **size <= passes);
        assert_eq!(Some(&track.search.size()), known);
    }
}

#[test]
fn a_policy_that_leaves_nothing_to_probe_completes_a_search() {
    let mut track = Track::new(1300, LIMITS);
    while track.search.size() < 1252 {
        track.probe(&POLICY);
        track.settle(&POLICY);
    }
    assert_eq!(track.found(), (1280, PathMtuState::Searching));
    let common = PathMtuPolicy { sizes: ProbeSizes::Common, ..POLICY };
    assert_eq!((track.probe(&common), track.search.state()), (None, PathMtuState::SearchComplete));
    assert_eq!(track.search.next_due(), Some(track.now + POLICY.raise_timer));
}

#[test]
fn the_largest_packets_of_all_overflow_nothing() {
    let limits = SizeLimits { min: 0, base: 0, max: u16::MAX, headers: 0, multiple: 1 };
    for sizes in [ProbeSizes::Halving, ProbeSizes::Common] {
        let policy = PathMtuPolicy { sizes, ..POLICY };
        for passes in [u16::MAX, u16::MAX - 1, 1] {
            let mut track = Track::new(passes, limits);
            track.search_by(&policy);
            let exact = sizes == ProbeSizes::Halving || passes == u16::MAX;
            assert!(!exact || track.search.size() == passes, "{:?}", track.search);
        }
    }
}

proptest! {
    #[test]
    fn every_size_is_found_exactly_within_twelve_sizes(passes in 137u16..=368) {
        let passes = passes * 4;
        let mut track = Track::new(passes, LIMITS);
        track.search();
        prop_assert_eq!(track.search.size(), passes);
        let mut sizes = track.probed.clone();
        sizes.dedup();
        prop_assert!(sizes.len() <= 12, "{:?}", sizes);
    }

    #[test]
    fn whatever_happens_the_size_stays_within_the_limits_and_a_deadline_is_kept(
        events in prop::collection::vec((0u8..9, any::<u16>()), 0..300)
    ) {
        let mut search = PathMtuSearch::new(at(0), LIMITS);
        let mut now = at(0);
        for (event, number) in events {
            now += Duration::from_millis(u64::from(number));
            let sizes = if number % 2 == 0 { ProbeSizes::Halving } else { ProbeSizes::Common };
            let policy = PathMtuPolicy { sizes, ..POLICY };
            match event {
                0 => search.on_probe_lost(now, now, &policy),
                1 => search.on_probe_arrived(now, &policy),
                2 => search.on_packet_too_big(now, number, &policy),
                3 => { search.on_timeout(number as u8, number, &policy); }
                4 => search.restart(now),
                5 => search.lower(now, number.max(LIMITS.min) / 4 * 4, &policy),
                _ => {
                    if let Some(size) = search.due(now, &policy) {
                        prop_assert!((LIMITS.min..=LIMITS.max).contains(&size));
                        prop_assert_eq!(size % 4, 0);
                        search.on_probe_sent(size, ());
                    }
                }
            }
            prop_assert!((LIMITS.min..=LIMITS.max).contains(&search.size()));
            let waits = search.probe().is_some() || search.is_suspected();
            prop_assert!(search.is_at_max() || waits || search.next_due().is_some(), "{search:?}");
        }
    }
}

#[test]
fn below_the_base_too_what_vanishes_is_noticed_and_the_least_is_used() {
    // Even the base fails; a size between the least and the base is found.
    let passes = LIMITS.min + 40;
    let mut track = Track::new(passes, LIMITS);
    track.search();
    assert_eq!((track.search.size(), track.search.fallback()), (passes, LIMITS.min));
    assert_eq!(track.search.on_timeout(1, passes, &POLICY), Suspicion::None);
    assert_eq!(track.search.on_timeout(2, passes, &POLICY), Suspicion::Arisen);
    track.search.restart(track.now);
    assert_eq!(track.found(), (LIMITS.min, PathMtuState::Error));
    // The least size always remains, and the search continues below the size that vanished.
    assert_eq!(track.search.on_timeout(2, passes, &POLICY), Suspicion::None);
    let probed = track.probe(&POLICY).unwrap();
    assert!((LIMITS.min + 1..passes).contains(&probed), "{probed}");
}
