use std::collections::BTreeMap;

use super::*;
use crate::plan::Size;
use crate::stored::golden;

pub(crate) const PLAN: &str = include_str!("../../tests/two-transports.toml");

fn plan() -> Plan {
    Plan::parse(PLAN, Size::Normal, None).unwrap()
}

#[test]
fn a_plan_from_text_runs_without_files_and_another_seed_is_another_run() {
    let profile = "profile = \"0s loss=50%\\n10s loss=0%\\n\"";
    let text = PLAN.replace("loss = \"5%\"", profile);
    assert_ne!(text, PLAN);
    let plan = Plan::parse(&text, Size::Normal, None).unwrap();
    let finished = run_all(&plan).unwrap();
    assert_eq!(finished.len(), 6);
    assert!(finished.values().all(|results| results.rows.len() > 40));
    let texts: BTreeSet<String> = finished
        .iter()
        .map(|(job, results)| {
            golden::text(&plan, &BTreeMap::from([(Job { seed: 1, ..*job }, results.clone())]))
        })
        .collect();
    assert_eq!(texts.len(), 6);
}

#[test]
fn policies_with_the_same_seed_have_the_same_workload() {
    let finished = run_all(&plan()).unwrap();
    let due = |cell, seed| {
        let rows = &finished[&Job { cell, seed }].rows;
        rows.iter().find(|row| row.of == "tcp" && row.measure == "messages.due").unwrap().value
    };
    for seed in 1..=3 {
        assert_eq!(due(0, seed), due(1, seed));
    }
    assert_ne!((due(0, 1), due(0, 2)), (due(0, 2), due(0, 3)));
}

#[test]
fn an_offset_of_seeds_is_another_replication_and_its_runs_are_those_of_its_seeds() {
    let from = |seeds, offset| {
        Plan::parse(PLAN, Size::Normal, Some(seeds)).unwrap().with_seed_offset(offset).unwrap()
    };
    let (all, later) = (run_all(&from(3, 0)).unwrap(), run_all(&from(1, 2)).unwrap());
    assert_eq!(later.keys().map(|job| job.seed).collect::<Vec<_>>(), [3, 3]);
    assert!(later.iter().all(|(job, results)| all[job] == *results));
    // Results of different seeds do not mix; the name of results without an offset has not changed.
    assert_ne!(journal::fingerprint(&from(1, 2)), journal::fingerprint(&from(1, 0)));
    assert_ne!(journal::fingerprint(&from(1, 2)), journal::fingerprint(&from(1, 1)));
    let plain = Plan::parse(PLAN, Size::Normal, Some(1)).unwrap();
    assert_eq!(journal::fingerprint(&from(1, 0)), journal::fingerprint(&plain));
    let refused = from(1, 0).with_seed_offset(u64::MAX).unwrap_err().to_string();
    assert!(refused.contains("offset") && refused.contains("smaller"), "{refused}");
}

#[test]
fn a_journal_that_was_cut_anywhere_keeps_what_is_whole() {
    let plan = plan();
    let finished = run_all(&plan).unwrap();
    let mut bytes = Vec::new();
    let mut journal = Journal::begin(&mut bytes, &plan, "").unwrap();
    for (job, results) in &finished {
        journal.add(*job, results).unwrap();
    }
    let whole = journal::read(&bytes[..]).unwrap();
    assert_eq!((whole.finished, whole.good), (finished.clone(), bytes.len() as u64));
    for cut in (0..bytes.len()).step_by(997).chain([1, bytes.len() - 1]) {
        let part = journal::read(&bytes[..cut]).unwrap();
        assert!(part.finished.len() < finished.len() && part.good <= cut as u64);
        assert!(part.finished.iter().all(|(job, results)| finished[job] == *results));
    }
    // A flipped bit invalidates its line and all later ones.
    let mut spoilt = bytes.clone();
    let middle = bytes.len() / 2;
    spoilt[middle] ^= 1;
    assert!(journal::read(&spoilt[..]).unwrap().finished.len() < finished.len());
    assert!(matches!(journal::read(&b"hello\n"[..]), Err(JournalError::NoJournal)));
}

#[test]
fn plans_with_other_values_of_a_key_are_told_apart_though_the_values_share_a_name() {
    let plan = |threshold: u32| {
        let value = format!("{{ name = \"x\", preset = \"lksctp\", dup-threshold = {threshold} }}");
        let varied = Some(("flow.sctp.policy", &[value][..]));
        Plan::parse_varied(PLAN, Size::Normal, None, varied).unwrap()
    };
    assert_eq!(plan(1).cells[0].0.to_string(), plan(2).cells[0].0.to_string());
    assert_ne!(journal::fingerprint(&plan(1)), journal::fingerprint(&plan(2)));
}

#[test]
fn shards_read_as_people_write_them() {
    assert_eq!("2/3".parse(), Ok(Shard { number: 2, of: 3 }));
    for text in ["", "1", "0/3", "4/3", "1/0", "a/b"] {
        assert!(text.parse::<Shard>().unwrap_err().contains("1/4"), "{text}");
    }
}

#[test]
fn losses_spare_the_set_up_and_a_limit_ends_each_flow() {
    let text = PLAN
        .replace("loss = \"5%\"", "loss = \"100%\"\nspared = \"2s\"")
        .replace("size = 100 }", "size = 100, limit = \"10 messages\" }")
        .replace("size = 30 }", "size = 30, limit = \"500ms\" }");
    let plan = Plan::parse(&text, Size::Normal, Some(1)).unwrap();
    let results = run_cell(&plan, Job { cell: 0, seed: 1 }).unwrap();
    let value = |of: &str, measure: &str| {
        let is_it = |row: &&results::Row| row.of == of && row.measure == measure;
        results.rows.iter().find(is_it).map(|row| row.value)
    };
    // Messages begin after a second, and those of the next are delivered: ten of each SCTP flow in
    // that second.
    assert_eq!(value("sctp", "messages.due"), Some(30.0));
    assert_eq!(value("sctp", "messages.undelivered"), Some(0.0));
    assert!(value("tcp", "messages.due").is_some_and(|due| (1.0..=20.0).contains(&due)));
    let later = text.replace("spared = \"2s\"", "spared = \"100ms\"");
    let plan = Plan::parse(&later, Size::Normal, Some(1)).unwrap();
    let results = run_cell(&plan, Job { cell: 0, seed: 1 }).unwrap();
    assert_eq!(results.value("latency.count", &[]), None, "nothing passes from then on");
}
