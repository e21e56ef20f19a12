//! One side of an exercise on any stack, without sockets or clocks: a client that sends the
//! messages of a plan and checks what comes back, or a server that sends back what comes.
//!
//! An agent is a machine of [`base::Machine`]'s contract. The application's part of it acts when
//! the stack's datagrams are drained, so that an agent runs unchanged in virtual and in real time.

mod judgement;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;

use base::{DatagramMeta, Duration, Instant, Machine, Transmit};
use bytes::Bytes;
use netsim::Host;
use virtual_peers::{
    AddressChange, Ending, Incoming, Outgoing, Refused, Reliability, Stack, StackEvent,
};

use crate::plan::{EchoPlan, End, Reset};

/// Time after which a message is offered again that the stack did not take.
const RETRY: Duration = Duration::from_millis(1);

/// Part that a side plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Connects, and sends messages of its own.
    Client,
    /// Waits for a client, and sends back what comes.
    Server,
}

impl Part {
    /// Part of the other side.
    pub fn other(self) -> Part {
        match self {
            Part::Client => Part::Server,
            Part::Server => Part::Client,
        }
    }

    /// Whether this side ends the association, and how.
    fn ends(self, end: End) -> Option<Goodbye> {
        match (self, end) {
            (Part::Client, End::ClientShutdown) | (Part::Server, End::ServerShutdown) => {
                Some(Goodbye::Shutdown)
            }
            (Part::Client, End::ClientAbort) | (Part::Server, End::ServerAbort) => {
                Some(Goodbye::Abort)
            }
            _ => None,
        }
    }
}

/// Way in which a side ends an association.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goodbye {
    Shutdown,
    Abort,
}

/// Observations of a side about an association.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Whether it was set up.
    pub established: bool,
    /// Messages that arrived, by their numbers.
    pub indices: Vec<usize>,
    /// Payload bytes of the messages that arrived.
    pub bytes: u64,
    /// Faults of the messages that arrived.
    pub wrong: Vec<String>,
    /// Number of times that the peer reset its streams, and of resets of this side that were
    /// completed.
    pub peer_resets: usize,
    /// See `peer_resets`.
    pub resets_done: usize,
    /// Streams that were added: those on which this side sends, and those on which the peer does.
    pub streams_added: [u16; 2],
    /// Changes of addresses: whether of its own, what, and which.
    pub addresses: Vec<(bool, AddressChange, IpAddr)>,
    /// Requests that the peer refused.
    pub refused: Vec<String>,
    /// End of the association; none while it lasts.
    pub end: Option<Ending>,
}

/// One side of an exercise.
pub struct Agent<S> {
    stack: S,
    plan: Arc<EchoPlan>,
    part: Part,
    started: bool,
    established_at: Option<Instant>,
    /// A client's next message; the one that it waits for.
    next: usize,
    awaited: Option<usize>,
    reset_asked: bool,
    /// Number of the peer's streams that it has reset, all of them where it named none.
    peer_streams_reset: usize,
    streams_asked: bool,
    /// Changes of addresses that were asked for.
    changes: usize,
    /// Messages that a server has still to send back.
    echoes: VecDeque<Outgoing>,
    goodbye_said: bool,
    /// Time at which a message that was not taken is offered again.
    retry_at: Option<Instant>,
    seen: Observed,
}

impl<S: Stack> Agent<S> {
    /// An agent that has not begun.
    pub fn new(stack: S, plan: Arc<EchoPlan>, part: Part) -> Agent<S> {
        Agent {
            stack,
            plan,
            part,
            started: false,
            established_at: None,
            next: 0,
            awaited: None,
            reset_asked: false,
            peer_streams_reset: 0,
            streams_asked: false,
            changes: 0,
            echoes: VecDeque::new(),
            goodbye_said: false,
            retry_at: None,
            seen: Observed::default(),
        }
    }

    /// Observations of the association until now.
    pub fn seen(&self) -> &Observed {
        &self.seen
    }

    /// Whether its association is over.
    pub fn is_over(&self) -> bool {
        self.seen.end.is_some()
    }

    /// The implementation of SCTP that the agent drives.
    pub fn stack(&self) -> &S {
        &self.stack
    }

    /// Does what can be done now; whether that was anything.
    fn act(&mut self, now: Instant) -> bool {
        let mut acted = false;
        if self.part == Part::Client && !self.started {
            self.started = true;
            self.stack.connect(now);
            acted = true;
        }
        while let Some(event) = self.stack.poll_event() {
            acted = true;
            self.on_event(now, event);
        }
        while let Some(message) = self.stack.receive(now) {
            acted = true;
            self.on_message(message);
        }
        if self.is_over() || self.established_at.is_none() {
            return acted;
        }
        let sent = match self.part {
            Part::Client => self.send_next(now),
            Part::Server => self.send_echoes(now),
        };
        // What was just sent leaves first: an abort may not wait for it.
        sent || self.say_goodbye(now) || acted
    }

    fn on_event(&mut self, now: Instant, event: StackEvent) {
        match event {
            StackEvent::Established => {
                self.seen.established = true;
                self.established_at = Some(now);
            }
            StackEvent::PeerReset(streams) => {
                self.seen.peer_resets += 1;
                let all = usize::from(self.plan.streams);
                self.peer_streams_reset += if streams == 0 { all } else { streams };
                // As WebRTC does: a server answers a reset with one of its own; some peers reset
                // one stream after the other.
                if self.part == Part::Server && !self.reset_asked {
                    self.reset_asked = true;
                    self.stack.reset_streams(now, self.plan.streams);
                }
            }
            StackEvent::ResetDone => self.seen.resets_done += 1,
            StackEvent::AssociationReset if self.part == Part::Client => self.seen.resets_done += 1,
            StackEvent::AssociationReset => self.seen.peer_resets += 1,
            StackEvent::StreamsAdded(more) => {
                for (sum, more) in self.seen.streams_added.iter_mut().zip(more) {
                    *sum += more;
                }
            }
            StackEvent::AddressChanged { own, change, address } => {
                self.seen.addresses.push((own, change, address));
            }
            StackEvent::Refused(why) => self.seen.refused.push(why),
            StackEvent::Ended(end) => drop(self.seen.end.get_or_insert(end)),
        }
    }

    fn on_message(&mut self, message: Incoming) {
        let index = match self.part {
            // Numbers above 255 are known from the order alone.
            _ if self.plan.count <= 256 => self.plan.index_of(&message.payload),
            _ => self.seen.indices.len(),
        };
        if let Some(wrong) = self.wrong_with(index, &message) {
            self.seen.wrong.push(wrong);
        }
        self.seen.indices.push(index);
        self.seen.bytes += message.payload.len() as u64;
        if self.part == Part::Server {
            let Incoming { stream, payload, .. } = message;
            let unordered = self.plan.unordered;
            let reliability = Reliability::Full;
            self.echoes.push_back(Outgoing { stream, payload, unordered, reliability });
        } else if self.awaited == Some(index) {
            self.awaited = None;
        }
    }

    fn wrong_with(&self, index: usize, message: &Incoming) -> Option<String> {
        let plan = &self.plan;
        let length = message.payload.len();
        if index >= plan.count || message.payload != plan.message(index) {
            return Some(format!("message {index} of {length} bytes is altered or in parts"));
        }
        if message.stream != plan.stream(index) {
            return Some(format!("message {index} came on stream {}", message.stream));
        }
        if message.unordered.is_some_and(|unordered| unordered != plan.unordered) {
            return Some(format!("message {index} has its U bit wrong"));
        }
        let late = match plan.unordered {
            true => self.seen.indices.contains(&index),
            false => self.seen.indices.last().is_some_and(|last| index <= *last),
        };
        late.then(|| format!("message {index} came late or twice"))
    }

    /// A client's next messages; whether there were any.
    fn send_next(&mut self, now: Instant) -> bool {
        let mut acted = false;
        while self.next < self.plan.count && self.may_send(now) {
            acted |= self.reconfigure(now);
            if self.plan.pace.is_none() && !self.is_reconfigured() {
                return acted;
            }
            let last = self.next + 1 == self.plan.count;
            let message = Outgoing {
                stream: self.plan.stream(self.next),
                payload: Bytes::from(self.plan.message(self.next)),
                unordered: self.plan.unordered,
                reliability: if last { Reliability::Full } else { self.plan.reliability },
            };
            if !self.offer(now, &message) {
                return acted;
            }
            acted = true;
            self.awaited = self.plan.pace.is_none().then_some(self.next);
            self.next += 1;
        }
        acted
    }

    /// Asks for what is due before a client's next message; whether that was anything.
    fn reconfigure(&mut self, now: Instant) -> bool {
        let (plan, streams) = (Arc::clone(&self.plan), self.plan.streams);
        let mut acted = false;
        match plan.reset {
            Some((before, reset)) if before == self.next && !self.reset_asked => {
                (self.reset_asked, acted) = (true, true);
                match reset {
                    Reset::EachItsOwn => self.stack.reset_streams(now, streams),
                    Reset::AskedFor => self.stack.ask_for_reset(now, streams),
                    Reset::Association => self.stack.reset_association(now),
                }
            }
            _ => {}
        }
        match plan.added_streams {
            Some((before, added)) if before == self.next && !self.streams_asked => {
                (self.streams_asked, acted) = (true, true);
                self.stack.add_streams(now, added);
            }
            _ => {}
        }
        while let Some((before, change, address)) = plan.address_changes.get(self.changes)
            && *before <= self.next
        {
            (self.changes, acted) = (self.changes + 1, true);
            self.stack.change_address(now, *change, (*address).into());
        }
        acted
    }

    /// Whether what a client asked for was done.
    fn is_reconfigured(&self) -> bool {
        let Observed { resets_done, peer_resets, streams_added, .. } = self.seen;
        let reset = match self.plan.reset {
            // Some peers reset one stream after the other, and all of them only after a while: a
            // message before that would be answered on a stream that began again
            // without a word.
            Some((_, Reset::EachItsOwn)) => {
                resets_done > 0 && self.peer_streams_reset >= usize::from(self.plan.streams)
            }
            Some((_, Reset::AskedFor)) => peer_resets > 0,
            Some((_, Reset::Association)) => resets_done > 0,
            None => true,
        };
        (!self.reset_asked || reset) && (!self.streams_asked || !streams_added.contains(&0))
    }

    fn may_send(&self, now: Instant) -> bool {
        self.due().map_or(self.awaited.is_none(), |due| due <= now)
    }

    /// Time at which a client's next message is due; none where that hangs on the one before.
    fn due(&self) -> Option<Instant> {
        let after = u64::try_from(self.plan.due(self.next)?.as_nanos()).ok()?;
        Some(self.established_at? + Duration::from_nanos(after))
    }

    fn send_echoes(&mut self, now: Instant) -> bool {
        let mut acted = false;
        while let Some(message) = self.echoes.pop_front() {
            if !self.offer(now, &message) {
                self.echoes.push_front(message);
                break;
            }
            acted = true;
        }
        acted
    }

    /// Whether the stack took the message; if not it is offered again later.
    fn offer(&mut self, now: Instant, message: &Outgoing) -> bool {
        self.retry_at = None;
        match self.stack.send(now, message) {
            Ok(()) => true,
            Err(Refused::Later) => {
                self.retry_at = Some(now + RETRY);
                false
            }
            Err(Refused::Closed) => false,
        }
    }

    /// Ends the association where that is this side's part and everything is done.
    fn say_goodbye(&mut self, now: Instant) -> bool {
        let finished = match self.part {
            Part::Client => self.next == self.plan.count,
            Part::Server => self.echoes.is_empty(),
        } && self.has_all();
        let goodbye = self.part.ends(self.plan.end);
        if !finished || self.goodbye_said || goodbye.is_none() {
            return false;
        }
        self.goodbye_said = true;
        match goodbye {
            Some(Goodbye::Abort) => self.stack.abort(now),
            _ => self.stack.shutdown(now),
        }
        true
    }

    /// Whether all messages arrived that must, the last of which is reliable whatever the others
    /// are.
    fn has_all(&self) -> bool {
        let indices = &self.seen.indices;
        match self.plan.reliability {
            Reliability::Full => indices.len() >= self.plan.count,
            _ => indices.last() == Some(&(self.plan.count - 1)),
        }
    }

    /// Time at which the application wants to act of its own accord.
    fn wake(&self) -> Option<Instant> {
        if self.is_over() {
            return None;
        }
        let more = self.part == Part::Client && self.next < self.plan.count;
        // What is offered again was due already.
        self.retry_at.or(if more { self.due() } else { None })
    }
}

impl<S: Stack> Machine for Agent<S> {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: base::Datagram) {
        self.stack.handle_datagram(now, meta, datagram);
    }

    fn handle_icmp(&mut self, now: Instant, icmp: base::Icmp<'_>) {
        self.stack.handle_icmp(now, icmp);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.stack.handle_timeout(now);
    }

    fn poll_transmit(
        &mut self,
        now: Instant,
        buffer: &mut dyn base::TransmitBuffer,
    ) -> Option<Transmit> {
        loop {
            if let Some(transmit) = self.stack.poll_transmit(now, buffer) {
                return Some(transmit);
            }
            if !self.act(now) {
                return None;
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.stack.poll_timeout().into_iter().chain(self.wake()).min()
    }
}

impl<S: Stack> Host for Agent<S> {}
