//! Any datagram as a TCP segment, its checksum made right: parsing must neither panic nor read what
//! is not there, and what it read must come out again when it is written and read once more.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bytes::Bytes;
use tcp::wire::{
    HEADER_LENGTH, MAX_OPTIONS_LENGTH, Options, ParseError, Pseudo, Quoted, Segment, Skipped,
};

const V4: Pseudo =
    Pseudo::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)));
const V6: Pseudo = Pseudo::new(IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::UNSPECIFIED));

/// Reads the datagram as it is, and as if its checksum were right.
pub fn run(datagram: &[u8]) {
    let datagram = Bytes::copy_from_slice(datagram);
    let judged = Segment::parse(datagram.clone(), V4);
    let _ = Quoted::parse(&datagram);
    let segment = match Segment::parse_without_checksum(datagram.clone()) {
        Ok(segment) => segment,
        Err(_) => {
            assert!(judged.is_err());
            return;
        }
    };
    assert!(matches!(judged, Ok(_) | Err(ParseError::BadChecksum)));
    let header = datagram.len() - segment.payload.len();
    assert!((HEADER_LENGTH..=HEADER_LENGTH + MAX_OPTIONS_LENGTH).contains(&header));
    for addresses in [V4, V6] {
        write_again(&segment, addresses);
    }
}

/// Writes the segment, its payload in two pieces, and asserts that it reads as what it was.
fn write_again(segment: &Segment, addresses: Pseudo) {
    let mut buffer = Vec::new();
    let middle = segment.payload.len() / 2;
    let (head, tail) = (segment.payload.slice(..middle), segment.payload.slice(middle..));
    let first = Segment { payload: head, ..segment.clone() };
    first.emit_with(addresses, [&tail[..]], &mut buffer);
    let length = HEADER_LENGTH + segment.options.emitted_length() + segment.payload.len();
    assert_eq!(buffer.len(), length);
    let again = match Segment::parse(Bytes::from(buffer), addresses) {
        Ok(again) => again,
        Err(error) => panic!("what was written cannot be read: {error}: {segment:?}"),
    };
    // What was skipped is not written, and in the common order less may fit than where nothing is
    // aligned.
    let fit = again.options.sack.len();
    assert!(fit == segment.options.sack.len() || length - segment.payload.len() > 52);
    let options = Options {
        sack: segment.options.sack.iter().copied().take(fit).collect(),
        skipped: Skipped::default(),
        ..segment.options.clone()
    };
    assert_eq!(again, Segment { options, ..segment.clone() });
}
