//! Packets on the guest's loopback, and losses there.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use pcap_file::pcapng::{Block, PcapNgReader};

/// A packet that left one end of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Time of the departure, from the first of all.
    pub at: Duration,
    /// The IP packet (of IPv4, without options), its checksum of SCTP or TCP cleared.
    pub packet: Vec<u8>,
    /// Whether it never arrived at the other end.
    pub lost: bool,
}

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// Time by which a packet may arrive before it is due, and after: sooner than it would be sent
/// again.
const EARLY: Duration = Duration::from_millis(5);
const LATE: Duration = Duration::from_millis(150);

/// Matches departures (the capture's first interface) with arrivals `delay` later (the second), in
/// hexadecimal digits with any space between them.
pub(super) fn parse(hexadecimal: &str, delay: Duration) -> Result<Vec<Crossing>> {
    let capture = bytes(hexadecimal).context("the guest's capture is no hexadecimal number")?;
    let mut reader = PcapNgReader::new(&capture[..]).context("the guest's capture")?;
    let (mut sent, mut arrived) = (vec![], vec![]);
    while let Some(block) = reader.next_block() {
        // The guest may have been stopped within a packet.
        let Ok(Block::EnhancedPacket(block)) = block else { continue };
        let mut packet = block.data.get(ETHERNET..).unwrap_or_default().to_vec();
        clear_checksum(&mut packet);
        // Of IPv4 alone: a new device looks around by itself.
        if packet.first().is_some_and(|first| first >> 4 == 4) {
            let interface = if block.interface_id == 0 { &mut sent } else { &mut arrived };
            interface.push((block.timestamp, packet));
        }
    }
    sent.sort();
    arrived.sort();
    let start = sent.first().context("nothing left")?.0;
    let mut crossings = Vec::with_capacity(sent.len());
    for (at, packet) in sent {
        let due = at + delay;
        let from = arrived.partition_point(|(time, _)| *time + EARLY < due);
        let arrival = arrived[from..]
            .iter()
            .take_while(|(time, _)| *time <= due + LATE)
            .position(|(_, other)| *other == packet);
        if let Some(place) = arrival {
            arrived.remove(from + place);
        }
        crossings.push(Crossing { at: at - start, packet, lost: arrival.is_none() });
    }
    // What is left over left before the capture began: a few at most.
    ensure!(arrived.len() < 100, "{} packets arrived that were never sent", arrived.len());
    Ok(crossings)
}

/// Only the mirror has one: what stays on the machine goes without.
fn clear_checksum(packet: &mut [u8]) {
    const SCTP: u8 = 132;
    let range = if packet.get(9) == Some(&SCTP) { 28..32 } else { 36..38 };
    if let Some(checksum) = packet.get_mut(range) {
        checksum.fill(0);
    }
}

fn bytes(hexadecimal: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = hexadecimal
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|digit| char::from(digit).to_digit(16).map(|digit| digit as u8))
        .collect();
    Some(digits?.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
