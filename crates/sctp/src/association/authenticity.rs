//! Authentication of chunks (RFC 4895) of an association, and its keys.

use std::sync::Arc;

use super::Association;
use crate::authentication::{Authentication, AuthenticationOptions, KeyError, Verdict};
use crate::control::{Control, OwnedCause};
use crate::wire::signing::Signer;
use crate::wire::{Chunk, KeyId, Packet};

impl Association {
    /// State of authentication, if it is offered or agreed on.
    pub(crate) fn authentication(&self) -> Option<&Authentication> {
        self.extensions.authentication()
    }

    /// Treatment of chunk number `index` of `packet`. `authenticated`: whether a valid AUTH chunk
    /// precedes it; set if this chunk is one.
    #[inline]
    pub(super) fn judge_authenticity(
        &mut self,
        packet: &Packet,
        index: usize,
        chunk: &Chunk<'_>,
        authenticated: &mut bool,
    ) -> Verdict {
        let Some(own) = self.extensions.authentication() else { return Verdict::Taken };
        let options = self.options.authentication.as_deref();
        let verdict = own.judge(packet, index, chunk, authenticated, options);
        match verdict {
            Verdict::Taken | Verdict::Proved => {}
            Verdict::Lacking | Verdict::Refused => self.counters.chunks_dropped += 1,
            Verdict::UnsupportedHmac(id) => {
                self.counters.chunks_dropped += 1;
                self.control.push_answer(
                    self.tx.fragment_size(),
                    Control::Error(OwnedCause::UnsupportedHmacIdentifier(id)),
                );
            }
        }
        verdict
    }

    /// Signer of the packet being built, with the key that its user data uses, or the active one.
    #[inline]
    pub(super) fn signer_with(&mut self, key: Option<KeyId>) -> Option<Arc<Signer>> {
        match (key, &self.options.authentication) {
            (Some(key), Some(options)) => {
                self.extensions.authentication_mut()?.signer_with(key, options).cloned()
            }
            _ => self.extensions.signer().cloned(),
        }
    }

    /// Whether a message may use this key: any without authentication, otherwise an existing one.
    pub(super) fn has_key(&self, key: KeyId) -> bool {
        let options = self.options.authentication.as_deref();
        self.extensions.authentication().is_none()
            || options.is_some_and(|options| options.keys.contains_key(&key))
    }

    /// Whether a queued or outstanding message uses this key.
    pub(crate) fn names_key(&self, key: KeyId) -> bool {
        let held = self.extensions.reconfiguration();
        self.tx.names_key(key) || held.is_some_and(|own| own.names_key(key))
    }

    /// Applies `change` to the keys of RFC 4895 and signs with the new active key; its error
    /// changes nothing.
    pub(crate) fn change_keys(
        &mut self,
        change: impl FnOnce(&mut AuthenticationOptions) -> Result<(), KeyError>,
    ) -> Result<(), KeyError> {
        let mut options = self.options.authentication.clone().unwrap_or_default();
        change(Arc::make_mut(&mut options))?;
        if let Some(own) = self.extensions.authentication_mut() {
            own.choose_signer(&options);
        }
        Arc::make_mut(&mut self.options).authentication = Some(options);
        self.tx.note_signer(self.extensions.signer().map(|signer| &**signer));
        Ok(())
    }
}
