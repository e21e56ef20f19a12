//! SCTP in a soak: its endpoints, the options of each client, and conversations over an
//! association.

use std::net::{IpAddr, SocketAddr};

use base::{Duration, Instant, Purpose, RandomStream};
use recovery::{PRESETS, RecoveryPolicy};
use sctp::{
    AssociationId, AssociationOptions, Endpoint, EndpointOptions, Event, Extensions, Ppid,
    ReconfigurationEvent, ReconfigurationPolicy, Reliability, ResetDirection, SendOptions,
    StreamId,
};

use super::model::{
    Account, Conversation, End, Header, Inbox, ORDERED, Outbox, STREAMS, context, may_give_up,
    read, resets, write,
};
use super::protocol::{Line, Place, Protocol, Reader, Talk, Told};
use super::shared::{PORT, SharedRef, policy, size};

/// SCTP over UDP, from an endpoint with several addresses.
pub(crate) enum Sctp {}

impl Protocol for Sctp {
    type Endpoint = Endpoint;
    type Id = AssociationId;
    type Event = Event;
    type Talk = SctpTalk;

    const PORT: u16 = 9899;
    const MOVES: bool = true;
    const FAILURES_ARE_RESETS: bool = false;

    /// Several addresses are named; one alone is not, so that a NAT may change it.
    fn client(place: &Place, life: u32) -> Endpoint {
        let homes = if place.homes.len() > 1 { &place.homes[..] } else { &[] };
        endpoint(place, u64::from(place.index) + 1_000_000, life, false, homes)
    }

    fn server(place: &Place, life: u32) -> Endpoint {
        endpoint(place, place.index.into(), life, true, &place.homes)
    }

    fn connect(
        endpoint: &mut Endpoint,
        now: Instant,
        place: &Place,
        server: IpAddr,
    ) -> Option<AssociationId> {
        let server = SocketAddr::new(server, Sctp::PORT);
        endpoint.connect(now, server, PORT, options(place.index)).ok()
    }

    fn poll_event(endpoint: &mut Endpoint) -> Option<(AssociationId, Event)> {
        endpoint.poll_event()
    }

    fn told(event: &Event) -> Told {
        match event {
            Event::Established => Told::Established,
            Event::Readable => Told::Readable,
            Event::Restarted => Told::Restarted,
            Event::Closed => Told::Over(End::Closed),
            Event::Failed(_) => Told::Over(End::Failed),
            Event::Reconfiguration(
                ReconfigurationEvent::StreamsReset { .. }
                | ReconfigurationEvent::AssociationReset { .. },
            ) => Told::Reset,
            _ => Told::Other,
        }
    }

    fn accept(_: &mut Endpoint, id: AssociationId, event: &Event) -> Vec<AssociationId> {
        if *event == Event::Established { vec![id] } else { Vec::new() }
    }

    fn release(endpoint: &mut Endpoint, _: Instant, id: AssociationId) {
        endpoint.release(id);
    }

    fn count(endpoint: &Endpoint) -> usize {
        endpoint.association_count()
    }
}

/// Every other client offers to interleave messages, every other pair to give them up, and every
/// other four to let streams begin again.
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

/// Servers accept what clients offer.
fn accepted() -> AssociationOptions {
    options_with(
        Extensions::INTERLEAVING
            | Extensions::PARTIAL_RELIABILITY
            | Extensions::STREAM_RECONFIGURATION,
    )
}

fn endpoint(place: &Place, index: u64, life: u32, listen: bool, homes: &[IpAddr]) -> Endpoint {
    let options = EndpointOptions {
        port: PORT,
        listen,
        accepted: accepted(),
        addresses: homes.iter().map(|home| SocketAddr::new(*home, Sctp::PORT)).collect(),
        ..EndpointOptions::default()
    };
    let index = index << 32 | u64::from(life);
    Endpoint::new(options, RandomStream::new(place.seed, Purpose("soak endpoint", index)))
}

/// Reliability of a message of a client's conversation: limited for a third of those that may be
/// given up, full for all others.
fn reliability(client: u32, random: &mut RandomStream) -> Reliability {
    match random.below(6) {
        0 if may_give_up(client) => {
            Reliability::Lifetime(Duration::from_millis(random.below(5_000)))
        }
        1 if may_give_up(client) => Reliability::Retransmissions(random.below(3) as u32),
        _ => Reliability::Full,
    }
}

/// One side's view of a conversation.
#[derive(Debug, Default)]
pub(crate) struct SctpTalk {
    /// Known to the client from the start; the server learns it from the first message.
    conversation: Option<Conversation>,
    sent: Outbox,
    received: Inbox,
    /// The association was opened by a cookie that came again after it had ended: not judged.
    phantom: bool,
}

impl SctpTalk {
    fn take(&mut self, bytes: &[u8], stream: StreamId, reader: Reader<'_>) -> Result<(), String> {
        let header = read(bytes)?;
        if u16::from(header.stream) != stream.0 {
            return Err(format!("{header:?} came on stream {}", stream.0));
        }
        let told = header.conversation;
        if let (Reader::Server(ended), None) = (reader, self.conversation) {
            self.phantom = ended.get(&told.client).is_some_and(|latest| *latest >= told.life);
        }
        reader.check(&mut self.conversation, &header)?;
        if self.phantom {
            return Ok(());
        }
        self.received.take(header, may_give_up(told.client))
    }
}

impl Talk<Sctp> for SctpTalk {
    fn begin(&mut self, conversation: Conversation) {
        self.conversation = Some(conversation);
    }

    fn send(
        &mut self,
        line: &mut Line<'_, Sctp>,
        from_client: bool,
        random: &mut RandomStream,
        shared: &SharedRef,
    ) {
        let Line { now, id, .. } = *line;
        let endpoint = &mut *line.endpoint;
        if random.below(16) == 0 {
            if let Some(mut own) = endpoint.association_mut(id) {
                own.set_policy(policy(&presets(), random));
            }
            shared.borrow_mut().policies += 1;
        }
        // A message of a phantom would look to the peer like a part of the conversation that has
        // ended.
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
        if endpoint
            .association_mut(id)
            .map_or(Err(sctp::SendError::Closed), |mut own| {
                own.send(now, stream_id, Ppid(0), payload, options)
            })
            .is_ok()
        {
            self.sent.counts[stream] += 1;
        }
        if resets(conversation.client) {
            // Requests that are impossible now are not made.
            let _ = match random.below(40) {
                0 => endpoint
                    .association_mut(id)
                    .map_or(Err(sctp::ReconfigureError::NotEstablished), |mut own| {
                        own.reset_streams(now, ResetDirection::Outgoing, &[stream_id])
                    }),
                1 => endpoint
                    .association_mut(id)
                    .map_or(Err(sctp::ReconfigureError::NotEstablished), |mut own| {
                        own.reset_streams(now, ResetDirection::Both, &[])
                    }),
                2 => endpoint
                    .association_mut(id)
                    .map_or(Err(sctp::ReconfigureError::NotEstablished), |mut own| {
                        own.reset_association(now)
                    }),
                _ => Ok(()),
            };
        }
    }

    fn read(&mut self, line: &mut Line<'_, Sctp>, reader: Reader<'_>) -> Result<(), String> {
        while let Some(message) =
            line.endpoint.association_mut(line.id).and_then(|mut own| own.receive(line.now))
        {
            self.take(&message.payload.into_bytes(), message.stream, reader)?;
        }
        Ok(())
    }

    fn on_event(&mut self, _: &mut Line<'_, Sctp>, event: &Event) -> Result<(), String> {
        match event {
            Event::Abandoned(told) => self.sent.on_abandoned(told.context, told.sent),
            Event::FurtherAbandoned { messages } => {
                self.sent.on_further(*messages);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self, line: &mut Line<'_, Sctp>) {
        if let Some(mut own) = line.endpoint.association_mut(line.id) {
            own.shutdown(line.now);
        }
    }

    fn leave(&mut self, line: &mut Line<'_, Sctp>, _: &mut RandomStream) {
        self.finish(line);
    }

    fn judged(&self) -> Option<Conversation> {
        self.conversation.filter(|_| !self.phantom)
    }

    fn account(self, end: End) -> Account {
        Account { end, sent: self.sent, received: self.received }
    }
}

/// Presets that policies begin with.
fn presets() -> Vec<RecoveryPolicy> {
    PRESETS.iter().filter_map(|(name, _)| RecoveryPolicy::preset(name)).collect()
}
