//! The sending side of the relay: sends packets when the links deliver them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use base::{Duration, Instant, Transmit};
use netsim::link::flip_bit;

use super::{Direction, Relay, RelayPacket};
use crate::carrier::Carrier;
use crate::clock::Alarm;

/// Sends until the process ends.
pub(super) async fn pump(relay: Arc<Relay>, mut alarm: Alarm) -> io::Error {
    /// Interval between searches for idle clients.
    const SWEEP: Duration = Duration::from_secs(1);
    let mut arrivals = Vec::new();
    let mut outbox = Outbox::default();
    let mut sweep = relay.clock.now() + SWEEP;
    loop {
        let now = relay.clock.now();
        if now >= sweep {
            relay.expire(now);
            sweep = now + SWEEP;
        }
        let next = relay.collect(&mut arrivals, now);
        if arrivals.is_empty() {
            let deadline = next.map_or(sweep, |next| next.min(sweep));
            tokio::select! {
                () = alarm.wait_until(Some(deadline)) => {}
                () = relay.wake_pump.notified() => {}
            }
        } else {
            outbox.send(&relay, &arrivals).await;
            arrivals.clear();
        }
        tokio::task::consume_budget().await;
    }
}

/// Buffers for sending, reused each time.
#[derive(Default)]
struct Outbox {
    buffer: Vec<u8>,
    transmits: Vec<Transmit>,
}

impl Outbox {
    /// Sends all arrivals in their order, those of one socket together.
    async fn send(&mut self, relay: &Relay, arrivals: &[Arrival]) {
        for together in arrivals.chunk_by(Arrival::shares_socket) {
            self.buffer.clear();
            self.transmits.clear();
            for arrival in together {
                self.add(relay.config.forward, arrival);
            }
            let direction = together[0].direction;
            let socket = match direction {
                Direction::Up => &together[0].packet.client.upstream,
                Direction::Down => &relay.listener,
            };
            let refused_before = socket.send_errors();
            socket.send(&self.transmits, &self.buffer).await;
            let refused = socket.send_errors() - refused_before;
            let now = relay.clock.now();
            let mut state = relay.lock();
            let recorder = &mut state.lanes[direction as usize].recorder;
            recorder.send_errors += refused;
            for arrival in together {
                recorder.on_delivered(now.since(arrival.due));
            }
        }
    }

    fn add(&mut self, forward: SocketAddr, arrival: &Arrival) {
        let RelayPacket { datagram, ecn, client } = &arrival.packet;
        let (local, remote) = match arrival.direction {
            Direction::Up => (None, forward),
            Direction::Down => (Some(client.local), client.address),
        };
        let start = self.buffer.len();
        self.buffer.extend_from_slice(datagram);
        if let Some(bits) = arrival.corrupted {
            flip_bit(&mut self.buffer[start..], bits);
        }
        self.transmits.push(Transmit {
            local,
            remote,
            ecn: *ecn,
            dont_fragment: false,
            service: base::IpService::default(),
            size: datagram.len(),
        });
    }
}

impl Relay {
    /// Takes the packets that are due from both links, and returns when the next are due.
    fn collect(&self, arrivals: &mut Vec<Arrival>, now: Instant) -> Option<Instant> {
        /// Packets taken before they are sent, so that the first do not wait for the last.
        const BURST: usize = 64;
        let mut state = self.lock();
        for direction in [Direction::Up, Direction::Down] {
            let lane = &mut state.lanes[direction as usize];
            let enough = arrivals.len() + BURST;
            while arrivals.len() < enough
                && let Some(delivery) = lane.link.poll(now)
            {
                let packet = delivery.packet;
                lane.in_transit -= (packet.datagram.len() as u64).min(lane.in_transit);
                let (due, corrupted) = (delivery.due, delivery.corrupted);
                arrivals.push(Arrival { direction, packet, due, corrupted });
            }
            lane.take_outcomes();
        }
        state.lanes.iter().filter_map(|lane| lane.link.poll_timeout()).min()
    }

    /// Closes the sockets of clients that have been idle for too long.
    fn expire(&self, now: Instant) {
        let mut state = self.lock();
        let before = state.seats.len();
        state.seats.retain(|_, seat| now.since(seat.active) < self.config.idle_timeout);
        state.expired += (before - state.seats.len()) as u64;
    }
}

/// A packet at the end of its link.
struct Arrival {
    direction: Direction,
    packet: RelayPacket,
    due: Instant,
    corrupted: Option<u64>,
}

impl Arrival {
    /// Whether both leave through the same socket.
    fn shares_socket(&self, other: &Arrival) -> bool {
        self.direction == other.direction
            && (self.direction == Direction::Down
                || Arc::ptr_eq(&self.packet.client, &other.packet.client))
    }
}
