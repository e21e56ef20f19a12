//! Key `receiver` of a flow: settings of its receiving end.

use base::ByteCount;
use recovery::RecoveryPolicy;
use serde::Deserialize;

use super::error::PlanError;
use crate::flow::TransportOptions;
use crate::peers::{PeerChoice, PeerName};
use crate::text::Text;

/// Settings of the receiving end that differ from the sender's policy.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiverSection {
    /// Longest delay of an acknowledgement, or `off`.
    #[serde(default)]
    pub delayed_ack: Option<String>,
    /// Number of packets after which an acknowledgement is sent at once.
    #[serde(default)]
    pub every: Option<u8>,
    /// Size of the receive buffer.
    #[serde(default)]
    pub buffer: Option<Text<ByteCount>>,
    /// Another implementation that receives from our SCTP.
    #[serde(default)]
    pub stack: Option<PeerName>,
    /// Whether that implementation is tuned.
    #[serde(default)]
    pub tuned: bool,
}

impl ReceiverSection {
    /// The receiving end: ours, or the implementation named by `stack`.
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
    /// When the delay cannot be read.
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
