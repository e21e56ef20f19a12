//! What a run may be told, and what the stack under test is set to.

mod defaults;
mod tcp;

use std::sync::Arc;

use base::Duration;
use recovery::RecoveryPolicy;
use sctp::AssociationOptions;

pub use self::tcp::TcpConfig;
use crate::leniency::Leniency;

/// What the stack under test is set to. The defaults are those that the public suites take for
/// granted: RFC 9260 and nothing else, Nagle on, heartbeats each 30 s, a path MTU of 1500 bytes.
#[derive(Clone, Debug)]
pub struct StackConfig {
    /// Options of each association, unless a call of the script changes them.
    pub association: AssociationOptions,
    /// Valid.Cookie.Life.
    pub cookie_life: Duration,
    /// The host's own port of the UDP encapsulation (RFC 6951, section 5.1).
    pub udp_port: u16,
    /// What a TCP is set to.
    pub tcp: TcpConfig,
}

/// The port that RFC 6951, section 5.1, has for packets in UDP.
const UDP_PORT: u16 = 9899;

impl Default for StackConfig {
    fn default() -> Self {
        let association = AssociationOptions {
            extensions: sctp::Extensions::NONE,
            policy: Arc::new(RecoveryPolicy::sctp_rfc()),
            switchover: sctp::SwitchoverPolicy::TIMEOUTS,
            no_delay: false,
            // Sockets grant nothing unless they are told to (RFC 6525, section 6.3.1).
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
    /// Whether this is overlooked.
    pub(crate) fn overlooks(&self, leniency: Leniency) -> bool {
        !self.exact && self.leniencies.contains(&leniency)
    }
}

impl StackConfig {
    /// Changes the recovery policy.
    pub(crate) fn edit_policy(&mut self, change: impl FnOnce(&mut RecoveryPolicy)) {
        change(Arc::make_mut(&mut self.association.policy));
    }
}

/// How to run a script. See [`RunConfig::for_path`] for what suites take for granted.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// Every tag, TSN and secret follows from it.
    pub seed: u64,
    /// No tolerance in time, whatever the script says, and nothing is overlooked.
    pub exact: bool,
    /// Packets that the stack sends behind the last event of the script, within three minutes, are a failure.
    pub no_tail: bool,
    /// Tolerance in time, if the script names none.
    pub tolerance: Duration,
    /// Tolerance in per mille of the time since the event before, if that is more.
    pub tolerance_per_mille: u64,
    /// What is overlooked.
    pub leniencies: &'static [Leniency],
    /// What the stack is set to before the script begins.
    pub stack: StackConfig,
    /// Spoils each packet of the stack before it is looked at: a control for the runner itself.
    pub spoil: Option<fn(&mut [u8])>,
}
