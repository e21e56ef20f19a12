//! Processor time that encryption takes: `cargo run --release -p thinstream-secure --example cost`.
//!
//! Both runs carry equal messages over equal virtual networks, one in plain and one over DTLS, with both ends and the network in
//! one thread. The difference of their times is the price of encryption at both ends together; times vary with the machine.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "measures real time")]

#[path = "../tests/world/mod.rs"]
mod world;

use base::Duration;
use world::{World, link};

const MESSAGES: u32 = 20_000;

fn main() {
    println!("{:<26} {:>12} {:>12} {:>12}", "", "plain us", "secure us", "more us");
    for (name, size, interval) in [
        ("100 B each 250 ms", 100, Duration::from_millis(250)),
        ("1,000 B each 5 ms", 1_000, Duration::from_millis(5)),
    ] {
        let [plain, secure] = [None, Some([2, 1])].map(|keys| {
            // The best of some runs is disturbed the least.
            let runs = (0..5).map(|_| microseconds_a_message(keys, size, interval));
            runs.fold(f64::MAX, f64::min)
        });
        println!("{name:<26} {plain:>12.1} {secure:>12.1} {:>12.1}", secure - plain);
    }
    let set_up = |keys| {
        let began = std::time::Instant::now();
        for seed in 0..100 {
            let mut world = World::new(link(0), seed, keys);
            world.send("x");
            world.run_for(Duration::from_secs(1));
            assert_eq!(world.received().len(), 1);
        }
        began.elapsed().as_secs_f64() * 1e6 / 100.0
    };
    let (plain, secure) = (set_up(None), set_up(Some([2, 1])));
    println!("{:<26} {plain:>12.0} {secure:>12.0} {:>12.0}", "set-up", secure - plain);
}

fn microseconds_a_message(keys: Option<[u64; 2]>, size: usize, interval: Duration) -> f64 {
    let mut world = World::new(link(0), 1, keys);
    world.run_for(Duration::from_secs(1));
    let began = std::time::Instant::now();
    for _ in 0..MESSAGES {
        world.send(vec![0; size]);
        world.run_for(interval);
    }
    world.run_for(Duration::from_secs(1));
    let spent = began.elapsed();
    assert_eq!(world.received().len(), MESSAGES as usize);
    spent.as_secs_f64() * 1e6 / f64::from(MESSAGES)
}
