//! Gain of partial order, and its limits.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;

use base::{Duration, Probability};
use netsim::link::Framing;
use recovery::RecoveryPolicy;
use studies::partial_order::{Item, Network, Outcome, Service, carry, mean_ms, scene};

fn outcome(items: &Arc<[Item]>, service: Service, percent: u64) -> Outcome {
    let network = Network {
        rtt: Duration::from_millis(100),
        loss: Probability::from_ratio(percent, 100),
        rate: None,
        framing: Framing::NONE,
        queue: 20,
        path_mtu: 1500,
    };
    carry(items, service, &Arc::new(RecoveryPolicy::sctp_thin()), network, 1).unwrap()
}

#[test]
fn partial_order_keeps_what_streams_break_and_waits_less_than_one_stream() {
    let items: Arc<[Item]> = scene(10, 200, Duration::from_millis(200), 200, 1).into();
    let [one, streams, partial, unordered] =
        Service::ALL.map(|service| outcome(&items, service, 5));
    for whole in [&one, &streams, &partial, &unordered] {
        assert_eq!(whole.delays.len(), items.len(), "everything is delivered");
    }
    assert_eq!((one.violations, partial.violations), (0, 0));
    assert!(streams.violations > 0, "streams cannot express a reference to another object");
    assert!(unordered.violations > streams.violations);
    let [one, streams, partial, unordered] =
        [one, streams, partial, unordered].map(|outcome| mean_ms(&outcome.delays));
    // Half of the round trip is the way itself.
    assert!(partial - 50.0 < 0.5 * (one - 50.0), "{partial} {one}");
    assert!(unordered <= streams && streams <= partial, "{unordered} {streams} {partial}");
}

#[test]
fn chains_cost_the_layer_no_more_than_streams() {
    let mut items = scene(8, 40, Duration::from_millis(200), 200, 1);
    for (index, item) in items.iter_mut().enumerate() {
        item.due = Duration::ZERO;
        item.after = index.checked_sub(8).into_iter().collect();
    }
    let items: Arc<[Item]> = items.into();
    let [one, streams, partial, _] = Service::ALL.map(|service| outcome(&items, service, 5));
    assert_eq!([&one, &streams, &partial].map(|outcome| outcome.violations), [0; 3]);
    let (streams, partial) = (mean_ms(&streams.delays), mean_ms(&partial.delays));
    // The headers of the layer are all that differs.
    assert!(partial < 1.1 * streams && streams < mean_ms(&one.delays), "{partial} {streams}");
}

#[test]
fn without_loss_all_services_are_alike() {
    let items: Arc<[Item]> = scene(10, 20, Duration::from_millis(200), 200, 1).into();
    for service in Service::ALL {
        let outcome = outcome(&items, service, 0);
        assert_eq!(outcome.violations, 0);
        assert!(outcome.delays.iter().all(|delay| *delay == Duration::from_millis(50)));
    }
}
