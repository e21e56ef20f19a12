//! Calls for the keys of authenticated chunks (RFC 6458, section 8.3).

use bytes::Bytes;

use super::AssociationMut;
use crate::authentication::{AuthenticationOptions, KeyError};
use crate::wire::KeyId;

impl AssociationMut<'_> {
    /// Adds or replaces a secret that both applications share, under their common number
    /// (SCTP_AUTH_KEY). Key 0 exists from the start, and is empty.
    ///
    /// # Errors
    /// [`KeyError::NoAssociation`].
    pub fn set_shared_key(&mut self, key: KeyId, secret: Bytes) -> Result<(), KeyError> {
        self.change_keys(|options| {
            options.keys.insert(key, secret);
            Ok(())
        })
    }

    /// Selects the key that authenticates chunks sent from now on (SCTP_AUTH_ACTIVE_KEY).
    ///
    /// # Errors
    /// [`KeyError::NoAssociation`] or [`KeyError::NoSuchKey`].
    pub fn activate_key(&mut self, key: KeyId) -> Result<(), KeyError> {
        self.change_keys(|options| {
            if !options.keys.contains_key(&key) {
                return Err(KeyError::NoSuchKey(key));
            }
            options.active_key = key;
            Ok(())
        })
    }

    /// Deletes a shared key (SCTP_AUTH_DELETE_KEY): chunks that the peer authenticates with it are
    /// dropped.
    ///
    /// # Errors
    /// [`KeyError`]; the active key cannot be deleted, and neither can one that queued or
    /// outstanding messages use.
    pub fn remove_shared_key(&mut self, key: KeyId) -> Result<(), KeyError> {
        let association = self.endpoint.table.get_mut(self.id).ok_or(KeyError::NoAssociation)?;
        let is_named = association.names_key(key);
        self.change_keys(|options| {
            if is_named || options.active_key == key {
                return Err(KeyError::Active(key));
            }
            options.keys.remove(&key).map(drop).ok_or(KeyError::NoSuchKey(key))
        })
    }

    fn change_keys(
        &mut self,
        change: impl FnOnce(&mut AuthenticationOptions) -> Result<(), KeyError>,
    ) -> Result<(), KeyError> {
        let association = self.endpoint.table.get_mut(self.id).ok_or(KeyError::NoAssociation)?;
        association.change_keys(change)
    }
}
