//! TCP in a soak: its endpoints, and the options of each client.

use std::net::{IpAddr, SocketAddr};

use base::{Duration, Instant, Purpose, RandomStream};
use recovery::{RecoveryPolicy, TCP_PRESETS};
use tcp::{
    ConnectionId, ConnectionOptions, Endpoint, EndpointOptions, Event, KeepAlive, ListenOptions,
};

use super::host::{Protocol, Told};
use super::model::End;
use super::shared::PORT;
use super::tcp_talk::TcpTalk;
use super::world::Place;

/// TCP.
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

/// What policies are made of.
pub(crate) fn presets() -> Vec<RecoveryPolicy> {
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
        // A peer that is gone is noticed by who waits for it, too.
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
