//! Oracles: senders that know what the network lost. What they reach is a bound for all who do not
//! send more than they do.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::rc::Rc;

use base::{DatagramMeta, Duration, Icmp, Instant, Machine, Transmit, TransmitBuffer};
use bytes::Bytes;
use lab::peers::mark::{Mark, marks_in};
use lab::peers::{Pair, PeerEnd, Place, RoundTrips};
use netsim::checker::DropCause;
use netsim::{Checker, HostId, Packet};

use crate::datagram::transmit;

/// Time after which a message that the network still holds is looked at again.
const LOOK: Duration = Duration::from_millis(1);

/// State of messages that have not arrived, by index.
type Fates = Rc<RefCell<BTreeMap<u64, Fate>>>;

/// A message that was sent.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    /// Copies of it in the network.
    copies: u32,
    arrived: bool,
}

/// Both ends, and the watcher that tells the sender what became of its packets. An oracle repairs
/// each loss one round trip after the packet left; one that `bundles` by its next message, too, if
/// that comes sooner.
pub(crate) fn pair(place: &Place, bundles: bool) -> Pair {
    let fates = Fates::default();
    let watcher = Watcher { sender: place.sender, fates: Rc::clone(&fates) };
    let sender = Sender {
        remote: place.receiver,
        round_trips: place.round_trips.clone(),
        bundles,
        fates,
        open: BTreeMap::new(),
        packets: VecDeque::new(),
    };
    let receiver = Box::new(Receiver::default());
    Pair { sender: Box::new(sender), receiver, watcher: Some(Box::new(watcher)) }
}

/// Sees what becomes of the sender's packets.
struct Watcher {
    sender: SocketAddr,
    fates: Fates,
}

impl Watcher {
    fn see(&self, packet: &Packet, change: impl Fn(&mut Fate)) {
        if packet.datagram.source.ip() != self.sender.ip() {
            return;
        }
        let mut fates = self.fates.borrow_mut();
        for (_, mark) in marks_in(&packet.datagram.payload) {
            fates.get_mut(&mark.index).into_iter().for_each(&change);
        }
    }
}

impl Checker for Watcher {
    fn on_sent(&mut self, _: Instant, packet: &Packet) {
        self.see(packet, |fate| fate.copies += 1);
    }

    fn on_dropped(&mut self, _: Instant, packet: &Packet, _: DropCause) {
        self.see(packet, |fate| fate.copies = fate.copies.saturating_sub(1));
    }

    fn on_delivered(&mut self, _: Instant, packet: &Packet, _: HostId) {
        self.see(packet, |fate| {
            fate.copies = fate.copies.saturating_sub(1);
            fate.arrived = true;
        });
    }
}

struct Sender {
    remote: SocketAddr,
    round_trips: RoundTrips,
    bundles: bool,
    fates: Fates,
    /// Messages that may still be lost, with when to look after them.
    open: BTreeMap<u64, (Instant, Bytes)>,
    packets: VecDeque<Vec<u8>>,
}

impl Sender {
    fn forget_arrived(&mut self) {
        let mut fates = self.fates.borrow_mut();
        fates.retain(|_, fate| !fate.arrived);
        self.open.retain(|index, _| fates.contains_key(index));
    }

    fn is_lost(&self, index: u64) -> bool {
        self.fates.borrow().get(&index).is_some_and(|fate| fate.copies == 0 && !fate.arrived)
    }

    /// Puts messages into a packet, one behind the other.
    fn transmit(&mut self, now: Instant, messages: &[(u64, Bytes)]) {
        let mut packet = Vec::new();
        let look = now + self.round_trips.at(now);
        for (index, message) in messages {
            packet.extend_from_slice(message);
            self.open.insert(*index, (look, message.clone()));
            self.fates.borrow_mut().entry(*index).or_default();
        }
        self.packets.push_back(packet);
    }

    /// Messages of which nothing is left in the network.
    fn lost(&self, open: impl Fn(&Instant) -> bool) -> Vec<(u64, Bytes)> {
        let all = self.open.iter().filter(|(index, (at, _))| open(at) && self.is_lost(**index));
        all.map(|(index, (_, message))| (*index, message.clone())).collect()
    }
}

impl Machine for Sender {
    fn handle_datagram(&mut self, _: Instant, _: DatagramMeta, _: base::Datagram) {}

    fn handle_icmp(&mut self, _: Instant, _: Icmp<'_>) {}

    fn handle_timeout(&mut self, now: Instant) {
        self.forget_arrived();
        let lost = self.lost(|at| *at <= now);
        // The other messages are late, not lost.
        for (at, _) in self.open.values_mut().filter(|(at, _)| *at <= now) {
            *at = now + LOOK;
        }
        for message in lost {
            self.transmit(now, &[message]);
        }
    }

    fn poll_transmit(&mut self, _: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        Some(transmit(self.remote, &self.packets.pop_front()?, buffer))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.open.values().map(|(at, _)| *at).min()
    }
}

impl PeerEnd for Sender {
    fn connect(&mut self, _: Instant) {}

    fn send(&mut self, now: Instant, message: Bytes) {
        let Some(mark) = Mark::read(&message) else { return };
        let mut messages = Vec::new();
        if self.bundles {
            self.forget_arrived();
            messages = self.lost(|_| true);
        }
        messages.push((mark.index, message));
        self.transmit(now, &messages);
    }

    fn receive(&mut self, _: Instant) -> Option<Bytes> {
        None
    }
}

/// Receiver of the oracle: puts messages in order by their numbers.
#[derive(Default)]
struct Receiver {
    next: u64,
    /// Messages that wait behind a hole, by number.
    waiting: BTreeMap<u64, Bytes>,
}

impl Machine for Receiver {
    fn handle_datagram(&mut self, _: Instant, _: DatagramMeta, datagram: base::Datagram) {
        let packet = datagram.into_bytes();
        for (place, mark) in marks_in(&packet) {
            let end = place.saturating_add(mark.size);
            if mark.index >= self.next && end <= packet.len() {
                self.waiting.insert(mark.index, packet.slice(place..end));
            }
        }
    }

    fn handle_icmp(&mut self, _: Instant, _: Icmp<'_>) {}

    fn handle_timeout(&mut self, _: Instant) {}

    fn poll_transmit(&mut self, _: Instant, _: &mut dyn TransmitBuffer) -> Option<Transmit> {
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

impl PeerEnd for Receiver {
    fn connect(&mut self, _: Instant) {}

    fn send(&mut self, _: Instant, _: Bytes) {}

    fn receive(&mut self, _: Instant) -> Option<Bytes> {
        let message = self.waiting.remove(&self.next)?;
        self.next += 1;
        Some(message)
    }
}
