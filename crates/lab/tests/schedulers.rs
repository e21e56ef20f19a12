//! A thin message beside a bulk transfer over the same association.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use base::{Duration, Rate};
use lab::schedulers::{Outcome, Setup, run};
use sctp::Scheduler;

/// Ten seconds over a line whose queue loses nothing.
fn outcome(scheduler: Scheduler, interleaving: bool) -> Outcome {
    run(&Setup {
        scheduler,
        interleaving,
        bulk_size: 4_000_000,
        rate: Rate::from_bits_per_second(10_000_000),
        rtt: Duration::from_millis(40),
        link_queue: 100_000,
        duration: Duration::from_secs(10),
    })
    .unwrap()
}

#[test]
fn with_interleaving_an_urgent_message_waits_for_no_more_than_one_packet_of_bulk() {
    for scheduler in [Scheduler::Priority, Scheduler::RoundRobin, Scheduler::WeightedFair] {
        let outcome = outcome(scheduler, true);
        assert!(outcome.delays.count() > 90, "{} arrived", outcome.delays.count());
        assert!(outcome.bulk_ahead <= 1, "{scheduler:?}: {} packets ahead", outcome.bulk_ahead);
        // What it waits for is a SACK: they come at the rate of the packets (1.2 ms each, two to a
        // SACK), or, while the window is too small to fill the line, once per round trip.
        let [half, all] = [0.5, 1.0].map(|quantile| outcome.waits.quantile(quantile).unwrap());
        assert!(half <= Duration::from_millis(3), "{scheduler:?}: {half}");
        assert!(all <= Duration::from_millis(40), "{scheduler:?}: {all}");
    }
}

#[test]
fn without_it_a_bulk_message_that_has_begun_delays_it_by_seconds() {
    for scheduler in [Scheduler::FirstCome, Scheduler::Priority] {
        let outcome = outcome(scheduler, false);
        assert!(outcome.bulk_ahead > 1000, "{scheduler:?}: {} packets ahead", outcome.bulk_ahead);
        let longest = outcome.waits.quantile(1.0).unwrap();
        assert!(longest >= Duration::from_secs(2), "{scheduler:?}: {longest}");
    }
}
