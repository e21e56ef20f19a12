//! A client with one association at a time, a server with hundreds, and their applications.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;

use base::{Duration, Holder, Instant, Purpose, RandomStream};
use bytes::Bytes;
use netsim::Host;
use sctp::{
    AssociationId, AssociationOptions, Endpoint, EndpointOptions, Event, Extensions, Ppid,
    ReconfigurationPolicy, Reliability, ResetDirection, SendOptions, StreamId,
};

use super::model::{
    Account, Conversation, End, Header, Inbox, Ledger, ORDERED, Outbox, STREAMS, context,
    may_give_up, read, resets, write,
};

pub(crate) const PORT: u16 = 5000;

/// What all nodes share: the judge, the pace, and whether they still talk.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) ledger: Ledger,
    /// The first thing that was wrong.
    pub(crate) violation: Option<String>,
    /// Mean time between two messages of one side of an association.
    pub(crate) interval: Duration,
    /// Mean life of an association before its client closes it.
    pub(crate) life: Duration,
    /// Nobody sends or opens any more.
    pub(crate) quiet: bool,
    /// Resets of streams and associations that either side was told of.
    pub(crate) resets: u64,
}

pub(crate) type SharedRef = Rc<RefCell<Shared>>;

impl Shared {
    fn judge(&mut self, now: Instant, verdict: Result<(), String>) {
        if let Err(what) = verdict {
            self.violation.get_or_insert_with(|| format!("{now}: {what}"));
        }
    }
}

/// One side's view of a conversation.
#[derive(Debug, Default)]
struct Talk {
    /// Known to the client from the start; the server learns it from the first message.
    conversation: Option<Conversation>,
    sent: Outbox,
    received: Inbox,
    /// Its association was opened by a cookie that came again after it had ended: not judged.
    phantom: bool,
}

/// A host of a soak.
pub(crate) enum Node {
    /// Opens associations, one after the other.
    Client(Box<Client>),
    /// Accepts them.
    Server(Box<Server>),
}

pub(crate) struct Client {
    index: u32,
    server: SocketAddr,
    /// Its addresses if it has several; none is named otherwise, so that a NAT may change it.
    homes: Vec<SocketAddr>,
    endpoint: Endpoint,
    random: RandomStream,
    shared: SharedRef,
    /// Counts the endpoints and the associations.
    life: u32,
    id: Option<AssociationId>,
    talk: Talk,
    wake: Instant,
    closes: Instant,
}

pub(crate) struct Server {
    index: u32,
    homes: Vec<SocketAddr>,
    endpoint: Endpoint,
    random: RandomStream,
    shared: SharedRef,
    /// Counts the endpoints and the lives of associations.
    life: u32,
    talks: BTreeMap<AssociationId, Talk>,
    /// The latest life of each client that is over, by client.
    ended: BTreeMap<u32, u32>,
    ids: Vec<AssociationId>,
    clients: u32,
    wake: Instant,
}

/// Every other client offers to interleave messages, every other pair to give them up, and every other four to let
/// streams begin again.
fn options(index: u32) -> AssociationOptions {
    let offered = [
        (index.is_multiple_of(2), Extensions::INTERLEAVING),
        (may_give_up(index), Extensions::PARTIAL_RELIABILITY),
        (resets(index), Extensions::STREAM_RECONFIGURATION),
    ];
    let offered = offered.into_iter().filter(|(offers, _)| *offers);
    options_with(offered.fold(Extensions::NONE, |sum, (_, extension)| sum | extension))
}

fn options_with(extensions: Extensions) -> AssociationOptions {
    AssociationOptions {
        extensions,
        receive_buffer: 64 << 10,
        send_buffer: 64 << 10,
        heartbeat_interval: Some(Duration::from_secs(30)),
        reconfiguration: ReconfigurationPolicy {
            reset_association: true,
            ..ReconfigurationPolicy::default()
        },
        ..AssociationOptions::default()
    }
}

/// Servers take what they are offered.
fn accepted() -> AssociationOptions {
    options_with(
        Extensions::INTERLEAVING
            | Extensions::PARTIAL_RELIABILITY
            | Extensions::STREAM_RECONFIGURATION,
    )
}

fn endpoint(seed: u64, index: u64, life: u32, listen: bool, homes: &[SocketAddr]) -> Endpoint {
    let options = EndpointOptions {
        port: PORT,
        listen,
        accepted: accepted(),
        addresses: homes.to_vec(),
        ..EndpointOptions::default()
    };
    let index = index << 32 | u64::from(life);
    Endpoint::new(options, RandomStream::new(seed, Purpose("soak endpoint", index)))
}

/// An exponentially distributed time, in thousandths of the mean.
fn spread(random: &mut RandomStream, mean: Duration) -> Duration {
    // Nearly so: the sum of two uniform times has the mean and never is very long.
    mean.scale(random.below(1_000) + random.below(1_000), 1_000)
}

/// Mostly thin messages; a few large ones.
fn size(random: &mut RandomStream) -> usize {
    match random.below(20) {
        0 => 2_000 + random.below(20_000) as usize,
        1..4 => 500 + random.below(1_500) as usize,
        _ => 21 + random.below(280) as usize,
    }
}

/// When a message of a client's conversation may be given up: some of those that may.
fn reliability(client: u32, random: &mut RandomStream) -> Reliability {
    match random.below(6) {
        0 if may_give_up(client) => {
            Reliability::Lifetime(Duration::from_millis(random.below(5_000)))
        }
        1 if may_give_up(client) => Reliability::Retransmissions(random.below(3) as u32),
        _ => Reliability::Full,
    }
}

impl Talk {
    /// Sends the next message on a stream by chance.
    fn send(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint,
        id: AssociationId,
        from_client: bool,
        random: &mut RandomStream,
    ) {
        // What a phantom said would look to the peer like a part of the conversation that is over.
        let Some(conversation) = self.conversation.filter(|_| !self.phantom) else { return };
        let stream = random.below(STREAMS as u64) as usize;
        let number = self.sent.counts[stream];
        let header = Header { conversation, from_client, stream: stream as u8, number };
        let payload = write(header, size(random));
        let unordered = stream >= ORDERED;
        let reliability = reliability(conversation.client, random);
        let context = context(stream, number);
        let options = SendOptions { unordered, reliability, context, ..SendOptions::default() };
        let stream_id = StreamId(stream as u16);
        if endpoint.send(now, id, stream_id, Ppid(0), payload, options).is_ok() {
            self.sent.counts[stream] += 1;
        }
        if resets(conversation.client) {
            // What cannot be asked for now is not asked for.
            let _ = match random.below(40) {
                0 => endpoint.reset_streams(now, id, ResetDirection::Outgoing, &[stream_id]),
                1 => endpoint.reset_streams(now, id, ResetDirection::Both, &[]),
                2 => endpoint.reset_association(now, id),
                _ => Ok(()),
            };
        }
    }

    /// What became of messages.
    fn on_abandoned(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Abandoned(told) => self.sent.on_abandoned(told.context, told.sent),
            Event::FurtherAbandoned { messages } => {
                self.sent.on_further(*messages);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn account(&mut self, end: End) -> Account {
        let sent = std::mem::take(&mut self.sent);
        Account { end, sent, received: std::mem::take(&mut self.received) }
    }
}

impl Client {
    pub(crate) fn new(
        seed: u64,
        index: u32,
        server: SocketAddr,
        homes: Vec<SocketAddr>,
        shared: &SharedRef,
    ) -> Client {
        let mut random = RandomStream::new(seed, Purpose("soak client", index.into()));
        // Not all in the first instant.
        let wake = Instant::ZERO + Duration::from_millis(random.below(60_000));
        Client {
            index,
            server,
            endpoint: endpoint(seed, u64::from(index) + 1_000_000, 0, false, &homes),
            homes,
            random,
            shared: Rc::clone(shared),
            life: 0,
            id: None,
            talk: Talk::default(),
            wake,
            closes: Instant::FAR_FUTURE,
        }
    }

    /// The process dies and begins anew, with nothing in its memory.
    pub(crate) fn restart(&mut self, now: Instant, seed: u64) {
        self.life += 1;
        self.over(now, End::Failed);
        let index = u64::from(self.index) + 1_000_000;
        self.endpoint = endpoint(seed, index, self.life, false, &self.homes);
        self.wake = now + Duration::from_millis(self.random.below(5_000));
    }

    pub(crate) fn shut_down(&mut self, now: Instant) {
        if let Some(id) = self.id {
            self.endpoint.shutdown(now, id);
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.id.is_none()
    }

    fn over(&mut self, now: Instant, end: End) {
        if self.id.take().is_none() {
            return;
        }
        let mut talk = std::mem::take(&mut self.talk);
        if let Some(conversation) = talk.conversation {
            let mut shared = self.shared.borrow_mut();
            let verdict = shared.ledger.enter(conversation, true, talk.account(end));
            shared.judge(now, verdict);
        }
    }

    fn on_wake(&mut self, now: Instant) {
        let (quiet, interval, life) = {
            let shared = self.shared.borrow();
            (shared.quiet, shared.interval, shared.life)
        };
        self.wake = now + spread(&mut self.random, interval);
        if quiet {
            return;
        }
        let Some(id) = self.id else {
            self.life += 1;
            let opened = self.endpoint.connect(now, self.server, PORT, options(self.index));
            self.id = opened.ok();
            self.closes = now + spread(&mut self.random, life);
            return;
        };
        if now >= self.closes {
            return self.endpoint.shutdown(now, id);
        }
        self.talk.send(now, &mut self.endpoint, id, true, &mut self.random);
    }

    fn on_event(&mut self, now: Instant, id: AssociationId, event: &Event) {
        if self.id != Some(id) {
            return;
        }
        match event {
            Event::Established => {
                let conversation = Conversation { client: self.index, life: self.life };
                self.talk.conversation = Some(conversation);
            }
            Event::Readable => self.read(now, id),
            Event::Closed | Event::Failed(_) | Event::Restarted => {
                self.read(now, id);
                let end = if *event == Event::Closed { End::Closed } else { End::Failed };
                self.over(now, end);
                self.endpoint.release(id);
                // The same port and address again, soon.
                self.wake = now + Duration::from_millis(self.random.below(3_000));
            }
            Event::StreamsReset { .. } | Event::AssociationReset { .. } => {
                self.shared.borrow_mut().resets += 1;
            }
            event => {
                let verdict = self.talk.on_abandoned(event);
                self.shared.borrow_mut().judge(now, verdict);
            }
        }
    }

    fn read(&mut self, now: Instant, id: AssociationId) {
        while let Some(message) = self.endpoint.receive(now, id) {
            let payload = message.payload.into_bytes();
            let verdict = read(&payload).and_then(|header| {
                let own = (self.index, self.life, false, message.stream.0);
                let of = header.conversation;
                let told = (of.client, of.life, header.from_client, u16::from(header.stream));
                if own != told {
                    return Err(format!("client {own:?} was told {told:?}"));
                }
                self.talk.received.take(header)
            });
            let what = |error| format!("client {} life {}: {error}", self.index, self.life);
            self.shared.borrow_mut().judge(now, verdict.map_err(what));
        }
    }
}

impl Server {
    pub(crate) fn new(
        seed: u64,
        index: u32,
        homes: Vec<SocketAddr>,
        clients: u32,
        shared: &SharedRef,
    ) -> Server {
        Server {
            index,
            endpoint: endpoint(seed, index.into(), 0, true, &homes),
            homes,
            random: RandomStream::new(seed, Purpose("soak server", index.into())),
            shared: Rc::clone(shared),
            life: 0,
            talks: BTreeMap::new(),
            ended: BTreeMap::new(),
            ids: Vec::new(),
            clients,
            wake: Instant::from_millis(1),
        }
    }

    pub(crate) fn restart(&mut self, now: Instant, seed: u64) {
        self.life += 1;
        for id in std::mem::take(&mut self.ids) {
            self.over(now, id, End::Failed);
        }
        self.talks.clear();
        self.endpoint = endpoint(seed, self.index.into(), self.life, true, &self.homes);
    }

    pub(crate) fn association_count(&self) -> usize {
        self.endpoint.association_count()
    }

    fn over(&mut self, now: Instant, id: AssociationId, end: End) {
        let Some(mut talk) = self.talks.remove(&id) else { return };
        if let (Some(conversation), false) = (talk.conversation, talk.phantom) {
            let latest = self.ended.entry(conversation.client).or_default();
            *latest = conversation.life.max(*latest);
            let mut shared = self.shared.borrow_mut();
            let verdict = shared.ledger.enter(conversation, false, talk.account(end));
            shared.judge(now, verdict);
        }
    }

    fn on_wake(&mut self, now: Instant) {
        let (quiet, interval) = {
            let shared = self.shared.borrow();
            (shared.quiet, shared.interval)
        };
        // As many messages as its clients send, to any of them.
        self.wake = now + spread(&mut self.random, interval / u64::from(self.clients.max(1)));
        if quiet || self.ids.is_empty() {
            return;
        }
        let id = self.ids[self.random.below(self.ids.len() as u64) as usize];
        if let Some(talk) = self.talks.get_mut(&id) {
            talk.send(now, &mut self.endpoint, id, false, &mut self.random);
        }
    }

    fn on_event(&mut self, now: Instant, id: AssociationId, event: &Event) {
        match event {
            Event::Established => {
                self.ids.push(id);
                self.talks.insert(id, Talk::default());
            }
            Event::Readable => self.read(now, id),
            Event::Restarted => {
                // What was under way is lost, and the application is told: by this event.
                self.over(now, id, End::Failed);
                self.talks.insert(id, Talk::default());
                if !self.ids.contains(&id) {
                    self.ids.push(id);
                }
                self.read(now, id);
            }
            Event::Closed | Event::Failed(_) => {
                self.read(now, id);
                let end = if *event == Event::Closed { End::Closed } else { End::Failed };
                self.over(now, id, end);
                self.ids.retain(|other| *other != id);
                self.endpoint.release(id);
            }
            Event::StreamsReset { .. } | Event::AssociationReset { .. } => {
                self.shared.borrow_mut().resets += 1;
            }
            event => {
                if let Some(talk) = self.talks.get_mut(&id) {
                    let verdict = talk.on_abandoned(event);
                    self.shared.borrow_mut().judge(now, verdict);
                }
            }
        }
    }

    fn read(&mut self, now: Instant, id: AssociationId) {
        while let Some(message) = self.endpoint.receive(now, id) {
            let Some(talk) = self.talks.get_mut(&id) else { continue };
            let payload: Bytes = message.payload.into_bytes();
            let verdict = read(&payload).and_then(|header| {
                let told = header.conversation;
                if talk.conversation.is_none() {
                    let latest = self.ended.get(&told.client);
                    talk.phantom = latest.is_some_and(|latest| *latest >= told.life);
                }
                let expected = *talk.conversation.get_or_insert(told);
                if expected != told || !header.from_client {
                    return Err(format!("{expected:?} was told {header:?}"));
                }
                if talk.phantom {
                    return Ok(());
                }
                talk.received.take(header)
            });
            let what = |error| format!("server {}: {error}", self.index);
            self.shared.borrow_mut().judge(now, verdict.map_err(what));
        }
    }
}

impl Holder for Node {
    type Held = Endpoint;

    fn held(&self) -> &Endpoint {
        match self {
            Node::Client(client) => &client.endpoint,
            Node::Server(server) => &server.endpoint,
        }
    }

    fn held_mut(&mut self) -> &mut Endpoint {
        match self {
            Node::Client(client) => &mut client.endpoint,
            Node::Server(server) => &mut server.endpoint,
        }
    }
}

impl Host for Node {
    fn poll_wake(&self) -> Option<Instant> {
        Some(match self {
            Node::Client(client) => client.wake,
            Node::Server(server) => server.wake,
        })
    }

    fn on_wake(&mut self, now: Instant) {
        match self {
            Node::Client(client) => client.on_wake(now),
            Node::Server(server) => server.on_wake(now),
        }
    }

    fn after_input(&mut self, now: Instant) {
        while let Some((id, event)) = self.held_mut().poll_event() {
            match self {
                Node::Client(client) => client.on_event(now, id, &event),
                Node::Server(server) => server.on_event(now, id, &event),
            }
        }
    }
}
