//! Losses and needless retransmissions according to the sender's capture alone, beside the truth.

use base::{Duration, Probability};
use trace::capture::Capture;
use trace::report::Totals;
use trace::{Options, analyse};

use crate::world::{Case, clients, run_case};

const POLICIES: [&str; 7] =
    ["newreno", "sack", "linux", "thin", "thin-rdb", "sctp:lksctp", "sctp:thin"];

/// A message each `interval` over a path with this round trip and 5 % loss in both directions, both
/// in milliseconds: the true loss, what came in vain, and what the sender's capture tells.
fn told(policy: &'static str, interval: u64, round_trip: u64) -> (f64, u64, Totals) {
    let (truth, _) = run_case(&Case {
        policy,
        loss: Probability::from_ratio(5, 100),
        round_trip: Duration::from_millis(round_trip),
        interval: Duration::from_millis(interval),
        messages: 3000,
    });
    let loss = (truth.sent - truth.arrived) as f64 / truth.sent as f64;
    let in_vain = truth.in_vain;
    let [sender, _] = truth.taps.map(|tap| tap.writer.into_inner());
    let (report, ()) = analyse(&mut Capture::open(&sender[..]).unwrap(), Options::default(), ());
    (loss, in_vain, clients(&report).totals.clone())
}

fn for_each_case(mut judge: impl FnMut(&str, f64, u64, &Totals)) {
    for policy in POLICIES {
        for (interval, round_trip) in [(100, 100), (40, 100), (25, 130), (250, 100)] {
            let (loss, in_vain, totals) = told(policy, interval, round_trip);
            judge(&format!("{policy}, {interval} ms, {round_trip} ms"), loss, in_vain, &totals);
        }
    }
}

#[test]
fn spurious_retransmissions_are_those_that_came_in_vain_whatever_the_policy() {
    let mut in_all = 0;
    for_each_case(|case, _, in_vain, totals| {
        let again = &totals.retransmissions;
        assert!(again.spurious <= again.total, "{case}: {again:?}");
        assert!(again.spurious_reported.max(again.spurious_inferred) <= again.spurious, "{case}");
        // One report in twenty is lost.
        let bound = 3 + in_vain / 5;
        assert!(again.spurious.abs_diff(in_vain) <= bound, "{case}: {in_vain}, {again:?}");
        in_all += in_vain;
    });
    assert!(in_all > 300, "{in_all}: or it is not tried");
}

#[test]
fn the_loss_is_estimated_where_copies_repair_it_without_a_retransmission_too() {
    for_each_case(|case, loss, _, totals| {
        let estimate = totals.loss_estimate;
        assert!((estimate - loss).abs() < loss / 5.0, "{case}: {estimate} of {loss}");
        assert!(!totals.loss_estimate_is_lower_bound, "{case}");
        let fates = totals.fates;
        let known = fates.arrived + fates.lost + fates.repaired + fates.doubtful + fates.silent;
        assert!((known..known + 20).contains(&totals.packets.data), "{case}: {fates:?}");
    });
    // Hardly any data is retransmitted there.
    let (_, _, totals) = told("thin-rdb", 25, 130);
    assert!(totals.fates.repaired > 100 && totals.packets.retransmissions < 10);
}
