//! CPU time of SCTP, both ends in one thread, in memory, without loss:
//! `cargo run --release -p thinstream-sctp --example cost [throughput|thin]`, or `throughput
//! PRESET` under another policy than the default.
//!
//! `docs/performance.md` says what the numbers mean and what they are compared with.

mod pair;
mod thin;
mod throughput;

/// Bytes of user data carried per measurement.
const TOTAL: u64 = 256 << 20;

fn main() -> Result<(), String> {
    let only = std::env::args().nth(1);
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    if wanted("throughput") {
        let preset = std::env::args().nth(2).unwrap_or_else(|| "latency".to_owned());
        let options = thin::under(&preset)?;
        for size in [1 << 10, 64 << 10] {
            let (rate, packets) = throughput::measure(&options, size, TOTAL);
            println!("messages of {size:>6} B: {rate:>7.0} MB per CPU second ({packets} packets)");
        }
    }
    if wanted("thin") {
        let contenders = [
            ("rfc", 10_000),
            ("thin", 10_000),
            ("latency", 10_000),
            ("thin", 100),
            ("latency", 100),
        ];
        for (preset, associations) in contenders {
            let rounds = 500_000 / associations;
            let (micros, packets) = thin::measure(&thin::options(preset)?, associations, rounds);
            println!(
                "{associations:>6} associations, {preset}: {micros:>6.2} us of CPU a thin message \
                 ({packets:.2} packets)"
            );
        }
    }
    Ok(())
}
