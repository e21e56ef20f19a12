//! Loss detection and congestion control of whole connections in virtual time: exact instants,
//! windows against their closed forms, flows beside each other.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod cubic;
mod fairness;
mod linux;
mod switching;

use std::sync::Arc;

use base::Duration;
use recovery::RecoveryPolicy;
use tcp::{ConnectionInfo, ConnectionOptions};

use support::Pair;

pub(crate) const RTT: Duration = Duration::from_millis(100);

/// A connection with this policy and buffers that never limit it; the peer acknowledges every
/// segment.
pub(crate) fn options(mut policy: RecoveryPolicy) -> ConnectionOptions {
    policy.acknowledgement.delay = None;
    ConnectionOptions {
        policy: Arc::new(policy),
        no_delay: true,
        send_buffer: 16 << 20,
        receive_buffer: 16 << 20,
        path_mtu_discovery: false,
        ..ConnectionOptions::default()
    }
}

pub(crate) fn preset(name: &str) -> RecoveryPolicy {
    RecoveryPolicy::tcp_preset(name).unwrap()
}

impl Pair {
    /// State and statistics of the client's connection.
    pub(crate) fn info(&self) -> ConnectionInfo {
        let client = self.client();
        client.endpoint.connection(client.id.unwrap()).unwrap().info(self.sim.now())
    }

    /// The client's segments with data: milliseconds, first byte counted from 0, and length.
    pub(crate) fn data_sent(&self) -> Vec<(u64, u32, usize)> {
        let sent = self.sim.checker().sent.iter().filter(|sent| sent.from == self.client);
        let first = sent.clone().find(|sent| sent.segment.flags.syn()).unwrap().segment.seq;
        sent.filter(|sent| !sent.segment.payload.is_empty())
            .map(|sent| {
                let start = sent.segment.seq.distance_from(first) - 1;
                (sent.at.as_nanos() / 1_000_000, start, sent.segment.payload.len())
            })
            .collect()
    }

    /// The client writes `bytes` bytes.
    pub(crate) fn write(&mut self, bytes: u64) {
        self.sim.with_host(self.client, |peer, now| {
            peer.to_send += bytes;
            peer.write(now);
        });
    }
}
