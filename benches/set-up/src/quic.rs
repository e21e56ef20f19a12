//! QUIC by quinn, with rustls.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant as StdInstant;

use base::{
    Datagram, DatagramMeta, Ecn, Icmp, Instant, IpService, Machine, Transmit, TransmitBuffer,
};
use bytes::BytesMut;
use netsim::topology::{Directions, Placed, pair};
use netsim::{Host, Simulation};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig,
    Event, ServerConfig, StreamEvent, StreamId, TransportConfig,
};

use crate::run::until;
use crate::tls;
use crate::world::link;

fn address(host: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], 443))
}

/// An end of a connection. The client sends a message of 100 bytes as soon as it may.
struct End {
    origin: StdInstant,
    endpoint: Endpoint,
    remote: SocketAddr,
    connection: Option<(ConnectionHandle, Connection)>,
    stream: Option<StreamId>,
    answers: VecDeque<Vec<u8>>,
    due: Option<Instant>,
    received: bool,
    received_at: Option<Instant>,
}

impl End {
    fn new(host: u8, seed: u64, transport: Arc<TransportConfig>) -> End {
        let server = (host == 2).then(|| {
            let crypto = QuicServerConfig::try_from(tls::server()).expect("TLS 1.3");
            let mut server = ServerConfig::with_crypto(Arc::new(crypto));
            server.transport_config(transport);
            Arc::new(server)
        });
        let mut bytes = [host; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let config = Arc::new(EndpointConfig::default());
        End {
            origin: StdInstant::now(),
            endpoint: Endpoint::new(config, server, true, Some(bytes)),
            remote: address(3 - host),
            connection: None,
            stream: None,
            answers: VecDeque::new(),
            due: None,
            received: false,
            received_at: None,
        }
    }

    fn connect(&mut self, transport: Arc<TransportConfig>) {
        let crypto = QuicClientConfig::try_from(tls::client()).expect("TLS 1.3");
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(transport);
        let made = self.endpoint.connect(self.origin, config, self.remote, "server");
        self.connection = Some(made.expect("a connection"));
        self.drive();
    }

    fn time(&self, now: Instant) -> StdInstant {
        self.origin + std::time::Duration::from_nanos(now.as_nanos())
    }

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
                    Event::Connected if connection.side().is_client() => {
                        let stream = connection.streams().open(Dir::Uni).expect("a stream");
                        connection.send_stream(stream).write(&[0; 100]).expect("room");
                    }
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
        if let Some(stream) = self.stream
            && let Ok(mut chunks) = connection.recv_stream(stream).read(true)
        {
            self.received |= matches!(chunks.next(usize::MAX), Ok(Some(_)));
            let _ = chunks.finalize();
        }
        let origin = self.origin;
        self.due = connection.poll_timeout().map(|due| {
            let since = due.saturating_duration_since(origin).as_nanos();
            Instant::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
        });
    }

    fn hand_over(&self, datagram: &[u8], buffer: &mut dyn TransmitBuffer) -> Transmit {
        buffer.head().extend_from_slice(datagram);
        Transmit {
            local: None,
            remote: self.remote,
            ecn: Ecn::NotEct,
            dont_fragment: false,
            service: IpService::default(),
            size: datagram.len(),
        }
    }
}

impl Machine for End {
    fn handle_datagram(&mut self, now: Instant, _: DatagramMeta, datagram: Datagram) {
        let (time, mut answer) = (self.time(now), Vec::new());
        let datagram = BytesMut::from(&datagram.into_bytes()[..]);
        match self.endpoint.handle(time, self.remote, None, None, datagram, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, time, &mut answer, None).ok();
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
        if let Some(answer) = self.answers.pop_front() {
            return Some(self.hand_over(&answer, buffer));
        }
        let (time, mut datagram) = (self.time(now), Vec::new());
        let sent = self.connection.as_mut()?.1.poll_transmit(time, 1, &mut datagram);
        self.drive();
        let size = sent?.size;
        Some(self.hand_over(&datagram[..size], buffer))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }
}

impl Host for End {
    fn after_input(&mut self, now: Instant) {
        if self.received {
            self.received_at.get_or_insert(now);
        }
    }
}

/// One connection; when its message arrived. `tuned` knows the round trip of the path.
pub(crate) fn run(loss: u64, seed: u64, tuned: bool) -> Option<Instant> {
    let mut transport = TransportConfig::default();
    if tuned {
        transport.initial_rtt(std::time::Duration::from_millis(100));
    }
    let transport = Arc::new(transport);
    let mut client = End::new(1, seed, Arc::clone(&transport));
    client.connect(Arc::clone(&transport));
    let server = End::new(2, seed, transport);
    let mut simulation = Simulation::new(seed);
    let places = pair(
        &mut simulation,
        Placed::at(client, address(1)),
        Placed::at(server, address(2)),
        &[Directions::both(link(loss))],
    );
    let server = places.expect("a network").second;
    until(|| {
        let next = simulation.now() + base::Duration::from_secs(1);
        simulation.run_until(next).expect("a network that works");
        simulation.host(server).received_at
    })
}
