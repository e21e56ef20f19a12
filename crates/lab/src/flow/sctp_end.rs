//! The two ends of a flow over SCTP.

use std::sync::Arc;

use base::{Instant, Machine, Purpose, RandomStream, Transmit};
use bytes::Bytes;
use sctp::{
    AssociationId, AssociationOptions, Endpoint, EndpointOptions, Event, Ppid, SendError,
    SendOptions, StreamId,
};

use super::source::Source;
use super::spans::INITIAL_TSN;
use super::{Addresses, FILLER, LogHandle, PORT, Station};

/// The sending end.
#[derive(Debug)]
pub struct SctpSource {
    pub(super) endpoint: Endpoint,
    log: LogHandle,
    source: Source,
    peer: Vec<core::net::SocketAddr>,
    /// When to set the association up, until then.
    connects_at: Option<Instant>,
    id: Option<AssociationId>,
}

/// The receiving end.
#[derive(Debug)]
pub struct SctpSink {
    pub(super) endpoint: Endpoint,
    pub(super) log: LogHandle,
}

pub(super) fn make(
    sender: &Arc<AssociationOptions>,
    receiver: &Arc<AssociationOptions>,
    source: Source,
    start: Instant,
    (seed, number): (u64, u32),
    addresses: &Addresses,
    log: &LogHandle,
) -> (Station, Station) {
    let endpoint = |options: &AssociationOptions, addresses: &[_], listen: bool| {
        let options = EndpointOptions {
            port: PORT,
            listen,
            accepted: options.clone(),
            // With a single one there is nothing to choose.
            addresses: if addresses.len() > 1 { addresses.to_vec() } else { Vec::new() },
            initial_tsn: Some(INITIAL_TSN),
            max_associations: 1,
            ..EndpointOptions::default()
        };
        let index = u64::from(number) * 2 + u64::from(listen);
        Endpoint::new(options, RandomStream::new(seed, Purpose("endpoint", index)))
    };
    let source = SctpSource {
        endpoint: endpoint(sender, &addresses.sender, false),
        log: log.clone(),
        source,
        peer: addresses.receiver.clone(),
        connects_at: Some(start),
        id: None,
    };
    let sink =
        SctpSink { endpoint: endpoint(receiver, &addresses.receiver, true), log: log.clone() };
    (Station::SctpSource(Box::new(source)), Station::SctpSink(Box::new(sink)))
}

impl SctpSource {
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
        let options = self.endpoint.options().accepted.clone();
        let mut log = self.log.borrow_mut();
        let Ok(id) = self.endpoint.connect(now, self.peer.as_slice(), PORT, options) else {
            log.failed = true;
            return;
        };
        self.id = Some(id);
        if let Some(association) = self.endpoint.association(id) {
            log.on_start(association.first_unit());
        }
        if log.is_detailed() {
            self.endpoint.set_recovery_events(id, true);
        }
    }

    fn send_due(&mut self, now: Instant) {
        let Some(id) = self.id else { return };
        let mut log = self.log.borrow_mut();
        while let Some(pending) = self.source.next(now, |message| log.on_due(message)) {
            let payload =
                Bytes::from_static(&FILLER).slice(..pending.message.size.min(FILLER.len()));
            let (stream, options) = (StreamId(pending.stream), SendOptions::default());
            match self.endpoint.send(now, id, stream, Ppid(0), payload, options) {
                Ok(()) => log.on_accepted(now, pending.message, pending.stream),
                Err(SendError::BufferFull) => return self.source.put_back(pending),
                Err(_) => {
                    log.failed = true;
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

impl SctpSink {
    pub(super) fn after_input(&mut self, now: Instant) {
        let mut log = self.log.borrow_mut();
        while let Some((id, event)) = self.endpoint.poll_event() {
            if event != Event::Readable {
                continue;
            }
            while let Some(message) = self.endpoint.receive(now, id) {
                let unit = u64::from(message.tsn.0.wrapping_sub(INITIAL_TSN.0));
                log.on_message_read(now, unit, message.payload.len());
            }
        }
    }
}
