//! `transport` of a flow: ours, or another implementation's.

use serde::de::value::StrDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IntoDeserializer};

use crate::peers::PeerName;
use crate::policy_text::TransportName;

/// Transport of a flow, as a plan names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportText {
    /// SCTP or TCP of this project.
    Own(TransportName),
    /// A transport that is registered by another implementation.
    Peer(PeerName),
}

impl<'de> Deserialize<'de> for TransportText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<TransportText, D::Error> {
        let name = String::deserialize(from)?;
        let text: StrDeserializer<'_, D::Error> = name.as_str().into_deserializer();
        match TransportName::deserialize(text) {
            Ok(own) => Ok(TransportText::Own(own)),
            Err(_) => PeerName::of(&name).map(TransportText::Peer).map_err(D::Error::custom),
        }
    }
}

impl TransportText {
    /// Whether this is our transport of that name.
    pub fn is(self, name: TransportName) -> bool {
        self == TransportText::Own(name)
    }
}
