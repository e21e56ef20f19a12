//! The two ends of a flow over TCP.

use core::net::SocketAddr;
use std::sync::Arc;

use base::{Instant, Machine, Purpose, RandomStream, Transmit};
use bytes::Bytes;
use tcp::{
    ConnectionId, ConnectionOptions, Endpoint, EndpointOptions, Event, ListenOptions, Received,
    SendFlags,
};

use super::source::Source;
use super::spans::INITIAL_SEQUENCE;
use super::{Addresses, FILLER, LogHandle, PORT, Station};

/// The sending end.
#[derive(Debug)]
pub struct TcpSource {
    pub(super) endpoint: Endpoint,
    log: LogHandle,
    source: Source,
    options: Arc<ConnectionOptions>,
    local: SocketAddr,
    remote: SocketAddr,
    /// When to open the connection, until then.
    connects_at: Option<Instant>,
    id: Option<ConnectionId>,
}

/// The receiving end.
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

/// The address with a port.
pub(super) fn with_port(address: SocketAddr, port: u16) -> SocketAddr {
    SocketAddr::new(address.ip(), port)
}

/// Listens with these options.
pub(super) fn listen(endpoint: &mut Endpoint, at: SocketAddr, options: &ConnectionOptions) -> bool {
    let options = ListenOptions { accepted: options.clone(), ..ListenOptions::default() };
    endpoint.listen(with_port(at, PORT), options).is_ok()
}

/// Bytes of `size` that mean nothing.
pub(super) fn filler(size: usize) -> Bytes {
    Bytes::from_static(&FILLER).slice(..size.min(FILLER.len()))
}

pub(super) fn make(
    sender: &Arc<ConnectionOptions>,
    receiver: &Arc<ConnectionOptions>,
    source: Source,
    start: Instant,
    (seed, number): (u64, u32),
    addresses: &Addresses,
    log: &LogHandle,
) -> (Station, Station) {
    let mut listening = endpoint(seed, number, true, true);
    log.borrow_mut().failed |= !listen(&mut listening, addresses.receiver[0], receiver);
    let source = TcpSource {
        endpoint: endpoint(seed, number, false, true),
        log: log.clone(),
        source,
        options: Arc::clone(sender),
        local: with_port(addresses.sender[0], PORT),
        remote: with_port(addresses.receiver[0], PORT),
        connects_at: Some(start),
        id: None,
    };
    let sink = TcpSink { endpoint: listening, log: log.clone() };
    (Station::TcpSource(Box::new(source)), Station::TcpSink(Box::new(sink)))
}

impl TcpSource {
    pub(super) fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let before = buffer.len();
        let transmit = self.endpoint.poll_transmit(now, buffer)?;
        self.take_recovery_events();
        let headers = if transmit.remote.is_ipv4() { 20 } else { 40 };
        self.log.borrow_mut().on_sent(now, &buffer[before..], headers);
        Some(transmit)
    }

    pub(super) fn poll_wake(&self) -> Option<Instant> {
        self.connects_at.or_else(|| self.id.and_then(|_| self.source.poll_timeout()))
    }

    pub(super) fn on_wake(&mut self, now: Instant) {
        if self.connects_at.take_if(|at| *at <= now).is_some() {
            self.connect(now);
        }
        self.send_due(now);
    }

    fn connect(&mut self, now: Instant) {
        let options = (*self.options).clone();
        let mut log = self.log.borrow_mut();
        let Ok(id) = self.endpoint.connect(now, self.local, self.remote, options) else {
            log.failed = true;
            return;
        };
        self.id = Some(id);
        // Units of a connection are offsets: the SYN has 0.
        log.on_start(1);
        if log.is_detailed() {
            self.endpoint.set_recovery_events(id, true);
        }
    }

    fn send_due(&mut self, now: Instant) {
        let Some(id) = self.id else { return };
        if self.source.pours {
            return self.pour(now, id);
        }
        let mut log = self.log.borrow_mut();
        while let Some(mut pending) = self.source.next(now, |message| log.on_due(message)) {
            let rest = pending.message.size - pending.taken;
            match self.endpoint.send(now, id, filler(rest), SendFlags::default()) {
                Ok(0) => return self.source.put_back(pending),
                Ok(taken) => pending.taken += taken,
                Err(_) => {
                    log.failed = true;
                    self.id = None;
                    return;
                }
            }
            if pending.taken < pending.message.size {
                self.source.put_back(pending);
                continue;
            }
            log.on_accepted(now, pending.message, 0);
        }
    }

    /// Fills the send buffer.
    fn pour(&mut self, now: Instant, id: ConnectionId) {
        while now < self.source.until {
            match self.endpoint.send(now, id, Bytes::from_static(&FILLER), SendFlags::default()) {
                Ok(taken) if taken == FILLER.len() => {}
                Ok(_) => return,
                Err(_) => {
                    self.log.borrow_mut().failed = true;
                    self.id = None;
                    return;
                }
            }
        }
    }

    pub(super) fn after_input(&mut self, now: Instant) {
        let mut writable = false;
        while let Some((_, event)) = self.endpoint.poll_event() {
            match event {
                Event::Writable => writable = true,
                Event::Failed(_) | Event::Closed => {
                    self.log.borrow_mut().failed = true;
                    self.id = None;
                }
                _ => {}
            }
        }
        if writable {
            self.send_due(now);
        }
        self.take_recovery_events();
    }

    fn take_recovery_events(&mut self) {
        let Some(id) = self.id else { return };
        let mut log = self.log.borrow_mut();
        if log.is_detailed() {
            while let Some(event) = self.endpoint.poll_recovery_event(id) {
                log.on_recovery_event(&event);
            }
        }
    }
}

impl TcpSink {
    pub(super) fn after_input(&mut self, now: Instant) {
        let mut log = self.log.borrow_mut();
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Incoming { listener } => drop(self.endpoint.accept(listener)),
                Event::Readable => {
                    while let Ok(Received::Data(data)) = self.endpoint.receive(now, id, usize::MAX)
                    {
                        log.on_bytes_read(now, data.len());
                    }
                }
                _ => {}
            }
        }
    }
}
