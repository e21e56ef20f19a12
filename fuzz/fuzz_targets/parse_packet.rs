//! Any datagram, its checksum made right: parsing must neither panic nor read what is not there, and
//! what it read must come out again when it is written and read once more.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use sctp::wire::{Chunk, CommonHeader, Packet, PacketBuilder};

fuzz_target!(|datagram: &[u8]| {
    let _ = Packet::parse(Bytes::copy_from_slice(datagram));
    let mut fixed = datagram.to_vec();
    if fixed.len() < CommonHeader::LENGTH {
        return;
    }
    fixed[8..12].fill(0);
    let checksum = crc32c::crc32c(&fixed);
    fixed[8..12].copy_from_slice(&checksum.to_le_bytes());
    let Ok(packet) = Packet::parse(Bytes::from(fixed)) else { return };
    assert!(packet.raw_chunks().count() <= packet.len() / 4);
    for chunk in packet.chunks().flatten() {
        walk(&packet, chunk);
    }
});

/// Reads all that a chunk holds.
fn walk(packet: &Packet, chunk: Chunk<'_>) {
    match chunk {
        Chunk::Data(data) => write_again(packet.header(), data),
        Chunk::Init(init) => {
            let _ = (init.validate(), init.parameters.state_cookie());
            assert!(init.parameters.iter().count() <= packet.len() / 4);
        }
        Chunk::InitAck(answer) => {
            let _ = (answer.0.validate(), answer.0.parameters.state_cookie());
            assert!(answer.0.parameters.iter().count() <= packet.len() / 4);
        }
        Chunk::Sack(sack) => {
            let entries = sack.gap_ack_blocks().count() + sack.duplicate_tsns().count();
            assert!(entries <= packet.len() / 4);
        }
        Chunk::Abort(abort) => assert!(abort.causes.iter().count() <= packet.len() / 4),
        Chunk::Error(error) => assert!(error.causes.iter().count() <= packet.len() / 4),
        _ => {}
    }
}

fn write_again(header: CommonHeader, data: sctp::wire::chunk::Data) {
    let mut buffer = Vec::new();
    let mut builder = PacketBuilder::start(&mut buffer, header, 65_532);
    if builder.append(data.clone()).is_err() {
        builder.discard();
        return;
    }
    builder.finish();
    let again = Packet::parse(Bytes::from(buffer)).expect("what was written can be read");
    match again.chunks().next() {
        Some(Ok(Chunk::Data(read))) => assert_eq!(read, data),
        other => panic!("DATA became {other:?}"),
    }
}
