//! Traffic between two endpoints in one thread, to count instructions with valgrind's callgrind:
//!
//! ```text
//! cargo build --release -p thinstream-sctp --example sctp_instructions
//! valgrind --tool=callgrind target/release/examples/sctp_instructions bulk 1024 16
//! valgrind --tool=callgrind target/release/examples/sctp_instructions thin 1000 20
//! ```
//!
//! `bulk SIZE MIB [PRESET]` transfers messages of SIZE bytes on one association; `thin ASSOCIATIONS
//! ROUNDS [PRESET]` sends a message of 100 bytes each 250 ms on each association, with `latency`
//! unless another preset is named. The difference between two runs of other lengths is free of the
//! set-up; `benches/instructions` takes it.

#![allow(dead_code, reason = "uses a part of the shared harness")]

#[path = "cost/pair.rs"]
mod pair;
#[path = "cost/thin.rs"]
mod thin;
#[path = "cost/throughput.rs"]
mod throughput;

use self::pair::Pair;

const USAGE: &str =
    "usage: instructions bulk SIZE MIB [PRESET] | instructions thin ASSOCIATIONS ROUNDS [PRESET]";

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (units, packets) = match words[..] {
        ["bulk", size, mib] => bulk("latency", number(size)?, number(mib)?)?,
        ["bulk", size, mib, preset] => bulk(preset, number(size)?, number(mib)?)?,
        ["thin", associations, rounds] => thin("latency", number(associations)?, number(rounds)?)?,
        ["thin", associations, rounds, preset] => {
            thin(preset, number(associations)?, number(rounds)?)?
        }
        _ => return Err(USAGE.to_owned()),
    };
    println!("{units} messages, {packets} packets");
    Ok(())
}

fn number(word: &str) -> Result<u32, String> {
    word.parse().map_err(|_| format!("{word:?} is no number; {USAGE}"))
}

/// `measure` transfers an eighth of the volume before, to open the window, and counts its packets
/// apart.
fn bulk(preset: &str, size: u32, mib: u32) -> Result<(u64, u64), String> {
    let options = thin::under(preset)?;
    let total = u64::from(mib) << 20;
    let (_, packets) = throughput::measure(&options, size as usize, total);
    Ok((total * 9 / 8 / u64::from(size), packets * 9 / 8))
}

fn thin(preset: &str, associations: u32, rounds: u32) -> Result<(u64, u64), String> {
    let mut pair = Pair::new(&thin::options(preset)?, associations);
    thin::send_rounds(&mut pair, rounds);
    Ok((pair.received().0, pair.packets()))
}
