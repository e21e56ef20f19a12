//! Links that change while the simulation runs.

use base::Duration;

use super::{Host, Simulation};
use crate::checker::Checker;
use crate::link::LossOracle;
use crate::packet::{LinkId, Packet};

impl<H: Host, C: Checker> Simulation<H, C> {
    /// From now on link `id` carries IP packets of at most `mtu` bytes; see [`LinkConfig::mtu`](crate::LinkConfig::mtu).
    pub fn set_link_mtu(&mut self, id: LinkId, mtu: Option<u64>) {
        if let Some(link) = self.network.links.get_mut(id.0 as usize) {
            link.set_mtu(mtu);
        }
    }

    /// From now on link `id` loses packets that `oracle` decides about, too; see [`Link::set_interference`](crate::Link::set_interference).
    pub fn set_link_interference(&mut self, id: LinkId, oracle: LossOracle<Packet>) {
        if let Some(link) = self.network.links.get_mut(id.0 as usize) {
            link.set_interference(oracle);
        }
    }

    /// From now on packets take this long over link `id`; see [`Link::set_delay`](crate::Link::set_delay).
    pub fn set_link_delay(&mut self, id: LinkId, delay: Duration) {
        if let Some(link) = self.network.links.get_mut(id.0 as usize) {
            link.set_delay(delay);
        }
    }
}
