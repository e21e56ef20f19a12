//! Runs a harness with seeded inputs, where there is no libFuzzer: `seeds
//! association|endpoint|pair|parser [FROM [COUNT]]`. Says which seeds fail; `FROM` such a seed and
//! `COUNT` 1 repeats it.

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use std::panic::catch_unwind;
use std::process::ExitCode;

use base::{Purpose, RandomStream};
use fuzz_harness::{association, endpoint, pair, parser, read};

/// Bytes of an input at most.
const LENGTH: u64 = 8_000;

fn run(target: &str, bytes: &[u8]) -> bool {
    match target {
        "association" => read(bytes).map(association::run).is_some(),
        "endpoint" => read(bytes).map(endpoint::run).is_some(),
        "pair" => read(bytes).map(pair::run).is_some(),
        "parser" => {
            parser::run(bytes);
            true
        }
        _ => false,
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().unwrap_or_default();
    let mut number =
        |default: u64| arguments.next().map_or(Ok(default), |text| text.parse::<u64>());
    let (Ok(from), Ok(count)) = (number(0), number(10_000)) else { return ExitCode::from(2) };
    if !["association", "endpoint", "pair", "parser"].contains(&target.as_str()) {
        eprintln!("seeds: association, endpoint, pair or parser?");
        return ExitCode::from(2);
    }
    let (mut taken, mut failed) = (0, 0);
    for seed in from..from.saturating_add(count) {
        let mut random = RandomStream::new(seed, Purpose(&target, 1));
        let mut bytes = vec![0; random.below(LENGTH) as usize];
        random.fill(&mut bytes);
        match catch_unwind(|| run(&target, &bytes)) {
            Ok(read) => taken += u64::from(read),
            Err(_) => {
                failed += 1;
                println!("seed {seed} fails");
            }
        }
    }
    println!("{target}: {taken} of {count} inputs could be read, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
