//! The default presets of applications, a line for each protocol.

use super::RecoveryPolicy;

/// A preset: its name, and the constructor of its policy.
type Preset = (&'static str, fn() -> RecoveryPolicy);

const SCTP: Preset = ("latency", RecoveryPolicy::sctp_latency);
const TCP: Preset = ("latency", RecoveryPolicy::tcp_latency);

/// Name of SCTP's default preset.
pub const SCTP_DEFAULT: &str = SCTP.0;

/// Name of TCP's default preset.
pub const TCP_DEFAULT: &str = TCP.0;

impl RecoveryPolicy {
    /// SCTP's default policy: the preset [`SCTP_DEFAULT`].
    pub fn sctp_default() -> Self {
        SCTP.1()
    }

    /// TCP's default policy: the preset [`TCP_DEFAULT`].
    pub fn tcp_default() -> Self {
        TCP.1()
    }
}

impl Default for RecoveryPolicy {
    /// SCTP's default, [`RecoveryPolicy::sctp_default`]. TCP's is [`RecoveryPolicy::tcp_default`].
    fn default() -> Self {
        RecoveryPolicy::sctp_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Protocol;

    #[test]
    fn the_default_of_each_protocol_is_the_preset_of_its_name() {
        for (protocol, name, default) in [
            (Protocol::Sctp, SCTP_DEFAULT, RecoveryPolicy::sctp_default()),
            (Protocol::Tcp, TCP_DEFAULT, RecoveryPolicy::tcp_default()),
        ] {
            let preset = RecoveryPolicy::of_preset(protocol, name);
            assert_eq!(preset.as_ref(), Ok(&default), "{protocol}");
            assert_eq!(default.check_for(protocol), Ok(()), "{protocol}");
        }
        assert_eq!(RecoveryPolicy::default(), RecoveryPolicy::sctp_default());
    }
}
