//! Measures what this machine's timers and sockets add to the delays that thinstream asks for:
//! `cargo run --release -p thinstream-io --example accuracy`.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use base::{DatagramMeta, Duration, Ecn, Instant, Machine, Transmit};
use bytes::Bytes;
use io::{Alarm, Carrier, Clock, Emulator, EmulatorConfig, RecvBatch, Shared, UdpCarrier, run};
use netsim::link::{Link, LinkConfig};
use results::text_table::Table;

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const SAMPLES: u64 = 2_000;

/// Adds a row with the median, 90 %, 99 %, 99.9 % and the maximum of `samples`, in microseconds.
fn report(table: &mut Table, name: &str, mut samples: Vec<Duration>) {
    samples.sort_unstable();
    let quantile =
        |share| results::quantile_of_sorted(&samples, share).map_or(0, |late| late.as_micros());
    let quantiles = [0.5, 0.9, 0.99, 0.999, 1.0].map(|share| quantile(share).to_string());
    table.row([name.to_owned()].into_iter().chain(quantiles));
}

/// A machine that sends what it is told to send.
struct Sender(Vec<Bytes>, SocketAddr);

impl Machine for Sender {
    fn handle_datagram(&mut self, _: Instant, _: DatagramMeta, _: base::Datagram) {}
    fn handle_icmp(&mut self, _: Instant, _: base::Icmp<'_>) {}
    fn handle_timeout(&mut self, _: Instant) {}
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn poll_transmit(
        &mut self,
        _: Instant,
        buffer: &mut dyn base::TransmitBuffer,
    ) -> Option<Transmit> {
        let datagram = self.0.pop()?;
        buffer.head().extend_from_slice(&datagram);
        Some(Transmit {
            local: None,
            remote: self.1,
            ecn: Ecn::NotEct,
            dont_fragment: false,
            service: base::IpService::default(),
            size: datagram.len(),
        })
    }
}

async fn alarms(table: &mut Table, clock: Clock) {
    let mut alarm = Alarm::new(clock).expect("a timer");
    let (mut kernel, mut tokio) = (Vec::new(), Vec::new());
    for index in 0..SAMPLES / 4 {
        let at = clock.now() + Duration::from_micros(1_000 + index * 7);
        alarm.wait_until(Some(at)).await;
        kernel.push(clock.now().since(at));
        let at = clock.now() + Duration::from_micros(1_000 + index * 7);
        clock.sleep_until(at).await;
        tokio.push(clock.now().since(at));
    }
    report(table, "alarm, late by", kernel);
    report(table, "tokio timer, late by", tokio);
}

/// Sends a time stamp each 500 us and returns how long each took to the receiver beyond `expected`.
async fn stream(
    clock: Clock,
    send: impl Fn(Bytes),
    receiver: &UdpCarrier,
    expected: Duration,
) -> Vec<Duration> {
    let mut alarm = Alarm::new(clock).expect("a timer");
    let mut batch = RecvBatch::new(4);
    let mut samples = Vec::new();
    let mut due = clock.now();
    let mut left = SAMPLES;
    while samples.len() < SAMPLES as usize {
        tokio::select! {
            () = alarm.wait_until((left > 0).then_some(due)) => {
                let stamp = clock.now().as_nanos().to_be_bytes();
                send(Bytes::from([&stamp[..], &[0; 92]].concat()));
                due += Duration::from_micros(500);
                left -= 1;
            }
            received = receiver.recv(&mut batch) => {
                received.expect("a working socket");
                let now = clock.now();
                for (_, datagram) in batch.drain() {
                    let stamp = datagram.head[..8].try_into().expect("a time stamp");
                    let sent = Instant::from_nanos(u64::from_be_bytes(stamp));
                    samples.push(now.since(sent + expected));
                }
            }
        }
    }
    samples
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let clock = Clock::start();
    let mut table = Table::headed(&["us", "p50", "p90", "p99", "p99.9", "max"]);
    alarms(&mut table, clock).await;

    let bind = || Arc::new(UdpCarrier::bind(LOOPBACK).expect("a socket"));
    let receiver = bind();
    let direct = Shared::new(Sender(Vec::new(), receiver.local_addr()), clock);
    let driver = tokio::spawn(run(direct.clone(), bind(), |_: &mut Sender, _: Instant| {}));
    let send = |datagram| direct.call(|machine, _| machine.0.push(datagram));
    report(
        &mut table,
        "call to driver to socket to receiver",
        stream(clock, send, &receiver, Duration::ZERO).await,
    );

    let delay = Duration::from_millis(50);
    let link = |index| Link::new(LinkConfig::with_delay(delay), 1, index).expect("a valid link");
    let config = EmulatorConfig::new(LOOPBACK, receiver.local_addr());
    let emulator = Emulator::start(config, link(0), link(1), clock).expect("a relay");
    let relayed = Shared::new(Sender(Vec::new(), emulator.local_addr()), clock);
    let relayed_driver =
        tokio::spawn(run(relayed.clone(), bind(), |_: &mut Sender, _: Instant| {}));
    let send = |datagram| relayed.call(|machine, _| machine.0.push(datagram));
    report(
        &mut table,
        "the same through a link of 50 ms, beyond it",
        stream(clock, send, &receiver, delay).await,
    );
    print!("{table}");
    let statistics = emulator.statistics();
    let late = statistics.up.lateness;
    println!("the relay says: p50 {} p99 {} max {}", late.p50, late.p99, late.max);
    direct.close();
    relayed.close();
    driver.await.expect("no panic").expect("a working socket");
    relayed_driver.await.expect("no panic").expect("a working socket");
}
