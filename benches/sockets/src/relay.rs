//! The relay of a soak: the emulator, with a link each way that loses packets.

use base::{Duration, Probability};
use io::{Clock, Emulator, EmulatorConfig, RelayPacket};
use netsim::{Link, LinkConfig, LossModel};

use crate::{Result, input};

/// Delay of a packet each way.
const DELAY: Duration = Duration::from_millis(10);

/// Relays until the input ends; prints the address for clients first.
pub fn run(server: &str, clients: usize, loss: f64) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    input::follow(|| {});
    runtime.block_on(async {
        let link = |index| -> Result<Link<RelayPacket>> {
            let mut config = LinkConfig::with_delay(DELAY);
            config.loss = LossModel::Bernoulli(Probability::from_f64(loss));
            Ok(Link::new(config, 7, index)?)
        };
        let config = EmulatorConfig::new("127.0.0.1:0".parse()?, server.parse()?);
        let config = EmulatorConfig { clients_max: clients, ..config };
        let emulator = Emulator::start(config, link(0)?, link(1)?, Clock::start())?;
        println!("{}", emulator.local_addr());
        std::future::pending().await
    })
}
