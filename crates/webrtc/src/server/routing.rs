//! Dispatch of datagrams to peers: by the username fragment of a check, or by the address.

use core::net::SocketAddr;
use std::collections::{BTreeMap, VecDeque};

use super::PeerId;

/// Most addresses of a peer that are remembered.
const ADDRESSES: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Routes {
    by_name: BTreeMap<String, PeerId>,
    by_address: BTreeMap<SocketAddr, PeerId>,
    of_peer: BTreeMap<PeerId, Known>,
}

/// The keys of a peer.
#[derive(Debug, Default)]
struct Known {
    name: String,
    addresses: VecDeque<SocketAddr>,
}

impl Routes {
    pub(super) fn by_name(&self, name: &str) -> Option<PeerId> {
        self.by_name.get(name).copied()
    }

    pub(super) fn by_address(&self, address: SocketAddr) -> Option<PeerId> {
        self.by_address.get(&address).copied()
    }

    pub(super) fn add_name(&mut self, name: String, id: PeerId) {
        self.by_name.insert(name.clone(), id);
        self.of_peer.entry(id).or_default().name = name;
    }

    /// Adds an address of the peer; a peer known there before loses it.
    pub(super) fn add_address(&mut self, address: SocketAddr, id: PeerId) {
        if self.by_address.insert(address, id) == Some(id) {
            return;
        }
        let known = self.of_peer.entry(id).or_default();
        known.addresses.retain(|own| *own != address);
        known.addresses.push_back(address);
        if known.addresses.len() > ADDRESSES
            && let Some(oldest) = known.addresses.pop_front()
            && self.by_address.get(&oldest) == Some(&id)
        {
            self.by_address.remove(&oldest);
        }
    }

    pub(super) fn remove(&mut self, id: PeerId) {
        let Some(known) = self.of_peer.remove(&id) else { return };
        self.by_name.remove(&known.name);
        for address in known.addresses {
            if self.by_address.get(&address) == Some(&id) {
                self.by_address.remove(&address);
            }
        }
    }
}
