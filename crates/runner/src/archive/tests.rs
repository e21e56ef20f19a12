use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;

use lab::engine::{Finished, Job, Shard};
use lab::plan::{Plan, Size};
use lab::stored::{Surroundings, runs};
use results::Column;

use super::*;
use crate::threads;

const PLAN: &str = include_str!("../../../lab/tests/two-transports.toml");

fn plan() -> Plan {
    Plan::parse(PLAN, Size::Normal, None).unwrap()
}

fn run_all(plan: &Plan, shard: Shard, done: &BTreeSet<Job>, threads: usize) -> Finished {
    let mut finished = Finished::new();
    threads::run(plan, shard, done, threads, &AtomicBool::new(false), |job, results| {
        finished.insert(job, results);
        Ok(())
    })
    .unwrap();
    finished
}

/// A folder of the test's own, gone at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path =
            std::env::temp_dir().join(format!("thinstream-runner-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Scratch(path)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn fill(folder: &mut Folder, finished: &Finished, count: usize) {
    for (job, results) in finished.iter().take(count) {
        folder.add(*job, results.clone()).unwrap();
    }
}

#[test]
fn a_run_that_was_killed_and_resumed_gives_the_same_files() {
    let plan = plan();
    let all = run_all(&plan, Shard::default(), &BTreeSet::new(), 2);
    let (whole, resumed) = (Scratch::new("whole"), Scratch::new("resumed"));
    let write = |folder: Folder| {
        folder.write_tables(&plan, Shard::default(), Surroundings::default()).unwrap();
    };
    let mut folder = Folder::open(&whole.0, &plan, Existing::Refuse, "").unwrap();
    fill(&mut folder, &all, usize::MAX);
    write(folder);

    let mut folder = Folder::open(&resumed.0, &plan, Existing::Refuse, "").unwrap();
    fill(&mut folder, &all, 4);
    drop(folder);
    // Killed in the middle of a line.
    let journal = resumed.0.join("runs.journal");
    let bytes = fs::read(&journal).unwrap();
    fs::write(&journal, &bytes[..bytes.len() - 100]).unwrap();
    let mut folder = Folder::open(&resumed.0, &plan, Existing::Resume, "").unwrap();
    assert_eq!(folder.finished().len(), 3);
    let done = folder.finished().keys().copied().collect();
    let rest = run_all(&plan, Shard::default(), &done, 2);
    fill(&mut folder, &rest, usize::MAX);
    write(folder);
    for name in ["rows.csv", "rows.parquet", "distributions.csv", "manifest.json", "runs.journal"] {
        assert_eq!(whole.read(name), resumed.read(name), "{name}");
    }
}

#[test]
fn another_word_about_results_asks_for_no_other_run() {
    let scratch = Scratch::new("words");
    let plan = plan();
    let mut folder = Folder::open(&scratch.0, &plan, Existing::Refuse, "").unwrap();
    fill(&mut folder, &run_all(&plan, Shard::default(), &BTreeSet::new(), 2), usize::MAX);
    let took = |wall_s| Surroundings { wall_s: Some(wall_s), ..Surroundings::default() };
    folder.write_tables(&plan, Shard::default(), took(3.0)).unwrap();

    let text = format!("{}\n[open]\nmore = \"said later\"\n", PLAN);
    let later = Plan::parse(&text, Size::Normal, None).unwrap();
    let folder = Folder::open(&scratch.0, &later, Existing::Resume, "").unwrap();
    assert_eq!(folder.finished().len() as u64, later.jobs());
    folder.write_tables(&later, Shard::default(), took(0.1)).unwrap();
    let stored = read(&scratch.0).unwrap();
    assert_eq!(stored.plan.base.open["more"], "said later");
    assert_eq!(stored.manifest.wall_s, Some(3.0), "what the runs took, not the second look");
}

#[test]
fn shards_joined_give_the_same_tables_and_other_plans_are_refused() {
    let plan = plan();
    let whole = Scratch::new("unsharded");
    let mut folder = Folder::open(&whole.0, &plan, Existing::Refuse, "").unwrap();
    fill(&mut folder, &run_all(&plan, Shard::default(), &BTreeSet::new(), 2), usize::MAX);
    folder.write_tables(&plan, Shard::default(), Surroundings::default()).unwrap();
    let shards: Vec<Scratch> = (1..=2)
        .map(|number| {
            let shard = Shard { number, of: 2 };
            let scratch = Scratch::new(&format!("shard{number}"));
            let mut folder = Folder::open(&scratch.0, &plan, Existing::Refuse, "").unwrap();
            fill(&mut folder, &run_all(&plan, shard, &BTreeSet::new(), 1), usize::MAX);
            scratch
        })
        .collect();
    let joined = Scratch::new("joined");
    let paths: Vec<_> = shards.iter().map(|one| one.0.clone()).collect();
    merge(&plan, &paths, &joined.0, Existing::Refuse, Surroundings::default()).unwrap();
    for name in ["rows.csv", "distributions.csv", "rows.parquet", "manifest.json"] {
        assert_eq!(whole.read(name), joined.read(name), "{name}");
    }

    let other = PLAN.replace("30s", "31s");
    let other = Plan::parse(&other, Size::Normal, None).unwrap();
    let error = Folder::open(&joined.0, &other, Existing::Resume, "").unwrap_err().to_string();
    assert!(error.contains("another plan"), "{error}");
    assert!(merge(&other, &paths, &joined.0, Existing::Refuse, Surroundings::default()).is_err());
    let another = Surroundings { build: "other sources".to_owned(), ..Surroundings::default() };
    let error = merge(&plan, &paths, &joined.0, Existing::Refuse, another).unwrap_err().to_string();
    assert!(error.contains("shard1") && error.contains("built from other sources"), "{error}");
    let error =
        Folder::open(&joined.0, &plan, Existing::Resume, "other sources").unwrap_err().to_string();
    assert!(error.contains("built from other sources"), "{error}");
    assert!(
        Folder::open(&joined.0, &plan, Existing::Replace, "other sources")
            .unwrap()
            .finished()
            .is_empty()
    );
    assert!(Folder::open(&joined.0, &plan, Existing::Resume, "other sources").is_ok());
    let nowhere = [joined.0.join("nowhere")];
    let error = merge(&plan, &nowhere, &joined.0, Existing::Refuse, Surroundings::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("nowhere") && error.contains("no journal"), "{error}");
}

#[test]
fn results_are_replaced_on_request_only_and_what_is_not_theirs_stays() {
    let plan = plan();
    let scratch = Scratch::new("kept");
    let names = || {
        let entries = fs::read_dir(&scratch.0).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect::<BTreeSet<_>>()
    };
    let write = |existing| {
        let mut folder = Folder::open(&scratch.0, &plan, existing, "").unwrap();
        fill(&mut folder, &run_all(&plan, Shard::default(), &BTreeSet::new(), 1), usize::MAX);
        folder.write_tables(&plan, Shard::default(), Surroundings::default()).unwrap();
    };
    write(Existing::Refuse);
    fs::write(scratch.0.join("notes.txt"), "mine").unwrap();
    let pictures = scratch.0.join("pictures");
    fs::create_dir_all(&pictures).unwrap();
    fs::write(pictures.join("mine.png"), "").unwrap();
    fs::write(pictures.join("loss=1% seed=1 sheet.png"), "").unwrap();
    fs::write(pictures.join("loss=1%,seed=1,sheet.png"), "").unwrap();
    let before = (names(), scratch.read("rows.csv"), scratch.read("runs.journal"));

    let other = PLAN.replace("30s", "31s");
    let other = Plan::parse(&other, Size::Normal, None).unwrap();
    let runs = format!("{0} of {0} runs of this plan", plan.jobs());
    for (plan, build, can_resume, said) in [
        (&plan, "", true, runs.as_str()),
        (&plan, "newer", false, "built from other sources"),
        (&other, "", false, &format!("another plan, \"{}\"", plan.base.title)),
    ] {
        let error = Folder::open(&scratch.0, plan, Existing::Refuse, build).unwrap_err();
        assert!(error.would_lose() && error.to_string().contains(said), "{error}");
        assert_eq!(error.can_resume(), can_resume, "{error}");
        let resumed = Folder::check(&scratch.0, plan, Existing::Resume, build);
        assert_eq!(resumed.is_ok(), can_resume, "{error}");
    }
    assert_eq!(before, (names(), scratch.read("rows.csv"), scratch.read("runs.journal")));

    drop(Folder::open(&scratch.0, &other, Existing::Replace, "").unwrap());
    let left = ["notes.txt", "pictures", "runs.journal"].map(str::to_owned);
    assert_eq!(names(), BTreeSet::from(left));
    assert_eq!(fs::read_dir(&pictures).unwrap().count(), 1, "a picture of the user's own");
    // Nothing is lost where no run was finished.
    write(Existing::Refuse);
}

#[test]
fn tables_without_a_journal_and_journals_that_are_none_are_kept() {
    let plan = plan();
    let scratch = Scratch::new("foreign");
    fs::create_dir_all(&scratch.0).unwrap();
    fs::write(scratch.0.join("rows.csv"), "mine").unwrap();
    let error = Folder::open(&scratch.0, &plan, Existing::Refuse, "").unwrap_err();
    assert!(error.would_lose() && error.to_string().contains("rows.csv"), "{error}");
    drop(Folder::open(&scratch.0, &plan, Existing::Replace, "").unwrap());
    assert_eq!(scratch.read("rows.csv"), b"mine", "it goes when there are rows");

    fs::write(scratch.0.join("runs.journal"), "dear journal,\n").unwrap();
    for existing in [Existing::Refuse, Existing::Resume, Existing::Replace] {
        let error = Folder::open(&scratch.0, &plan, existing, "").unwrap_err().to_string();
        assert!(error.contains("journal"), "{error}");
    }
    assert_eq!(scratch.read("runs.journal"), b"dear journal,\n");
}

#[test]
fn a_folder_of_a_plan_with_other_values_of_a_key_and_other_seeds_is_read_again() {
    let varied = Some(("network.loss", &["1%".to_owned(), "2%".to_owned()][..]));
    let text = PLAN.replace("30s", "5s");
    let size = Size::Normal;
    let plan = Plan::parse_varied(&text, size, Some(1), varied).unwrap();
    let plan = plan.with_seed_offset(40).unwrap();
    let scratch = Scratch::new("varied");
    let mut folder = Folder::open(&scratch.0, &plan, Existing::Refuse, "").unwrap();
    fill(&mut folder, &run_all(&plan, Shard::default(), &BTreeSet::new(), 1), usize::MAX);
    folder.write_tables(&plan, Shard::default(), Surroundings::default()).unwrap();
    let stored = read(&scratch.0).unwrap();
    assert_eq!((stored.plan.cells.len(), stored.finished.len()), (4, 4));
    assert_eq!(stored.plan.varied, plan.varied);
    assert_eq!((stored.plan.seed_range(), stored.manifest.seed_offset), (41..=41, 40));
}

#[test]
fn csv_and_parquet_hold_the_same_rows() {
    let plan = plan();
    let finished = run_all(&plan, Shard { number: 1, of: 6 }, &BTreeSet::new(), 1);
    let table = runs(&plan, &finished).rows();
    let mut csv = Vec::new();
    table.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("flow.sctp.policy,seed,of,measure,labels,value,unit"));
    let first = lines.next().unwrap();
    assert!(first.starts_with("lksctp,1,sctp,messages.due,,"), "{first}");
    assert_eq!(lines.count() + 1, table.len());

    let mut bytes = Vec::new();
    parquet::write(&table, &mut bytes).unwrap();
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), table.len());
    let (_, Column::Number(values)) = &table.columns[5] else { panic!() };
    for (row, value) in rows.iter().zip(values) {
        let columns: Vec<_> = row.get_column_iter().collect();
        assert_eq!(columns[0].1, &Field::Str("lksctp".to_owned()));
        assert_eq!(columns[5].1, &Field::Double(*value));
    }
}
