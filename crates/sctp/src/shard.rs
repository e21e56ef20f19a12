//! Several endpoints that are one to their peers: each verification tag names the endpoint that
//! drew it.

use core::num::NonZeroU32;

use base::RandomStream;

use crate::wire::packet::RawChunkIter;
use crate::wire::{CommonHeader, VerificationTag};

/// One of the endpoints that share an address and an SCTP port, each with associations of its own.
///
/// The tags of shard `index` of `of` are those whose remainder by `of` is `index`, so that packets
/// can be distributed without knowledge of the associations. A tag has log2(`of`) bits less of
/// randomness then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    of: NonZeroU32,
}

impl Default for Shard {
    /// An endpoint that shares nothing.
    fn default() -> Shard {
        Shard { index: 0, of: NonZeroU32::MIN }
    }
}

/// Shard that a packet is for, as its unverified header and first chunk show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The packet has a verification tag that only this shard can have drawn.
    Tagged {
        /// Number of the shard, from 0.
        shard: u32,
        /// The packet's verification tag, for [`Endpoint::has_tag`](crate::Endpoint::has_tag).
        tag: VerificationTag,
        /// SCTP port of the packet's sender.
        port: u16,
    },
    /// The packet has no tag of its receiver: INIT, or a packet with the tag of its sender (RFC
    /// 9260, section 8.5.1). Any shard may have the association with this SCTP port of the
    /// sender.
    Untagged {
        /// SCTP port of the packet's sender.
        port: u16,
    },
    /// No SCTP packet: any shard counts and drops it.
    Malformed,
}

impl Shard {
    /// Shard `index` (from 0) of `of`; `None` unless `index` is less than `of`.
    pub fn new(index: u32, of: NonZeroU32) -> Option<Shard> {
        (index < of.get()).then_some(Shard { index, of })
    }

    /// Shard that a packet is for. Neither the checksum nor the existence of an association with
    /// its tag is verified.
    pub fn destination(self, packet: &[u8]) -> Destination {
        let Some(CommonHeader { source_port: port, verification_tag: tag, .. }) =
            CommonHeader::of(packet)
        else {
            return Destination::Malformed;
        };
        let mut contents = RawChunkIter::of(packet, None).but_auth();
        match tag.0 {
            0 => Destination::Untagged { port },
            _ if contents.next().is_some_and(|first| first.reflects_tag()) => {
                Destination::Untagged { port }
            }
            number => Destination::Tagged { shard: number % self.of, tag, port },
        }
    }

    /// Whether a packet has a tag of another shard.
    pub fn is_for_other(self, packet: &[u8]) -> bool {
        let destination = self.destination(packet);
        matches!(destination, Destination::Tagged { shard, .. } if shard != self.index)
    }

    /// Draws a random tag of this shard, other than 0.
    pub(crate) fn draw_tag(self, random: &mut RandomStream) -> VerificationTag {
        let (drawn, of) = (random.next_u32(), self.of.get());
        let first = drawn - drawn % of;
        let tag = first.checked_add(self.index).unwrap_or_else(|| first - of + self.index);
        VerificationTag(if tag == 0 { of } else { tag })
    }
}

#[cfg(test)]
mod tests {
    use base::Purpose;

    use super::*;

    fn shards(of: u32) -> impl Iterator<Item = Shard> {
        (0..of).map(move |index| Shard::new(index, NonZeroU32::new(of).unwrap()).unwrap())
    }

    #[test]
    fn each_tag_names_the_shard_that_drew_it_and_none_is_zero() {
        for of in [1, 2, 3, 7, 256, u32::MAX] {
            for shard in
                shards(of.min(256)).map(|shard| Shard { of: NonZeroU32::new(of).unwrap(), ..shard })
            {
                let mut random = RandomStream::new(1, Purpose("tags", of.into()));
                for _ in 0..100 {
                    let tag = shard.draw_tag(&mut random);
                    assert!(tag.0 != 0 && tag.0 % of == shard.index, "{tag:?} of {shard:?}");
                }
            }
        }
        assert_eq!(Shard::new(2, NonZeroU32::new(2).unwrap()), None);
    }

    #[test]
    fn a_packet_belongs_where_its_tag_says_unless_it_has_none_or_a_reflected_one() {
        let shard = shards(3).next().unwrap();
        let packet = |tag: u32, chunks: &[u8]| {
            [&[0, 9, 0, 8][..], &tag.to_be_bytes(), &[0; 4], chunks].concat()
        };
        let tagged =
            |tag| Destination::Tagged { shard: tag % 3, tag: VerificationTag(tag), port: 9 };
        let (init, data, abort, reflected) =
            ([1, 0, 0, 4], [0, 3, 0, 4], [6, 0, 0, 4], [6, 1, 0, 4]);
        assert_eq!(shard.destination(&packet(7, &data)), tagged(7));
        assert_eq!(shard.destination(&packet(8, &abort)), tagged(8));
        assert_eq!(shard.destination(&packet(9, &[])), tagged(9));
        for untagged in
            [packet(0, &init), packet(8, &reflected), packet(8, &[15, 0, 0, 4, 6, 1, 0, 4])]
        {
            assert_eq!(shard.destination(&untagged), Destination::Untagged { port: 9 });
        }
        let whole = packet(7, &data);
        for length in 0..whole.len() {
            let expected = if length < 12 { Destination::Malformed } else { tagged(7) };
            assert_eq!(shard.destination(&whole[..length]), expected, "{length} bytes");
        }
    }
}
