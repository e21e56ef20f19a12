//! The nodes of an endpoint: one for each shard.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

use base::{Instant, RandomStream};
use io::{BindError, Clock, Shared};
use sctp::Shard;
use secure::{Context, Fingerprint, Secrets, Secured, Sessions, Settings, Trust};
use tokio::sync::Notify;

use super::checks::invalid;
use crate::node::{Node, Place, Stack, Tapped};
use crate::options::{EndpointOptions, new_identity, secret};
use crate::shards::{Commons, Shards};
use crate::tap::SharedTap;

/// Parts from which the nodes of all shards are made.
pub(super) struct Builder {
    pub(super) machine: sctp::EndpointOptions,
    /// Keys and limits of DTLS; none without encryption.
    pub(super) security: Option<Security>,
    pub(super) tap: Option<SharedTap>,
    /// The address of this side where a packet names none.
    pub(super) own: SocketAddr,
    /// Signals of new associations and of refused clients.
    pub(super) signals: [Arc<Notify>; 2],
    pub(super) shares_address: bool,
    /// State that several shards share.
    pub(super) common: Option<(Arc<Shards>, Arc<Commons>)>,
    pub(super) clock: Clock,
}

impl Builder {
    /// Builds the machine, secrets and mailbox of one of the shards.
    pub(super) fn build(&self, index: usize, random: &mut RandomStream) -> Arc<Shared<Node>> {
        let place = self.common.as_ref().and_then(|(shards, _)| {
            let of = NonZeroU32::new(u32::try_from(shards.len()).ok()?)?;
            let shard = Shard::new(u32::try_from(index).ok()?, of)?;
            Some(Place::new(index, shard, Arc::clone(shards)))
        });
        let shard = place.as_ref().map(Place::shard).unwrap_or_default();
        let options = sctp::EndpointOptions { shard, ..self.machine.clone() };
        let mut seed = [0; 32];
        random.fill(&mut seed);
        let mut endpoint = sctp::Endpoint::new(options, RandomStream::from_secret(seed));
        if let Some((_, commons)) = &self.common {
            endpoint.join(Arc::clone(commons) as Arc<dyn sctp::Census>);
        }
        let machine = Tapped::new(endpoint, self.tap.clone(), self.own);
        let stack = match &self.security {
            None => Stack::Plain(Box::new(machine)),
            Some(security) => {
                let sessions = security.sessions(self.tap.clone());
                Stack::Secure(Box::new(Secured { machine, sessions }))
            }
        };
        let mut node = Node::new(stack, self.signals.clone(), self.shares_address);
        let Some(place) = place else { return Shared::new(node, self.clock) };
        let wake = place.wake();
        node.take_place(place);
        Shared::woken_by(node, self.clock, wake)
    }
}

/// This side's key, and whom its sessions trust.
pub(super) struct Security {
    pub(super) fingerprint: Fingerprint,
    context: Context,
    limits: secure::Limits,
    /// Peers that may begin; none where the endpoint does not listen.
    clients: Option<Trust>,
}

impl Security {
    /// Keys and limits of DTLS by the options; none without encryption.
    pub(super) fn of(
        addresses: &[SocketAddr],
        options: &EndpointOptions,
        clock: Clock,
    ) -> Result<Option<Security>, BindError> {
        if !options.encapsulation.is_secure() {
            return Ok(None);
        }
        let identity = options.identity.clone().unwrap_or_else(new_identity);
        let policy = &options.accepted.policy;
        let first = policy.backoff.first_setup.unwrap_or(policy.rto.initial);
        let first_retransmission =
            first.min(policy.rto.initial).max(base::Duration::from_millis(1));
        let epoch = clock.since_epoch(Instant::ZERO);
        let linear_retransmissions = policy.backoff.linear_setup;
        let settings =
            Settings { first_retransmission, linear_retransmissions, epoch, ..Settings::default() };
        let context = Context::new(settings, &identity)
            .map_err(|error| invalid(addresses, options.encapsulation, error.to_string()))?;
        // A client that is refused an association has a session over which to be told so.
        let more = |places: usize| places.saturating_add(1024);
        let per_peer = sctp::EndpointOptions {
            max_associations: options.max_associations,
            max_per_peer: options.max_per_peer,
            ..sctp::EndpointOptions::default()
        };
        // Of what shards do not count together, each has a part.
        let part = |all: usize| all.div_ceil(options.shards.get());
        let usual = secure::Limits::default();
        let limits = secure::Limits {
            sessions: more(part(options.max_associations)),
            per_host: more(part(per_peer.per_peer())),
            half_open: part(usual.half_open),
            half_open_per_host: part(usual.half_open_per_host),
            ..usual
        };
        let clients = options.listen.then(|| options.clients.clone());
        Ok(Some(Security { fingerprint: identity.fingerprint(), context, limits, clients }))
    }

    /// The sessions of a shard, whose packets the tap sees.
    fn sessions(&self, tap: Option<SharedTap>) -> Sessions {
        let random = RandomStream::from_secret(secret());
        let mut sessions =
            Sessions::new(self.context.clone(), self.limits, Secrets::System, random);
        sessions.accept(self.clients.clone());
        if let Some(tap) = tap {
            sessions.watch(Box::new(move |packet, sealed| tap.lock().on_sealed(packet, sealed)));
        }
        sessions
    }
}
