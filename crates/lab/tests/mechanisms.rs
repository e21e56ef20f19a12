//! Claims of Petlund et al. (2009, section 6.1) about each mechanism, over twenty seeds.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use lab::compare::compare;
use lab::plan::{Plan, Size};
use lab::verdict::{Word, judge};
use runner::threads::run_all;

use self::support::text_of;

const KEY: &str = "flow.thin.policy";

fn plan() -> Plan {
    let text = text_of("../../experiments/sctp-thin/mechanisms.toml");
    let names =
        ["lksctp", "no back-off", "minimum RTO", "threshold 1", "thin-paper"].map(str::to_owned);
    Plan::parse_varied(&text, Size::Normal, None, Some((KEY, &names))).unwrap()
}

#[test]
fn each_mechanism_improves_what_the_paper_says_and_thin_beats_lksctp_throughout() {
    let plan = plan();
    let finished = run_all(&plan, 2).unwrap();
    let verdicts = judge(&plan, &finished);
    assert_eq!(verdicts.len(), 8);
    for verdict in verdicts {
        assert_eq!(verdict.agreement, Word::Same, "{verdict:?}");
    }
    let compared = compare(&plan, &finished, KEY, ("thin-paper", "lksctp"), &[]);
    for name in ["latency.mean[order=1+]", "latency.quantile[order=1+,quantile=0.99]"] {
        let found = compared[0].differences.iter().find(|one| one.name == name).unwrap();
        assert!(found.is_beyond_chance() && found.one < found.other, "{found:?}");
    }
}
