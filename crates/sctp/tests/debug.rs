mod support;
use base::{Duration, Probability};
use netsim::LinkConfig;
use netsim::topology::Directions;
use sctp::{AssociationOptions, SendOptions};
use support::Pair;
#[test]
fn debug() {
    let mut link = LinkConfig::lossy(Duration::from_millis(20), Probability::from_ratio(1, 10));
    link.duplicate = Probability::from_ratio(1, 20);
    link.reorder.probability = Probability::from_ratio(1, 10);
    link.reorder.extra_delay = Duration::from_millis(15);
    link.allow_reordering = true;
    let mut pair = Pair::new(Directions::both(link.clone()), AssociationOptions::default(), 2);
    let id = pair.association;
    pair.sim.with_host(pair.client, |p, _| p.endpoint.set_recovery_events(id, true));
    let sizes = [1, 100, 1400, 1456, 1457, 5000, 100_000];
    for (index, size) in sizes.iter().cycle().take(70).enumerate() {
        let payload = vec![index as u8; *size];
        while pair.send_on((index % 3) as u16, payload.clone(), SendOptions::default()).is_err() {
            pair.run_for(Duration::from_millis(100));
        }
    }
    pair.run_for(Duration::from_secs(300));
    let ev: Vec<_> = pair.sim.with_host(pair.client, |p, _| std::iter::from_fn(|| p.endpoint.poll_recovery_event(id)).collect());
    for e in ev.iter().rev().take(60).rev() { println!("{e:?}"); }
    println!("{:?}\n{:?}", pair.client().events, pair.server().events);
    println!("{:#?}", pair.stats());
}
