//! CPU time, side by side: `cargo run --release --bin cost`.

use cpu_time::ProcessTime;
use peers_cost::{DcSctp, SctpProto, Stack, Thinstream, thin_rounds, transfer};

const TOTAL: u64 = 256 << 20;
const ASSOCIATIONS: usize = 10_000;

fn main() {
    println!("| | 1 KiB, MB/CPU s | 64 KiB, MB/CPU s | thin, us a message |");
    println!("|---|---:|---:|---:|");
    measure::<Thinstream>();
    measure::<DcSctp>();
    measure::<SctpProto>();
}

fn measure<S: Stack>() {
    let rates = [1 << 10, 64 << 10].map(|size| {
        let mut stack = S::new(1);
        transfer(&mut stack, size, TOTAL / 8);
        let start = ProcessTime::now();
        transfer(&mut stack, size, TOTAL);
        TOTAL as f64 / 1e6 / start.elapsed().as_secs_f64()
    });
    let mut stack = S::new(ASSOCIATIONS);
    thin_rounds(&mut stack, ASSOCIATIONS, 4);
    let (before, start) = (stack.received().0, ProcessTime::now());
    thin_rounds(&mut stack, ASSOCIATIONS, 20);
    let messages = (stack.received().0 - before) as f64;
    let micros = start.elapsed().as_secs_f64() * 1e6 / messages;
    println!("| {} | {:.0} | {:.0} | {micros:.2} |", S::NAME, rates[0], rates[1]);
}
