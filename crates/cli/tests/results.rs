//! Results are never lost: files that cannot be written, folders that hold something,
//! interruptions.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::Scratch;

fn thinstream(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_thinstream"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    thinstream(arguments).output().unwrap()
}

fn told(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

const DEMO: [&str; 7] = ["demo", "--virtual", "--messages", "60", "--flows", "3", "--json"];

#[test]
fn a_file_that_cannot_be_opened_is_told_before_the_run() {
    let scratch = Scratch::new();
    let folder = scratch.word("");
    for option in ["--html", "--svg", "--pcap", "--events"] {
        let output = run(&[&DEMO[..], &[option, &folder]].concat());
        let (out, err) = told(&output);
        assert_eq!((output.status.code(), out.as_str()), (Some(2), ""), "{option}: {err}");
        assert!(err.contains(&folder) && err.lines().count() == 1, "{option}: {err}");
    }
    let one = scratch.word("one");
    let output = run(&[&DEMO[..], &["--svg", &one, "--html", &one]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).1.contains("--html and --svg") && !Path::new(&one).exists());
}

#[test]
fn a_file_that_is_there_is_refused_before_any_work_and_replaced_only_if_that_is_asked_for() {
    let scratch = Scratch::new();
    let (plan, existing) = (plan(&scratch, "one", 1), scratch.word("existing"));
    let capture = scratch.word("capture.pcapng");
    assert_eq!(run(&[&DEMO[..], &["--pcap", &capture]].concat()).status.code(), Some(0));
    let demo = |option| [&DEMO[..], &[option, &existing]].concat();
    let lines = [
        demo("--html"),
        demo("--svg"),
        demo("--animation"),
        demo("--pcap"),
        demo("--events"),
        vec!["lab", "run", &plan, "--report", &existing],
        vec!["lab", "compare", &plan, "--report", &existing],
        vec!["trace", "convert", &capture, "--out", &existing],
        vec!["trace", "replay", &capture, "--seeds", "1", "--plan", &existing],
        vec!["trace", "replay", &capture, "--seeds", "1", "--report", &existing],
        vec!["send", "127.0.0.1:9", "--pcap", &existing],
        vec!["serve", "127.0.0.1:0", "--events", &existing],
    ];
    for line in lines {
        fs::write(&existing, "earlier").unwrap();
        let output = run(&line);
        let (out, err) = told(&output);
        assert_eq!((output.status.code(), out.as_str()), (Some(2), ""), "{line:?}: {err}");
        assert!(err.contains(&existing) && err.contains("--anew"), "{line:?}: {err}");
        assert_eq!(fs::read(&existing).unwrap(), b"earlier", "{line:?}");
        if !matches!(line[0], "send" | "serve") && line[1] != "compare" {
            let output = run(&[&line[..], &["--anew"]].concat());
            assert_eq!(output.status.code(), Some(0), "{line:?}: {}", told(&output).1);
            assert_ne!(fs::read(&existing).unwrap(), b"earlier", "{line:?}");
        }
    }
    // A file that holds nothing, such as that of mktemp, loses nothing.
    fs::write(&existing, "").unwrap();
    assert_eq!(run(&demo("--events")).status.code(), Some(0));
}

#[test]
fn a_full_disk_costs_neither_the_run_nor_its_table() {
    for option in ["--html", "--svg", "--pcap", "--events"] {
        let output = run(&[&DEMO[..], &[option, "/dev/full"]].concat());
        let (out, err) = told(&output);
        assert_eq!(output.status.code(), Some(2), "{option}: {err}");
        assert!(out.contains("\"delivered\": 60") && err.contains("/dev/full"), "{option}: {err}");
        assert!(!err.contains("tshark"), "how to read what is not there: {err}");
    }
    let scratch = Scratch::new();
    let path = scratch.word("packets.pcapng");
    let err = told(&run(&[&DEMO[..], &["--pcap", &path, "--events", "/dev/full"]].concat())).1;
    assert!(err.contains(&format!("tshark -r {path}")), "{err}");
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = thinstream(&DEMO).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let output = output.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).1.contains("standard output"));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = thinstream(&DEMO).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A plan with `seeds` runs.
fn plan(scratch: &Scratch, title: &str, seeds: u32) -> String {
    let path = scratch.word(&format!("{title}.toml"));
    let text = format!(
        "title = \"{title}\"\n[run]\nduration = \"20s\"\nseeds = {seeds}\n[network]\nkind = \"pair\"\nrtt = \"100ms\"\n\
         loss = \"5%\"\n[[flow]]\nname = \"game\"\ntransport = \"sctp\"\npolicy = \"lksctp\"\n\
         workload = {{ arrivals = \"250ms\", size = 100 }}\n[measure]\nlatency = {{ of = \"game\", quantiles = [0.99] }}\n"
    );
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_folder_of_results_is_refused_unless_it_is_to_be_resumed_or_removed() {
    let scratch = Scratch::new();
    let (one, other) = (plan(&scratch, "one", 2), plan(&scratch, "other", 3));
    let out = scratch.word("out");
    let lab =
        |plan: &str, more: &[&str]| run(&[&["lab", "run", plan, "--out", &out], more].concat());
    assert_eq!(lab(&one, &[]).status.code(), Some(0));
    fs::write(scratch.path("out/notes.txt"), "mine").unwrap();
    let rows = || fs::read(scratch.path("out/rows.csv")).unwrap();
    let before = rows();
    for (plan, more, said) in [
        (&other, &[][..], "another plan, \"one\""),
        (&other, &["--resume"], "another plan"),
        (&one, &[], "2 of 2 runs of this plan; --resume goes on"),
        (&one, &["--seeds", "1"], "--anew removes"),
    ] {
        let output = lab(plan, more);
        let err = told(&output).1;
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(said) && err.contains("--anew"), "{err}");
        assert_eq!(rows(), before);
    }
    assert_eq!(lab(&one, &["--resume"]).status.code(), Some(0));
    assert_eq!(rows(), before);
    assert_eq!(lab(&other, &["--anew"]).status.code(), Some(0));
    assert_ne!(rows(), before);
    assert!(scratch.path("out/notes.txt").exists());
}

#[test]
fn a_replication_has_other_seeds_and_its_folder_is_read_as_such() {
    let scratch = Scratch::new();
    let (plan, out) = (plan(&scratch, "one", 2), scratch.word("out"));
    let lab = |more: &[&str]| run(&[&["lab", "run", &plan, "--out", &out], more].concat());
    let rows = || fs::read_to_string(scratch.path("out/rows.csv")).unwrap();
    assert_eq!(lab(&[]).status.code(), Some(0));
    let first = rows();
    let output = lab(&["--resume", "--seed-offset", "2"]);
    assert_eq!(output.status.code(), Some(2), "results of other seeds do not mix");
    let capture = ["--anew", "--seed-offset", "2", "--capture", "game"];
    let output = lab(&capture);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output).1);
    let later = rows();
    let shared = later.lines().skip(1).filter(|line| first.contains(line));
    assert_eq!(shared.count(), 0, "{later}");
    assert!(scratch.path("out/captures/seed=3,game-0,events.sqlog").exists());
    let output = lab(&[&["--resume"][..], &capture[1..], &["--capture-seeds", "1"]].concat());
    assert!(told(&output).1.contains("the plan has seeds 3 to 4"), "{output:?}");
    let page = scratch.word("page.html");
    assert_eq!(run(&["lab", "report", &out, "--out", &page]).status.code(), Some(0));
    assert!(fs::read_to_string(page).unwrap().contains("seeds 3 to 4"));
}

#[test]
fn a_page_of_papers_in_the_folder_is_never_replaced_by_one_that_lacks_a_plan_of_it() {
    let scratch = Scratch::new();
    let (out, file) = (scratch.word("out"), scratch.path("out/report.html"));
    let reproduce = |what: &str| run(&["lab", "reproduce", what, "--small", "--out", &out]);
    let page = || fs::read_to_string(&file).unwrap();
    let has = |id: &str| page().contains(&format!("\"id\":\"{id}\""));
    for _ in 0..2 {
        assert_eq!(reproduce("rto-wlan/analysis").status.code(), Some(0), "the same again");
        assert!(has("rto-wlan-analysis"));
    }
    let output = reproduce("partial-order/fig2");
    let err = told(&output).1;
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(err.contains("keeps what it had already: rto-wlan-analysis"), "{err}");
    assert!(has("rto-wlan-analysis") && has("partial-order-fig2"));
    // Pages whose results are elsewhere, and files that are no such page, are refused before
    // anything runs.
    let whole = page();
    fs::rename(scratch.path("out/rto-wlan"), scratch.path("elsewhere")).unwrap();
    for (text, said) in
        [(whole.as_str(), "\"rto-wlan-analysis\""), ("my notes", "no page of results")]
    {
        fs::write(&file, text).unwrap();
        let output = reproduce("partial-order/fig2");
        let err = told(&output).1;
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(said) && err.contains("report.html would be lost"), "{err}");
        assert_eq!(page(), text);
    }
}

#[test]
fn a_number_of_seeds_is_named_only_where_it_is_known() {
    let scratch = Scratch::new();
    let ask = |seeds: u32| {
        let plan = plan(&scratch, "one", seeds);
        told(&run(&["lab", "run", &plan, "--precision", "5%"])).0
    };
    // The 99th percentile takes 368 independent values, and a seed has 80.
    for (seeds, said) in [(1, "one seed does not say"), (2, "too few values")] {
        let text = ask(seeds);
        assert!(text.contains(said) && text.contains("no number of seeds"), "{text}");
        assert!(!text.contains("would do"), "{text}");
    }
    let text = ask(20);
    assert!(text.contains("would do for all; these runs had 20"), "{text}");
}

#[test]
fn a_page_that_cannot_be_written_costs_no_numbers() {
    let scratch = Scratch::new();
    let plan = plan(&scratch, "one", 1);
    let output = run(&["lab", "run", &plan, "--report", &scratch.word("")]);
    assert_eq!((output.status.code(), told(&output).0.as_str()), (Some(2), ""));
    let output = thinstream(&["lab", "run", &plan, "--report", "/dev/full"])
        .current_dir(scratch.path(""))
        .output()
        .unwrap();
    let (out, err) = told(&output);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(out.contains("latency.quantile"), "{out}");
}

/// Waits until the journal has `lines` lines.
fn wait_for_runs(journal: &Path, lines: usize, child: &mut Child) {
    while fs::read_to_string(journal).map_or(0, |text| text.lines().count()) < lines {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn an_interrupted_plan_says_how_far_it_came_and_goes_on_from_there() {
    let scratch = Scratch::new();
    let plan = plan(&scratch, "long", 1_000_000);
    let out = scratch.word("out");
    let arguments = ["lab", "run", &plan, "--out", &out, "--jobs", "1"];
    let mut child =
        thinstream(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_runs(&scratch.path("out/runs.journal"), 3, &mut child);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    let err = told(&output).1;
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains(" of 1000000 runs done; --resume goes on"), "{err}");
}

#[test]
fn mistakes_in_a_plan_are_told_with_file_line_and_column() {
    let scratch = Scratch::new();
    let path = plan(&scratch, "one", 1);
    let text = fs::read_to_string(&path).unwrap().replace("duration", "duraton");
    fs::write(&path, text).unwrap();
    let output = run(&["lab", "run", &path]);
    let expected = format!("{path}:3:1: unknown key \"duraton\"; did you mean \"duration\"?");
    assert!(told(&output).1.contains(&expected), "{}", told(&output).1);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn outside_of_the_sources_plans_are_listed_and_run_and_their_table_fits_a_screen() {
    let scratch = Scratch::new();
    let lab = |words: &[&str]| {
        let mut command = thinstream(&[&["lab"], words].concat());
        let output = command.current_dir(scratch.path("")).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", told(&output).1);
        told(&output).0
    };
    let names = lab(&["list"]);
    assert!(names.lines().count() >= 40 && names.contains("sctp-thin/fig8a"), "{names}");
    let list: serde_json::Value = serde_json::from_str(&lab(&["list", "--json"])).unwrap();
    assert_eq!(list.as_array().unwrap().len(), names.lines().count());
    let text = fs::read_to_string(plan(&scratch, "one", 2)).unwrap();
    fs::write(scratch.path("one.toml"), text + "cost = {}\n").unwrap();
    for words in [
        &["run", "one.toml"][..],
        &["run", "rto-wlan/section5", "--small"],
        &["compare", "one.toml", "lksctp", "latency", "--key", "flow.game.policy"],
        &["compare", "one.toml"],
    ] {
        let text = lab(words);
        assert!(text.lines().count() <= 60, "{words:?} prints {} lines", text.lines().count());
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 100, "{words:?} is {widest} wide: {text}");
    }
}

#[test]
fn a_folder_or_name_without_plans_is_told_with_what_there_is() {
    let scratch = Scratch::new();
    for (words, said) in [
        (&["list", &scratch.word("")][..], "no plan, a file that ends in .toml"),
        (&["run", "rto-wlan/section6"], "did you mean \"rto-wlan/section5\"?"),
        (&["run", "nowhere/to/be/found"], "\"thinstream lab list\" has the names"),
    ] {
        let output = run(&[&["lab"], words].concat());
        let err = told(&output).1;
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(said) && err.lines().count() == 1, "{err}");
    }
}

#[test]
fn a_file_where_a_folder_is_wanted_is_named() {
    let scratch = Scratch::new();
    let plan = plan(&scratch, "one", 1);
    for words in [&["lab", "run", &plan, "--out", &plan][..], &["man", &plan]] {
        let output = run(words);
        let err = told(&output).1;
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(&plan) && err.contains("it is a file, and "), "{err}");
    }
    assert!(fs::read_to_string(&plan).unwrap().starts_with("title"), "what was there stays");
}

#[test]
fn a_replay_shows_the_price_beside_the_gain_and_fits_a_hundred_columns() {
    let scratch = Scratch::new();
    let capture = scratch.word("capture.pcapng");
    assert_eq!(run(&[&DEMO[..], &["--pcap", &capture]].concat()).status.code(), Some(0));
    let replay = |seeds| told(&run(&["trace", "replay", &capture, "--seeds", seeds])).0;
    let text = replay("2");
    assert!(text.contains("| bytes  copies\n") && text.contains(", means of 2 runs\n"), "{text}");
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 100, "{widest}: {text}");
    assert!(replay("1").contains(", one run\n"));
}

#[test]
fn an_interface_that_is_not_there_is_refused_with_those_that_are() {
    let service = ["--address", "10.78.0.2/24", "--listen", "22", "--forward", "127.0.0.1:22"];
    let output = run(&[&["edge"], &service[..], &["--outside", "nosuch0"]].concat());
    let err = told(&output).1;
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("nosuch0") && err.contains("there is: "), "{err}");
}

#[test]
fn a_capture_behind_trace_alone_is_answered_with_a_command_that_reads_it() {
    let scratch = Scratch::new();
    let capture = scratch.word("mine.pcap");
    fs::write(&capture, "").unwrap();
    let output = run(&["trace", &capture]);
    let err = told(&output).1;
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains(&format!("thinstream trace summary {capture}")), "{err}");
    let err = told(&run(&["trace", "nothing"])).1;
    assert!(!err.contains("summary nothing"), "{err}");
}
