//! The built-in link: delay and loss between pages and the listener, to be changed while it runs.

use std::net::SocketAddr;

use io::{BindError, Clock, Emulator, EmulatorConfig, RelayPacket};
use netsim::Link;
use netsim::link::{LinkConfig, LinkConfigError};

use super::setting::Setting;

/// Bytes under way in each direction; more are lost.
const IN_TRANSIT: u64 = 32 << 20;

/// Reason for which a link could not be started or changed.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The socket is not available.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The settings contradict themselves, or are out of range.
    #[error(transparent)]
    Config(#[from] LinkConfigError),
}

/// A running link, whose emulator loses and delays the datagrams of the browsers.
pub(super) struct LossyLink {
    emulator: Emulator,
}

impl LossyLink {
    /// A link from a port of `listen` to `forward`.
    pub(super) fn start(
        listen: SocketAddr,
        forward: SocketAddr,
        setting: &Setting,
    ) -> Result<LossyLink, LinkError> {
        let [up, down] = links(setting)?;
        let usual = EmulatorConfig::new(listen, forward);
        let config = EmulatorConfig { in_transit_max: IN_TRANSIT, ..usual };
        Ok(LossyLink { emulator: Emulator::start(config, up, down, Clock::start())? })
    }

    /// The port that pages send to.
    pub(super) fn port(&self) -> u16 {
        self.emulator.local_addr().port()
    }

    /// The link is like this from now on; what is under way is lost.
    pub(super) fn set(&self, setting: &Setting) -> Result<(), LinkError> {
        let [up, down] = links(setting)?;
        self.emulator.replace_links(up, down);
        Ok(())
    }
}

/// The links up and down. The losses of two runs differ.
fn links(setting: &Setting) -> Result<[Link<RelayPacket>; 2], LinkConfigError> {
    let seed = getrandom::u64().unwrap_or(1);
    let config = LinkConfig::lossy(setting.delay, setting.loss);
    Ok([Link::new(config.clone(), seed, 0)?, Link::new(config, seed, 1)?])
}
