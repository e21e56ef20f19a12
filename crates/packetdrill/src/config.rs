//! Configuration of a run, and settings of the stack under test.

mod defaults;
mod tcp;

use std::sync::Arc;

use base::Duration;
use recovery::RecoveryPolicy;
use sctp::AssociationOptions;

pub use self::tcp::TcpConfig;
use crate::leniency::Leniency;

/// Settings of the stack under test. The defaults are those that the public suites assume: RFC 9260
/// and nothing else, Nagle on, heartbeats every 30 s, a path MTU of 1500 bytes.
#[derive(Clone, Debug)]
pub struct StackConfig {
    /// Options of each association, unless a call of the script changes them.
    pub association: AssociationOptions,
    /// Valid.Cookie.Life (RFC 9260, section 16).
    pub cookie_life: Duration,
    /// The host's own port of the UDP encapsulation (RFC 6951, section 5.1).
    pub udp_port: u16,
    /// Settings of the stack if the script is about TCP.
    pub tcp: TcpConfig,
}

/// The port of UDP encapsulation (RFC 6951, section 5.1).
const UDP_PORT: u16 = 9899;

impl Default for StackConfig {
    fn default() -> Self {
        let association = AssociationOptions {
            extensions: sctp::Extensions::NONE,
            policy: Arc::new(RecoveryPolicy::sctp_rfc()),
            switchover: sctp::SwitchoverPolicy::TIMEOUTS,
            no_delay: false,
            // Sockets grant no requests unless an option says so (RFC 6525, section 6.3.1).
            reconfiguration: sctp::ReconfigurationPolicy {
                reset_streams: false,
                reset_association: false,
                add_streams: false,
            },
            ..AssociationOptions::default()
        };
        StackConfig {
            association,
            cookie_life: Duration::from_secs(60),
            udp_port: UDP_PORT,
            tcp: TcpConfig::default(),
        }
    }
}

impl RunConfig {
    /// Whether the run grants this leniency.
    pub(crate) fn overlooks(&self, leniency: Leniency) -> bool {
        !self.exact && self.leniencies.contains(&leniency)
    }
}

impl StackConfig {
    /// Changes the recovery policy of all associations.
    pub(crate) fn edit_policy(&mut self, change: impl FnOnce(&mut RecoveryPolicy)) {
        change(Arc::make_mut(&mut self.association.policy));
    }
}

/// Settings of a script's run. A [`Suite`](crate::Suite) adapts it to the assumptions of the suite
/// that a script belongs to.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// Seed of all tags, TSNs and secrets.
    pub seed: u64,
    /// Whether to grant no tolerance in time, whatever the script says, and no leniencies.
    pub exact: bool,
    /// Whether packets that the stack sends after the script's last event, within three minutes,
    /// are a failure.
    pub no_tail: bool,
    /// Tolerance in time, if the script sets none.
    pub tolerance: Duration,
    /// Tolerance in per mille of the time since the previous event, if that is more.
    pub tolerance_per_mille: u64,
    /// Leniencies that are granted, each of which the report names if it was needed.
    pub leniencies: &'static [Leniency],
    /// Settings of the stack before the script begins.
    pub stack: StackConfig,
    /// Damages each packet of the stack before it is compared, as a control of the runner itself.
    pub spoil: Option<fn(&mut [u8])>,
}
