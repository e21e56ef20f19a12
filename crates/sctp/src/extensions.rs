//! Extensions of RFC 9260, and their negotiation in INIT and INIT ACK: each side lists the chunk
//! types that it supports (RFC 5061, section 4.2.7), and both use those that both listed.

use core::ops::BitOr;

use smallvec::SmallVec;

use crate::authentication::vector::KeyVector;
use crate::wire::{ChunkType, Parameter, Parameters};

/// Extensions of RFC 9260, one bit for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extensions(u32);

/// Extensions announced by chunk types, all of which a peer must list.
const BY_CHUNK_TYPES: [(Extensions, &[ChunkType]); 5] = [
    (Extensions::PARTIAL_RELIABILITY, &[ChunkType::FORWARD_TSN]),
    (Extensions::INTERLEAVING, &[ChunkType::I_DATA]),
    (Extensions::STREAM_RECONFIGURATION, &[ChunkType::RE_CONFIG]),
    (Extensions::PADDING, &[ChunkType::PAD]),
    (ADDRESS_CHUNKS, &[ChunkType::ASCONF, ChunkType::ASCONF_ACK]),
];

/// Address reconfiguration without the authentication that it requires.
const ADDRESS_CHUNKS: Extensions = Extensions(1 << 9);

impl Extensions {
    /// No extension: RFC 9260 alone.
    pub const NONE: Extensions = Extensions(0);
    /// Messages may be abandoned: FORWARD-TSN (RFC 3758), with I-FORWARD-TSN if messages
    /// interleave.
    pub const PARTIAL_RELIABILITY: Extensions = Extensions(1);
    /// Fragments of several messages may alternate: I-DATA (RFC 8260).
    pub const INTERLEAVING: Extensions = Extensions(1 << 1);
    /// Streams may be reset and added: RE-CONFIG (RFC 6525).
    pub const STREAM_RECONFIGURATION: Extensions = Extensions(1 << 2);
    /// Packets may be padded: PAD (RFC 4820).
    pub const PADDING: Extensions = Extensions(1 << 3);
    /// Chunks may be authenticated: AUTH (RFC 4895).
    pub const AUTHENTICATION: Extensions = Extensions(1 << 8);
    /// Addresses may be added and deleted: ASCONF (RFC 5061), which includes authentication.
    pub const ADDRESS_RECONFIGURATION: Extensions =
        Extensions(ADDRESS_CHUNKS.0 | Self::AUTHENTICATION.0);

    /// Packets may be sent without a checksum (RFC 9653). Only offered through
    /// [`AssociationOptions::zero_checksum`](crate::AssociationOptions::zero_checksum), since a
    /// layer below must protect the packets.
    pub const ZERO_CHECKSUM: Extensions = Extensions(1 << 16);

    /// Whether the set contains all of `other`.
    pub const fn contains(self, other: Extensions) -> bool {
        self.0 & other.0 == other.0
    }

    /// The extensions in both sets.
    #[must_use]
    pub const fn intersection(self, other: Extensions) -> Extensions {
        Extensions(self.0 & other.0)
    }

    /// These extensions, except for those in `other`.
    #[must_use]
    pub const fn without(self, other: Extensions) -> Extensions {
        Extensions(self.0 & !other.0)
    }

    /// The set as bits, for a state cookie.
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }

    /// The set from the bits of a state cookie that this side signed.
    pub(crate) const fn from_bits(bits: u32) -> Extensions {
        Extensions(bits)
    }

    /// The extensions of `self`, which this side offers, that are used with a peer that sent an
    /// INIT or INIT ACK. A peer that lists I-DATA and abandons messages, but does not list
    /// I-FORWARD-TSN, as Linux 6.1, cannot have both (RFC 8260, section 2.3.1). The answer to
    /// its INIT then omits I-DATA; its INIT ACK has agreed to I-DATA, so that messages are not
    /// abandoned.
    pub(crate) fn agreed(self, parameters: &Parameters<'_>, is_answer: bool) -> Extensions {
        let (known, skips_interleaved) = Extensions::announced_by(parameters);
        let agreed = self.intersection(known);
        let both = Extensions::PARTIAL_RELIABILITY | Extensions::INTERLEAVING;
        if !agreed.contains(both) || skips_interleaved {
            return agreed;
        }
        agreed.without(match is_answer {
            true => Extensions::PARTIAL_RELIABILITY,
            false => Extensions::INTERLEAVING,
        })
    }

    /// The extensions of `self` in the answer to an INIT: all except I-DATA if it is not used
    /// although the peer listed it, since the peer would otherwise use it.
    pub(crate) fn listed_to(self, parameters: &Parameters<'_>) -> Extensions {
        let (known, _) = Extensions::announced_by(parameters);
        let shared = self.intersection(known);
        let left_out = shared.contains(Extensions::INTERLEAVING)
            && !self.agreed(parameters, false).contains(Extensions::INTERLEAVING);
        if left_out { self.without(Extensions::INTERLEAVING) } else { self }
    }

    /// Whether the sender of an INIT or INIT ACK lists ASCONF but cannot authenticate it: a side
    /// that supports both must not open an association with it (RFC 5061, section 6).
    pub(crate) fn are_unsafe_with(self, parameters: &Parameters<'_>) -> bool {
        let (known, _) = Extensions::announced_by(parameters);
        self.contains(Extensions::ADDRESS_RECONFIGURATION)
            && known.contains(ADDRESS_CHUNKS)
            && !known.contains(Extensions::AUTHENTICATION)
    }

    /// Extensions of the sender of an INIT or INIT ACK, and whether it lists I-FORWARD-TSN.
    fn announced_by(parameters: &Parameters<'_>) -> (Extensions, bool) {
        let (mut known, mut skips_interleaved) = (Extensions::NONE, false);
        if let Ok(Some(_)) = KeyVector::announced_by(parameters) {
            known = known | Extensions::AUTHENTICATION;
        }
        for parameter in parameters.iter() {
            match parameter {
                // RFC 3758, section 3.1, is older than the list of chunk types.
                Ok(Parameter::ForwardTsnSupported) => {
                    known = known | Extensions::PARTIAL_RELIABILITY;
                }
                Ok(Parameter::SupportedExtensions(types)) => {
                    let lists = |wanted: &ChunkType| types.contains(&wanted.0);
                    for (extension, wanted) in BY_CHUNK_TYPES {
                        if wanted.iter().all(lists) {
                            known = known | extension;
                        }
                    }
                    skips_interleaved = lists(&ChunkType::I_FORWARD_TSN);
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        (known, skips_interleaved)
    }

    /// Numbers to list in the Supported Extensions parameter (RFC 5061, section 4.2.7).
    pub(crate) fn chunk_types(self) -> SmallVec<[u8; 8]> {
        let mut types = SmallVec::new();
        if self.contains(Extensions::PARTIAL_RELIABILITY) {
            types.push(ChunkType::FORWARD_TSN.0);
            if self.contains(Extensions::INTERLEAVING) {
                types.push(ChunkType::I_FORWARD_TSN.0);
            }
        }
        for (extension, wanted) in &BY_CHUNK_TYPES[1..] {
            if self.contains(*extension) {
                types.extend(wanted.iter().map(|chunk_type| chunk_type.0));
            }
        }
        if self.contains(Extensions::AUTHENTICATION) {
            types.push(ChunkType::AUTH.0);
        }
        types
    }

    /// The parameters of these extensions, whose chunk types are `types`.
    pub(crate) fn parameters(self, types: &[u8]) -> impl Iterator<Item = Parameter<'_>> + Clone {
        let forward_tsn = self
            .contains(Extensions::PARTIAL_RELIABILITY)
            .then_some(Parameter::ForwardTsnSupported);
        let list = (!types.is_empty()).then_some(Parameter::SupportedExtensions(types));
        forward_tsn.into_iter().chain(list)
    }
}

impl Default for Extensions {
    /// The extensions without cost when they are not used: abandoning messages, and resetting
    /// streams.
    fn default() -> Self {
        Extensions::PARTIAL_RELIABILITY | Extensions::STREAM_RECONFIGURATION
    }
}

impl BitOr for Extensions {
    type Output = Extensions;

    fn bitor(self, other: Extensions) -> Extensions {
        Extensions(self.0 | other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ChunkType;

    fn agreed(offered: Extensions, types: &[u8], forward_tsn: bool, is_answer: bool) -> Extensions {
        let mut bytes = vec![0x80, 0x08, 0, 4 + types.len() as u8];
        bytes.extend(types);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        if forward_tsn {
            bytes.extend([0xc0, 0, 0, 4]);
        }
        offered.agreed(&Parameters::new(&bytes), is_answer)
    }

    #[test]
    fn interleaving_goes_with_partial_reliability_only_if_both_kinds_of_skipping_are_known() {
        let both = Extensions::PARTIAL_RELIABILITY | Extensions::INTERLEAVING;
        let (data, skip) = (ChunkType::I_DATA.0, ChunkType::I_FORWARD_TSN.0);
        for is_answer in [false, true] {
            assert_eq!(agreed(both, &[data, skip], true, is_answer), both);
            let listed = [ChunkType::FORWARD_TSN.0, data, skip];
            assert_eq!(agreed(both, &listed, false, is_answer), both);
            assert_eq!(agreed(both, &[skip], true, is_answer), Extensions::PARTIAL_RELIABILITY);
            assert_eq!(agreed(both, &[data], false, is_answer), Extensions::INTERLEAVING);
        }
        assert_eq!(agreed(both, &[data], true, false), Extensions::PARTIAL_RELIABILITY);
        assert_eq!(agreed(both, &[data], true, true), Extensions::INTERLEAVING);
    }

    #[test]
    fn an_answer_does_not_list_interleaving_that_the_peer_listed_in_vain() {
        let both = Extensions::PARTIAL_RELIABILITY | Extensions::INTERLEAVING;
        let listed = |types: &[u8]| {
            let mut bytes = vec![0xc0, 0, 0, 4, 0x80, 0x08, 0, 4 + types.len() as u8];
            bytes.extend(types);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            both.listed_to(&Parameters::new(&bytes))
        };
        assert_eq!(listed(&[ChunkType::I_DATA.0]), Extensions::PARTIAL_RELIABILITY);
        assert_eq!(listed(&[ChunkType::I_DATA.0, ChunkType::I_FORWARD_TSN.0]), both);
        assert_eq!(listed(&[ChunkType::RE_CONFIG.0]), both);
    }

    #[test]
    fn a_peer_that_could_give_messages_up_may_interleave_where_this_side_gives_none_up() {
        let own = Extensions::INTERLEAVING;
        for is_answer in [false, true] {
            assert_eq!(agreed(own, &[ChunkType::I_DATA.0], true, is_answer), own);
        }
    }
}
