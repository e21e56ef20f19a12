//! Links that change while the simulation runs.

use base::Duration;

use super::{Host, Simulation, of_boxed};
use crate::checker::Checker;
use crate::link::LossOracle;
use crate::packet::{LinkId, Packet};

impl<H: Host, C: Checker> Simulation<H, C> {
    /// Limits IP packets on link `id` to `mtu` bytes from now on; see
    /// [`LinkConfig::mtu`](crate::LinkConfig::mtu).
    pub fn set_link_mtu(&mut self, id: LinkId, mtu: Option<u64>) {
        if let Some(link) = self.network.links.get_mut(id.0 as usize) {
            link.set_mtu(mtu);
        }
    }

    /// Makes link `id` also lose the packets that `oracle` selects from now on; see
    /// [`Link::set_interference`](crate::Link::set_interference).
    pub fn set_link_interference(&mut self, id: LinkId, oracle: LossOracle<Packet>) {
        if let Some(link) = self.network.links.get_mut(id.0 as usize) {
            link.set_interference(of_boxed(oracle));
        }
    }

    /// Sets the one-way delay of link `id` from now on; see
    /// [`Link::set_delay`](crate::Link::set_delay).
    pub fn set_link_delay(&mut self, id: LinkId, delay: Duration) {
        if let Some(link) = self.network.links.get_mut(id.0 as usize) {
            link.set_delay(delay);
        }
    }
}
