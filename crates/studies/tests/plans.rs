//! Studies in plans: read, swept, run by the engine and kept in its journal.

use lab::engine::{Job, Journal, conclude, count, journal};
use lab::plan::{Plan, Size, Subject};
use lab::policy_text::PolicySection;
use runner::threads::run_all;
use studies::tank;

#[test]
fn a_plan_may_have_a_study_instead_of_flows() {
    studies::register();
    let plan = r#"
title = "Tanks"
study = "tank"
[run]
seeds = 2
[full]
seeds = 9
[parameters]
tanks = 3
[sweep]
"parameters.policy" = ["sack", "thin"]
"#;
    let full = Plan::parse(plan, Size::Full, None).unwrap();
    assert_eq!((full.cells.len(), full.seeds), (2, 9));
    let Subject::Study(study) = &full.cells[1].1.subject else { panic!() };
    let policy = PolicySection::preset("thin");
    let expected = tank::Parameters { policy, tanks: 3, ..tank::Parameters::default() };
    assert_eq!(format!("{study:?}"), format!("{expected:?}"));
    for (from, to, parts) in [
        ("\"tank\"", "\"tanks\"", &["tanks", "rto-wlan-transfer"][..]),
        ("tanks = 3", "tonks = 3", &["tonks", "did you mean \"tanks\""]),
        ("tanks = 3", "tanks = 1", &["3:9: ", "`tanks`", "2 to 1000"]),
        ("\"thin\"]", "\"fast\"]", &["fast", "parameters.policy = fast", "thin-rdb"]),
        ("seeds = 2", "seeds = 2\nduration = \"1s\"", &["run.duration", "tank"]),
        ("seeds = 9", "seeds = 9\nwarm_up = \"1s\"", &["run.warm_up", "tank"]),
    ] {
        let error = Plan::parse(&plan.replacen(from, to, 1), Size::Full, None).unwrap_err();
        let error = error.to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{to}: {error}");
    }
}

#[test]
fn a_study_runs_like_flows_and_its_pictures_come_back_from_the_journal() {
    studies::register();
    let text = r#"
title = "Pictures"
study = "pictures"
run = { seeds = 2 }
parameters = { width = 16, height = 12, looks = [1, 2], duration = "3s", sheets = true }
sweep = { "parameters.carriage" = ["one-stream", "streams"] }
"#;
    let plan = Plan::parse(text, Size::Normal, None).unwrap();
    let finished = run_all(&plan, 2).unwrap();
    assert_eq!(finished.len(), 4);
    let results = &finished[&Job { cell: 1, seed: 2 }];
    assert_eq!((results.curves.len(), results.pictures.len()), (2, 1));
    assert!(results.rows.iter().all(|row| row.of == "pictures"));
    let mut bytes = Vec::new();
    let mut journal = Journal::begin(&mut bytes, &plan, "").unwrap();
    finished.iter().for_each(|(job, results)| journal.add(*job, results).unwrap());
    assert_eq!(journal::read(&bytes[..]).unwrap().finished, finished);
}

#[test]
fn what_follows_from_all_cells_of_a_seed_is_of_that_seed_and_is_made_anew_each_time() {
    studies::register();
    let text = r#"
title = "Transfers"
study = "rto-wlan-transfer"
run = { seeds = 2 }
parameters = { input = "constant", from = "0s", lost_after = "1s", duration = "4s", rate = "1mbit" }
sweep = { "parameters.alpha" = [0.1, 0.7] }
"#;
    let plan = Plan::parse(text, Size::Normal, None).unwrap();
    let mut finished = run_all(&plan, 2).unwrap();
    // One cell of the second seed is missing, so that the seed has no order of all cells.
    finished.remove(&Job { cell: 1, seed: 2 });
    conclude(&plan, &mut finished);
    conclude(&plan, &mut finished);
    assert_eq!((finished.len(), count(&finished)), (3, 3));
    let ranks = |cell, seed| {
        let rows = &finished[&Job { cell, seed }].rows;
        rows.iter().filter(|row| row.measure == "rank.simulated").count()
    };
    assert_eq!((ranks(0, 1), ranks(1, 1), ranks(0, 2)), (1, 1, 0));
}
