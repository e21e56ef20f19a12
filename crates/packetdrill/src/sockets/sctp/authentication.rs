//! Socket options for authenticated chunks (RFC 6458, sections 8.1.15, 8.1.17 and 8.3).

use crate::sockets::arguments::{Numbers, numbers, part};
use std::sync::Arc;

use bytes::Bytes;
use sctp::wire::ChunkType;
use sctp::{AuthenticationOptions, KeyId};

use super::{Outcome, Output, Returned, Role, Sockets};
use crate::element::bytes_of;
use crate::expression::Expression;
use crate::stop::Stop;

impl Sockets {
    /// Sets, selects or deletes a key, or makes a chunk authenticated; `None` if it is another
    /// option. The script's side knows the secrets.
    pub(super) fn set_key(
        &mut self,
        descriptor: i64,
        name: &str,
        value: Option<&Expression>,
    ) -> Result<Option<Outcome>, Stop> {
        let fields = value.map(numbers).unwrap_or_default();
        let change = match name {
            "SCTP_AUTH_KEY" => {
                Change::Set(key_id(&fields, "sca_keynumber")?, secret(value, &fields)?)
            }
            "SCTP_AUTH_ACTIVE_KEY" => Change::Activate(key_id(&fields, "scact_keynumber")?),
            "SCTP_AUTH_DELETE_KEY" => Change::Forget(key_id(&fields, "scact_keynumber")?),
            "SCTP_AUTH_CHUNK" => {
                let chunk = fields.get("sauth_chunk").and_then(|chunk| u8::try_from(*chunk).ok());
                let chunk =
                    chunk.ok_or_else(|| Stop::skip("SCTP_AUTH_CHUNK without a chunk type"))?;
                // INIT, INIT ACK, SHUTDOWN COMPLETE and AUTH cannot be authenticated (RFC 4895,
                // section 3.2).
                if matches!(chunk, 1 | 2 | 14 | 15) {
                    return Ok(Some(Returned::error("EINVAL")));
                }
                Change::Require(ChunkType(chunk))
            }
            _ => return Ok(None),
        };
        if let Change::Set(key, secret) = &change {
            self.secrets.insert(key.0, secret.to_vec());
        }
        let Ok(socket) = self.socket(descriptor) else { return Ok(Some(Returned::error("EBADF"))) };
        let before = socket.options.authentication.clone();
        let own = Arc::make_mut(socket.options.authentication.get_or_insert_default());
        if !change.apply(own) {
            return Ok(Some(Returned::error("EINVAL")));
        }
        let (role, options) = (socket.role, socket.options.clone());
        let done = match role {
            Role::Fresh => true,
            Role::Listening(stack) | Role::Many(stack) => {
                self.stacks[stack].endpoint.set_accepted_options(options);
                true
            }
            Role::Association(stack, id) => {
                let association = self.stacks[stack].endpoint.association_mut(id);
                let mut own = association.ok_or_else(|| Stop::fail("the association is gone"))?;
                match change {
                    Change::Set(key, secret) => own.set_shared_key(key, secret),
                    Change::Activate(key) => own.activate_key(key),
                    Change::Forget(key) => own.remove_shared_key(key),
                    // Applies to future associations (RFC 6458, section 8.3.2).
                    Change::Require(_) => Ok(()),
                }
                .is_ok()
            }
        };
        if done {
            return Ok(Some(Returned::value(0)));
        }
        if let Ok(socket) = self.socket(descriptor) {
            socket.options.authentication = before;
        }
        Ok(Some(Returned::error("EINVAL")))
    }
}

impl Sockets {
    /// Chunks that the peer accepts only authenticated (RFC 6458, section 8.2.3).
    pub(super) fn peer_auth_chunks(&self, role: Role) -> Option<Output> {
        let Role::Association(stack, id) = role else { return None };
        let chunks = self.stacks[stack].endpoint.association(id)?.peer_auth_chunks();
        let list = chunks.iter().map(|chunk| Output::Number(chunk.0.into())).collect();
        Some(Output::Struct(vec![
            ("gauth_number_of_chunks", Output::Number(chunks.len() as i64)),
            ("gauth_chunks", Output::List(list)),
        ]))
    }
}

/// Action that an option of authentication stands for.
enum Change {
    Set(KeyId, Bytes),
    Activate(KeyId),
    Forget(KeyId),
    Require(ChunkType),
}

impl Change {
    /// Changes options; returns false if the change is not possible.
    fn apply(&self, options: &mut AuthenticationOptions) -> bool {
        match self {
            Change::Set(key, secret) => drop(options.keys.insert(*key, secret.clone())),
            Change::Activate(key) if options.keys.contains_key(key) => options.active_key = *key,
            Change::Forget(key) if options.active_key != *key => {
                return options.keys.remove(key).is_some();
            }
            Change::Activate(_) | Change::Forget(_) => return false,
            Change::Require(chunk) if options.chunks.contains(chunk) => {}
            Change::Require(chunk) => options.chunks.push(*chunk),
        }
        true
    }
}

fn key_id(fields: &Numbers<'_>, name: &str) -> Result<KeyId, Stop> {
    let number = fields.get(name).and_then(|number| u16::try_from(*number).ok());
    number.map(KeyId).ok_or_else(|| Stop::skip(format!("the field {name} wants a key's number")))
}

fn secret(value: Option<&Expression>, fields: &Numbers<'_>) -> Result<Bytes, Stop> {
    let secret = value.and_then(|value| part(value, "sca_key")).and_then(bytes_of);
    let secret =
        secret.ok_or_else(|| Stop::skip("SCTP_AUTH_KEY wants sca_key as a list of bytes"))?;
    match fields.get("sca_keylength") {
        Some(length) if usize::try_from(*length) != Ok(secret.len()) => Err(Stop::fail(format!(
            "sca_keylength is {length}, but sca_key has {} bytes",
            secret.len()
        ))),
        _ => Ok(Bytes::from(secret)),
    }
}
