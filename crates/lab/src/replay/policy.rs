//! Text form of a replay's policies.

use core::fmt;
use core::str::FromStr;

use recovery::RecoveryPolicy;
use recovery::policy::{PRESETS, TCP_PRESETS};

use crate::policy_text::TransportName;

/// A preset of a transport: `lksctp`, or `tcp:thin` if both transports have one of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyText {
    /// Name of the transport, if the text has it.
    transport: Option<TransportName>,
    preset: String,
}

impl PolicyText {
    /// The transport; `usual` if both have such a preset and none is given.
    pub fn transport(&self, usual: TransportName) -> TransportName {
        let has = |transport| has_preset(transport, &self.preset);
        self.transport.unwrap_or(match usual {
            TransportName::Sctp if !has(TransportName::Sctp) => TransportName::Tcp,
            TransportName::Tcp if !has(TransportName::Tcp) => TransportName::Sctp,
            usual => usual,
        })
    }

    /// Name of the preset, without its transport.
    pub fn preset(&self) -> &str {
        &self.preset
    }

    /// The policy with its transport made explicit.
    pub fn settled(&self, usual: TransportName) -> PolicyText {
        PolicyText { transport: Some(self.transport(usual)), preset: self.preset.clone() }
    }
}

fn has_preset(transport: TransportName, name: &str) -> bool {
    match transport {
        TransportName::Sctp => RecoveryPolicy::preset(name).is_some(),
        TransportName::Tcp => RecoveryPolicy::tcp_preset(name).is_some(),
    }
}

impl FromStr for PolicyText {
    type Err = String;

    fn from_str(text: &str) -> Result<PolicyText, String> {
        let (transport, preset) = match text.split_once(':') {
            Some(("sctp", preset)) => (Some(TransportName::Sctp), preset),
            Some(("tcp", preset)) => (Some(TransportName::Tcp), preset),
            _ => (None, text),
        };
        let mut transports = [TransportName::Sctp, TransportName::Tcp].into_iter();
        if transports.any(|one| transport.is_none_or(|own| own == one) && has_preset(one, preset)) {
            return Ok(PolicyText { transport, preset: preset.to_owned() });
        }
        let names = |presets: &[(&'static str, &str)]| {
            presets.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
        };
        Err(format!(
            "there is no policy \"{text}\"; there are {} for SCTP and {} for TCP, such as thin, sctp:thin or tcp:thin",
            names(&PRESETS),
            names(&TCP_PRESETS)
        ))
    }
}

/// The transport is written only where it is ambiguous.
impl fmt::Display for PolicyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_clear = |other| !has_preset(other, &self.preset);
        match self.transport {
            Some(TransportName::Sctp) if !is_clear(TransportName::Tcp) => {
                write!(f, "sctp:{}", self.preset)
            }
            Some(TransportName::Tcp) if !is_clear(TransportName::Sctp) => {
                write!(f, "tcp:{}", self.preset)
            }
            _ => f.write_str(&self.preset),
        }
    }
}
