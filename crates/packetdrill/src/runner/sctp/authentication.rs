//! Authenticated chunks (RFC 4895), computed independently, so that the stack does not judge
//! itself.

use std::collections::BTreeMap;

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::Sha256;

use crate::element::split;
use crate::mapping::Side;

/// Chunk types that authentication concerns (RFC 9260, section 3.2; RFC 4895, section 4.1).
const INIT: u8 = 1;
const INIT_ACK: u8 = 2;
const AUTH: u8 = 15;

/// Length of the fixed part of INIT and INIT ACK, and of AUTH, with the chunk's header.
const INIT_LENGTH: usize = 20;
const AUTH_LENGTH: usize = 8;

/// RANDOM, CHUNKS and HMAC-ALGO, in their order in key vectors.
const VECTOR: [u16; 3] = [0x8002, 0x8003, 0x8004];

/// Key material of both sides from INIT and INIT ACK.
#[derive(Debug, Default)]
pub(super) struct Keys {
    stack: Vec<u8>,
    script: Vec<u8>,
}

impl Keys {
    /// Records the key material of an INIT or INIT ACK that `side` sends.
    pub(super) fn note(&mut self, side: Side, chunks: &[&[u8]]) {
        let Some([INIT | INIT_ACK, ..]) = chunks.first() else { return };
        let parameters = chunks[0].get(INIT_LENGTH..).and_then(|rest| split(rest).ok());
        let of_type = |wanted: u16| {
            let mut parameters = parameters.iter().flatten();
            parameters.find(|parameter| parameter.starts_with(&wanted.to_be_bytes()))
        };
        let vector =
            VECTOR.into_iter().filter_map(of_type).flat_map(|parameter| parameter.iter().copied());
        match side {
            Side::Stack => self.stack = vector.collect(),
            Side::Script => self.script = vector.collect(),
        }
    }

    /// The association's key (section 6.1): the secret, then the numerically smaller of the two
    /// vectors, which have the same first byte, then the larger.
    fn association_key(&self, secret: &[u8]) -> Vec<u8> {
        let order = |vector: &Vec<u8>| (vector.len(), vector.clone());
        let mut vectors = [&self.stack, &self.script];
        vectors.sort_by_key(|vector| order(vector));
        [secret, vectors[0], vectors[1]].concat()
    }

    /// HMAC over an AUTH chunk and the chunks after it, if its key and algorithm are known.
    fn hmac(&self, secrets: &BTreeMap<u16, Vec<u8>>, covered: &[u8]) -> Option<Vec<u8>> {
        let [_, _, _, _, key_high, key_low, id_high, id_low, ..] = *covered else { return None };
        let number = u16::from_be_bytes([key_high, key_low]);
        let secret = match secrets.get(&number) {
            Some(secret) => secret.as_slice(),
            // The empty key exists from the start.
            None if number == 0 => &[],
            None => return None,
        };
        let key = self.association_key(secret);
        let length = digest_length(u16::from_be_bytes([id_high, id_low]))?;
        let (head, rest) = covered.split_at_checked(AUTH_LENGTH)?;
        let parts = [head, &vec![0; length], rest.get(length..)?].concat();
        match length {
            SHA_1 => Some(
                Hmac::<Sha1>::new_from_slice(&key)
                    .ok()?
                    .chain_update(parts)
                    .finalize()
                    .into_bytes()
                    .to_vec(),
            ),
            _ => Some(
                Hmac::<Sha256>::new_from_slice(&key)
                    .ok()?
                    .chain_update(parts)
                    .finalize()
                    .into_bytes()
                    .to_vec(),
            ),
        }
    }

    /// Writes the HMAC into the first AUTH chunk of a packet's chunks.
    pub(super) fn sign(&self, secrets: &BTreeMap<u16, Vec<u8>>, chunks: &mut [u8]) {
        let Some(start) = auth_chunk(chunks) else { return };
        let Some(hmac) = self.hmac(secrets, &chunks[start..]) else { return };
        let place = start + AUTH_LENGTH;
        if let Some(room) = chunks.get_mut(place..place + hmac.len()) {
            room.copy_from_slice(&hmac);
        }
    }

    /// Checks the first AUTH chunk of a packet's chunks, if any.
    ///
    /// # Errors
    /// The error in it.
    pub(super) fn check(
        &self,
        secrets: &BTreeMap<u16, Vec<u8>>,
        chunks: &[u8],
    ) -> Result<(), String> {
        let Some(start) = auth_chunk(chunks) else { return Ok(()) };
        let hmac = self.hmac(secrets, &chunks[start..]);
        let hmac = hmac.ok_or("AUTH with an unknown key or algorithm")?;
        if chunks[start + AUTH_LENGTH..].starts_with(&hmac) {
            Ok(())
        } else {
            Err("AUTH with a wrong HMAC".to_owned())
        }
    }
}

/// Length of a SHA-1 digest in bytes.
const SHA_1: usize = 20;

/// Length of an HMAC in bytes, by its identifier (section 3.3).
pub(super) fn digest_length(id: u16) -> Option<usize> {
    match id {
        1 => Some(SHA_1),
        3 => Some(32),
        _ => None,
    }
}

/// Offset of the first AUTH chunk.
fn auth_chunk(chunks: &[u8]) -> Option<usize> {
    let mut start = 0;
    for chunk in split(chunks).ok()? {
        if chunk.first() == Some(&AUTH) {
            return Some(start);
        }
        start += chunk.len().next_multiple_of(4);
    }
    None
}
