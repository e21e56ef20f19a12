//! ENet, as the crate `rusty_enet` has it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;

use base::{Datagram, DatagramMeta, Duration, Icmp, Instant, Machine, Transmit, TransmitBuffer};
use bytes::Bytes;
use rusty_enet::{EventNoRef, Host, HostSettings, MTU_MAX, Packet, PacketReceived, PeerID, Socket};

use lab::peers::PeerEnd;

use crate::datagram::transmit;
use crate::ends::Side;

/// Interval at which an application that draws sixty pictures a second serves its host.
const FRAME: Duration = Duration::from_micros(16_667);
/// Interval at which one that does nothing else does.
const OFTEN: Duration = Duration::from_millis(1);

/// Datagrams on their way in and out.
#[derive(Clone, Default)]
struct Wire(Rc<Queues>);

#[derive(Default)]
struct Queues {
    inbound: RefCell<VecDeque<(SocketAddr, Bytes)>>,
    outbound: RefCell<VecDeque<Vec<u8>>>,
}

impl Socket for Wire {
    type Address = SocketAddr;
    type Error = Infallible;

    fn send(&mut self, _: SocketAddr, buffer: &[u8]) -> Result<usize, Infallible> {
        self.0.outbound.borrow_mut().push_back(buffer.to_vec());
        Ok(buffer.len())
    }

    fn receive(
        &mut self,
        buffer: &mut [u8; MTU_MAX],
    ) -> Result<Option<(SocketAddr, PacketReceived)>, Infallible> {
        let Some((from, datagram)) = self.0.inbound.borrow_mut().pop_front() else {
            return Ok(None);
        };
        let Some(place) = buffer.get_mut(..datagram.len()) else {
            return Ok(Some((from, PacketReceived::Partial)));
        };
        place.copy_from_slice(&datagram);
        Ok(Some((from, PacketReceived::Complete(datagram.len()))))
    }
}

/// One end of a connection with a channel.
pub(crate) struct EnetEnd {
    host: Host<Wire>,
    wire: Wire,
    clock: Rc<Cell<u64>>,
    side: Side,
    peer: Option<PeerID>,
    /// Messages that wait for the connection.
    unsent: VecDeque<Bytes>,
    failed: bool,
    messages: VecDeque<Bytes>,
    period: Duration,
    flushes: bool,
    due: Instant,
}

impl EnetEnd {
    /// Served sixty times a second; or, `tuned`, each millisecond, when a datagram arrives, and
    /// with a flush after each message. Nothing else that bears on reliable packets can be set.
    pub(crate) fn new(side: Side, tuned: bool) -> Option<EnetEnd> {
        let (wire, clock) = (Wire::default(), Rc::new(Cell::new(0)));
        let time = Rc::clone(&clock);
        let settings = HostSettings {
            peer_limit: 1,
            channel_limit: 1,
            time: Box::new(move || std::time::Duration::from_nanos(time.get())),
            seed: Some(side.seed as u32 ^ u32::from(side.server)),
            ..HostSettings::default()
        };
        Some(EnetEnd {
            host: Host::new(wire.clone(), settings).ok()?,
            wire,
            clock,
            side,
            peer: None,
            unsent: VecDeque::new(),
            failed: false,
            messages: VecDeque::new(),
            period: if tuned { OFTEN } else { FRAME },
            flushes: tuned,
            due: Instant::ZERO,
        })
    }

    fn write(&mut self) {
        let Some(peer) = self.peer else { return };
        while let Some(message) = self.unsent.pop_front() {
            let packet = Packet::reliable(&message[..]);
            self.failed |= self.host.peer_mut(peer).send(0, &packet).is_err();
        }
        if self.flushes {
            self.host.flush();
        }
    }

    fn serve(&mut self, now: Instant) {
        self.clock.set(now.as_nanos());
        while let Ok(Some(event)) = self.host.service() {
            match event.no_ref() {
                EventNoRef::Connect { peer, .. } => self.peer = Some(peer),
                EventNoRef::Disconnect { .. } => (self.peer, self.failed) = (None, true),
                EventNoRef::Receive { packet, .. } => {
                    self.messages.push_back(Bytes::copy_from_slice(packet.data()));
                }
            }
        }
        self.write();
        self.due = now + self.period;
    }
}

impl Machine for EnetEnd {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Datagram) {
        self.wire.0.inbound.borrow_mut().push_back((meta.remote, datagram.into_bytes()));
        if self.flushes {
            self.serve(now);
        }
    }

    fn handle_icmp(&mut self, _: Instant, _: Icmp<'_>) {}

    fn handle_timeout(&mut self, now: Instant) {
        if now >= self.due {
            self.serve(now);
        }
    }

    fn poll_transmit(&mut self, _: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        let datagram = self.wire.0.outbound.borrow_mut().pop_front()?;
        Some(transmit(self.side.remote, &datagram, buffer))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.due)
    }
}

impl PeerEnd for EnetEnd {
    fn connect(&mut self, now: Instant) {
        self.clock.set(now.as_nanos());
        // Its event reports success; without it messages are refused.
        let _ = self.host.connect(self.side.remote, 1, 0);
        self.serve(now);
    }

    fn send(&mut self, now: Instant, message: Bytes) {
        self.clock.set(now.as_nanos());
        self.unsent.push_back(message);
        self.write();
    }

    fn receive(&mut self, _: Instant) -> Option<Bytes> {
        self.messages.pop_front()
    }

    fn has_failed(&self) -> bool {
        self.failed
    }
}
