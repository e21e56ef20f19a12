//! Runs scripts: `cargo run -p packetdrill --example run -- [--json] PATH...`

use std::path::PathBuf;
use std::process::ExitCode;

use packetdrill::{Suite, Word};

fn main() -> ExitCode {
    let mut suite = Suite::default();
    let (mut json, mut paths) = (false, Vec::new());
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => json = true,
            "--exact" => suite.config.exact = true,
            "--no-tail" => suite.config.no_tail = true,
            "--one-seed" => suite.seeds = 1,
            path => paths.push(PathBuf::from(path)),
        }
    }
    let results = match suite.run(&paths) {
        Ok(results) => results,
        Err(error) => {
            eprintln!("cannot read the scripts: {error}");
            return ExitCode::from(2);
        }
    };
    if json {
        match serde_json::to_string_pretty(&results) {
            Ok(text) => println!("{text}"),
            Err(error) => eprintln!("{error}"),
        }
    } else {
        for script in &results.scripts {
            let word = match script.verdict {
                Word::Pass => "PASS",
                Word::Fail => "FAIL",
                Word::Skip => "SKIP",
            };
            println!("{word} {} {}", script.path, script.reason);
        }
        println!(
            "{} passed, {} failed, {} skipped",
            results.passed, results.failed, results.skipped
        );
    }
    if results.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
