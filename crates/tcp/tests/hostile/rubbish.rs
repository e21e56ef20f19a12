//! Malformed segments in every state.

use bytes::Bytes;
use proptest::prelude::*;
use tcp::wire::{Flags, Options, Pseudo, Segment, SeqNumber};
use tcp::{ConnectionOptions, EndpointOptions};

use crate::crowd::Crowd;
use crate::support::{LOCAL, address};

/// A segment with the bytes `options` after its header.
fn with_options(segment: &Segment, options: &[u8], addresses: Pseudo) -> Bytes {
    let mut plain = segment.clone();
    plain.options = Options::default();
    let length = options.len().min(40).next_multiple_of(4).min(40);
    let mut all = options.to_vec();
    all.resize(length, 0);
    all.extend_from_slice(&segment.payload);
    plain.payload = all.into();
    // The data offset turns the beginning of the payload into options.
    let mut bytes = Vec::new();
    plain.emit(addresses, &mut bytes);
    let offset = u16::from_be_bytes([bytes[12], bytes[13]]);
    let moved = offset + ((length as u16 / 4) << 12);
    bytes[12..14].copy_from_slice(&moved.to_be_bytes());
    let sum = u32::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    // One's complement: the checksum falls by as much as the word rises.
    let mut sum = u32::from(!(sum as u16)) + u32::from(moved) + u32::from(!offset);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    bytes[16..18].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    bytes.into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn rubbish_for_options_harms_nobody(
        segments in prop::collection::vec(
            (any::<u16>(), any::<u16>(), any::<u16>(), prop::collection::vec(any::<u8>(), 0..40)),
            1..40
        )
    ) {
        let mut crowd = Crowd::new(EndpointOptions::default(), ConnectionOptions::default());
        let honest = crowd.connect(address("10.0.7.7:777"), Options::default());
        let remote = honest.remote;
        let addresses = Pseudo::new(remote.ip(), address(LOCAL).ip());
        for (flags, seq, ack, options) in segments {
            let mut segment = honest.segment(usize::from(flags >> 12));
            segment.flags = Flags::from_bits(flags & 0x3f);
            segment.seq = SeqNumber(honest.seq.0.wrapping_add(u32::from(seq)).wrapping_sub(100));
            segment.ack = SeqNumber(honest.ack.0.wrapping_add(u32::from(ack & 7)).wrapping_sub(3));
            segment.urgent = ack;
            segment.window = seq;
            let bytes = with_options(&segment, &options, addresses);
            prop_assert!(Segment::parse(bytes.clone(), addresses).is_ok());
            crowd.give_bytes(remote, bytes);
            crowd.drain();
        }
        crowd.wait(base::Duration::from_secs(400));
        crowd.serves();
    }

    #[test]
    fn rubbish_for_segments_harms_nobody(
        datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 1..50)
    ) {
        let mut crowd = Crowd::new(EndpointOptions::default(), ConnectionOptions::default());
        for datagram in datagrams {
            crowd.give_bytes(address("10.0.7.7:777"), datagram.into());
            crowd.drain();
        }
        crowd.serves();
    }
}
