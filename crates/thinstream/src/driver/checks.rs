//! Rejects options with which nothing can work; the error says what would be right.

use std::net::SocketAddr;

use io::BindError;
use recovery::policy::Protocol;

use super::NOWHERE;
use crate::options::{Encapsulation, EndpointOptions};

/// Bytes with which a shard can do anything.
const LEAST_MEMORY: usize = 1 << 20;

/// Refuses what cannot work at these addresses.
pub(super) fn check(addresses: &[SocketAddr], options: &EndpointOptions) -> Result<(), BindError> {
    if !addresses.is_empty() {
        let checked = options.accepted.policy.check_for(Protocol::Sctp);
        checked.map_err(|error| invalid(addresses, options.encapsulation, error.to_string()))?;
    }
    let wrong = wrong_limit(options).or_else(|| wrong_shards(options));
    wrong.map_or(Ok(()), |wrong| Err(invalid(addresses, options.encapsulation, wrong)))
}

fn wrong_limit(options: &EndpointOptions) -> Option<String> {
    let limit = options.memory.limit;
    let least = LEAST_MEMORY.saturating_mul(options.shards.get());
    Some(if options.max_associations == 0 {
        "max_associations is 0: it should be at least 1".to_owned()
    } else if options.max_per_peer == Some(0) {
        "max_per_peer is 0: it should be at least 1".to_owned()
    } else if limit < LEAST_MEMORY {
        format!("memory is {limit} bytes: it should be at least {LEAST_MEMORY}")
    } else if limit < least {
        let shards = options.shards;
        format!("memory is {limit} bytes: it should be at least {least} with {shards} shards")
    } else if options.accepted.zero_checksum.is_some() && !options.encapsulation.is_secure() {
        "zero_checksum goes with Encapsulation::Secure alone: packets in plain need their checksum"
            .to_owned()
    } else {
        return None;
    })
}

fn wrong_shards(options: &EndpointOptions) -> Option<String> {
    let shards = options.shards.get();
    if shards == 1 {
        return None;
    }
    Some(if shards > EndpointOptions::MOST_SHARDS {
        let most = EndpointOptions::MOST_SHARDS;
        format!("shards is {shards}: it should be at most {most}")
    } else if !options.listen {
        format!("shards is {shards}: it should be 1 where the endpoint does not listen")
    } else {
        return None;
    })
}

/// The error for an option that is wrong.
pub(super) fn invalid(
    addresses: &[SocketAddr],
    encapsulation: Encapsulation,
    wrong: String,
) -> BindError {
    let protocol = match encapsulation {
        Encapsulation::Secure | Encapsulation::PlainUdp => "UDP",
        Encapsulation::PlainRawIp => "raw IP",
    };
    let reason = std::io::Error::new(std::io::ErrorKind::InvalidInput, wrong);
    BindError::new(protocol, addresses.first().copied().unwrap_or(NOWHERE), reason)
}
