//! TCP in a soak: its endpoints, the options of each client, and one side of a conversation over a
//! connection, whose messages are framed by the length in their headers.

use std::net::{IpAddr, SocketAddr};

use base::{Duration, Instant, Purpose, RandomStream};
use bytes::{Buf, Bytes, BytesMut};
use recovery::{RecoveryPolicy, TCP_PRESETS};
use tcp::{
    ConnectionId, ConnectionOptions, Endpoint, EndpointOptions, Event, KeepAlive, ListenOptions,
    Received, SendFlags,
};

use super::model::{Account, Conversation, End, HEADER, Header, Inbox, Outbox, read, write};
use super::protocol::{Line, Place, Protocol, Reader, Talk, Told};
use super::shared::{PORT, SharedRef, policy, size};

/// Bytes taken from a connection at once.
const READ: usize = 16 << 10;

/// Connections of TCP, without UDP below them.
pub(crate) enum Tcp {}

impl Protocol for Tcp {
    type Endpoint = Endpoint;
    type Id = ConnectionId;
    type Event = Event;
    type Talk = TcpTalk;

    const PORT: u16 = 0;
    const MOVES: bool = false;
    const FAILURES_ARE_RESETS: bool = true;

    fn client(place: &Place, life: u32) -> Endpoint {
        endpoint(place, u64::from(place.index) + 1_000_000, life)
    }

    fn server(place: &Place, life: u32) -> Endpoint {
        let mut endpoint = endpoint(place, place.index.into(), life);
        let local = SocketAddr::new(place.homes[0], PORT);
        // Of the accepting side's options, those that are negotiated follow what the client offers.
        let listen = ListenOptions { accepted: options(1), ..ListenOptions::default() };
        endpoint.listen(local, listen).expect("the only listener");
        endpoint
    }

    fn connect(
        endpoint: &mut Endpoint,
        now: Instant,
        place: &Place,
        server: IpAddr,
    ) -> Option<ConnectionId> {
        let local = SocketAddr::new(place.homes[0], 0);
        let server = SocketAddr::new(server, PORT);
        endpoint.connect(now, local, server, options(place.index)).ok()
    }

    fn poll_event(endpoint: &mut Endpoint) -> Option<(ConnectionId, Event)> {
        endpoint.poll_event()
    }

    fn told(event: &Event) -> Told {
        match event {
            Event::Established => Told::Established,
            Event::Readable => Told::Readable,
            Event::Closed => Told::Over(End::Closed),
            Event::Failed(_) => Told::Over(End::Failed),
            Event::Writable | Event::Incoming { .. } | Event::Urgent | Event::SoftError(_) => {
                Told::Other
            }
        }
    }

    fn accept(endpoint: &mut Endpoint, _: ConnectionId, event: &Event) -> Vec<ConnectionId> {
        let Event::Incoming { listener } = event else { return Vec::new() };
        std::iter::from_fn(|| endpoint.accept(*listener)).collect()
    }

    fn release(endpoint: &mut Endpoint, now: Instant, id: ConnectionId) {
        endpoint.release(now, id);
    }

    fn count(endpoint: &Endpoint) -> usize {
        endpoint.connection_count()
    }
}

/// Presets that policies begin with.
fn presets() -> Vec<RecoveryPolicy> {
    TCP_PRESETS.iter().filter_map(|(name, _)| RecoveryPolicy::tcp_preset(name)).collect()
}

/// Every other client does without timestamps, every third without SACK, every fifth asks for ECN.
fn options(index: u32) -> ConnectionOptions {
    ConnectionOptions {
        no_delay: true,
        timestamps: index.is_multiple_of(2),
        sack: !index.is_multiple_of(3),
        ecn: if index.is_multiple_of(5) { tcp::EcnMode::Active } else { tcp::EcnMode::Passive },
        send_buffer: 64 << 10,
        receive_buffer: 64 << 10,
        // A side that only receives notices, too, that its peer is gone.
        keep_alive: Some(KeepAlive {
            idle: Duration::from_secs(120),
            interval: Duration::from_secs(30),
            probes: 9,
        }),
        ..ConnectionOptions::default()
    }
}

fn endpoint(place: &Place, number: u64, life: u32) -> Endpoint {
    let purpose = Purpose("soak endpoint", number << 32 | u64::from(life));
    Endpoint::new(EndpointOptions::default(), RandomStream::new(place.seed, purpose))
}

/// Messages that one side sent and received.
#[derive(Debug, Default)]
pub(crate) struct TcpTalk {
    /// Known to the client from the start; the server learns it from the first message.
    conversation: Option<Conversation>,
    sent: Outbox,
    received: Inbox,
    /// The part of the last message that the send buffer had no room for.
    waiting: Bytes,
    /// The beginning of a message that has not arrived completely.
    partial: BytesMut,
    /// This side finishes as soon as nothing waits.
    finishes: bool,
    finished: bool,
    /// FIN arrived from the other side, and all data before it was read.
    peer_finished: bool,
}

impl TcpTalk {
    /// Passes waiting bytes to the connection, and finishes once none wait, if finishing.
    fn push(&mut self, line: &mut Line<'_, Tcp>) {
        if !self.waiting.is_empty() {
            let waiting = self.waiting.clone();
            let own = line.endpoint.connection_mut(line.id);
            let sent = own.map(|mut own| own.send(line.now, waiting, SendFlags::default()));
            // A connection that takes nothing any more fails, and says so.
            self.waiting.advance(sent.and_then(Result::ok).unwrap_or(0));
        }
        if self.finishes && self.waiting.is_empty() && !self.finished {
            self.finished = true;
            if let Some(mut own) = line.endpoint.connection_mut(line.id) {
                own.shutdown_write(line.now);
            }
        }
    }

    fn read_all(&mut self, line: &mut Line<'_, Tcp>, reader: Reader<'_>) -> Result<(), String> {
        let Some(mut own) = line.endpoint.connection_mut(line.id) else { return Ok(()) };
        loop {
            match own.receive(line.now, READ) {
                Ok(Received::Data(bytes)) => self.partial.extend_from_slice(&bytes),
                Ok(Received::Finished) => self.peer_finished = true,
                Ok(Received::Nothing) | Err(_) => return Ok(()),
            }
            while let Some(message) = self.next_message() {
                let header = read(&message)?;
                reader.check(&mut self.conversation, &header)?;
                self.received.take(header, false)?;
            }
            if self.peer_finished {
                let rest = self.partial.len();
                let whole = rest == 0;
                return if whole {
                    Ok(())
                } else {
                    Err(format!("FIN behind {rest} bytes of a message"))
                };
            }
        }
    }

    /// The next whole message. A length that is wrong is found when the message is read.
    fn next_message(&mut self) -> Option<Bytes> {
        let length = self.partial.get(HEADER - 4..HEADER)?;
        let length = u32::from_be_bytes(length.try_into().ok()?) as usize;
        let length = length.clamp(HEADER, 1 << 16);
        (self.partial.len() >= length).then(|| self.partial.split_to(length).freeze())
    }
}

impl Talk<Tcp> for TcpTalk {
    fn begin(&mut self, conversation: Conversation) {
        self.conversation = Some(conversation);
    }

    /// Says nothing while the last message still waits for room.
    fn send(
        &mut self,
        line: &mut Line<'_, Tcp>,
        from_client: bool,
        random: &mut RandomStream,
        shared: &SharedRef,
    ) {
        if random.below(16) == 0 {
            let policy = policy(&presets(), random);
            if let Some(mut own) = line.endpoint.connection_mut(line.id) {
                own.set_policy(line.now, policy);
            }
            shared.borrow_mut().policies += 1;
        }
        let Some(conversation) = self.conversation else { return };
        if self.finishes || !self.waiting.is_empty() {
            return;
        }
        let number = self.sent.counts[0];
        let header = Header { conversation, from_client, stream: 0, number };
        self.waiting = write(header, size(random));
        self.sent.counts[0] += 1;
        self.push(line);
    }

    fn read(&mut self, line: &mut Line<'_, Tcp>, reader: Reader<'_>) -> Result<(), String> {
        let verdict = self.read_all(line, reader);
        if self.peer_finished {
            self.finish(line);
        }
        verdict
    }

    fn on_event(&mut self, line: &mut Line<'_, Tcp>, event: &Event) -> Result<(), String> {
        if *event == Event::Writable {
            self.push(line);
        }
        Ok(())
    }

    fn finish(&mut self, line: &mut Line<'_, Tcp>) {
        self.finishes = true;
        self.push(line);
    }

    /// One of eight clients aborts.
    fn leave(&mut self, line: &mut Line<'_, Tcp>, random: &mut RandomStream) {
        if random.below(8) > 0 {
            self.finish(line);
        } else if let Some(mut own) = line.endpoint.connection_mut(line.id) {
            own.abort(line.now);
        }
    }

    fn judged(&self) -> Option<Conversation> {
        self.conversation
    }

    /// A connection that closed has nothing waiting.
    fn account(self, end: End) -> Account {
        Account { end, sent: self.sent, received: self.received }
    }
}
