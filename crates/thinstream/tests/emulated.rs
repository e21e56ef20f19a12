//! Associations through networks that lose packets and change ports.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base::Probability;
use io::{Clock, Emulator, EmulatorConfig, RelayPacket};
use netsim::{Link, LinkConfig, LossModel};
use support::*;
use thinstream::StreamId;
use tokio::net::UdpSocket;

fn link(index: u64, loss: Probability) -> Link<RelayPacket> {
    let mut config = LinkConfig::with_delay(base::Duration::from_millis(5));
    config.loss = LossModel::Bernoulli(loss);
    Link::new(config, 7, index).unwrap()
}

#[tokio::test]
async fn every_message_survives_a_network_that_loses_a_tenth_each_way() {
    let server = server();
    let loss = Probability::from_ratio(10, 100);
    let config = EmulatorConfig::new(LOOPBACK.parse().unwrap(), server.local_addr());
    let emulator = Emulator::start(config, link(0, loss), link(1, loss), Clock::start()).unwrap();
    let connect = connect(emulator.local_addr(), quick_options());
    let client = within(connect).await.unwrap();
    let accepted = within(server.accept()).await.unwrap();
    accepted.set_policy(quick()).unwrap();
    let echoing = tokio::spawn(echo(accepted));
    for number in 0..150 {
        client.send(StreamId(number as u16 % 4), pattern(number, 1_000)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    client.send(ZERO, pattern(1_000, 100_000)).await.unwrap();
    let mut next = [0usize, 1, 2, 3];
    for _ in 0..151 {
        let message = within(client.receive()).await.unwrap().unwrap();
        let stream = usize::from(message.stream.0);
        let number = if message.payload.len() == 100_000 { 1_000 } else { next[stream] };
        let expected = pattern(number, message.payload.len());
        assert!(message.payload.into_bytes() == expected, "message {number}");
        next[stream] += 4;
    }
    within(client.shutdown()).await.unwrap();
    within(echoing).await.unwrap();
    let statistics = emulator.statistics();
    assert!(statistics.up.link.dropped_by_loss.packets > 5, "{statistics:?}");
    assert!(client.stats().unwrap().recovery.retransmissions.total() > 0);
}

/// A NAT in front of one client: forwards both ways, and changes its port towards the server on
/// request, so that the server cannot know the client by it.
struct Nat {
    inside: UdpSocket,
    server: SocketAddr,
}

impl Nat {
    async fn run(self, mut rebind: tokio::sync::mpsc::Receiver<()>) {
        let mut outside = UdpSocket::bind(LOOPBACK).await.unwrap();
        let mut client = None;
        let (mut up, mut down) = (vec![0; 65_536], vec![0; 65_536]);
        loop {
            tokio::select! {
                Ok((length, from)) = self.inside.recv_from(&mut up) => {
                    client = Some(from);
                    outside.send_to(&up[..length], self.server).await.unwrap();
                }
                Ok(length) = outside.recv(&mut down) => {
                    self.inside.send_to(&down[..length], client.unwrap()).await.unwrap();
                }
                order = rebind.recv() => match order {
                    Some(()) => outside = UdpSocket::bind(LOOPBACK).await.unwrap(),
                    None => return,
                },
            }
        }
    }
}

#[tokio::test]
async fn an_association_survives_a_nat_that_changes_its_port() {
    let server = server();
    let inside = UdpSocket::bind(LOOPBACK).await.unwrap();
    let address = inside.local_addr().unwrap();
    let (rebind, orders) = tokio::sync::mpsc::channel(1);
    tokio::spawn(Nat { inside, server: server.local_addr() }.run(orders));
    let client = within(connect(address, quick_options())).await.unwrap();
    let accepted = Arc::new(within(server.accept()).await.unwrap());
    tokio::spawn(echo(accepted.as_ref().clone()));
    let mut ports = std::collections::BTreeSet::new();
    for round in 0..5 {
        for number in 0..10 {
            let text = pattern(round * 10 + number, 2_000);
            client.send(ZERO, text.clone()).await.unwrap();
            let answer = within(client.receive()).await.unwrap().unwrap();
            assert!(answer.payload.into_bytes() == text);
        }
        ports.insert(accepted.remote().port());
        rebind.send(()).await.unwrap();
    }
    assert_eq!(ports.len(), 5, "the server did not see the new ports");
    within(client.shutdown()).await.unwrap();
}
