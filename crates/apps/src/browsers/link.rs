//! The built-in link: delay and loss between pages and the listener, to be changed while it runs.

use std::net::SocketAddr;

use base::{Duration, Probability};
use io::{BindError, Clock, Emulator, EmulatorConfig, RelayPacket};
use netsim::Link;
use netsim::link::{LinkConfig, LinkConfigError};

/// The longest delay of a link, which bounds what is under way.
const DELAY_MAX: Duration = Duration::from_secs(2);

/// Delay and loss of the link, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSetting {
    /// Delay one way, 2 s at most.
    pub delay: Duration,
    /// How many packets are lost, each way.
    pub loss: Probability,
}

/// A link that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum LinkSettingError {
    /// The delay is too long.
    #[error("a delay of {0}: expected 2 s at most")]
    Delay(Duration),
    /// The settings contradict themselves.
    #[error(transparent)]
    Link(#[from] LinkConfigError),
}

/// Why a link could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The socket cannot be had.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The settings contradict themselves.
    #[error(transparent)]
    Setting(#[from] LinkSettingError),
}

impl LinkSetting {
    /// The links up and down.
    fn links(self, seed: u64) -> Result<[Link<RelayPacket>; 2], LinkSettingError> {
        if self.delay > DELAY_MAX {
            return Err(LinkSettingError::Delay(self.delay));
        }
        let link = |index| Link::new(LinkConfig::lossy(self.delay, self.loss), seed, index);
        Ok([link(0)?, link(1)?])
    }
}

/// A running link.
pub(super) struct LossyLink {
    emulator: Emulator,
}

impl LossyLink {
    /// A link from a port of `listen` to `forward`.
    pub(super) fn start(
        listen: SocketAddr,
        forward: SocketAddr,
        setting: LinkSetting,
    ) -> Result<LossyLink, LinkError> {
        let [up, down] = setting.links(seed())?;
        let config = EmulatorConfig::new(listen, forward);
        Ok(LossyLink { emulator: Emulator::start(config, up, down, Clock::start())? })
    }

    /// The port that pages send to.
    pub(super) fn port(&self) -> u16 {
        self.emulator.local_addr().port()
    }

    /// The link is like this from now on; what is under way is lost.
    pub(super) fn set(&self, setting: LinkSetting) -> Result<(), LinkSettingError> {
        let [up, down] = setting.links(seed())?;
        self.emulator.replace_links(up, down);
        Ok(())
    }
}

/// A seed of losses: those of two runs differ.
fn seed() -> u64 {
    getrandom::u64().unwrap_or(1)
}
