//! State that the shards of an endpoint share. Each shard has associations of its own, with its
//! sockets, its lock and its driver; the system leads a packet to the shard that its verification
//! tag names, or by a hash of addresses.
//!
//! A packet at a wrong shard is nevertheless handed to the right one by its mailbox. A packet
//! without a tag belongs to the *home* of its sender, a shard that a keyed hash of IP address and
//! port chooses, so that two INITs of one peer meet. Peers at other shards than their homes are
//! *detours*: further addresses of a peer, and clients that have moved.
//!
//! Records of DTLS show no tag. They belong to the shard to which the system leads their sender's
//! address, where the session is; a record for which there is none goes from shard to shard until
//! one knows it, which is a detour from then on. A session migrates to the shard that the tag of a
//! packet in it names: a client with several addresses has several sessions.

mod census;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::{Datagram, DatagramMeta, HashKey, RandomStream};
use io::{HandOverStatistics, Mailboxes};
use secure::Migrant;
use tokio::sync::Notify;

pub(crate) use self::census::Commons;

/// A peer: its IP address, and its UDP port where packets are encrypted, else its SCTP port.
pub(crate) type Whom = (IpAddr, u16);

/// Way by which a datagram came to the mailbox of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leg {
    /// The packet's tag names the shard, which knows best whether there is such a tag.
    ByTag,
    /// The address of its sender names the shard, which should have its session.
    ByAddress,
    /// Some shard may have its session; the number of shards that are still to be asked, this one
    /// included.
    Search(usize),
    /// No other shard is left to ask.
    Last,
}

/// Message of a shard to another.
#[derive(Debug)]
pub(crate) enum Parcel {
    /// A datagram as the socket received it.
    Datagram { meta: DatagramMeta, datagram: Datagram, leg: Leg },
    /// An SCTP packet that came in a session, and the session if it migrates with it.
    Opened { meta: DatagramMeta, packet: Datagram, session: Option<Migrant> },
}

impl Parcel {
    /// Parcels in a mailbox up to which this one may join them. Anybody can send datagrams that
    /// have to be sought, so that these leave half of it free.
    fn most(&self) -> usize {
        match self {
            Parcel::Datagram { leg: Leg::Search(_), .. } => Mailboxes::<Parcel>::MOST / 2,
            _ => Mailboxes::<Parcel>::MOST,
        }
    }
}

/// State that the shards of an endpoint share, except for the limits, which are in [`Commons`].
#[derive(Debug)]
pub(crate) struct Shards {
    mailboxes: Mailboxes<Parcel>,
    key: HashKey,
    /// Whether the first shard receives for all.
    one_receives: bool,
    detours: Mutex<BTreeMap<Whom, usize>>,
    /// Detours, to be read without the lock.
    detour_count: AtomicUsize,
}

impl Shards {
    /// `count` shards, of which each receives what the system leads to it, or the first for all.
    pub(crate) fn new(
        count: NonZeroUsize,
        one_receives: bool,
        random: &mut RandomStream,
    ) -> Arc<Shards> {
        Arc::new(Shards {
            mailboxes: Mailboxes::new(count.get()),
            key: HashKey::draw(random),
            one_receives,
            detours: Mutex::default(),
            detour_count: AtomicUsize::new(0),
        })
    }

    /// Number of shards of the endpoint.
    pub(crate) fn len(&self) -> usize {
        self.mailboxes.count()
    }

    /// Wakes the driver of a shard.
    pub(crate) fn wake(&self, shard: usize) -> Arc<Notify> {
        self.mailboxes.wake(shard)
    }

    /// The shard of a peer, unless it made a detour.
    pub(crate) fn home(&self, (ip, port): Whom) -> usize {
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        let hash = self.key.hash_addresses(SocketAddr::new(ip, port), nowhere, 0);
        (hash % self.mailboxes.count() as u64) as usize
    }

    /// The shard of a peer with whom there may be a session, unless it made a detour, where `shard`
    /// has received from it.
    pub(crate) fn of_sealed(&self, whom: Whom, shard: usize) -> usize {
        if self.one_receives { self.home(whom) } else { shard }
    }

    /// The shard of a peer that made a detour.
    pub(crate) fn detour(&self, whom: Whom) -> Option<usize> {
        match self.detour_count.load(Ordering::Acquire) {
            0 => None,
            _ => self.detours().get(&whom).copied(),
        }
    }

    /// Leads packets of this peer to `shard` from now on.
    pub(crate) fn add_detour(&self, whom: Whom, shard: usize) {
        let mut detours = self.detours();
        detours.insert(whom, shard);
        self.detour_count.store(detours.len(), Ordering::Release);
    }

    /// This peer is no longer at `shard`.
    pub(crate) fn remove_detour(&self, whom: Whom, shard: usize) {
        let mut detours = self.detours();
        if detours.get(&whom) == Some(&shard) {
            detours.remove(&whom);
            self.detour_count.store(detours.len(), Ordering::Release);
        }
    }

    fn detours(&self) -> MutexGuard<'_, BTreeMap<Whom, usize>> {
        self.detours.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a parcel to a shard.
    pub(crate) fn post(&self, shard: usize, parcel: Parcel) {
        self.mailboxes.post_below(shard, parcel.most(), parcel);
    }

    /// The next parcel for a shard.
    pub(crate) fn collect(&self, shard: usize) -> Option<Parcel> {
        self.mailboxes.collect(shard)
    }

    /// Datagrams handed over so far.
    pub(crate) fn statistics(&self) -> HandOverStatistics {
        self.mailboxes.statistics()
    }
}

#[cfg(test)]
mod tests;
