//! A flow whose client talks to the TCP stack, over a wire that loses and delays segments. The flow
//! has its turn only when the driver of an edge would give it one, so that a missing wake-up is
//! found.

use core::net::SocketAddr;
use std::collections::VecDeque;
use std::sync::Arc;

use apps::edge::carry::{Failed, InStack, InTransit, Next};
use base::{Duration, Instant, Machine, Purpose, RandomStream};
use bytes::Bytes;
use tcp::{
    ConnectionId, ConnectionOptions, Endpoint, EndpointOptions, Event, ListenOptions, MemoryLimits,
    Received, SendFlags,
};

use super::{Outcome, Side, Step, Wire, byte};
use crate::tcp_network::{Flying, give, host, transmits};
use crate::tcp_policy;

/// Bytes of the buffers of both ends.
const BUFFER: usize = 20_000;
/// Memory of the edge's stack: never scarce, unless a step makes it so.
const MEMORY: usize = 1 << 20;

/// An edge's connection, its client, and what is between them.
struct World {
    /// The client's endpoint and the edge's.
    ends: [Endpoint; 2],
    ids: [Option<ConnectionId>; 2],
    air: VecDeque<(usize, Flying)>,
    now: Instant,
    service: Side,
    carried: InTransit,
    client: Told,
    /// Event that the flow waits for; `Again` if its turn comes anyway.
    waits: Next,
    /// The stack has said something of the edge's connection since the flow's last turn.
    is_woken: bool,
}

/// Bytes that the client sent and received.
#[derive(Default)]
struct Told {
    said: u64,
    heard: u64,
    room: u64,
    has_finished: bool,
    has_heard_end: bool,
    is_gone: bool,
}

/// Runs the steps, and then everything that is left over a wire that loses nothing.
pub(super) fn run(steps: &[Step], preset: u8) -> Outcome {
    let mut world = World::new(preset);
    world.settle();
    for step in steps {
        if let Some(outcome) = world.play(*step) {
            return outcome;
        }
    }
    world.service.room = usize::MAX / 2;
    world.service.finished = true;
    world.ends[1].set_memory_limits(MemoryLimits::of(MEMORY), 0);
    world.client.room = u64::MAX;
    world.finish_client();
    // All that is left takes no more than this: the least of windows, and a timeout for each of the
    // losses before.
    let end = world.now + Duration::from_secs(3_600);
    while world.now < end {
        world.hear();
        if let Some(outcome) = world.turns() {
            world.check_end(outcome);
            return outcome;
        }
        if !world.pass_to_next(end) {
            // Of a client whose reset was lost, or that gave up, only a keep-alive would tell.
            let is_gone = world.client.is_gone || world.has_given_up();
            assert!(is_gone, "a flow without a wake-up: {:?}", world.waits);
            return Outcome { failed: true, ..Outcome::default() };
        }
    }
    panic!("a flow that never ends: {:?}", world.waits)
}

impl World {
    fn new(preset: u8) -> World {
        let end = |index: u64| {
            let options = EndpointOptions::default();
            Endpoint::new(options, RandomStream::new(index, Purpose("flow", 0)))
        };
        let mut ends = [end(0), end(1)];
        let options = |preset| ConnectionOptions {
            policy: Arc::new(tcp_policy::preset(preset)),
            send_buffer: BUFFER,
            receive_buffer: BUFFER,
            ..ConnectionOptions::default()
        };
        let now = Instant::from_millis(1);
        let (own, peer) = (SocketAddr::new(host(2), 80), SocketAddr::new(host(1), 4000));
        let listen = ListenOptions { accepted: options(preset), ..ListenOptions::default() };
        assert!(ends[1].listen(own, listen).is_ok());
        let client = ends[0].connect(now, peer, own, options(0)).ok();
        World {
            ends,
            ids: [client, None],
            air: VecDeque::new(),
            now,
            service: Side::default(),
            carried: InTransit::default(),
            client: Told::default(),
            waits: Next::Again,
            is_woken: false,
        }
    }

    /// The client's connection has failed: everything it sent was lost for as long as it asks.
    fn has_given_up(&self) -> bool {
        let connection = self.ids[0].and_then(|id| self.ends[0].connection(id));
        connection.is_none_or(|connection| connection.failure().is_some())
    }

    /// Takes what both ends send and say, and carries it until nothing is on its way.
    fn settle(&mut self) {
        loop {
            self.collect();
            let Some((to, flying)) = self.air.pop_front() else { break };
            give(&mut self.ends[to], self.now, &flying);
        }
    }

    /// Puts the packets of both ends into the air, and executes their requests.
    fn collect(&mut self) {
        for at in 0..2 {
            let sent = transmits(&mut self.ends[at], self.now);
            self.air.extend(sent.into_iter().map(|flying| (1 - at, flying)));
            while let Some((id, event)) = self.ends[at].poll_event() {
                match event {
                    Event::Incoming { listener } => {
                        assert_eq!(self.ends[at].accept(listener), Some(id));
                        self.ids[at].get_or_insert(id);
                    }
                    _ => self.is_woken |= at == 1 && self.ids[1] == Some(id),
                }
            }
        }
    }

    fn play(&mut self, step: Step) -> Option<Outcome> {
        match step {
            Step::Turn => {}
            Step::Say { client: true, bytes } => self.say(bytes.into()),
            Step::Say { client: false, bytes } => {
                self.service.said += if self.service.finished { 0 } else { u64::from(bytes) };
            }
            Step::Take { client: true, bytes } => self.client.room += u64::from(bytes),
            Step::Take { client: false, bytes } => self.service.room += usize::from(bytes),
            Step::Shrink { left } => {
                self.ends[1].set_memory_limits(MemoryLimits::of(1 + usize::from(left)), 0);
            }
            Step::Finish { client: true } => self.finish_client(),
            Step::Finish { client: false } => self.service.finished = true,
            Step::Fail { client: true, dice } if dice < 4 => self.leave(),
            Step::Fail { client: false, dice } => self.service.failed |= dice < 4,
            Step::Fail { .. } => {}
            Step::Wire(wire) => self.wire(wire),
        }
        self.hear();
        self.turns()
    }

    /// Segments are lost, or time passes.
    fn wire(&mut self, Wire { lost, millis }: Wire) {
        self.collect();
        for _ in 0..lost % 4 {
            self.air.pop_front();
        }
        self.settle();
        let end = self.now + Duration::from_millis(millis.into());
        while self.pass_to_next(end) {}
    }

    /// Time passes until something is due, and no longer than until `end`. Whether something was.
    fn pass_to_next(&mut self, end: Instant) -> bool {
        let due = self.ends.iter_mut().filter_map(|end| end.poll_timeout()).min();
        let is_due = due.is_some_and(|due| due <= end);
        self.now = self.now.max(due.filter(|_| is_due).unwrap_or(end));
        for endpoint in &mut self.ends {
            endpoint.handle_timeout(self.now);
        }
        self.settle();
        is_due
    }

    fn say(&mut self, bytes: u64) {
        let Some(id) = self.ids[0].filter(|_| !self.client.has_finished) else { return };
        let data: Bytes = (self.client.said..self.client.said + bytes).map(byte).collect();
        if data.is_empty() {
            return;
        }
        let Some(mut own) = self.ends[0].connection_mut(id) else { return };
        let sent = own.send(self.now, data, SendFlags::default());
        self.client.said += sent.unwrap_or(0) as u64;
    }

    fn finish_client(&mut self) {
        if let Some(id) = self.ids[0] {
            self.client.has_finished = true;
            if let Some(mut own) = self.ends[0].connection_mut(id) {
                own.shutdown_write(self.now);
            }
        }
    }

    fn leave(&mut self) {
        if let Some(id) = self.ids[0] {
            self.client.is_gone = true;
            if let Some(mut own) = self.ends[0].connection_mut(id) {
                own.abort(self.now);
            }
        }
    }

    /// The client reads as much as it has a mind to.
    fn hear(&mut self) {
        self.settle();
        while let Some(id) = self.ids[0].filter(|_| self.client.room > 0) {
            let limit = self.client.room.min(BUFFER as u64) as usize;
            let own = self.ends[0].connection_mut(id);
            let Some(Ok(received)) = own.map(|mut own| own.receive(self.now, limit)) else { break };
            match received {
                Received::Data(data) => {
                    for found in &data {
                        assert_eq!(*found, byte(self.client.heard), "byte {}", self.client.heard);
                        self.client.heard += 1;
                    }
                    self.client.room -= data.len() as u64;
                }
                Received::Nothing => break,
                Received::Finished => {
                    self.client.has_heard_end = true;
                    break;
                }
            }
            self.settle();
        }
    }

    /// Whether the driver of an edge would give the flow its turn now.
    fn is_due(&self) -> bool {
        let Side { said, fetched, finished, drained, room, failed, .. } = self.service;
        match self.waits {
            Next::Again => true,
            Next::Over => false,
            Next::Wait { readable, writable } => {
                let has_more = fetched < said || (finished && !drained);
                self.is_woken || failed || (readable && has_more) || (writable && room > 0)
            }
        }
    }

    /// Whether the driver ends the flow without a turn: the service has reset the connection, and
    /// both directions wait for the client.
    fn is_reset(&self) -> bool {
        let waits = Next::Wait { readable: false, writable: false };
        self.service.failed && !self.is_woken && self.waits == waits
    }

    /// The flow's turns, for as long as it has any; what came of it, once it is over.
    fn turns(&mut self) -> Option<Outcome> {
        let id = self.ids[1]?;
        while self.is_due() {
            if self.is_reset() {
                let (up, down) = self.carried.bytes();
                return Some(Outcome { carried: up + down, over: false, failed: true });
            }
            self.is_woken = false;
            let mut client = InStack { stack: &mut self.ends[1], now: self.now, id };
            let next = self.carried.carry(&mut client, &mut self.service);
            let (up, down) = self.carried.bytes();
            assert_eq!(up, self.service.took);
            assert!(up <= self.client.said && down <= self.service.said);
            self.settle();
            let outcome = Outcome { carried: up + down, over: false, failed: next.is_err() };
            match next {
                Ok(Next::Over) => return Some(Outcome { over: true, ..outcome }),
                Ok(next) => self.waits = next,
                Err(Failed::Service(())) => {
                    assert!(self.service.failed);
                    return Some(outcome);
                }
                // Gone, or given up for want of acknowledgements.
                Err(Failed::Client(_)) => return Some(outcome),
            }
        }
        None
    }

    /// A flow that is over has carried everything: to the service at once, to the client in time.
    fn check_end(&mut self, outcome: Outcome) {
        if outcome.failed || self.client.is_gone {
            return;
        }
        assert_eq!(self.service.took, self.client.said);
        let end = self.now + Duration::from_secs(3_600);
        self.hear();
        while !self.client.has_heard_end && self.pass_to_next(end) {
            self.hear();
        }
        assert_eq!(self.client.heard, self.service.said, "the client's end of it");
        assert!(self.client.has_heard_end);
    }
}
