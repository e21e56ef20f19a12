//! Key vectors: a side's parameters in INIT or INIT ACK as part of the keys (RFC 4895, section
//! 6.1).

use smallvec::SmallVec;

use crate::wire::signing::{ChunkTypes, HmacId};
use crate::wire::{ChunkType, Parameter, ParameterType, Parameters};

/// Chunks that cannot be authenticated (section 3.2).
pub(super) const NEVER: [ChunkType; 4] =
    [ChunkType::INIT, ChunkType::INIT_ACK, ChunkType::SHUTDOWN_COMPLETE, ChunkType::AUTH];

/// Longest list of chunk types: each of the 256 once.
const CHUNKS_LIMIT: usize = 256;

/// Most HMAC identifiers in a peer's list; two are in use.
const HMACS_LIMIT: usize = 16;

/// The parameters RANDOM, CHUNKS and HMAC-ALGO of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyVector {
    random: [u8; KeyVector::RANDOM],
    /// `None` if the parameter was not sent.
    chunks: Option<Box<[u8]>>,
    /// HMAC identifiers of two bytes each.
    hmacs: Box<[u8]>,
}

/// The vectors of both sides, for a state cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyVectors {
    pub(crate) own: KeyVector,
    pub(crate) peer: KeyVector,
}

/// Fault in a key vector, which makes an association impossible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VectorFault {
    /// RANDOM does not have 32 bytes (section 6.1).
    RandomLength,
    /// HMAC-ALGO lacks SHA-1, which is mandatory (section 3.3).
    NoSha1,
    /// A list is longer than the number of possible entries.
    TooLong,
}

impl VectorFault {
    /// Reason in the error cause, one line.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            VectorFault::RandomLength => "RANDOM has not 32 bytes",
            VectorFault::NoSha1 => "HMAC-ALGO lacks SHA-1",
            VectorFault::TooLong => "CHUNKS or HMAC-ALGO lists more than there is",
        }
    }
}

impl KeyVector {
    /// Length of RANDOM in bytes.
    pub(crate) const RANDOM: usize = 32;

    pub(crate) fn new(
        random: [u8; Self::RANDOM],
        types: ChunkTypes,
        hmac_ids: &[HmacId],
    ) -> KeyVector {
        let chunks: Box<[u8]> = types.iter().map(|chunk_type| chunk_type.0).collect();
        KeyVector {
            random,
            chunks: Some(chunks).filter(|chunks| !chunks.is_empty()),
            hmacs: hmac_ids.iter().flat_map(|id| id.0.to_be_bytes()).collect(),
        }
    }

    /// Parses the vector of the sender of an INIT or INIT ACK; `None` if it does not authenticate.
    ///
    /// # Errors
    /// [`VectorFault`]: the association is to be aborted with Protocol Violation.
    pub(crate) fn announced_by(
        parameters: &Parameters<'_>,
    ) -> Result<Option<KeyVector>, VectorFault> {
        let (mut random, mut chunks, mut hmacs) = (None, None, None);
        for parameter in parameters.iter() {
            match parameter {
                Ok(Parameter::Random(value)) => random = random.or(Some(value)),
                Ok(Parameter::Chunks(value)) => chunks = chunks.or(Some(value)),
                Ok(Parameter::HmacAlgorithms(value)) => hmacs = hmacs.or(Some(value)),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        let (Some(random), Some(hmacs)) = (random, hmacs) else { return Ok(None) };
        let random = random.try_into().map_err(|_| VectorFault::RandomLength)?;
        if chunks.is_some_and(|chunks| chunks.len() > CHUNKS_LIMIT) || hmacs.len() > 2 * HMACS_LIMIT
        {
            return Err(VectorFault::TooLong);
        }
        let vector = KeyVector { random, chunks: chunks.map(Into::into), hmacs: hmacs.into() };
        if !vector.hmac_ids().any(|id| id == HmacId::SHA_1) {
            return Err(VectorFault::NoSha1);
        }
        Ok(Some(vector))
    }

    /// Types that the sender accepts only if authenticated.
    pub(crate) fn chunks(&self) -> ChunkTypes {
        let listed = self.chunks.iter().flat_map(|chunks| chunks.iter());
        let mut types: ChunkTypes = listed.map(|number| ChunkType(*number)).collect();
        NEVER.into_iter().for_each(|never| types.remove(never));
        types
    }

    /// HMACs that the sender supports, in order of preference.
    pub(crate) fn hmac_ids(&self) -> impl Iterator<Item = HmacId> + '_ {
        self.hmacs.as_chunks().0.iter().map(|id| HmacId(u16::from_be_bytes(*id)))
    }

    /// The parameters for INIT or INIT ACK.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = Parameter<'_>> + Clone {
        let chunks = self.chunks.as_deref().map(Parameter::Chunks);
        [
            Some(Parameter::Random(&self.random)),
            chunks,
            Some(Parameter::HmacAlgorithms(&self.hmacs)),
        ]
        .into_iter()
        .flatten()
    }

    /// Concatenation of the parameters, with headers and without padding.
    fn concatenated(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |ParameterType(number), value: &[u8]| {
            let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
            bytes.extend_from_slice(&number.to_be_bytes());
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(value);
        };
        put(ParameterType::RANDOM, &self.random);
        if let Some(chunks) = &self.chunks {
            put(ParameterType::CHUNKS, chunks);
        }
        put(ParameterType::HMAC_ALGO, &self.hmacs);
        bytes
    }

    /// Appends the form for a state cookie: RANDOM, then each list after a length of 16 bits; 65535
    /// means that CHUNKS was not sent.
    pub(crate) fn emit(&self, bytes: &mut Vec<u8>) {
        let length = |list: &[u8]| u16::try_from(list.len()).unwrap_or(u16::MAX).to_be_bytes();
        bytes.extend_from_slice(&self.random);
        match &self.chunks {
            Some(chunks) => {
                bytes.extend_from_slice(&length(chunks));
                bytes.extend_from_slice(chunks);
            }
            None => bytes.extend_from_slice(&u16::MAX.to_be_bytes()),
        }
        bytes.extend_from_slice(&length(&self.hmacs));
        bytes.extend_from_slice(&self.hmacs);
    }

    /// Parses the output of [`KeyVector::emit`], and returns the rest.
    pub(crate) fn read(bytes: &[u8]) -> Option<(KeyVector, &[u8])> {
        let (random, rest) = bytes.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (chunks, rest) = match u16::from_be_bytes(*length) {
            u16::MAX => (None, rest),
            length => {
                let (chunks, rest) = rest.split_at_checked(length.into())?;
                (Some(chunks.into()), rest)
            }
        };
        let (length, rest) = rest.split_first_chunk()?;
        let (hmacs, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
        Some((KeyVector { random: *random, chunks, hmacs: hmacs.into() }, rest))
    }
}

/// The association shared key: the secret that both applications know, then both vectors, the
/// numerically smaller one first (section 6.1).
pub(super) fn association_key(secret: &[u8], own: &KeyVector, peer: &KeyVector) -> Vec<u8> {
    let mut vectors: SmallVec<[Vec<u8>; 2]> =
        SmallVec::from_iter([own.concatenated(), peer.concatenated()]);
    // Each begins with the type of RANDOM, which is not 0: the longer is the larger number.
    vectors.sort_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
    let mut key = secret.to_vec();
    vectors.iter().for_each(|vector| key.extend_from_slice(vector));
    key
}
