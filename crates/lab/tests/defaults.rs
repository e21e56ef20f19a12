//! The default, `thin`, is nowhere worse than `rfc`: the small version of the plan over a grid of networks.

use std::collections::BTreeSet;
use std::path::Path;

use lab::compare::{compare, tally};
use lab::engine::{Finished, Shard, run};
use lab::plan::{Plan, Size};

const KEY: &str = "flow.thin.policy";

#[test]
fn thin_is_in_no_cell_worse_than_rfc_and_in_most_with_losses_better() {
    let file = "../../experiments/defaults/thin-grid.toml";
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let plan = Plan::parse(&text, Size::Small, None).unwrap();
    let mut finished = Finished::new();
    run(&plan, Shard::default(), &BTreeSet::new(), 2, |job, results| {
        finished.insert(job, results);
        Ok(())
    })
    .unwrap();
    let compared = compare(&plan, &finished, KEY, ("thin", "rfc"), &[]);
    let quantiles = [0.99, 0.999].map(|quantile| format!("latency.quantile[quantile={quantile}]"));
    let names = ["latency.mean", &quantiles[0], &quantiles[1]];
    let found = tally(&compared, &names, 0.01);
    assert_eq!(found.higher, []);
    assert_eq!(found.compared, 3 * compared.len());
    assert!(found.lower >= compared.len(), "{} of {}", found.lower, found.compared);
    // The comparison the other way round finds what this one would have to.
    let other = compare(&plan, &finished, KEY, ("rfc", "thin"), &[]);
    assert_eq!(tally(&other, &names, 0.01).higher.len(), found.lower);
}
