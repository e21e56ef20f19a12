//! The two ends of a flow over TCP.

use core::net::SocketAddr;
use std::sync::Arc;

use base::{Instant, Purpose, RandomStream};
use recovery::{Advice, AdviceError, PathId, PathView};
use tcp::{
    ConnectionId, ConnectionOptions, Endpoint, EndpointOptions, Event, ListenOptions, Received,
    SendFlags,
};

use super::config::{Addresses, FlowConfig, PORT, PathHint};
use super::filler::{FILLER, filler};
use super::log::LogHandle;
use super::source::{Pending, Source};
use super::source_end::SourceEnd;
use super::source_transport::{Notice, Sent, SourceTransport};
use super::spans::INITIAL_SEQUENCE;

/// Endpoint and connection of the sender of a flow.
#[derive(Debug)]
pub struct TcpSender {
    pub(super) endpoint: Endpoint,
    options: Arc<ConnectionOptions>,
    local: SocketAddr,
    remote: SocketAddr,
}

/// Endpoint and connection of the receiver of a flow.
#[derive(Debug)]
pub struct TcpSink {
    pub(super) endpoint: Endpoint,
    pub(super) log: LogHandle,
}

/// The endpoint of one end; its initial sequence numbers are fixed where packets are watched.
pub(super) fn endpoint(seed: u64, number: u32, listens: bool, watched: bool) -> Endpoint {
    let options = EndpointOptions {
        initial_sequence: watched.then_some(INITIAL_SEQUENCE),
        ..EndpointOptions::default()
    };
    let index = u64::from(number) * 2 + u64::from(listens);
    Endpoint::new(options, RandomStream::new(seed, Purpose("endpoint", index)))
}

/// The address with another port.
pub(super) fn with_port(address: SocketAddr, port: u16) -> SocketAddr {
    SocketAddr::new(address.ip(), port)
}

/// Lets the endpoint accept connections to [`PORT`]; false if the endpoint refuses.
pub(super) fn listen(endpoint: &mut Endpoint, at: SocketAddr, options: &ConnectionOptions) -> bool {
    let options = ListenOptions { accepted: options.clone(), ..ListenOptions::default() };
    endpoint.listen(with_port(at, PORT), options).is_ok()
}

/// Both ends of flow number `number`.
pub(super) fn make(
    sender: &Arc<ConnectionOptions>,
    receiver: &Arc<ConnectionOptions>,
    source: Source,
    config: &FlowConfig,
    (seed, number): (u64, u32),
    addresses: &Addresses,
    log: &LogHandle,
) -> (Box<SourceEnd<TcpSender>>, Box<TcpSink>) {
    let mut listening = endpoint(seed, number, true, true);
    log.borrow_mut().failed |= !listen(&mut listening, addresses.receiver[0], receiver);
    let transport = TcpSender {
        endpoint: endpoint(seed, number, false, true),
        options: Arc::clone(sender),
        local: with_port(addresses.sender[0], PORT),
        remote: with_port(addresses.receiver[0], PORT),
    };
    let source =
        SourceEnd::new(transport, source, config.start, None, log).advised(config.advice.as_ref());
    let sink = TcpSink { endpoint: listening, log: log.clone() };
    (source, Box::new(sink))
}

impl SourceTransport for TcpSender {
    type Id = ConnectionId;

    fn open(&mut self, now: Instant, tell_recovery: bool) -> Option<(ConnectionId, u64)> {
        let options = Arc::clone(&self.options);
        let id = self.endpoint.connect(now, self.local, self.remote, options).ok()?;
        if tell_recovery && let Some(mut own) = self.endpoint.connection_mut(id) {
            own.set_recovery_events(true);
        }
        // Units of a connection are offsets: the SYN has 0.
        Some((id, 1))
    }

    fn send(&mut self, now: Instant, id: ConnectionId, pending: &mut Pending) -> Sent {
        let Some(mut own) = self.endpoint.connection_mut(id) else { return Sent::Failed };
        while pending.taken < pending.message.size {
            let rest = filler(pending.message.size - pending.taken);
            match own.send(now, rest, SendFlags::default()) {
                Ok(0) => return Sent::Full,
                Ok(taken) => pending.taken += taken,
                Err(_) => return Sent::Failed,
            }
        }
        Sent::All
    }

    fn pour(&mut self, now: Instant, id: ConnectionId) -> Option<Sent> {
        let Some(mut own) = self.endpoint.connection_mut(id) else { return Some(Sent::Failed) };
        Some(loop {
            match own.send(now, filler(FILLER.len()), SendFlags::default()) {
                Ok(taken) if taken == FILLER.len() => {}
                Ok(_) => break Sent::Full,
                Err(_) => break Sent::Failed,
            }
        })
    }

    fn poll_notice(&mut self) -> Option<Notice> {
        Some(match self.endpoint.poll_event()?.1 {
            Event::Writable => Notice::Writable,
            Event::Failed(_) | Event::Closed => Notice::Ended,
            _ => Notice::Other,
        })
    }

    fn poll_recovery_event(&mut self, id: ConnectionId) -> Option<(Instant, recovery::Event)> {
        self.endpoint.connection_mut(id)?.poll_recovery_event()
    }

    fn advise(
        &mut self,
        now: Instant,
        id: ConnectionId,
        advice: Advice,
    ) -> Result<(), AdviceError> {
        let own = self.endpoint.connection_mut(id);
        own.map_or(Err(AdviceError::Gone), |mut own| own.advise(now, advice))
    }

    fn view(&self, id: ConnectionId, path: PathId, units: usize) -> Option<PathView> {
        self.endpoint.connection(id)?.path_view(path, units)
    }

    fn warm(&self, depth: usize) {
        self.endpoint.warm(depth);
    }

    /// Ignores the hint, since a connection has no other path.
    fn hint(&mut self, _: Instant, _: ConnectionId, _: PathHint) {}
}

impl TcpSink {
    pub(super) fn warm(&self, depth: usize) {
        self.endpoint.warm(depth);
        if depth == 2 {
            self.log.borrow().warm();
        }
    }

    pub(super) fn after_input(&mut self, now: Instant) {
        let mut log = self.log.borrow_mut();
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Incoming { listener } => drop(self.endpoint.accept(listener)),
                Event::Readable => {
                    let Some(mut own) = self.endpoint.connection_mut(id) else { continue };
                    while let Ok(Received::Data(data)) = own.receive(now, usize::MAX) {
                        log.on_bytes_read(now, data.len());
                    }
                }
                _ => {}
            }
        }
    }
}
