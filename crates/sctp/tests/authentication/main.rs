//! RFC 4895: chunks that are accepted only authenticated; in virtual time between two endpoints and
//! by hand-made packets to one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod forged;
mod handshake;
mod keys;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use netsim::topology::Directions;
use sctp::wire::ChunkType;
use sctp::{AssociationOptions, AuthenticationOptions, Event, Extensions, KeyId};

use support::{Pair, RTT, half, options, plain};

/// Options of a side that takes these chunks only authenticated, with key 1 if a secret is given.
fn authenticating(chunks: &[ChunkType], secret: Option<&'static str>) -> AssociationOptions {
    let key = |secret| (KeyId(1), Bytes::from(secret));
    let keys = secret.map_or((KeyId(0), Bytes::new()), key);
    let authentication = AuthenticationOptions {
        chunks: chunks.to_vec(),
        active_key: keys.0,
        keys: BTreeMap::from([keys]),
    };
    AssociationOptions {
        extensions: Extensions::AUTHENTICATION,
        authentication: Some(Arc::new(authentication)),
        ..options(plain())
    }
}

fn links() -> Directions<netsim::LinkConfig> {
    Directions { forward: half(RTT), backward: half(RTT) }
}

/// Client and server with these options, a second old.
fn pair(client: AssociationOptions, server: AssociationOptions) -> Pair {
    let mut pair = Pair::with_server(links(), client, server, 1);
    pair.at(0);
    pair
}

fn is_established(pair: &Pair) -> bool {
    pair.client().has_event(&Event::Established) && pair.server().has_event(&Event::Established)
}
