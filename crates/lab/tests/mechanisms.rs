//! What Petlund et al. (2009, section 6.1) say of each mechanism, over ten seeds.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use base::{Duration, Probability};
use lab::mechanisms::{Column, Row, contenders, run};
use lab::metrics::RetransmissionLatency;
use lab::scenario::ThinFlows;
use lab::{Arrivals, Limit, Sizes, WorkloadPlan};

type Read = fn(&RetransmissionLatency) -> f64;
const MEAN: Read = |one| one.mean;
const P99: Read = |one| one.p99;
const MAX: Read = |one| one.max;

/// Latency of a row as a share of that of lksctp, averaged over the seeds.
fn share(rows: &[Row], name: &str, column: Column, read: Read) -> f64 {
    let row = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
    row(name).mean(column, read).unwrap() / row("lksctp").mean(column, read).unwrap()
}

#[test]
fn each_mechanism_improves_what_the_paper_says_and_thin_beats_lksctp_throughout() {
    let plan = ThinFlows {
        workload: WorkloadPlan {
            arrivals: Arrivals::Constant { interval: Duration::from_millis(250) },
            size: Sizes::Constant(100),
            limit: Limit::Count(1000),
        },
        flows: 20,
        rtt: Duration::from_millis(100),
        loss: Probability::from_ratio(5, 100),
        seed: 0,
    };
    let names = ["lksctp", "no back-off", "minimum RTO", "threshold 1", "thin"];
    let mut compared = contenders();
    compared.retain(|one| names.contains(&&*one.name));
    let rows = run(&plan, &compared, 10, 2, |_| {}).unwrap();
    let share = |name, column, read| share(&rows, name, column, read);
    let less = |name, column, read, most| {
        let share = share(name, column, read);
        assert!(share < most, "{name} {column:?}: {share} of lksctp, not below {most}");
    };

    // Linear timeouts lower the maximum, above all of second and third retransmissions.
    less("no back-off", Column::Second, MAX, 1.0);
    less("no back-off", Column::Third, MAX, 0.9);
    // Most retransmissions of a thin stream are timeouts, so a lower minimum lowers them all.
    less("minimum RTO", Column::Retransmitted, MEAN, 0.9);
    less("minimum RTO", Column::Retransmitted, P99, 0.9);
    // Fast retransmit at the first indication lowers mean and p99 drastically.
    less("threshold 1", Column::Retransmitted, MEAN, 0.6);
    less("threshold 1", Column::Retransmitted, P99, 0.8);

    // All together beat lksctp with every seed, not only on average.
    let row = |name: &str| rows.iter().find(|row| row.name == name).unwrap();
    for read in [MEAN, P99, MAX] {
        let of = |name| row(name).values(Column::Retransmitted, read);
        let (thin, lksctp) = (of("thin"), of("lksctp"));
        assert_eq!((thin.len(), lksctp.len()), (10, 10));
        let better = thin.iter().zip(&lksctp).filter(|(thin, lksctp)| thin < lksctp).count();
        assert_eq!(better, 10, "{thin:?} {lksctp:?}");
    }
}
