//! Way of a client to its server: at the address of one family or of the other, whichever answers.

use std::net::SocketAddr;
use std::sync::Arc;

use io::Clock;
use io::attempts::{self, Weight};
use thinstream::{
    Association, AssociationOptions, ConnectError, Encapsulation, Endpoint, EndpointOptions,
    MemoryLimits, PeerAddress, Trust,
};

use super::{SendFailure, SendOptions};
use crate::files::{FileError, PacketFile};
use crate::keys::ServerKey;
use crate::notice::Notice;

/// An association with the server.
pub(super) struct Reached {
    pub(super) endpoint: Endpoint,
    pub(super) association: Association,
    /// The address that answered, of the two that were tried.
    pub(super) at: SocketAddr,
}

/// Connects to the server at `options.to`, or at `options.other` if that answers first. The failure
/// is that of the first address.
pub(super) async fn reach(
    options: &SendOptions,
    trust: Option<Trust>,
    clock: Clock,
    packets: &PacketFile,
) -> Result<Reached, SendFailure> {
    let addresses = std::iter::once(options.to).chain(options.other);
    let attempts = addresses.map(|to| attempt(options, trust.clone(), (clock, packets), to));
    // What is wrong with the options is wrong for each address that suits them.
    let weigh = |place, failure: &SendFailure| match place == 0 && failure.is_usage() {
        true => Weight::Final,
        false => Weight::Ordinary,
    };
    attempts::first(attempts, weigh)
        .await
        .map_err(|failure| failure.unwrap_or_else(|| ConnectError::NoAddress.into()))
}

/// Tries one address of the server, from an endpoint of its family.
async fn attempt(
    options: &SendOptions,
    trust: Option<Trust>,
    (clock, packets): (Clock, &PacketFile),
    to: SocketAddr,
) -> Result<Reached, SendFailure> {
    let endpoint_options = EndpointOptions {
        encapsulation: options.encapsulation,
        identity: options.identity.clone(),
        memory: MemoryLimits::of(options.memory),
        clock: Some(clock),
        tap: packets.tap(),
        dead_after: options.dead_after.map(Into::into),
        ..EndpointOptions::client()
    };
    let endpoint = match &options.local[..] {
        [] => Endpoint::bind(io::unspecified_for(to), endpoint_options)?,
        local => Endpoint::bind_all(local, endpoint_options)?,
    };
    let association = connect(options, trust, &endpoint, to).await?;
    Ok(Reached { endpoint, association, at: to })
}

/// Sets the association with the server at `to` up.
async fn connect(
    options: &SendOptions,
    trust: Option<Trust>,
    endpoint: &Endpoint,
    to: SocketAddr,
) -> Result<Association, SendFailure> {
    let addresses = [&[to], &options.further[..]].concat();
    let peer = PeerAddress { trust, ..PeerAddress::new(addresses, options.sctp_port) };
    let association_options = AssociationOptions {
        policy: Arc::clone(&options.policy),
        outbound_streams: options.streams,
        ..options.association.clone()
    };
    let association = endpoint.open(peer, association_options)?;
    let timeout = options.connect_timeout;
    let connected = tokio::time::timeout(timeout.into(), association.established()).await;
    connected
        .map_err(|_| match association.peer() {
            // It is there, and says no more.
            Some(_) => ConnectError::NotAccepted { remote: to, own: endpoint.fingerprint() }.into(),
            None => {
                let statistics = endpoint.carrier_statistics();
                let said = statistics.last_error.filter(|_| statistics.send_errors > 0);
                let heard = statistics.datagrams_received > 0;
                let plain = options.encapsulation != Encapsulation::Secure;
                SendFailure::Timeout { remote: to, timeout, said, heard, plain }
            }
        })?
        .map_err(|error| explained(options, to, error))?;
    let granted = association.outbound_streams();
    match granted < options.streams {
        true => Err(SendFailure::Streams { asked: options.streams, granted }),
        false => Ok(association),
    }
}

/// The failure; of a key that has changed, with the place of the one before.
fn explained(options: &SendOptions, remote: SocketAddr, error: ConnectError) -> SendFailure {
    let place = match (&error, &options.server) {
        (ConnectError::Untrusted { reason, .. }, Some(server)) => {
            reason.presented().zip(server.place_of(reason))
        }
        _ => None,
    };
    match place {
        Some((presented, (file, line))) => {
            SendFailure::ChangedKey { remote, presented: presented.to_string(), file, line }
        }
        None => error.into(),
    }
}

/// Keeps the key of a server that is met for the first time, now that it is proved, and says so.
pub(super) fn learn(
    options: &SendOptions,
    association: &Association,
    notice: &mut (dyn FnMut(Notice) + Send),
) -> Result<(), FileError> {
    let line = association.peer().and_then(|peer| peer.line_to_add);
    let (Some(line), Some(server @ ServerKey::FirstUse { file, name })) = (line, &options.server)
    else {
        return Ok(());
    };
    server.learn(&line)?;
    let text = format!("{name} was not known: its key is kept in {}", file.display());
    notice(Notice::Line(text));
    Ok(())
}
