//! DATA on several paths at once: what left on one path goes on others too, under the same TSNs. A thin
//! stream so survives the death of a path without a gap, at the price of its bytes.
//!
//! A copy is accounted for apart from the data: it is in no path's flight, it leaves only while flight and
//! copies outstanding fit the path's congestion window, and it gives no round-trip time (Karn), so that
//! heartbeats measure the paths.

use base::{Ecn, Transmit};
use smallvec::SmallVec;

use crate::association::Association;
use crate::paths::addresses::PATHS_MAX;
use crate::paths::switchover::{Redundancy, RedundantWhen};
use crate::wire::{CommonHeader, PacketBuilder};

/// A packet of copies that waits to be sent.
#[derive(Debug)]
pub(crate) struct WaitingCopies {
    path: u8,
    units: SmallVec<[u64; 4]>,
}

impl Association {
    /// Whether DATA may go on several paths at once.
    pub(crate) fn is_redundant(&self) -> bool {
        self.paths.len() > 1 && self.options.switchover.redundancy.when != RedundantWhen::Never
    }

    /// A packet with DATA has just left on `path`: the same is to go on others.
    pub(crate) fn plan_copies(&mut self, path: u8) {
        if !self.is_redundant() {
            return;
        }
        let Redundancy { when, paths } = self.options.switchover.redundancy;
        if when == RedundantWhen::WhileThin && !self.tx.recovery.is_thin(path) {
            return;
        }
        let mut others: SmallVec<[u8; PATHS_MAX]> = (0..self.paths.len() as u8)
            .filter(|other| *other != path && self.paths[usize::from(*other)].is_usable())
            .collect();
        // The data path first, where what left is a retransmission on another one.
        others.sort_by_key(|other| (*other != self.data_path, self.tx.recovery.srtt(*other)));
        others.truncate(usize::from(paths.saturating_sub(1)));
        let units: SmallVec<[u64; 4]> = self.tx.recovery.ledger().units_of_last_packet().collect();
        let waiting = self.copies.get_or_insert_default();
        for other in others {
            waiting.push(WaitingCopies { path: other, units: units.clone() });
        }
    }

    /// Output: appends the next packet of copies to `buffer`.
    pub(crate) fn poll_copies(&mut self, buffer: &mut Vec<u8>) -> Option<Transmit> {
        while let Some(WaitingCopies { path, units }) = self.copies.as_mut()?.pop() {
            let header = CommonHeader {
                source_port: self.local_port,
                destination_port: self.peer_port,
                verification_tag: self.peer_tag,
            };
            let mut packet =
                PacketBuilder::start(buffer, header, self.max_packet()).signed(self.signer());
            for unit in units {
                if !self.tx.append_copy(path, unit, &mut packet) {
                    break;
                }
            }
            if packet.is_empty() {
                packet.discard();
                continue;
            }
            let size = self.finish_packet(packet, true);
            let state = &mut self.paths[usize::from(path)];
            state.counters.copies_sent = state.counters.copies_sent.saturating_add(1);
            let (local, remote, dont_fragment) = (state.local, state.remote, state.discovers_mtu());
            let local = self.source_of(local, false);
            return Some(Transmit { local, remote, ecn: Ecn::NotEct, dont_fragment, size });
        }
        self.copies = None;
        None
    }
}
