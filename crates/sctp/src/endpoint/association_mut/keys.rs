//! Calls about the keys of authenticated chunks (RFC 6458, section 8.3).

use bytes::Bytes;

use super::AssociationMut;
use crate::authentication::{AuthenticationOptions, KeyError};
use crate::wire::KeyId;

impl AssociationMut<'_> {
    /// Tells the association a secret that both applications know, under the number that both gave it
    /// (SCTP_AUTH_KEY); it may replace another. Key 0 is there from the start, and empty.
    ///
    /// # Errors
    /// [`KeyError::NoAssociation`].
    pub fn set_shared_key(&mut self, key: KeyId, secret: Bytes) -> Result<(), KeyError> {
        self.change_keys(|options| {
            options.keys.insert(key, secret);
            Ok(())
        })
    }

    /// Authenticates with this key what the association sends from now on (SCTP_AUTH_ACTIVE_KEY).
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

    /// Forgets a shared key (SCTP_AUTH_DELETE_KEY): what the peer authenticates with it is dropped.
    ///
    /// # Errors
    /// [`KeyError`]; the active key stays, and so does one that messages name which wait or are outstanding.
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
