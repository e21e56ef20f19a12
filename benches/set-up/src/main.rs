//! Time from the start to the first message delivered, in virtual time: `make bench-set-up`.
//!
//! Round trip 100 ms, a message of 100 bytes that the client has from the start. SCTP with the
//! default policy unencrypted and over DTLS (`secure`), QUIC (quinn) and TLS 1.3 over our TCP
//! (rustls), each with its own cryptography and certificate. The losses of a seed are those of its
//! network; equal seeds give equal runs of each stack.

#[path = "../../../crates/peers/src/datagram.rs"]
mod datagram;
#[path = "../../../crates/peers/src/quic/driver.rs"]
#[expect(dead_code, reason = "a connection that fails is one that takes too long")]
mod driver;
mod quic;
mod run;
mod tls;
#[path = "../../../crates/secure/tests/world/mod.rs"]
mod world;

use base::{Duration, Instant};
use recovery::RecoveryPolicy;
use results::{mean, quantile_of_sorted};

use crate::run::{PATIENCE, until};
use crate::tls::Policy;
use crate::world::{World, link};

/// Number of runs of each cell.
const RUNS: u64 = 1000;

/// A stack, and how it does one run: the time of the message's arrival.
type Stack = (&'static str, fn(u64, u64) -> Option<Instant>);

const STACKS: [Stack; 7] = [
    ("SCTP in plain", |loss, seed| sctp(loss, seed, None, Duration::from_secs(1))),
    ("SCTP over DTLS 1.3", |loss, seed| sctp(loss, seed, Some([2, 1]), first_timeout())),
    ("SCTP over DTLS 1.3, a second at first", |loss, seed| {
        sctp(loss, seed, Some([2, 1]), Duration::from_secs(1))
    }),
    ("QUIC", |loss, seed| quic::run(loss, seed, false)),
    ("QUIC, initial_rtt 100 ms", |loss, seed| quic::run(loss, seed, true)),
    ("TLS 1.3 over TCP, `linux`", |loss, seed| tls::run(loss, seed, Policy::Linux)),
    ("TLS 1.3 over TCP, `latency`", |loss, seed| tls::run(loss, seed, Policy::Latency)),
];

/// First timeout of the default policy's set-up, which is the handshake's as well.
fn first_timeout() -> Duration {
    RecoveryPolicy::sctp_default().backoff.first_setup.unwrap_or(Duration::from_secs(1))
}

fn sctp(loss: u64, seed: u64, expected: Option<[u64; 2]>, first: Duration) -> Option<Instant> {
    let mut world = World::with_retransmission(link(loss), seed, expected, first);
    world.send(vec![0; 100]);
    until(|| {
        world.run_for(Duration::from_secs(1));
        world.received().first().map(|(at, _)| *at)
    })
}

fn main() {
    println!("| loss | | mean ms | p50 | p90 | p99 | max | not in 120 s |");
    println!("|--:|---|--:|--:|--:|--:|--:|--:|");
    for loss in [0, 5, 10] {
        for (name, run) in STACKS {
            let times = (0..RUNS).map(|seed| run(loss, seed));
            let times = times.map(|at| at.map_or(PATIENCE, |at| at.since(Instant::ZERO)));
            let mut times: Vec<f64> = times.map(|time| time.as_nanos() as f64 / 1e6).collect();
            times.sort_by(f64::total_cmp);
            let at = |share| quantile_of_sorted(&times, share).unwrap_or(f64::NAN);
            let mean = mean(times.iter().copied());
            let late = times.iter().filter(|time| **time >= PATIENCE.as_nanos() as f64 / 1e6);
            println!(
                "| {loss} % | {name} | {mean:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {} |",
                at(0.5),
                at(0.9),
                at(0.99),
                at(1.0),
                late.count()
            );
        }
    }
}
