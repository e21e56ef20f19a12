//! Authenticated chunks (RFC 4895): each side lists in INIT or INIT ACK the chunk types that it
//! accepts only after an AUTH chunk. Both derive keys from these lists and from secrets that their
//! applications share.
//!
//! An association that did not agree on [`Extensions::AUTHENTICATION`](crate::Extensions) has none
//! of this state. [`vector`] has the key vectors, this file the keys and the verdicts.

pub(crate) mod vector;

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

use base::RandomStream;
use bytes::Bytes;

use self::vector::{KeyVector, KeyVectors, NEVER};
use crate::wire::chunk::Auth;
use crate::wire::signing::{ChunkTypes, HmacId, Mac, Signer};
use crate::wire::{Chunk, ChunkType, KeyId, Packet};

/// Supported HMACs, in order of preference.
const HMAC_IDS: [HmacId; 2] = [HmacId::SHA_256, HmacId::SHA_1];

/// An application's choices for authentication (SCTP_AUTH_CHUNK, SCTP_AUTH_KEY and
/// SCTP_AUTH_ACTIVE_KEY of RFC 6458, section 8), in effect if both sides agree on
/// [`Extensions::AUTHENTICATION`](crate::Extensions::AUTHENTICATION).
#[derive(Clone, PartialEq, Eq)]
pub struct AuthenticationOptions {
    /// Chunk types accepted only if authenticated. INIT, INIT ACK, SHUTDOWN COMPLETE and AUTH
    /// cannot be.
    pub chunks: Vec<ChunkType>,
    /// Secrets shared by both applications, by their number. By default key 0, which is empty and
    /// only excludes attackers who did not see the handshake: remove it to admit only peers
    /// that know a secret.
    pub keys: BTreeMap<KeyId, Bytes>,
    /// The key that authenticates sent chunks.
    pub active_key: KeyId,
}

impl Default for AuthenticationOptions {
    fn default() -> Self {
        AuthenticationOptions {
            chunks: Vec::new(),
            keys: BTreeMap::from([(KeyId(0), Bytes::new())]),
            active_key: KeyId(0),
        }
    }
}

impl fmt::Debug for AuthenticationOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut options = f.debug_struct("AuthenticationOptions");
        let ids: Vec<u16> = self.keys.keys().map(|key| key.0).collect();
        options.field("chunks", &self.chunks).field("keys", &ids);
        options.field("active_key", &self.active_key).finish()
    }
}

impl AuthenticationOptions {
    fn secret(&self, key: KeyId) -> Option<&[u8]> {
        self.keys.get(&key).map(|secret| &secret[..])
    }
}

/// Reason for which a shared key cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// No association has this identifier: it was released, or belongs to another endpoint.
    NoAssociation,
    /// The key does not exist.
    NoSuchKey(KeyId),
    /// The key is active, or queued or outstanding messages use it.
    Active(KeyId),
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::NoAssociation => f.write_str("there is no such association"),
            KeyError::NoSuchKey(key) => write!(f, "there is no shared key {}", key.0),
            KeyError::Active(key) => write!(f, "shared key {} is in use", key.0),
        }
    }
}

impl core::error::Error for KeyError {}

/// Key vectors and signers of an association (RFC 4895, section 6.1).
#[derive(Debug)]
pub(crate) struct Authentication {
    /// This side's key vector in INIT or INIT ACK.
    own: KeyVector,
    /// The peer's key vector; `None` until it is known.
    peer: Option<KeyVector>,
    /// Types that this side accepts only if authenticated.
    wanted: ChunkTypes,
    /// Signer of sent chunks, once the peer's vector is known.
    signer: Option<Arc<Signer>>,
    /// Signers of user data that uses a key other than the active one.
    further: BTreeMap<KeyId, Arc<Signer>>,
}

/// Result of the check of one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The chunk needs no authentication, or has it: it is processed.
    Taken,
    /// The chunk is a valid AUTH chunk: the chunks after it are authenticated.
    Proved,
    /// The chunk requires an AUTH chunk and has none: it is skipped.
    Lacking,
    /// The chunk and all chunks after it are dropped.
    Refused,
    /// The chunk and all chunks after it are dropped, and the peer is told that this side did not
    /// offer the HMAC identifier.
    UnsupportedHmac(HmacId),
}

impl Authentication {
    pub(crate) fn new(own: KeyVector) -> Self {
        Authentication {
            wanted: own.chunks(),
            own,
            peer: None,
            signer: None,
            further: BTreeMap::new(),
        }
    }

    /// This side's key vector in INIT.
    pub(crate) fn own(&self) -> &KeyVector {
        &self.own
    }

    /// Sets the peer's key vector, from its INIT, its INIT ACK or the state cookie.
    pub(crate) fn establish(&mut self, peer: KeyVector, options: &AuthenticationOptions) {
        self.peer = Some(peer);
        self.choose_signer(options);
    }

    /// Whether the peer's key vector is known.
    pub(crate) fn is_established(&self) -> bool {
        self.peer.is_some()
    }

    /// Types that the peer accepts only if authenticated; `None` until its vector is known.
    pub(crate) fn peer_chunks(&self) -> Option<ChunkTypes> {
        self.peer.as_ref().map(KeyVector::chunks)
    }

    /// Forgets the peer's key vector, since another follows.
    pub(crate) fn forget_peer(&mut self) {
        (self.peer, self.signer) = (None, None);
        self.further.clear();
    }

    /// Signer of the packet being built.
    pub(crate) fn signer(&self) -> Option<&Arc<Signer>> {
        self.signer.as_ref()
    }

    /// Signer of a packet being built whose user data uses this key.
    pub(crate) fn signer_with(
        &mut self,
        key: KeyId,
        options: &AuthenticationOptions,
    ) -> Option<&Arc<Signer>> {
        if self.signer.as_ref().is_none_or(|signer| signer.key == key) {
            return self.signer.as_ref();
        }
        if !self.further.contains_key(&key) {
            let signer = self.make_signer(key, options)?;
            self.further.insert(key, signer);
        }
        self.further.get(&key)
    }

    /// Treatment of chunk number `index` of `packet`. `authenticated`: whether a valid AUTH chunk
    /// precedes it; set if this chunk is one.
    pub(crate) fn judge(
        &self,
        packet: &Packet,
        index: usize,
        chunk: &Chunk<'_>,
        authenticated: &mut bool,
        options: Option<&AuthenticationOptions>,
    ) -> Verdict {
        match chunk {
            // The chunks after it are authenticated already: a chain of AUTH chunks costs no more
            // than one.
            Chunk::Auth(_) if *authenticated => Verdict::Proved,
            Chunk::Auth(auth) => {
                let empty = AuthenticationOptions::default();
                let covered = packet.bytes_from_chunk(index);
                let verdict = self.verify(auth, covered, options.unwrap_or(&empty));
                *authenticated = verdict == Verdict::Proved;
                verdict
            }
            _ if *authenticated || self.takes_bare(chunk.chunk_type()) => Verdict::Taken,
            // RFC 5061, section 5.2, D5: the rest of the packet goes with it.
            Chunk::Asconf(_) => Verdict::Refused,
            _ => Verdict::Lacking,
        }
    }

    /// Selects the active key by the options.
    pub(crate) fn choose_signer(&mut self, options: &AuthenticationOptions) {
        self.further.clear();
        if self.peer.is_some() {
            self.signer = self.make_signer(options.active_key, options);
        }
    }

    fn make_signer(&self, key: KeyId, options: &AuthenticationOptions) -> Option<Arc<Signer>> {
        let peer = self.peer.as_ref()?;
        let mut types = peer.chunks();
        if self.wanted.contains(ChunkType::ASCONF) {
            // RFC 5061, section 4.1: these chunks are signed whether the peer lists them or not.
            // They are only sent if the extension was agreed on.
            types.insert(ChunkType::ASCONF);
            types.insert(ChunkType::ASCONF_ACK);
        }
        // Section 3.3: the first of the peer's algorithms that this side knows.
        let hmac_id = peer.hmac_ids().find(|id| HMAC_IDS.contains(id));
        let hmac_id = hmac_id.filter(|_| !types.is_empty())?;
        // A signature with an unknown key is better than none.
        let secret = options.secret(key).unwrap_or_default();
        let secret = vector::association_key(secret, &self.own, peer);
        Signer::new(types, key, hmac_id, &secret).map(Arc::new)
    }

    /// Whether a chunk of this type is accepted without authentication.
    fn takes_bare(&self, chunk_type: ChunkType) -> bool {
        !self.wanted.contains(chunk_type)
    }

    /// Whether the AUTH chunk at the beginning of `covered` is valid (section 6.3).
    fn verify(&self, auth: &Auth<'_>, covered: &[u8], options: &AuthenticationOptions) -> Verdict {
        if !HMAC_IDS.contains(&auth.hmac_id) {
            return Verdict::UnsupportedHmac(auth.hmac_id);
        }
        let (Some(peer), Some(secret)) = (&self.peer, options.secret(auth.key)) else {
            return Verdict::Refused;
        };
        let secret = vector::association_key(secret, &self.own, peer);
        let right =
            Mac::new(auth.hmac_id, &secret).is_some_and(|mac| mac.verify(covered, auth.hmac));
        if right { Verdict::Proved } else { Verdict::Refused }
    }

    /// Whether a COOKIE ECHO is acceptable that is the first chunk of `packet`, or the second after
    /// an AUTH chunk (section 6.3).
    pub(crate) fn admits_cookie(&self, packet: &Packet, options: &AuthenticationOptions) -> bool {
        match packet.chunks().next() {
            Some(Ok(Chunk::Auth(auth))) => {
                self.verify(&auth, packet.bytes_from_chunk(0), options) == Verdict::Proved
            }
            _ => self.takes_bare(ChunkType::COOKIE_ECHO),
        }
    }
}

impl KeyVectors {
    /// The state of a new association with these vectors.
    pub(crate) fn authentication(self, options: &AuthenticationOptions) -> Authentication {
        let mut authentication = Authentication::new(self.own);
        authentication.establish(self.peer, options);
        authentication
    }
}

/// Draws this side's key vector, which is new for each association.
pub(crate) fn draw_vector(types: ChunkTypes, random: &mut RandomStream) -> KeyVector {
    let mut secret = [0; KeyVector::RANDOM];
    random.fill(&mut secret);
    KeyVector::new(secret, types, &HMAC_IDS)
}

/// Types that this side accepts only if authenticated, by its options.
pub(crate) fn wanted_types(
    options: Option<&Arc<AuthenticationOptions>>,
    further: &[ChunkType],
) -> ChunkTypes {
    let chosen = options.iter().flat_map(|options| options.chunks.iter());
    let mut types: ChunkTypes = chosen.chain(further).copied().collect();
    NEVER.into_iter().for_each(|never| types.remove(never));
    types
}

#[cfg(test)]
mod tests;
