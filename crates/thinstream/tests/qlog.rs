//! Events of recovery as an application writes them.
#![cfg(feature = "qlog")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use base::Probability;
use io::{Clock, Emulator, EmulatorConfig, RelayPacket};
use netsim::{Link, LinkConfig, LossModel};
use support::*;

fn link(index: u64, loss: Probability) -> Link<RelayPacket> {
    let mut config = LinkConfig::with_delay(base::Duration::from_millis(5));
    config.loss = LossModel::Bernoulli(loss);
    Link::new(config, 7, index).unwrap()
}

#[tokio::test]
async fn a_trace_has_every_retransmission_that_the_statistics_count() {
    let server = server();
    let loss = Probability::from_ratio(10, 100);
    let config = EmulatorConfig::new(LOOPBACK.parse().unwrap(), server.local_addr());
    let emulator = Emulator::start(config, link(0, loss), link(1, loss), Clock::start()).unwrap();
    let client = within(connect(emulator.local_addr(), quick_options())).await.unwrap();
    let accepted = within(server.accept()).await.unwrap();
    let echoing = tokio::spawn(echo(accepted));
    let mut log = client.begin_qlog("a game", Vec::new()).unwrap();
    for number in 0..100 {
        client.send(ZERO, pattern(number, 100)).await.unwrap();
        within(client.receive()).await.unwrap().unwrap();
        client.write_qlog(&mut log).unwrap();
    }
    within(client.shutdown()).await.unwrap();
    client.write_qlog(&mut log).unwrap();
    within(echoing).await.unwrap();
    let text = String::from_utf8(log.finish().unwrap()).unwrap();
    let count = |part: &str| text.split('\u{1e}').filter(|one| one.contains(part)).count() as u64;
    assert_eq!(count("\"qlog_format\":\"JSON-SEQ\""), 1);
    assert_eq!(count("\"title\":\"a game\""), 1);
    let counted = client.stats().unwrap().recovery.retransmissions.total();
    assert!(counted > 0, "nothing was lost");
    assert_eq!(count("\"name\":\"recovery:resent\""), counted, "{text}");
    assert!(count("transport:packet_sent") >= 100);
    assert!(!text.contains("\"unit\":100}"), "no more units than messages");
}
