use serde_json::json;

use super::*;
use crate::run;

/// Ten seconds over a line whose queue loses nothing.
fn outcome(scheduler: Order, interleaving: bool) -> Outcome {
    let parameters = Parameters {
        scheduler,
        interleaving,
        bulk_size: 4_000_000,
        queue: 100_000,
        duration: Duration::from_secs(10),
        ..Parameters::default()
    };
    measure(&parameters, 1).unwrap()
}

#[test]
fn with_interleaving_an_urgent_message_waits_for_no_more_than_one_packet_of_bulk() {
    for scheduler in [Order::Priority, Order::RoundRobin, Order::WeightedFair] {
        let outcome = outcome(scheduler, true);
        assert!(outcome.delays.count() > 90, "{} arrived", outcome.delays.count());
        assert!(outcome.bulk_ahead <= 1, "{scheduler:?}: {} packets ahead", outcome.bulk_ahead);
        // It waits for a SACK: they come at the rate of the packets (1.2 ms each, two to a SACK),
        // or, while the window is too small to fill the line, once per round trip.
        let [half, all] = [0.5, 1.0].map(|quantile| outcome.waits.quantile(quantile).unwrap());
        assert!(half <= Duration::from_millis(3), "{scheduler:?}: {half}");
        assert!(all <= Duration::from_millis(40), "{scheduler:?}: {all}");
    }
}

#[test]
fn without_it_a_bulk_message_that_has_begun_delays_it_by_seconds() {
    for scheduler in [Order::FirstCome, Order::Priority] {
        let outcome = outcome(scheduler, false);
        assert!(outcome.bulk_ahead > 1000, "{scheduler:?}: {} packets ahead", outcome.bulk_ahead);
        let longest = outcome.waits.quantile(1.0).unwrap();
        assert!(longest >= Duration::from_secs(2), "{scheduler:?}: {longest}");
    }
}

#[test]
fn parameters_that_make_no_sense_are_refused_by_name() {
    for (parameters, name) in [
        (json!({ "bulk_size": 0 }), "`bulk_size`"),
        (json!({ "thin_size": 7 }), "`thin_size`"),
        (json!({ "interval": "0s" }), "`interval`"),
        (json!({ "scheduler": "last-come" }), "last-come"),
    ] {
        let error = run(NAME, parameters, 1).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}
