//! The extensions in use on an association, with their state.

use std::sync::Arc;

use base::Instant;

use super::identity::Identity;
use crate::address_reconfiguration::AddressReconfiguration;
use crate::authentication::vector::KeyVector;
use crate::authentication::{Authentication, AuthenticationOptions};
use crate::extensions::Extensions;
use crate::reconfigure::Reconfiguration;
use crate::wire::signing::Signer;

/// Estimated bytes of authentication: key vectors of both sides, keys and hash states.
const AUTHENTICATION: usize = 1024;

/// State of extensions. An unused extension takes one word.
#[derive(Debug)]
pub(super) struct InUse {
    /// Extensions that both sides offered; empty before the peer answered.
    agreed: Extensions,
    /// Whether this side offered to accept packets without a checksum.
    takes_zero_checksum: bool,
    /// State of authentication, if it is offered and, once the peer answered, agreed on.
    authentication: Option<Box<Authentication>>,
    /// State of address changes, once there was one.
    addresses: Option<Box<AddressReconfiguration>>,
    /// State of reconfigurations, once either side requested one.
    reconfiguration: Option<Box<Reconfiguration>>,
}

impl InUse {
    pub(super) fn new(takes_zero_checksum: bool) -> InUse {
        InUse {
            agreed: Extensions::NONE,
            takes_zero_checksum,
            authentication: None,
            addresses: None,
            reconfiguration: None,
        }
    }

    /// Extensions that both sides offered.
    #[inline]
    pub(super) fn agreed(&self) -> Extensions {
        self.agreed
    }

    /// Whether both sides offered all of these.
    #[inline]
    pub(super) fn contains(&self, extensions: Extensions) -> bool {
        self.agreed.contains(extensions)
    }

    /// Whether this side offered to accept packets without a checksum.
    pub(super) fn takes_zero_checksum(&self) -> bool {
        self.takes_zero_checksum
    }

    /// Records that this side offers authentication with this vector.
    pub(super) fn offer_authentication(&mut self, own: KeyVector) {
        self.authentication = Some(Box::new(Authentication::new(own)));
    }

    /// Sets the extensions that both sides offered, and the peer's key vector if it authenticates.
    pub(super) fn agree(
        &mut self,
        agreed: Extensions,
        peer: Option<KeyVector>,
        options: Option<&Arc<AuthenticationOptions>>,
    ) {
        self.agreed = agreed;
        match (peer, &mut self.authentication) {
            (Some(peer), Some(own)) => own.establish(peer, &options.cloned().unwrap_or_default()),
            _ => self.authentication = None,
        }
    }

    /// Forgets the peer's key vector, since another follows.
    pub(super) fn forget_peer(&mut self) {
        if let Some(own) = &mut self.authentication {
            own.forget_peer();
        }
    }

    pub(super) fn authentication(&self) -> Option<&Authentication> {
        self.authentication.as_deref()
    }

    pub(super) fn authentication_mut(&mut self) -> Option<&mut Authentication> {
        self.authentication.as_deref_mut()
    }

    /// Signer of the packet being built.
    #[inline]
    pub(super) fn signer(&self) -> Option<&Arc<Signer>> {
        self.authentication.as_ref()?.signer()
    }

    pub(super) fn addresses(&self) -> Option<&AddressReconfiguration> {
        self.addresses.as_deref()
    }

    pub(super) fn addresses_mut(&mut self) -> Option<&mut AddressReconfiguration> {
        self.addresses.as_deref_mut()
    }

    /// State of address changes, created if there is none.
    pub(super) fn begin_addresses(&mut self, identity: &Identity) -> &mut AddressReconfiguration {
        let (own, peer) = (identity.local_initial_tsn, identity.peer_initial_tsn);
        self.addresses.get_or_insert_with(|| Box::new(AddressReconfiguration::new(own, peer)))
    }

    /// Ends address changes of this side.
    pub(super) fn end_addresses(&mut self) {
        self.addresses = None;
    }

    pub(super) fn reconfiguration(&self) -> Option<&Reconfiguration> {
        self.reconfiguration.as_deref()
    }

    pub(super) fn reconfiguration_mut(&mut self) -> Option<&mut Reconfiguration> {
        self.reconfiguration.as_deref_mut()
    }

    /// State of reconfigurations, created if there is none.
    pub(super) fn begin_reconfiguration(&mut self, identity: &Identity) -> &mut Reconfiguration {
        let (own, peer) = (identity.local_initial_tsn, identity.peer_initial_tsn);
        self.reconfiguration.get_or_insert_with(|| Box::new(Reconfiguration::new(own, peer)))
    }

    /// Bytes of messages held for a reset.
    #[inline]
    pub(super) fn held_bytes(&self) -> usize {
        self.reconfiguration.as_ref().map_or(0, |own| own.held_bytes())
    }

    /// Earliest deadline of all extensions.
    #[inline]
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let reconfiguration = self.reconfiguration.as_ref().and_then(|own| own.next_timeout());
        let addresses = self.addresses.as_ref().and_then(|own| own.next_timeout());
        Instant::earliest(&[reconfiguration, addresses])
    }

    /// Frees the state of stream and address changes once the association is over.
    pub(super) fn stop(&mut self) {
        self.reconfiguration = None;
        self.addresses = None;
    }

    /// Allocated bytes.
    pub(super) fn memory(&self) -> usize {
        let of = |used: bool, size: usize| if used { size } else { 0 };
        of(self.authentication.is_some(), AUTHENTICATION)
            + of(self.reconfiguration.is_some(), size_of::<Reconfiguration>())
            + of(self.addresses.is_some(), size_of::<AddressReconfiguration>())
    }
}
