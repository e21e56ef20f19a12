//! Processor time that encryption takes: `cargo run --release -p thinstream-secure --example
//! encryption_cost`.
//!
//! Both runs carry equal messages over equal virtual networks, one unencrypted and one over DTLS,
//! with both ends and the network in one thread. The difference of their times is the price of
//! encryption at both ends together; times vary with the machine.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "measures real time")]

#[path = "../tests/world/mod.rs"]
mod world;

use std::net::SocketAddr;

use base::{DatagramMeta, Duration, Ecn, Instant, Machine, Purpose, RandomStream};
use results::text_table::Table;
use secure::{Context, Limits, Secrets, Secured, Sessions, Settings, Trust};
use world::{World, identity, link};

const MESSAGES: u32 = 20_000;

fn main() {
    let mut table = Table::headed(&["", "plain us", "secure us", "more us"]);
    for (name, size, interval) in [
        ("100 B each 250 ms", 100, Duration::from_millis(250)),
        ("1,000 B each 5 ms", 1_000, Duration::from_millis(5)),
    ] {
        let [plain, secure] = [None, Some([2, 1])].map(|keys| {
            // The best of some runs is disturbed the least.
            let runs = (0..5).map(|_| microseconds_a_message(keys, size, interval));
            runs.fold(f64::MAX, f64::min)
        });
        let [plain, secure, more] =
            [plain, secure, secure - plain].map(|time| format!("{time:.1}"));
        table.row([name.to_owned(), plain, secure, more]);
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
    let [plain, secure, more] = [plain, secure, secure - plain].map(|time| format!("{time:.0}"));
    table.row(["set-up".to_owned(), plain, secure, more]);
    let hello = format!("{:.1}", microseconds_a_stranger());
    table.row(["hello of a stranger", "", &hello, ""]);
    print!("{table}");
}

/// Microseconds that the server spends on a ClientHello without a cookie.
fn microseconds_a_stranger() -> f64 {
    const HELLOS: u32 = 5_000;
    let context = |seed| Context::new(Settings::default(), &identity(seed)).expect("good settings");
    let sessions = |seed| {
        let random = RandomStream::new(seed, Purpose("sessions", 0));
        Sessions::new(context(seed), Limits::default(), Secrets::System, random)
    };
    let at = |host: u32| SocketAddr::from((host.to_be_bytes(), 5000));
    let mut client = Secured { machine: machine(1), sessions: sessions(1) };
    let patience = Settings::default().patience();
    let trust = Trust::from(identity(2).fingerprint());
    client.sessions.connect(Instant::ZERO, (at(1), None), trust, patience).expect("good settings");
    let mut hello = Vec::new();
    assert!(client.poll_transmit(Instant::ZERO, &mut hello).is_some());
    let mut server = Secured { machine: machine(2), sessions: sessions(2) };
    server.sessions.accept(Some(Trust::Any));
    let began = std::time::Instant::now();
    for host in 0..HELLOS {
        let (local, remote) = (at(1), at(1 << 24 | host));
        let meta = DatagramMeta { local, remote, ecn: Ecn::NotEct, origin: None };
        server.handle_datagram(Instant::ZERO, meta, hello.clone().into());
        assert!(server.poll_transmit(Instant::ZERO, &mut Vec::new()).is_some());
    }
    began.elapsed().as_secs_f64() * 1e6 / f64::from(HELLOS)
}

fn machine(seed: u64) -> sctp::Endpoint {
    let random = RandomStream::new(seed, Purpose("endpoint", 0));
    sctp::Endpoint::new(sctp::EndpointOptions::default(), random)
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
