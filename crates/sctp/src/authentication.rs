//! Authenticated chunks (RFC 4895): each side lists in INIT or INIT ACK the chunk types that it takes
//! only behind an AUTH chunk, and both derive keys from what they sent there and from secrets that
//! their applications share.
//!
//! An association that did not agree on [`Extensions::AUTHENTICATION`](crate::Extensions) has none of
//! this state. [`vector`] has what the sides sent each other, this file the keys and the verdicts.

pub(crate) mod vector;

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

use base::RandomStream;
use bytes::Bytes;

use self::vector::{KeyVector, KeyVectors};
use crate::wire::chunk::Auth;
use crate::wire::signing::{ChunkTypes, HmacId, Mac, Signer};
use crate::wire::{Chunk, ChunkType, KeyId, Packet};

/// HMACs that this side knows, the best first.
const HMAC_IDS: [HmacId; 2] = [HmacId::SHA_256, HmacId::SHA_1];

/// Chunks that cannot be authenticated (section 3.2).
const NEVER: [ChunkType; 4] =
    [ChunkType::INIT, ChunkType::INIT_ACK, ChunkType::SHUTDOWN_COMPLETE, ChunkType::AUTH];

/// What an application chooses of authentication (SCTP_AUTH_CHUNK, SCTP_AUTH_KEY and
/// SCTP_AUTH_ACTIVE_KEY of RFC 6458, section 8). It takes effect where both sides agree on
/// [`Extensions::AUTHENTICATION`](crate::Extensions::AUTHENTICATION).
#[derive(Clone, PartialEq, Eq)]
pub struct AuthenticationOptions {
    /// Chunks that are taken only authenticated. INIT, INIT ACK, SHUTDOWN COMPLETE and AUTH cannot be.
    pub chunks: Vec<ChunkType>,
    /// Secrets that both applications know, by the number that both gave them. By default key 0, which is
    /// empty and keeps out only those who did not see the handshake: leave it out where
    /// only those who know a secret are welcome.
    pub keys: BTreeMap<KeyId, Bytes>,
    /// The key with which this side authenticates what it sends.
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

/// Why a shared key cannot be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// The association is unknown.
    NoAssociation,
    /// There is no such key.
    NoSuchKey(KeyId),
    /// The key is in use for what is sent, or for messages that wait or are outstanding.
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

/// What an association needs to authenticate.
#[derive(Debug)]
pub(crate) struct Authentication {
    /// What this side sent in INIT or INIT ACK.
    own: KeyVector,
    /// What the peer sent, once it did.
    peer: Option<KeyVector>,
    /// Types that this side takes only authenticated.
    wanted: ChunkTypes,
    /// For what is sent, once the peer's part is known.
    signer: Option<Arc<Signer>>,
    /// Likewise for user data that names another key than the active one.
    further: BTreeMap<KeyId, Arc<Signer>>,
}

/// What becomes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The chunk is taken.
    Taken,
    /// An AUTH chunk that proved right: those behind it are taken.
    Proved,
    /// A chunk that needs an AUTH chunk before it and has none: passed over.
    Lacking,
    /// The chunk and all behind it are dropped.
    Refused,
    /// The chunk and all behind it are dropped, and the peer is told that this HMAC identifier is none that this side
    /// offered.
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

    /// What this side sends in INIT.
    pub(crate) fn own(&self) -> &KeyVector {
        &self.own
    }

    /// The peer's part came, in its INIT, its INIT ACK or the state cookie.
    pub(crate) fn establish(&mut self, peer: KeyVector, options: &AuthenticationOptions) {
        self.peer = Some(peer);
        self.choose_signer(options);
    }

    /// Whether the peer's part is known.
    pub(crate) fn is_established(&self) -> bool {
        self.peer.is_some()
    }

    /// Types that the peer takes only authenticated, once its part is known.
    pub(crate) fn peer_chunks(&self) -> Option<ChunkTypes> {
        self.peer.as_ref().map(KeyVector::chunks)
    }

    /// The peer's part is forgotten: another follows.
    pub(crate) fn forget_peer(&mut self) {
        (self.peer, self.signer) = (None, None);
        self.further.clear();
    }

    /// For a packet in the making.
    pub(crate) fn signer(&self) -> Option<&Arc<Signer>> {
        self.signer.as_ref()
    }

    /// For a packet in the making whose user data wants this key.
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

    /// What to do with a chunk, the `index`-th of `packet`. `authenticated` tells whether an AUTH chunk
    /// before it proved right, and is set when this one does.
    pub(crate) fn judge(
        &self,
        packet: &Packet,
        index: usize,
        chunk: &Chunk<'_>,
        authenticated: &mut bool,
        options: Option<&AuthenticationOptions>,
    ) -> Verdict {
        match chunk {
            // What follows is vouched for already: a chain of these costs no more than one.
            Chunk::Auth(_) if *authenticated => Verdict::Proved,
            Chunk::Auth(auth) => {
                let empty = AuthenticationOptions::default();
                let covered = packet.bytes_from_chunk(index);
                let verdict = self.verify(auth, covered, options.unwrap_or(&empty));
                *authenticated = verdict == Verdict::Proved;
                verdict
            }
            _ if *authenticated || self.takes_bare(chunk.chunk_type()) => Verdict::Taken,
            _ => Verdict::Lacking,
        }
    }

    /// Signs what is sent from now on as the options say.
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
            // RFC 5061, section 4.1: they are signed whether the peer lists them or not. They leave only
            // where it was agreed on.
            types.insert(ChunkType::ASCONF);
            types.insert(ChunkType::ASCONF_ACK);
        }
        // Section 3.3: the first of the peer's algorithms that this side knows.
        let hmac_id = peer.hmac_ids().find(|id| HMAC_IDS.contains(id));
        let hmac_id = hmac_id.filter(|_| !types.is_empty())?;
        // Signed with a key that no one knows is better than not signed.
        let secret = options.secret(key).unwrap_or_default();
        let secret = vector::association_key(secret, &self.own, peer);
        Signer::new(types, key, hmac_id, &secret).map(Arc::new)
    }

    /// Whether a chunk of this type is taken without being authenticated.
    fn takes_bare(&self, chunk_type: ChunkType) -> bool {
        !self.wanted.contains(chunk_type)
    }

    /// Whether the AUTH chunk with which `covered` begins is right (section 6.3).
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

    /// Whether a COOKIE ECHO may be taken that is the first chunk of `packet`, or the second behind an
    /// AUTH chunk (section 6.3).
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
    /// The state of an association that begins with these.
    pub(crate) fn authentication(self, options: &AuthenticationOptions) -> Authentication {
        let mut authentication = Authentication::new(self.own);
        authentication.establish(self.peer, options);
        authentication
    }
}

/// This side's part of the keys: chosen anew for each association.
pub(crate) fn draw_vector(types: ChunkTypes, random: &mut RandomStream) -> KeyVector {
    let mut secret = [0; KeyVector::RANDOM];
    random.fill(&mut secret);
    KeyVector::new(secret, types, &HMAC_IDS)
}

/// Types that this side takes only authenticated, as its options say.
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
