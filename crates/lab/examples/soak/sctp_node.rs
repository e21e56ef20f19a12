//! SCTP in a soak: clients with one association at a time, servers with hundreds, and what they say.

use std::net::{IpAddr, SocketAddr};

use base::{Duration, Holder, Instant, Purpose, RandomStream};
use netsim::Host;
use sctp::{
    AssociationId, AssociationOptions, Endpoint, EndpointOptions, Event, Extensions, Ppid,
    ReconfigurationPolicy, Reliability, ResetDirection, SendOptions, StreamId,
};

use recovery::{PRESETS, RecoveryPolicy};

use super::model::{
    Account, Conversation, End, Header, Inbox, ORDERED, Outbox, STREAMS, context, may_give_up,
    resets, write,
};
use super::sctp_client::Client;
use super::sctp_server::Server;
use super::shared::{SharedRef, policy, size};
use super::world::{Party, Place};

pub(crate) const PORT: u16 = 5000;

/// One side's view of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    /// Known to the client from the start; the server learns it from the first message.
    pub(crate) conversation: Option<Conversation>,
    pub(crate) sent: Outbox,
    pub(crate) received: Inbox,
    /// Its association was opened by a cookie that came again after it had ended: not judged.
    pub(crate) phantom: bool,
}

/// A host of a soak over SCTP.
pub(crate) enum Node {
    /// Opens associations, one after the other.
    Client(Box<Client>),
    /// Accepts them.
    Server(Box<Server>),
}

/// Every other client offers to interleave messages, every other pair to give them up, and every other four to let
/// streams begin again.
pub(crate) fn options(index: u32) -> AssociationOptions {
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

pub(crate) fn endpoint(
    place: &Place,
    index: u64,
    life: u32,
    listen: bool,
    homes: &[IpAddr],
) -> Endpoint {
    let options = EndpointOptions {
        port: PORT,
        listen,
        accepted: accepted(),
        addresses: homes.iter().map(|home| SocketAddr::new(*home, Node::PORT)).collect(),
        ..EndpointOptions::default()
    };
    let index = index << 32 | u64::from(life);
    Endpoint::new(options, RandomStream::new(place.seed, Purpose("soak endpoint", index)))
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
    pub(crate) fn send(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint,
        id: AssociationId,
        from_client: bool,
        random: &mut RandomStream,
        shared: &SharedRef,
    ) {
        if random.below(16) == 0 {
            endpoint.set_policy(id, policy(&presets(), random));
            shared.borrow_mut().policies += 1;
        }
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
    pub(crate) fn on_abandoned(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Abandoned(told) => self.sent.on_abandoned(told.context, told.sent),
            Event::FurtherAbandoned { messages } => {
                self.sent.on_further(*messages);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn account(&mut self, end: End) -> Account {
        let sent = std::mem::take(&mut self.sent);
        Account { end, sent, received: std::mem::take(&mut self.received) }
    }
}

/// What policies are made of.
fn presets() -> Vec<RecoveryPolicy> {
    PRESETS.iter().filter_map(|(name, _)| RecoveryPolicy::preset(name)).collect()
}

impl Party for Node {
    const PORT: u16 = 9899;
    const MOVES: bool = true;

    fn server(place: Place, clients: u32) -> Node {
        Node::Server(Box::new(Server::new(place, clients)))
    }

    fn client(place: Place, server: IpAddr) -> Node {
        let server = SocketAddr::new(server, Node::PORT);
        Node::Client(Box::new(Client::new(place, server)))
    }

    fn restart(&mut self, now: Instant) {
        match self {
            Node::Client(client) => client.restart(now),
            Node::Server(server) => server.restart(now),
        }
    }

    fn shut_down(&mut self, now: Instant) {
        if let Node::Client(client) = self {
            client.shut_down(now);
        }
    }

    fn left(&self) -> usize {
        self.held().association_count()
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
