//! Time from the start to the first message delivered, in virtual time: `cargo run -p thinstream-secure --example setup_time`.
//!
//! Round trip 100 ms, a message of 100 bytes that the client has from the start, SCTP's default policy; plain, and over DTLS
//! with two times to the first retransmission of its handshake. Every run has its own seed; equal seeds give equal runs.

#[path = "../tests/world/mod.rs"]
mod world;

use base::{Duration, Instant};
use world::{World, link};

const RUNS: u64 = 200;

fn main() {
    println!("{:<42} {:>5} {:>8} {:>8} {:>8}", "", "loss", "p50 ms", "p99 ms", "max ms");
    let stacks = [
        ("plain", None, 1000),
        ("secure, first retransmission after 1 s", Some([2, 1]), 1000),
        ("secure, first retransmission after 200 ms", Some([2, 1]), 200),
    ];
    for loss in [0, 5, 10] {
        for (name, expected, first) in stacks {
            let first = Duration::from_millis(first);
            let mut times: Vec<u64> =
                (0..RUNS).map(|seed| first_message(loss, seed, expected, first)).collect();
            times.sort_unstable();
            let at = |share: usize| times[(times.len() - 1) * share / 100];
            println!("{name:<42} {loss:>4}% {:>8} {:>8} {:>8}", at(50), at(99), at(100));
        }
    }
}

/// Milliseconds until the first message has arrived; those of a minute if it has not.
fn first_message(loss: u64, seed: u64, expected: Option<[u64; 2]>, first: Duration) -> u64 {
    let mut world = World::with_retransmission(link(loss), seed, expected, first);
    world.send(vec![0; 100]);
    for _ in 0..60 {
        world.run_for(Duration::from_secs(1));
        if let Some((at, _)) = world.received().first() {
            return at.since(Instant::ZERO).as_millis();
        }
    }
    60_000
}
