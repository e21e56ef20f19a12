//! Runs the inputs of usrsctp's fuzzers, from outside of this tree: `replay DIRECTORY`, where the
//! directories `CORPUS_CONNECT`, `CORPUS_FRAGMENT` and `CORPUS_LISTEN` are. Says what became of
//! them.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use fuzz_harness::corpus::{Shape, run};

/// The inputs to run, and the shapes in which they run.
const PLAN: [(&str, &[Shape]); 3] = [
    ("CORPUS_CONNECT", &[Shape::Connect, Shape::Established, Shape::Accepted]),
    ("CORPUS_FRAGMENT", &[Shape::Fragment]),
    ("CORPUS_LISTEN", &[Shape::Listen]),
];

fn main() -> ExitCode {
    let Some(root) = std::env::args().nth(1) else {
        eprintln!(
            "replay: which directory holds CORPUS_CONNECT, CORPUS_FRAGMENT and CORPUS_LISTEN?"
        );
        return ExitCode::from(2);
    };
    let mut found = 0;
    for (name, shapes) in PLAN {
        for shape in shapes {
            found += replay(&Path::new(&root).join(name), *shape);
        }
    }
    if found == 0 {
        eprintln!("replay: no inputs in {root}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

/// Runs all inputs of a directory; answers how many there are. A fault ends the program.
fn replay(directory: &Path, shape: Shape) -> usize {
    let Ok(entries) = std::fs::read_dir(directory) else {
        println!("{}: not there", directory.display());
        return 0;
    };
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let (mut skipped, mut ends) = (0, BTreeMap::<_, usize>::new());
    for file in &files {
        let input = std::fs::read(file).unwrap_or_default();
        // Where something goes wrong, the last line says with which input.
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if std::io::stderr().is_terminal() {
            eprint!("\r{name:<100}");
        } else if std::env::var_os("VERBOSE").is_some() {
            eprintln!("{shape:?} {name}");
        }
        match run(shape, &input) {
            Some(outcome) => *ends.entry((outcome.before, outcome.after)).or_default() += 1,
            None => skipped += 1,
        }
    }
    if std::io::stderr().is_terminal() {
        eprint!("\r{:<100}\r", "");
    }
    println!("{shape:?}: {} inputs, {skipped} of a size that the shape does not take", files.len());
    for ((before, after), count) in ends {
        println!("  {count:>4} {before} -> {after}");
    }
    files.len()
}
