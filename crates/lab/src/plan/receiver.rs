//! `receiver` of a flow.

use base::ByteCount;
use recovery::RecoveryPolicy;
use serde::Deserialize;

use super::{PlanError, Text};
use crate::flow::TransportOptions;
use crate::peers::{PeerChoice, PeerName};

/// Settings of the receiving end that differ from the sender's policy.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiverSection {
    /// Longest delay of an acknowledgement, or `off`.
    #[serde(default)]
    pub delayed_ack: Option<String>,
    /// Packets after which one is not delayed any more.
    #[serde(default)]
    pub every: Option<u8>,
    /// Size of the receive buffer.
    #[serde(default)]
    pub buffer: Option<Text<ByteCount>>,
    /// A stack of others that receives from our SCTP.
    #[serde(default)]
    pub stack: Option<PeerName>,
    /// Whether that stack is tuned.
    #[serde(default)]
    pub tuned: bool,
}

impl ReceiverSection {
    /// The receiving end: ours, or the stack of that name.
    pub(super) fn received_by(&self, transport: TransportOptions) -> TransportOptions {
        match (transport, self.stack) {
            (TransportOptions::Sctp { sender, .. }, Some(name)) => {
                let receiver = PeerChoice { name, tuned: self.tuned };
                TransportOptions::SctpTo { sender, receiver }
            }
            (transport, _) => transport,
        }
    }

    /// The receiver's policy: the sender's with other acknowledgements.
    ///
    /// # Errors
    /// When the delay is none.
    pub fn policy(&self, sender: &RecoveryPolicy) -> Result<RecoveryPolicy, PlanError> {
        let mut policy = sender.clone();
        if let Some(text) = &self.delayed_ack {
            policy.acknowledgement.delay = match text.as_str() {
                "off" => None,
                span => Some(span.parse().map_err(|_| {
                    PlanError::new(format!(
                        "receiver.delayed_ack \"{text}\" is neither a duration such as 200ms nor off"
                    ))
                })?),
            };
        }
        if let Some(every) = self.every {
            policy.acknowledgement.every_packets = every.max(1);
        }
        Ok(policy)
    }
}
