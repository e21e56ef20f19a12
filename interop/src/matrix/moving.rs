//! Requirements on the packets of a client that moves from its first address to its second.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use virtual_peers::AddressChange;

use super::exercise::{ASCONF, ASCONF_ACK, AUTH};
use super::paths::Paths;
use super::run::Run;
use crate::agent::Part;
use crate::capture::{Capture, Packet};

const DATA: u8 = 0;

/// A message between the second change and the third.
pub(super) const BEFORE_THE_DELETION: usize = 140;

/// Moves of a client with these addresses: messages before which it does what.
pub(super) fn changes_of(client: [Ipv4Addr; 2]) -> Vec<(usize, AddressChange, Ipv4Addr)> {
    vec![
        (50, AddressChange::Added, client[1]),
        (100, AddressChange::MadePrimary, client[1]),
        (150, AddressChange::Deleted, client[0]),
    ]
}

impl Run {
    /// Whether all that is said of addresses is authenticated, and data goes to the client's
    /// address that is the right one at each point.
    pub(super) fn check_move(&self, paths: &Paths, capture: &Capture) -> Result<()> {
        // In a capture of two paths our side is the client, whatever its part.
        let client_is_first = self.part == Part::Client;
        let [old, new] = if client_is_first { paths.our_addresses } else { paths.their_addresses };
        let packets = capture.packets();
        check_authentication(&packets)?;
        let address = |packet: &Packet| packet.path[usize::from(!client_is_first)];
        let by_server = |packet: &Packet| packet.from_client != client_is_first;
        // The server answers a change once it took note of it.
        // Once: a change that is not answered in time is asked for again, and answered again.
        let answered = |p: &Packet| {
            let at = p.chunk_types.iter().position(|kind| *kind == ASCONF_ACK)?;
            p.chunk_words[at]
        };
        let mut serials = BTreeSet::new();
        let is_first =
            |at: &usize| answered(&packets[*at]).is_some_and(|serial| serials.insert(serial));
        let answers: Vec<usize> = (0..packets.len()).filter(is_first).collect();
        let [added, primary, deleted] = *answers else {
            anyhow::bail!("{} answers to changes of addresses", answers.len())
        };
        // Chunks are counted, not packets: a side that had to wait for its processor bundles what
        // it then sends.
        let data = |from: usize, to: usize| {
            let chunks = |p: &Packet| p.chunk_types.iter().filter(|kind| **kind == DATA).count();
            let packets = packets[from..to].iter().filter(move |p| chunks(p) > 0);
            packets.map(move |p| Data {
                by_server: by_server(p),
                at: address(p),
                chunks: chunks(p),
            })
        };
        ensure!(
            data(0, added).all(|data| data.at == old),
            "data at an address that was never announced"
        );
        // A peer that is not heard in time may use another path meanwhile: the greater part counts.
        for (from, to, expected) in [(added, primary, old), (primary, deleted, new)] {
            let to_client: Vec<_> = data(from, to).filter(|data| data.by_server).collect();
            let there = chunks_of(to_client.iter().filter(|data| data.at == expected));
            ensure!(there > 10, "{there} chunks of data to {expected}: {to_client:?}");
            let all = chunks_of(&to_client);
            ensure!(2 * there > all, "data elsewhere than {expected}: {to_client:?}");
        }
        // What was under way when the server learned it may still go to the old one.
        let last: Vec<_> = data(deleted, packets.len()).skip(2).collect();
        let count = chunks_of(&last);
        ensure!(count > 10, "{count} chunks of data after the deletion: {last:?}");
        ensure!(last.iter().all(|data| data.at == new), "data at a deleted address: {last:?}");
        Ok(())
    }
}

/// A packet with user data.
#[derive(Debug)]
struct Data {
    by_server: bool,
    /// Address of the client in the packet.
    at: Ipv4Addr,
    /// Number of its DATA chunks; 1 or more.
    chunks: usize,
}

fn chunks_of<'a>(data: impl IntoIterator<Item = &'a Data>) -> usize {
    data.into_iter().map(|data| data.chunks).sum()
}

/// RFC 5061, section 4.1: ASCONF and ASCONF ACK stand behind an AUTH chunk.
fn check_authentication(packets: &[Packet]) -> Result<()> {
    for Packet { chunk_types, .. } in packets {
        let about = chunk_types.iter().position(|chunk| [ASCONF, ASCONF_ACK].contains(chunk));
        let auth = chunk_types.iter().position(|chunk| *chunk == AUTH);
        if let Some(about) = about {
            ensure!(auth.is_some_and(|auth| auth < about), "not authenticated: {chunk_types:?}");
        }
    }
    Ok(())
}
