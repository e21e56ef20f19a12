//! SCTP's set-up in offer and answer (SNAP, draft-hancke-tsvwg-snap): the association exists once
//! DTLS is open.

use base::{Instant, RandomStream};
use sctp::{AssociationId, NotAnInit, SignalledInit};

use super::options::PeerOptions;
use super::{Peer, THERE};
use crate::ice::Ice;

/// An association whose INIT went into a description.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) id: AssociationId,
    /// The INIT of the peer, once its description came.
    pub(super) theirs: Option<SignalledInit>,
}

/// The INIT that [`Peer::signal_init`] gives once a peer is made with these options and `random`,
/// whatever its description says: an offer says it before there is an answer.
pub(crate) fn init_to_come(
    now: Instant,
    options: &PeerOptions,
    random: RandomStream,
) -> Option<Vec<u8>> {
    let (_, mut endpoint) = options.endpoint(random);
    let id = endpoint.prepare(now, THERE, options.peer_port, options.association.clone()).ok()?;
    Some(endpoint.association_mut(id)?.init_chunk())
}

impl<I: Ice> Peer<I> {
    /// This side's INIT for its description (`a=sctp-init`), before the session is open; none if
    /// there can be no association.
    pub fn signal_init(&mut self, now: Instant) -> Option<Vec<u8>> {
        let (port, options) = (self.options.peer_port, self.options.association.clone());
        let id = self.endpoint.prepare(now, THERE, port, options).ok()?;
        self.prepared = Some(Prepared { id, theirs: None });
        Some(self.endpoint.association_mut(id)?.init_chunk())
    }

    /// Takes the INIT of the peer's description, once [`Peer::signal_init`] has made this side's.
    /// False if the two make no association, such as where the peer only returned what it got:
    /// it then begins with packets, and this side's INIT has to stay out of an answer that is
    /// still to be made.
    ///
    /// # Errors
    /// The bytes are no INIT.
    pub fn take_init(&mut self, init: &[u8]) -> Result<bool, NotAnInit> {
        let theirs = SignalledInit::parse(init)?;
        let Some(prepared) = &mut self.prepared else { return Ok(false) };
        let association = self.endpoint.association(prepared.id);
        if association.is_some_and(|own| own.suits(&theirs)) {
            prepared.theirs = Some(theirs);
            return Ok(true);
        }
        Ok(false)
    }

    /// Begins the prepared association, if any: it exists if both descriptions have an INIT;
    /// otherwise INIT is sent in a packet.
    pub(super) fn begin_prepared(&mut self, now: Instant) {
        let Some(Prepared { id, theirs }) = self.prepared.take() else { return };
        let Some(mut own) = self.endpoint.association_mut(id) else { return };
        if !theirs.is_some_and(|theirs| own.establish_with(now, &theirs)) {
            own.send_init(now);
        }
        self.association = Some(id);
    }
}
