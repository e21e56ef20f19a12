//! CRC32c, the checksum of SCTP (RFC 9260, section 6.8 and appendix A), computed by the processor's
//! instruction if it has one.

/// Position of the checksum in a packet.
pub(crate) const FIELD: core::ops::Range<usize> = 8..12;

/// The first bytes of a packet, up to the end of the checksum field and a little further, at an
/// aligned address. Their length keeps the alignment of the datagram's memory for the rest, as the
/// processor's instruction prefers.
#[repr(align(16))]
struct Beginning([u8; 16]);

/// Most bytes of a packet that is copied to be summed in one piece: that costs less than a second
/// call.
const SHORT: usize = 256;

/// The correct checksum of `packet`, whose checksum field counts as 0.
pub(crate) fn compute(packet: &[u8]) -> u32 {
    let (first, after) = match packet.split_first_chunk() {
        Some(parts) if packet.len() > SHORT => parts,
        _ => return compute_short(packet),
    };
    let mut beginning = Beginning(*first);
    put(&mut beginning.0, 0);
    crc32c::crc32c_append(crc32c::crc32c(&beginning.0), after)
}

/// The checksum of [`compute`], for a packet of at most [`SHORT`] bytes.
fn compute_short(packet: &[u8]) -> u32 {
    let mut copy = [0; SHORT];
    let copy = &mut copy[..packet.len()];
    copy.copy_from_slice(packet);
    put(copy, 0);
    crc32c::crc32c(copy)
}

/// The checksum in `packet`. CRC32c is least significant byte first, unlike all other fields
/// (appendix A of RFC 9260 explains why).
pub(crate) fn carried(packet: &[u8]) -> Option<u32> {
    let field = packet.get(FIELD)?.first_chunk()?;
    Some(u32::from_le_bytes(*field))
}

/// Stands for the checksum of a packet within the process, whose driver needs none. Zero would mean
/// that the packet has none on the wire (RFC 9653).
const OMITTED: u32 = u32::MAX;

/// Marks the checksum of `packet`, which has at least a common header, as omitted.
pub(crate) fn omit(packet: &mut [u8]) {
    put(packet, OMITTED);
}

/// Writes the checksum into `packet`, which has at least a common header.
pub(crate) fn emit(packet: &mut [u8]) {
    put(packet, 0);
    // With the field zero, one pass suffices.
    put(packet, crc32c::crc32c(packet));
}

fn put(packet: &mut [u8], checksum: u32) {
    if let Some(field) = packet.get_mut(FIELD) {
        field.copy_from_slice(&checksum.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_crc32c_comes_out() {
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn the_field_itself_counts_as_zero() {
        let mut packet = *b"12345678\0\0\0\0abc";
        let plain = crc32c::crc32c(&packet);
        assert_eq!(compute(&packet), plain);
        packet[9] = 0xff;
        emit(&mut packet);
        assert_eq!(compute(&packet), plain);
        assert_eq!(carried(&packet), Some(plain));
        assert_eq!(packet[8], plain as u8);
        for length in [12, 13, 16, 40, SHORT - 1, SHORT, SHORT + 1, 1500] {
            let mut longer = vec![7; length];
            emit(&mut longer);
            assert_eq!(carried(&longer), Some(compute(&longer)), "{length} bytes");
        }
    }
}
