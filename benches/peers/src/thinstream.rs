//! thinstream, through the harness of its own measurements.

#[path = "../../../crates/sctp/examples/cost/pair.rs"]
mod pair;

use std::sync::Arc;

use base::Duration;
use bytes::Bytes;
use recovery::RecoveryPolicy;
use sctp::AssociationOptions;

use crate::{Nanos, Stack};

/// The policy of the RFC, which its peers follow, too.
pub struct Thinstream(pair::Pair);

impl Stack for Thinstream {
    const NAME: &'static str = "thinstream";

    fn new(count: usize) -> Self {
        let options = AssociationOptions {
            policy: Arc::new(RecoveryPolicy::sctp_rfc()),
            send_buffer: usize::MAX,
            receive_buffer: 5 << 20,
            ..AssociationOptions::default()
        };
        Thinstream(pair::Pair::new(&options, count as u32))
    }

    fn send(&mut self, association: usize, message: &Bytes) -> bool {
        self.0.send(self.0.associations[association], message.clone())
    }

    fn exchange(&mut self) {
        self.0.exchange();
    }

    fn advance(&mut self, span: Nanos) {
        self.0.advance(Duration::from_nanos(span));
    }

    fn received(&self) -> (u64, u64) {
        self.0.received()
    }
}
