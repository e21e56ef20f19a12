//! QUIC: quinn's state machine, with all messages on one stream.

mod open;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant as StdInstant;

use base::{
    Datagram, DatagramMeta, Icmp, Instant, Machine, Purpose, RandomStream, Transmit, TransmitBuffer,
};
use bytes::{Bytes, BytesMut};
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, Connection, ConnectionEvent, ConnectionHandle, ConnectionId,
    ConnectionIdGenerator, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, ServerConfig,
    StreamEvent, StreamId, TransportConfig, VarInt,
};

use self::open::Open;
use lab::peers::PeerEnd;

use crate::ends::{Side, transmit, with_port};

/// One end of a connection.
pub(crate) struct QuicEnd {
    origin: StdInstant,
    endpoint: Endpoint,
    transport: Arc<TransportConfig>,
    side: Side,
    connection: Option<(ConnectionHandle, Box<Connection>)>,
    stream: Option<StreamId>,
    established: bool,
    failed: bool,
    /// Datagrams that the endpoint sends by itself.
    answers: VecDeque<Vec<u8>>,
    /// Bytes for which the stream had no room.
    unsent: VecDeque<Bytes>,
    received: VecDeque<Bytes>,
    due: Option<Instant>,
}

/// Connection IDs of a seed, so that equal runs have equal packets.
struct Names(RandomStream);

impl Names {
    fn new(seed: u64) -> Names {
        Names(RandomStream::new(seed, Purpose("connection id", 0)))
    }
}

impl ConnectionIdGenerator for Names {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.0.below(u64::MAX).to_le_bytes())
    }

    fn cid_len(&self) -> usize {
        8
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// The default configuration. With `tuned`: the peer is asked to acknowledge each packet within 1
/// ms, and a packet is declared lost as soon as one later packet is acknowledged or a round trip is
/// over.
fn transport(tuned: bool) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.enable_segmentation_offload(false);
    if tuned {
        let mut frequency = AckFrequencyConfig::default();
        frequency
            .ack_eliciting_threshold(VarInt::from_u32(0))
            .max_ack_delay(Some(std::time::Duration::from_millis(1)))
            .reordering_threshold(VarInt::from_u32(1));
        transport
            .ack_frequency_config(Some(frequency))
            .packet_threshold(1)
            .time_threshold(1.0)
            .mtu_discovery_config(None);
    }
    transport
}

impl QuicEnd {
    pub(crate) fn new(side: Side, tuned: bool) -> QuicEnd {
        let transport = Arc::new(transport(tuned));
        let server = side.server.then(|| {
            let mut server = ServerConfig::new(Arc::new(Open), Arc::new(Open));
            server.transport_config(Arc::clone(&transport));
            Arc::new(server)
        });
        let mut seed = [u8::from(side.server); 32];
        seed[..8].copy_from_slice(&side.seed.to_le_bytes());
        let mut config = EndpointConfig::new(Arc::new(Open));
        let names = side.seed;
        config.cid_generator(move || Box::new(Names::new(names)));
        let config = Arc::new(config);
        QuicEnd {
            origin: StdInstant::now(),
            endpoint: Endpoint::new(config, server, true, Some(seed)),
            transport,
            side,
            connection: None,
            stream: None,
            established: false,
            failed: false,
            answers: VecDeque::new(),
            unsent: VecDeque::new(),
            received: VecDeque::new(),
            due: None,
        }
    }

    fn time(&self, now: Instant) -> StdInstant {
        self.origin + std::time::Duration::from_nanos(now.as_nanos())
    }

    /// Passes events between endpoint and connection, and takes what happened.
    fn drive(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        loop {
            let mut done = true;
            while let Some(event) = connection.poll_endpoint_events() {
                done = false;
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            while let Some(event) = connection.poll() {
                done = false;
                match event {
                    Event::Connected => self.established = true,
                    Event::ConnectionLost { .. } => self.failed = true,
                    Event::Stream(StreamEvent::Opened { dir }) => {
                        self.stream = connection.streams().accept(dir);
                    }
                    _ => {}
                }
            }
            if done {
                break;
            }
        }
        self.write();
        self.read();
        self.look_at_timers();
    }

    fn write(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        if self.side.server || !self.established {
            return;
        }
        self.stream = self.stream.or_else(|| connection.streams().open(Dir::Uni));
        let Some(id) = self.stream else { return };
        while let Some(message) = self.unsent.front_mut() {
            match connection.send_stream(id).write(message) {
                Ok(taken) if taken == message.len() => drop(self.unsent.pop_front()),
                Ok(taken) => drop(message.split_to(taken)),
                Err(_) => return,
            }
        }
    }

    fn read(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        let Some(id) = self.stream.filter(|_| self.side.server) else { return };
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            self.received.push_back(chunk.bytes);
        }
        // Packets that this makes possible are polled after every input anyway.
        let _ = chunks.finalize();
    }

    fn look_at_timers(&mut self) {
        let origin = self.origin;
        let due = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        self.due = due.map(|due| {
            let since = due.saturating_duration_since(origin).as_nanos();
            Instant::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
        });
    }

    fn take_event(&mut self, event: ConnectionEvent) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_event(event);
        }
    }
}

impl Machine for QuicEnd {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Datagram) {
        let (time, mut answer) = (self.time(now), Vec::new());
        let datagram = BytesMut::from(&datagram.into_bytes()[..]);
        match self.endpoint.handle(time, with_port(meta.remote), None, None, datagram, &mut answer)
        {
            Some(DatagramEvent::ConnectionEvent(_, event)) => self.take_event(event),
            Some(DatagramEvent::NewConnection(incoming)) => {
                if let Ok((handle, connection)) =
                    self.endpoint.accept(incoming, time, &mut answer, None)
                {
                    self.connection = Some((handle, Box::new(connection)));
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                answer.truncate(transmit.size);
                self.answers.push_back(answer);
            }
            None => {}
        }
        self.drive();
    }

    fn handle_icmp(&mut self, _: Instant, _: Icmp<'_>) {}

    fn handle_timeout(&mut self, now: Instant) {
        let time = self.time(now);
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(time);
        }
        self.drive();
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        let remote = self.side.remote;
        if let Some(answer) = self.answers.pop_front() {
            return Some(transmit(remote, &answer, buffer));
        }
        let time = self.time(now);
        let mut datagram = Vec::new();
        let (_, connection) = self.connection.as_mut()?;
        let sent = connection.poll_transmit(time, 1, &mut datagram);
        self.drive();
        let size = sent?.size;
        Some(transmit(remote, &datagram[..size], buffer))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }
}

impl PeerEnd for QuicEnd {
    fn connect(&mut self, now: Instant) {
        let mut config = ClientConfig::new(Arc::new(Open));
        config.transport_config(Arc::clone(&self.transport));
        let time = self.time(now);
        if let Ok((handle, connection)) =
            self.endpoint.connect(time, config, with_port(self.side.remote), "server")
        {
            self.connection = Some((handle, Box::new(connection)));
        }
        self.drive();
    }

    fn send(&mut self, _: Instant, message: Bytes) {
        self.unsent.push_back(message);
        self.drive();
    }

    fn receive(&mut self, _: Instant) -> Option<Bytes> {
        self.received.pop_front()
    }

    fn has_failed(&self) -> bool {
        self.failed
    }
}
