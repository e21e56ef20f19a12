//! Transfers, each over a separate TCP connection: web clients as background traffic.
//!
//! The side that has the data opens the connection, sends and closes. The request of a real client,
//! one small segment in the other direction, is not simulated.

use core::net::SocketAddr;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use base::Instant;
use netsim::AddressedDatagram;
use tcp::{ConnectionError, ConnectionId, ConnectionOptions, Endpoint, Event, Received, SendFlags};

use super::config::{Addresses, PORT, TransferPlan};
use super::filler::filler;
use super::log::LogHandle;
use super::tcp_end::{endpoint, listen, with_port};
use crate::peers::IP_HEADER;
use crate::workload::{DueMessage, Workload, WorkloadError};

/// The request that a connection answers, by the port from which it was opened.
type Requests = Rc<RefCell<BTreeMap<u16, DueMessage>>>;

/// The side that has the data.
#[derive(Debug)]
pub struct TransferSource {
    pub(super) endpoint: Endpoint,
    log: LogHandle,
    workload: Workload,
    at_once: usize,
    options: Arc<ConnectionOptions>,
    local: SocketAddr,
    remote: SocketAddr,
    /// Bytes that each connection has yet to accept.
    open: BTreeMap<ConnectionId, usize>,
    requests: Requests,
}

/// The client, which requests transfers and receives them.
#[derive(Debug)]
pub struct TransferSink {
    pub(super) endpoint: Endpoint,
    log: LogHandle,
    requests: Requests,
}

/// Both ends of flow number `number`.
///
/// # Errors
/// When the values of the workload contradict each other.
pub(super) fn make(
    sender: &Arc<ConnectionOptions>,
    receiver: &Arc<ConnectionOptions>,
    plan: &TransferPlan,
    start: Instant,
    (seed, number): (u64, u32),
    addresses: &Addresses,
    log: &LogHandle,
) -> Result<(Box<TransferSource>, Box<TransferSink>), WorkloadError> {
    let mut listening = endpoint(seed, number, true, false);
    log.borrow_mut().failed |= !listen(&mut listening, addresses.receiver[0], receiver);
    let requests = Requests::default();
    let source = TransferSource {
        endpoint: endpoint(seed, number, false, false),
        log: log.clone(),
        workload: Workload::new(plan.workload, seed, u64::from(number), start)?,
        at_once: if plan.at_once == 0 { usize::MAX } else { plan.at_once },
        options: Arc::clone(sender),
        local: with_port(addresses.sender[0], 0),
        remote: with_port(addresses.receiver[0], PORT),
        open: BTreeMap::new(),
        requests: requests.clone(),
    };
    let sink = TransferSink { endpoint: listening, log: log.clone(), requests };
    Ok((Box::new(source), Box::new(sink)))
}

impl TransferSource {
    pub(super) fn on_transmitted(&mut self, now: Instant, datagram: &AddressedDatagram) {
        self.log.borrow_mut().meter.on_sent(now, datagram.payload_size() + IP_HEADER);
    }

    pub(super) fn poll_wake(&self) -> Option<Instant> {
        self.workload.poll_timeout().filter(|_| self.open.len() < self.at_once)
    }

    pub(super) fn on_wake(&mut self, now: Instant) {
        self.serve(now);
    }

    /// Opens a connection for each request that is due.
    fn serve(&mut self, now: Instant) {
        while self.open.len() < self.at_once
            && let Some(message) = self.workload.poll_message(now)
        {
            self.log.borrow_mut().on_due(&message);
            let options = Arc::clone(&self.options);
            let Ok(id) = self.endpoint.connect(now, self.local, self.remote, options) else {
                continue;
            };
            if let Some(connection) = self.endpoint.connection(id) {
                self.requests.borrow_mut().insert(connection.local().port(), message);
            }
            self.open.insert(id, message.size);
            self.feed(now, id);
        }
    }

    /// Fills a connection's send buffer, and closes the connection after the last byte.
    fn feed(&mut self, now: Instant, id: ConnectionId) {
        let Some(left) = self.open.get_mut(&id) else { return };
        if *left == 0 {
            return;
        }
        let Some(mut own) = self.endpoint.connection_mut(id) else { return };
        while *left > 0 {
            match own.send(now, filler(*left), SendFlags::default()) {
                Ok(0) => return,
                Ok(taken) => *left -= taken,
                // An event reports its end.
                Err(_) => return,
            }
        }
        own.shutdown_write(now);
    }

    pub(super) fn after_input(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Writable => self.feed(now, id),
                Event::Failed(_) | Event::Closed => {
                    self.open.remove(&id);
                    self.endpoint.release(now, id);
                }
                _ => {}
            }
        }
        self.serve(now);
    }
}

impl TransferSink {
    pub(super) fn after_input(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Incoming { listener } => drop(self.endpoint.accept(listener)),
                Event::Readable => self.read(now, id),
                Event::Closed | Event::Failed(_) => self.end(now, id, false),
                _ => {}
            }
        }
    }

    fn read(&mut self, now: Instant, id: ConnectionId) {
        let Some(mut own) = self.endpoint.connection_mut(id) else { return };
        let complete = loop {
            match own.receive(now, usize::MAX) {
                Ok(Received::Data(data)) => {
                    self.log.borrow_mut().on_bytes_read(now, data.len());
                }
                Ok(Received::Nothing) | Err(ConnectionError::Closed) => return,
                Ok(Received::Finished) => break true,
                Err(ConnectionError::Failed(_)) => break false,
            }
        };
        drop(own);
        self.end(now, id, complete);
    }

    fn end(&mut self, now: Instant, id: ConnectionId, complete: bool) {
        let port = self.endpoint.connection(id).map(|connection| connection.remote().port());
        if let Some(request) = port.and_then(|port| self.requests.borrow_mut().remove(&port))
            && complete
        {
            self.log.borrow_mut().on_transfer(now, &request);
        }
        self.endpoint.release(now, id);
    }
}
