//! Finds the connection or association of a packet, and holds no more of them than it may.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use base::{Duration, Instant};
use hashbrown::HashTable;

use crate::flow::{Direction, Flow};
use crate::packet::{Packet, Protocol, octets};
use crate::way::Way;

/// A closed connection is done with after so long without a packet.
const LINGER: Duration = Duration::from_secs(60);
/// Rows that are looked at for each new one: more than one, so that a table of closed connections
/// shrinks.
const LOOKS: usize = 4;

/// Two ends, in an order that does not depend on the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    low: ([u8; 16], u16, u16),
    high: ([u8; 16], u16, u16),
    protocol: Protocol,
    interface: u32,
}

impl Key {
    fn new(
        (protocol, interface): (Protocol, u32),
        source: SocketAddr,
        destination: SocketAddr,
        udp: Option<(u16, u16)>,
    ) -> Key {
        let (from, to) = udp.unwrap_or_default();
        let one = (octets(source.ip()), source.port(), from);
        let two = (octets(destination.ip()), destination.port(), to);
        Key { low: one.min(two), high: one.max(two), protocol, interface }
    }

    fn of(flow: &Flow) -> Key {
        Key::new((flow.protocol, flow.interface), flow.ends[0], flow.ends[1], flow.udp)
    }

    /// Spreads over 64 bits with rounds of multiplication and shifting (Steele, Lea and Flood,
    /// 2014).
    fn hash(&self) -> u64 {
        let mut hash = u64::from(self.interface) << 8 | self.protocol as u64;
        for (address, port, udp) in [self.low, self.high] {
            let (words, _) = address.as_chunks::<8>();
            for word in words {
                hash = mix(hash ^ u64::from_le_bytes(*word));
            }
            hash = mix(hash ^ (u64::from(port) << 16 | u64::from(udp)));
        }
        hash
    }
}

const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Association of an SCTP packet with this tag: the tag, the port that it goes to, the one that it
/// comes from, and the interface.
type Tag = (u32, u16, u16, u32);

/// The fields of an SCTP packet that name its association.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tags {
    /// Verification tag of the common header, which the receiver chose.
    pub(crate) tag: u32,
    /// The tag that an INIT or INIT ACK asks for, and whether it is INIT.
    pub(crate) initiate: Option<(u32, bool)>,
    /// Whether the packet ends the association.
    pub(crate) is_last: bool,
    /// Interface in the capture file on which the packet was seen.
    pub(crate) interface: u32,
}

/// The connections that are open, and those that were closed a short time ago.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Option<Flow>>,
    free: Vec<usize>,
    /// Rows of open connections, found by the hash of their keys.
    index: HashTable<usize>,
    tags: BTreeMap<Tag, (usize, Way)>,
    /// Tags of each row, for their removal.
    tags_of: BTreeMap<usize, Vec<Tag>>,
    hand: usize,
    numbered: u64,
    most: usize,
}

/// Index of a connection, and the direction of a packet.
pub(crate) type Place = (usize, Way);

impl Table {
    pub(crate) fn new(most: usize) -> Table {
        Table { most: most.max(1), ..Table::default() }
    }

    /// Number of connections in the table, those closed a short time ago among them.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Number of connections seen so far.
    pub(crate) fn numbered(&self) -> u64 {
        self.numbered
    }

    pub(crate) fn get(&mut self, row: usize) -> Option<&mut Flow> {
        self.rows.get_mut(row)?.as_mut()
    }

    /// All connections in the table, by row.
    pub(crate) fn flows(&mut self) -> impl Iterator<Item = &mut Flow> {
        self.rows.iter_mut().flatten()
    }

    /// The connection between two ends.
    pub(crate) fn find(
        &self,
        (protocol, interface): (Protocol, u32),
        source: SocketAddr,
        destination: SocketAddr,
        udp: Option<(u16, u16)>,
    ) -> Option<Place> {
        let key = Key::new((protocol, interface), source, destination, udp);
        let flow = |row: usize| self.rows.get(row).and_then(Option::as_ref);
        let is_it = |row: &usize| flow(*row).is_some_and(|flow| Key::of(flow) == key);
        let row = *self.index.find(key.hash(), is_it)?;
        Some((row, flow(row)?.way_of(source)))
    }

    /// The association of an SCTP packet: by its tag, wherever it comes from, else by its
    /// addresses.
    pub(crate) fn find_association(
        &mut self,
        source: SocketAddr,
        destination: SocketAddr,
        udp: Option<(u16, u16)>,
        tags: Tags,
    ) -> Option<Place> {
        let place = match self.find_by_tag(source, destination, tags) {
            Some(place) => place,
            None => self.find_by_addresses(source, destination, udp, tags)?,
        };
        self.bind(place, source, destination, tags);
        Some(place)
    }

    /// An association has several paths, and they may lead through several interfaces. The same
    /// path on another interface is the same traffic seen twice.
    fn find_by_tag(
        &self,
        source: SocketAddr,
        destination: SocketAddr,
        tags: Tags,
    ) -> Option<Place> {
        if tags.tag == 0 {
            return None;
        }
        let (to, from) = (destination.port(), source.port());
        if let Some(place) = self.tags.get(&(tags.tag, to, from, tags.interface)) {
            return Some(*place);
        }
        let elsewhere = (tags.tag, to, from, 0)..=(tags.tag, to, from, u32::MAX);
        let ends = [source, destination];
        let is_other_path = |(row, _): &&Place| {
            let flow = self.rows.get(*row).and_then(Option::as_ref);
            flow.is_some_and(|flow| !flow.ends.iter().all(|end| ends.contains(end)))
        };
        self.tags.range(elsewhere).map(|(_, place)| place).find(is_other_path).copied()
    }

    fn find_by_addresses(
        &mut self,
        source: SocketAddr,
        destination: SocketAddr,
        udp: Option<(u16, u16)>,
        tags: Tags,
    ) -> Option<Place> {
        let (row, way) = self.find((Protocol::Sctp, tags.interface), source, destination, udp)?;
        // An INIT with another tag, or a packet with another: an association of its own. What ends
        // one may carry the tag of the other direction (RFC 9260, section 8.5.1).
        let is_another = match tags.initiate {
            _ if tags.is_last => false,
            Some((initiate, true)) => self.has_other_tag(row, way.opposite(), initiate),
            _ => tags.tag != 0 && self.has_other_tag(row, way, tags.tag),
        };
        (!is_another).then_some((row, way))
    }

    /// Whether packets of an association that go this way are known to carry another tag than
    /// `value`.
    fn has_other_tag(&self, row: usize, way: Way, value: u32) -> bool {
        let known = self.tags_of.get(&row).into_iter().flatten();
        let same_way = known.filter(|tag| self.tags.get(tag) == Some(&(row, way)));
        let mut is_known = false;
        let mut is_other = false;
        for tag in same_way {
            is_known |= tag.0 == value;
            is_other |= tag.0 != value;
        }
        is_other && !is_known
    }

    /// Remembers the tags by which packets of either direction will be known.
    pub(crate) fn bind(
        &mut self,
        (row, way): Place,
        source: SocketAddr,
        destination: SocketAddr,
        tags: Tags,
    ) {
        /// Tags of an association that are remembered: more come only of restarts.
        const MOST: usize = 8;
        let opposite = way.opposite();
        let interface = tags.interface;
        let there = (tags.tag, destination.port(), source.port(), interface);
        let back = tags.initiate;
        let back = back.map(|(tag, _)| (tag, source.port(), destination.port(), interface));
        let known = self.tags_of.entry(row).or_default();
        for (tag, way) in [(Some(there), way), (back, opposite)] {
            let Some(tag) = tag.filter(|tag| tag.0 != 0) else { continue };
            if known.len() < MOST && !known.contains(&tag) && !self.tags.contains_key(&tag) {
                known.push(tag);
                self.tags.insert(tag, (row, way));
            }
        }
    }

    /// Adds a new connection. Connections that make room for it, or that closed long before, go to
    /// `gone`.
    pub(crate) fn insert(
        &mut self,
        packet: &Packet<'_>,
        (source, destination): (SocketAddr, SocketAddr),
        now: Instant,
        interface: u32,
        mut gone: impl FnMut(Flow),
    ) -> usize {
        self.sweep(now, &mut gone);
        self.numbered += 1;
        let protocol = (packet.protocol, interface);
        let key = Key::new(protocol, source, destination, packet.udp);
        let flow = Flow {
            number: self.numbered,
            protocol: packet.protocol,
            ends: [source, destination],
            udp: packet.udp,
            interface,
            interface_name: None,
            last_seen: now,
            is_closed: false,
            is_whole: false,
            touched: true,
            directions: [Direction::default(), Direction::default()],
        };
        // One that had the same addresses, but was another.
        if let Some((row, _)) = self.find(protocol, source, destination, packet.udp) {
            self.remove(row, &mut gone);
        }
        let row = self.free.pop().unwrap_or(self.rows.len());
        if row >= self.rows.len() {
            self.rows.push(None);
        }
        if let Some(place) = self.rows.get_mut(row) {
            *place = Some(flow);
        }
        let rows = &self.rows;
        let rehash = |row: &usize| {
            rows.get(*row).and_then(Option::as_ref).map_or(0, |flow| Key::of(flow).hash())
        };
        self.index.insert_unique(key.hash(), row, rehash);
        row
    }

    /// Looks at some rows: closed ones go, and if the table is full, one that was not touched for
    /// long.
    fn sweep(&mut self, now: Instant, gone: &mut impl FnMut(Flow)) {
        let mut looks = LOOKS;
        while looks > 0 && !self.rows.is_empty() {
            looks -= 1;
            let row = self.hand % self.rows.len();
            self.hand = row + 1;
            let is_full = self.index.len() >= self.most;
            let Some(flow) = self.get(row) else { continue };
            let is_done = flow.is_closed && now.since(flow.last_seen) >= LINGER;
            let is_idle = is_full && !core::mem::take(&mut flow.touched);
            if is_done || is_idle {
                self.remove(row, gone);
            } else if is_full {
                // Each look takes the mark away: after one round there is one without.
                looks = looks.max(1);
            }
        }
    }

    /// Removes a connection with its key and tags, and hands it to `gone`.
    pub(crate) fn remove(&mut self, row: usize, gone: &mut impl FnMut(Flow)) {
        let Some(flow) = self.rows.get_mut(row).and_then(Option::take) else { return };
        if let Ok(entry) = self.index.find_entry(Key::of(&flow).hash(), |other| *other == row) {
            entry.remove();
        }
        for tag in self.tags_of.remove(&row).into_iter().flatten() {
            self.tags.remove(&tag);
        }
        self.free.push(row);
        gone(flow);
    }

    /// Takes all out, in the order of their numbers.
    pub(crate) fn drain(&mut self) -> Vec<Flow> {
        let mut flows: Vec<Flow> = self.rows.drain(..).flatten().collect();
        flows.sort_unstable_by_key(|flow| flow.number);
        *self = Table { numbered: self.numbered, ..Table::new(self.most) };
        flows
    }
}

#[cfg(test)]
mod tests;
