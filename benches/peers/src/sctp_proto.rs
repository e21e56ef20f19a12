//! sctp-proto: two endpoints, and the associations that their driver keeps for them.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::sctp_proto::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Event,
    Payload, PayloadProtocolIdentifier, ServerConfig, StreamEvent, Transmit, TransportConfig,
};
use bytes::Bytes;

use crate::{Deadlines, Nanos, PACKET, Stack};

struct End {
    endpoint: Endpoint,
    /// By handle.
    associations: Vec<Option<Association>>,
}

pub struct SctpProto {
    origin: Instant,
    now: Nanos,
    ends: [End; 2],
    handles: Vec<AssociationHandle>,
    deadlines: Deadlines,
    mail: Vec<(usize, SocketAddr, Bytes)>,
    received: (u64, u64),
}

fn address(association: usize) -> SocketAddr {
    let [_, b, c, d] = (association as u32).to_be_bytes();
    SocketAddr::new(Ipv4Addr::new(10, b, c, d).into(), 9899)
}

impl SctpProto {
    fn time(&self) -> Instant {
        self.origin + Duration::from_nanos(self.now)
    }

    fn post(&mut self, end: usize, transmit: Transmit) {
        if let Payload::RawEncode(packets) = transmit.payload {
            let mail = packets.into_iter().map(|packet| (end ^ 1, transmit.remote, packet));
            self.mail.extend(mail);
        }
    }

    fn drain(&mut self, end: usize, handle: AssociationHandle) {
        let now = self.time();
        while let Some(transmit) = self.ends[end].endpoint.poll_transmit() {
            self.post(end, transmit);
        }
        let Some(association) = self.ends[end].associations[handle.0].as_mut() else { return };
        while let Some(event) = association.poll() {
            match event {
                Event::Stream(StreamEvent::Readable { id }) => {
                    let Ok(mut stream) = association.stream(id) else { continue };
                    while let Ok(Some(message)) = stream.read() {
                        self.received.0 += 1;
                        self.received.1 += message.len() as u64;
                    }
                }
                Event::AssociationLost { reason } => println!("sctp-proto lost: {reason:?}"),
                _ => {}
            }
        }
        let due = association.poll_timeout();
        let due = due.map(|due| due.saturating_duration_since(self.origin).as_nanos() as u64);
        self.deadlines.set(2 * handle.0 + end, due);
        while let Some(transmit) =
            self.ends[end].associations[handle.0].as_mut().and_then(|own| own.poll_transmit(now))
        {
            self.post(end, transmit);
        }
        let association = self.ends[end].associations[handle.0].as_ref();
        let due = association.and_then(Association::poll_timeout);
        let due = due.map(|due| due.saturating_duration_since(self.origin).as_nanos() as u64);
        self.deadlines.set(2 * handle.0 + end, due);
    }

    fn keep(&mut self, end: usize, handle: AssociationHandle, association: Association) {
        let associations = &mut self.ends[end].associations;
        if handle.0 >= associations.len() {
            associations.resize_with(handle.0 + 1, || None);
        }
        associations[handle.0] = Some(association);
    }
}

impl Stack for SctpProto {
    const NAME: &'static str = "sctp-proto";

    fn new(count: usize) -> Self {
        let transport = Arc::new(TransportConfig::default().with_max_receive_buffer_size(5 << 20));
        let mut config = EndpointConfig::new();
        config.max_payload_size(PACKET as u32);
        let config = Arc::new(config);
        let mut server = ServerConfig::new();
        server.transport = Arc::clone(&transport);
        let end = |server| End {
            endpoint: Endpoint::new(Arc::clone(&config), server),
            associations: Vec::new(),
        };
        let mut stack = SctpProto {
            origin: Instant::now(),
            now: 0,
            ends: [end(None), end(Some(Arc::new(server)))],
            handles: Vec::new(),
            deadlines: Deadlines::default(),
            mail: Vec::new(),
            received: (0, 0),
        };
        for index in 0..count {
            let mut client = ClientConfig::new();
            client.transport = Arc::clone(&transport);
            let opened = stack.ends[0].endpoint.connect(client, address(index));
            let (handle, association) = opened.expect("a free association");
            stack.keep(0, handle, association);
            stack.handles.push(handle);
            stack.drain(0, handle);
            stack.exchange();
            stack.advance(25_000);
            if let Some(own) = stack.ends[0].associations[handle.0].as_mut() {
                own.open_stream(0, PayloadProtocolIdentifier::Binary).expect("a stream");
            }
        }
        stack
    }

    fn send(&mut self, association: usize, message: &Bytes) -> bool {
        let handle = self.handles[association];
        let Some(own) = self.ends[0].associations[handle.0].as_mut() else { return false };
        let Ok(mut stream) = own.stream(0) else { return false };
        let sent = stream.write_chunk(message).is_ok();
        self.drain(0, handle);
        sent
    }

    fn exchange(&mut self) {
        let now = self.time();
        while !self.mail.is_empty() {
            for (end, remote, packet) in std::mem::take(&mut self.mail) {
                let event = self.ends[end].endpoint.handle(now, remote, None, None, packet);
                match event {
                    Some((handle, DatagramEvent::NewAssociation(association))) => {
                        self.keep(end, handle, association);
                        self.drain(end, handle);
                    }
                    Some((handle, DatagramEvent::AssociationEvent(event))) => {
                        if let Some(own) = self.ends[end].associations[handle.0].as_mut() {
                            own.handle_event(event);
                        }
                        self.drain(end, handle);
                    }
                    None => {}
                }
            }
        }
    }

    fn advance(&mut self, span: Nanos) {
        let until = self.now + span;
        while let Some((due, row)) = self.deadlines.pop(until) {
            self.now = self.now.max(due);
            let (end, handle, now) = (row % 2, AssociationHandle(row / 2), self.time());
            if let Some(own) = self.ends[end].associations[handle.0].as_mut() {
                own.handle_timeout(now);
            }
            self.drain(end, handle);
            self.exchange();
        }
        self.now = until;
    }

    fn received(&self) -> (u64, u64) {
        self.received
    }
}
