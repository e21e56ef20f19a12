//! The two hosts of a comparison: one sends the messages when they are due, the other notes when
//! each is delivered.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use base::{Duration, Holder, Instant, Purpose, RandomStream};
use bytes::Bytes;
use layers::partial_order::{After, Delivery, MessageNumber, PartialOrder, PartialOrderOptions};
use netsim::Host;
use recovery::RecoveryPolicy;
use sctp::{
    AssociationId, AssociationOptions, Endpoint, EndpointOptions, Event, Ppid, SendOptions,
    StreamId,
};

use super::{Arrival, Item, Outcome, Service};

pub(super) const SENDER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 9899);
pub(super) const RECEIVER: SocketAddr =
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 9899);
const PORT: u16 = 9899;

/// One of the two hosts.
#[derive(Debug)]
pub(super) enum Side {
    Sender(Sender),
    Receiver(Receiver),
}

/// Sends messages when they are due.
#[derive(Debug)]
pub(super) struct Sender {
    endpoint: Endpoint,
    options: AssociationOptions,
    association: Option<AssociationId>,
    items: Arc<[Item]>,
    service: Service,
    order: PartialOrder,
    numbers: Vec<MessageNumber>,
    next: usize,
    blocked: bool,
    /// Time at which the association was set up: from then on times count.
    origin: Option<Instant>,
}

/// The receiving side, which notes each delivery and its time.
#[derive(Debug)]
pub(super) struct Receiver {
    endpoint: Endpoint,
    items: Arc<[Item]>,
    service: Service,
    order: PartialOrder,
    delivered: Vec<Option<Duration>>,
    arrivals: Vec<Arrival>,
    left: usize,
    violations: usize,
}

/// Options of both ends: room for all the messages at once.
pub(super) fn options(
    items: &[Item],
    policy: &Arc<RecoveryPolicy>,
    path_mtu: u16,
) -> AssociationOptions {
    let bytes = items.iter().map(|item| item.size + 16).sum::<usize>();
    AssociationOptions {
        policy: Arc::clone(policy),
        send_buffer: bytes.max(1 << 20),
        heartbeat_interval: None,
        path_mtu,
        ..AssociationOptions::default()
    }
}

fn endpoint(listen: bool, accepted: AssociationOptions, seed: u64) -> Endpoint {
    let options = EndpointOptions { port: PORT, listen, accepted, ..EndpointOptions::default() };
    Endpoint::new(options, RandomStream::new(seed, Purpose("side", u64::from(listen))))
}

impl Sender {
    pub(super) fn new(
        items: Arc<[Item]>,
        service: Service,
        options: AssociationOptions,
        seed: u64,
    ) -> Sender {
        Sender {
            endpoint: endpoint(false, options.clone(), seed),
            options,
            association: None,
            items,
            service,
            order: PartialOrder::new(PartialOrderOptions::default()),
            numbers: Vec::new(),
            next: 0,
            blocked: false,
            origin: None,
        }
    }

    /// Time at which the next message is due.
    fn due(&self) -> Option<Instant> {
        if self.blocked {
            return None;
        }
        Some(self.origin? + self.items.get(self.next)?.due)
    }

    fn send_due(&mut self, now: Instant) {
        let Some(id) = self.association else { return };
        while let Some(due) = self.due().filter(|due| *due <= now) {
            let Some(item) = self.items.get(self.next) else { break };
            let mut payload = (self.next as u32).to_be_bytes().to_vec();
            payload.extend_from_slice(&due.as_nanos().to_be_bytes());
            payload.extend_from_slice(&item.content);
            payload.resize(item.size.max(payload.len()), 0);
            let reliability = item.reliability;
            let sent = match self.service {
                Service::PartialOrder => {
                    let after: Vec<_> = item.after.iter().map(|at| self.numbers[*at]).collect();
                    let after = After::These(&after);
                    let options = SendOptions { reliability, ..SendOptions::default() };
                    let number = self.order.send(Ppid(0), &payload, after, options);
                    number.map(|number| self.numbers.push(number)).is_ok()
                }
                _ => {
                    let stream = match self.service {
                        Service::StreamPerObject => StreamId(item.object),
                        _ => StreamId(0),
                    };
                    let unordered = self.service == Service::Unordered;
                    let options = SendOptions { unordered, reliability, ..SendOptions::default() };
                    let payload = Bytes::from(payload);
                    self.endpoint
                        .association_mut(id)
                        .map_or(Err(sctp::SendError::Closed), |mut own| {
                            own.send(now, stream, Ppid(0), payload, options)
                        })
                        .is_ok()
                }
            };
            if !sent {
                // Until the receiver has reported or the association has room.
                self.blocked = true;
                break;
            }
            self.next += 1;
        }
        let endpoint = &mut self.endpoint;
        let _ = self.order.flush(|one| {
            endpoint.association_mut(id).map_or(Err(sctp::SendError::Closed), |mut own| {
                own.send(now, one.stream, one.ppid, one.payload, one.options)
            })
        });
    }

    fn after_input(&mut self, now: Instant) {
        if self.association.is_none() {
            let options = self.options.clone();
            self.association = self.endpoint.connect(now, RECEIVER, PORT, options).ok();
        }
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Established => self.origin = Some(now),
                Event::Readable => {
                    while let Some(message) =
                        self.endpoint.association_mut(id).and_then(|mut own| own.receive(now))
                    {
                        let payload = message.payload.into_bytes();
                        let _ = self.order.handle_message(message.ppid, payload);
                    }
                }
                _ => {}
            }
        }
        self.blocked = false;
        self.send_due(now);
    }
}

impl Receiver {
    pub(super) fn new(
        items: Arc<[Item]>,
        service: Service,
        options: AssociationOptions,
        seed: u64,
    ) -> Receiver {
        Receiver {
            endpoint: endpoint(true, options, seed),
            service,
            order: PartialOrder::new(PartialOrderOptions::default()),
            delivered: vec![None; items.len()],
            arrivals: Vec::new(),
            left: items.len(),
            violations: 0,
            items,
        }
    }

    fn after_input(&mut self, now: Instant, id: AssociationId) {
        while let Some(message) =
            self.endpoint.association_mut(id).and_then(|mut own| own.receive(now))
        {
            let payload = message.payload.into_bytes();
            if self.service != Service::PartialOrder {
                self.deliver(now, payload);
                continue;
            }
            let _ = self.order.handle_message(message.ppid, payload);
            while let Some(Delivery::Message { payload, .. }) = self.order.poll_delivery() {
                self.deliver(now, payload);
            }
            let endpoint = &mut self.endpoint;
            let _ = self.order.flush(|one| {
                endpoint.association_mut(id).map_or(Err(sctp::SendError::Closed), |mut own| {
                    own.send(now, one.stream, one.ppid, one.payload, one.options)
                })
            });
        }
    }

    fn deliver(&mut self, now: Instant, payload: Bytes) {
        let Some((index, due)) = payload.split_first_chunk::<4>() else { return };
        let Some(due) = due.first_chunk() else { return };
        let (index, due) = (u32::from_be_bytes(*index) as usize, u64::from_be_bytes(*due));
        let Some(item) = self.items.get(index) else { return };
        let early = item.after.iter().any(|before| self.delivered[*before].is_none());
        self.violations += usize::from(early);
        let delay = now.since(Instant::from_nanos(due));
        let content =
            payload.slice(Item::HEADER..(Item::HEADER + item.content.len()).min(payload.len()));
        self.arrivals.push(Arrival { item: index, at: item.due + delay, content });
        self.left -= usize::from(self.delivered[index].replace(delay).is_none());
    }
}

impl Side {
    /// Whether the receiver has every message, in which case the run ends.
    pub(super) fn is_done(&self) -> bool {
        matches!(self, Side::Receiver(receiver) if receiver.left == 0)
    }

    pub(super) fn outcome(&self) -> Outcome {
        match self {
            Side::Sender(_) => Outcome::default(),
            Side::Receiver(receiver) => Outcome {
                arrivals: receiver.arrivals.clone(),
                delays: receiver.delivered.iter().flatten().copied().collect(),
                violations: receiver.violations,
            },
        }
    }
}

impl Holder for Side {
    type Held = Endpoint;

    fn held(&self) -> &Endpoint {
        match self {
            Side::Sender(sender) => &sender.endpoint,
            Side::Receiver(receiver) => &receiver.endpoint,
        }
    }

    fn held_mut(&mut self) -> &mut Endpoint {
        match self {
            Side::Sender(sender) => &mut sender.endpoint,
            Side::Receiver(receiver) => &mut receiver.endpoint,
        }
    }
}

impl Host for Side {
    fn poll_wake(&self) -> Option<Instant> {
        match self {
            Side::Sender(sender) => sender.due(),
            Side::Receiver(_) => None,
        }
    }

    fn on_wake(&mut self, now: Instant) {
        if let Side::Sender(sender) = self {
            sender.send_due(now);
        }
    }

    fn after_input(&mut self, now: Instant) {
        match self {
            Side::Sender(sender) => sender.after_input(now),
            Side::Receiver(receiver) => {
                while let Some((id, event)) = receiver.endpoint.poll_event() {
                    if event == Event::Readable {
                        receiver.after_input(now, id);
                    }
                }
            }
        }
    }
}
