//! INIT chunks that travel in signalling instead of packets (draft-hancke-tsvwg-snap).

use core::fmt;

use bytes::Bytes;

use crate::wire::chunk::Init;
use crate::wire::{Chunk, CommonHeader, Packet, Parameters};

/// Longest chunk that is accepted, in bytes.
const LONGEST: usize = 2048;

/// A peer's INIT that signalling carried, checked like one in a packet.
#[derive(Clone, Debug)]
pub struct SignalledInit(Packet);

/// The error of bytes that are not an INIT with which an association can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnInit;

impl fmt::Display for NotAnInit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not one INIT chunk with a tag, streams and a window (RFC 9260, section 3.3.2)")
    }
}

impl core::error::Error for NotAnInit {}

impl SignalledInit {
    /// Parses a chunk with its header, with or without padding.
    ///
    /// # Errors
    /// [`NotAnInit`], for every INIT that an endpoint would answer with ABORT, or not at all, if it
    /// arrived in a packet.
    pub fn parse(chunk: &[u8]) -> Result<SignalledInit, NotAnInit> {
        if chunk.len() > LONGEST {
            return Err(NotAnInit);
        }
        // The parser of chunks needs a packet: this common header only satisfies its checks.
        let header = [0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        let bytes: Bytes = [&header[..CommonHeader::LENGTH], chunk].concat().into();
        let packet = SignalledInit(Packet::parse_captured(bytes).map_err(|_| NotAnInit)?);
        let sound = packet.0.chunks().count() == 1
            && packet.init().is_some_and(|init| {
                let parameters = &init.parameters;
                init.validate().is_ok()
                    && parameters.fault().is_none()
                    && parameters.host_name().is_none()
            });
        if sound { Ok(packet) } else { Err(NotAnInit) }
    }

    /// The INIT; [`SignalledInit::parse`] has checked that it is there.
    pub(crate) fn init(&self) -> Option<Init<Parameters<'_>>> {
        match self.0.chunks().next() {
            Some(Ok(Chunk::Init(init))) => Some(init),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the draft, section 4.1.
    const EXAMPLE: [u8; 30] = [
        1, 0, 0, 30, 0x89, 0x6c, 0xdd, 0x1d, 0, 0x50, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xe0, 0x79,
        0x65, 0x1d, 0xc0, 0, 0, 4, 0x80, 8, 0, 6, 0x82, 0xc0,
    ];

    #[test]
    fn the_example_of_the_draft_is_read() {
        let read = SignalledInit::parse(&EXAMPLE).unwrap();
        let init = read.init().unwrap();
        assert_eq!((init.initiate_tag.0, init.initial_tsn.0), (0x896c_dd1d, 0xe079_651d));
        assert_eq!(
            (init.a_rwnd, init.outbound_streams, init.inbound_streams),
            (0x50_0000, 65535, 65535)
        );
    }

    #[test]
    fn whatever_could_begin_no_association_is_refused() {
        for length in 0..EXAMPLE.len() {
            assert_eq!(SignalledInit::parse(&EXAMPLE[..length]).err(), Some(NotAnInit), "{length}");
        }
        // Another chunk type; a tag, a window and numbers of streams of 0; a second chunk.
        for (range, value) in [(0..1, 2), (4..8, 0), (8..12, 0), (12..14, 0), (14..16, 0)] {
            let mut bytes = EXAMPLE;
            bytes[range].fill(value);
            assert_eq!(SignalledInit::parse(&bytes).err(), Some(NotAnInit), "{bytes:?}");
        }
        let twice = [&EXAMPLE[..], &[0, 0], &EXAMPLE[..]].concat();
        assert_eq!(SignalledInit::parse(&twice).err(), Some(NotAnInit));
        assert_eq!(SignalledInit::parse(&[1; LONGEST + 1]).err(), Some(NotAnInit));
    }
}
