//! sctp-proto: the stack of webrtc-rs and str0m, an endpoint and the associations that its driver
//! keeps for it.

use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant as StdInstant;

use ::sctp_proto::{
    Association, AssociationHandle, Chunks, ClientConfig, DatagramEvent, Endpoint, EndpointConfig,
    Event, Payload, PayloadProtocolIdentifier, ReliabilityType, ServerConfig, StreamEvent,
    Transmit, TransportConfig,
};
use base::{DatagramMeta, Ecn, Instant, Machine};
use bytes::Bytes;

use crate::{
    ABORT, Ending, Incoming, Outgoing, PACKET, Refused, Reliability, SHUTDOWN_COMPLETE, Stack,
    StackEvent, StackOptions, carries,
};

/// One end with any number of associations; those of [`Stack`] have the first.
pub struct SctpProto {
    origin: StdInstant,
    endpoint: Endpoint,
    transport: Arc<TransportConfig>,
    /// Remote address of the association that a client opens.
    remote: Option<SocketAddr>,
    /// Associations by handle, empty where one has ended.
    associations: Vec<Option<Association>>,
    packets: VecDeque<(SocketAddr, Bytes)>,
    events: VecDeque<StackEvent>,
    messages: VecDeque<(u16, Chunks)>,
    /// Streams whose reset is under way.
    resetting: BTreeSet<u16>,
    aborted_by_peer: bool,
    /// A shutdown waits for what is on its way: it does not do so itself.
    closing: bool,
}

/// Handle of the only association of [`Stack`].
const FIRST: AssociationHandle = AssociationHandle(0);

impl SctpProto {
    /// An end; one that is a server takes associations.
    pub fn new(transport: TransportConfig, server: bool, packet: u32) -> SctpProto {
        let transport = Arc::new(transport);
        let mut config = EndpointConfig::new();
        config.max_payload_size(packet);
        let server = server.then(|| {
            let mut server = ServerConfig::new();
            server.transport = Arc::clone(&transport);
            Arc::new(server)
        });
        SctpProto {
            origin: StdInstant::now(),
            endpoint: Endpoint::new(Arc::new(config), server),
            transport,
            remote: None,
            associations: Vec::new(),
            packets: VecDeque::new(),
            events: VecDeque::new(),
            messages: VecDeque::new(),
            resetting: BTreeSet::new(),
            aborted_by_peer: false,
            closing: false,
        }
    }

    /// An end with the options of an exercise.
    pub fn for_exercise(options: &StackOptions) -> SctpProto {
        // Its payload size leaves out the common header and that of a DATA chunk.
        const HEADERS: u32 = 28;
        let [initial, min, max] = options.rto.map(|rto| rto.as_nanos() / 1_000_000);
        let transport = TransportConfig::default()
            .with_max_receive_buffer_size(5 << 20)
            .with_max_send_message_size(options.largest_message as u32)
            .with_max_receive_message_size(options.largest_message as u32)
            .with_rto_initial_ms(initial)
            .with_rto_min_ms(min)
            .with_rto_max_ms(max);
        let mut end = SctpProto::new(transport, options.server, PACKET as u32 - HEADERS);
        end.remote = Some(options.remote);
        end
    }

    /// Opens an association to `remote`; none where the endpoint refuses.
    pub fn open(&mut self, now: Instant, remote: SocketAddr) -> Option<AssociationHandle> {
        let mut client = ClientConfig::new();
        client.transport = Arc::clone(&self.transport);
        let (handle, association) = self.endpoint.connect(client, remote).ok()?;
        self.keep(handle, association);
        self.drain(now, handle);
        Some(handle)
    }

    /// A packet arrived from `remote`; the association that it was for.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        packet: Bytes,
    ) -> Option<AssociationHandle> {
        let event = self.endpoint.handle(self.time(now), remote, None, None, packet);
        let (handle, event) = event?;
        match event {
            DatagramEvent::NewAssociation(association) => self.keep(handle, association),
            DatagramEvent::AssociationEvent(event) => {
                if let Some(own) = self.association(handle) {
                    own.handle_event(event);
                }
            }
        }
        self.drain(now, handle);
        Some(handle)
    }

    /// Time has come to `now` for an association.
    pub fn handle_timeout_of(&mut self, now: Instant, handle: AssociationHandle) {
        let time = self.time(now);
        if let Some(own) = self.association(handle) {
            own.handle_timeout(time);
        }
        self.drain(now, handle);
    }

    /// Time at which an association wants to be called.
    pub fn timeout_of(&self, handle: AssociationHandle) -> Option<Instant> {
        let due = self.associations.get(handle.0)?.as_ref()?.poll_timeout()?;
        let since = due.saturating_duration_since(self.origin).as_nanos();
        Some(Instant::from_nanos(u64::try_from(since).unwrap_or(u64::MAX)))
    }

    /// Takes the next packet to send.
    pub fn poll_packet(&mut self) -> Option<(SocketAddr, Bytes)> {
        self.packets.pop_front()
    }

    /// Takes the next message of any association.
    pub fn receive_message(&mut self) -> Option<(u16, Chunks)> {
        self.messages.pop_front()
    }

    /// Queues a message on an association.
    ///
    /// # Errors
    /// Why it was not taken.
    pub fn send_on(
        &mut self,
        now: Instant,
        handle: AssociationHandle,
        message: &Outgoing,
    ) -> Result<(), Refused> {
        let blocked = self.resetting.contains(&message.stream);
        let own = self.association(handle).ok_or(Refused::Closed)?;
        if blocked {
            return Err(Refused::Later);
        }
        if own.stream(message.stream).is_err()
            && own.open_stream(message.stream, PayloadProtocolIdentifier::Binary).is_err()
        {
            return Err(Refused::Later);
        }
        let mut stream = own.stream(message.stream).map_err(|_| Refused::Closed)?;
        let (kind, value) = match message.reliability {
            Reliability::Full => (ReliabilityType::Reliable, 0),
            Reliability::Retransmissions(limit) => (ReliabilityType::Rexmit, limit.into()),
            Reliability::Lifetime(lifetime) => {
                (ReliabilityType::Timed, (lifetime.as_nanos() / 1_000_000) as u32)
            }
        };
        let sent = stream
            .set_reliability_params(message.unordered, kind, value)
            .and_then(|()| stream.write_sctp(&message.payload, PayloadProtocolIdentifier::Binary));
        self.drain(now, handle);
        sent.map(drop).map_err(|_| Refused::Closed)
    }

    fn time(&self, now: Instant) -> StdInstant {
        self.origin + std::time::Duration::from_nanos(now.as_nanos())
    }

    fn association(&mut self, handle: AssociationHandle) -> Option<&mut Association> {
        self.associations.get_mut(handle.0)?.as_mut()
    }

    fn keep(&mut self, handle: AssociationHandle, association: Association) {
        if handle.0 >= self.associations.len() {
            self.associations.resize_with(handle.0 + 1, || None);
        }
        self.associations[handle.0] = Some(association);
    }

    /// Shuts the first association down once all that it sent is acknowledged.
    fn close_when_settled(&mut self) {
        let Some(own) = self.associations.first_mut().and_then(Option::as_mut) else { return };
        let mut streams = own.stream_ids().into_iter();
        let waits = |id| own.stream(id).is_ok_and(|s| s.buffered_amount().unwrap_or(0) > 0);
        if self.closing && !streams.any(waits) {
            self.closing = false;
            // Refused only where the association is over or closing.
            let _ = own.shutdown();
        }
    }

    fn drain(&mut self, now: Instant, handle: AssociationHandle) {
        let time = self.time(now);
        while let Some(transmit) = self.endpoint.poll_transmit() {
            post(&mut self.packets, transmit);
        }
        let Some(own) = self.associations.get_mut(handle.0).and_then(Option::as_mut) else {
            return;
        };
        while let Some(event) = own.poll() {
            match event {
                Event::Connected => self.events.push_back(StackEvent::Established),
                Event::Stream(StreamEvent::Readable { id }) => {
                    let Ok(mut stream) = own.stream(id) else { continue };
                    while let Ok(Some(message)) = stream.read() {
                        self.messages.push_back((id, message));
                    }
                }
                Event::Stream(StreamEvent::Finished { .. }) => {
                    self.events.push_back(StackEvent::PeerReset(1));
                }
                Event::Stream(StreamEvent::ResetComplete { id })
                    if self.resetting.remove(&id) && self.resetting.is_empty() =>
                {
                    self.events.push_back(StackEvent::ResetDone);
                }
                Event::Stream(StreamEvent::ResetFailed { reason, .. }) => {
                    self.events.push_back(StackEvent::Refused(format!("{reason:?}")));
                }
                Event::AssociationLost { .. } => {
                    let aborted = std::mem::take(&mut self.aborted_by_peer);
                    let ending = if aborted { Ending::AbortedByPeer } else { Ending::Closed };
                    self.events.push_back(StackEvent::Ended(ending));
                }
                Event::HandshakeFailed { reason } => {
                    let ending = Ending::Failed(reason.to_string());
                    self.events.push_back(StackEvent::Ended(ending));
                }
                _ => {}
            }
        }
        while let Some(transmit) = own.poll_transmit(time) {
            post(&mut self.packets, transmit);
        }
    }
}

fn post(packets: &mut VecDeque<(SocketAddr, Bytes)>, transmit: Transmit) {
    if let Payload::RawEncode(encoded) = transmit.payload {
        packets.extend(encoded.into_iter().map(|packet| (transmit.remote, packet)));
    }
}

impl Machine for SctpProto {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: base::Datagram) {
        let datagram = datagram.into_bytes();
        self.aborted_by_peer |= carries(&datagram, ABORT);
        self.handle_packet(now, meta.remote, datagram);
        if self.closing {
            self.close_when_settled();
            self.drain(now, FIRST);
        }
    }

    fn handle_icmp(&mut self, _: Instant, _: base::Icmp<'_>) {}

    fn handle_timeout(&mut self, now: Instant) {
        self.handle_timeout_of(now, FIRST);
    }

    fn poll_transmit(
        &mut self,
        _now: Instant,
        buffer: &mut dyn base::TransmitBuffer,
    ) -> Option<base::Transmit> {
        let (remote, packet) = self.poll_packet()?;
        if carries(&packet, SHUTDOWN_COMPLETE) {
            // The side that closes is not told when that is done.
            self.events.push_back(StackEvent::Ended(Ending::Closed));
        }
        buffer.head().extend_from_slice(&packet);
        Some(base::Transmit {
            local: None,
            remote,
            ecn: Ecn::NotEct,
            dont_fragment: false,
            service: base::IpService::default(),
            size: packet.len(),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timeout_of(FIRST)
    }
}

impl Stack for SctpProto {
    fn connect(&mut self, now: Instant) {
        if let Some(remote) = self.remote {
            self.open(now, remote);
        }
    }

    fn poll_event(&mut self) -> Option<StackEvent> {
        self.events.pop_front()
    }

    fn send(&mut self, now: Instant, message: &Outgoing) -> Result<(), Refused> {
        self.send_on(now, FIRST, message)
    }

    fn receive(&mut self, now: Instant) -> Option<Incoming> {
        let (stream, message) = self.receive_message()?;
        let mut payload = vec![0; message.len()];
        let read = message.read(&mut payload).unwrap_or(0);
        payload.truncate(read);
        self.drain(now, FIRST);
        Some(Incoming { stream, payload: payload.into(), unordered: None })
    }

    fn reset_streams(&mut self, now: Instant, streams: u16) {
        let Some(own) = self.associations.first_mut().and_then(Option::as_mut) else { return };
        for id in 0..streams {
            let Ok(mut stream) = own.stream(id) else { continue };
            match stream.close() {
                Ok(()) => drop(self.resetting.insert(id)),
                Err(error) => self.events.push_back(StackEvent::Refused(error.to_string())),
            }
        }
        self.drain(now, FIRST);
    }

    fn shutdown(&mut self, now: Instant) {
        self.closing = true;
        self.close_when_settled();
        self.drain(now, FIRST);
    }

    /// Forgets the association: sctp-proto cannot send an ABORT of its own accord.
    fn abort(&mut self, now: Instant) {
        let _ = self.association(FIRST).map(Association::close);
        self.drain(now, FIRST);
    }
}
