//! Checks of flows over other implementations' transports.

use super::FlowSection;
use crate::peers::PeerName;
use crate::peers::mark::MARK;
use crate::plan::transport::TransportText;
use crate::policy_text::{PolicySection, TransportName};

/// Largest message over other implementations' transports: it fits one packet of each of them,
/// headers included.
const LARGEST: u64 = 1000;

impl FlowSection {
    /// Checks the settings of other implementations' transports.
    pub(super) fn check_peers(&self) -> Result<(), String> {
        let refuse = |what: &str| Err(what.to_owned());
        match (self.transport, self.receiver.stack) {
            (TransportText::Peer(name), None) => self.check_peer(name),
            (TransportText::Own(TransportName::Sctp), Some(name)) => self.check_receiver(name),
            (_, Some(_)) => refuse("receiver.stack is for transport = \"sctp\" only"),
            (TransportText::Own(_), None) if self.tuned || self.receiver.tuned => {
                refuse("tuned is for transports of others; ours has a policy")
            }
            (TransportText::Own(_), None) => Ok(()),
        }
    }

    /// Checks another implementation that receives from our SCTP.
    fn check_receiver(&self, name: PeerName) -> Result<(), String> {
        let described = name.described();
        let refuse = |what: &str| Err(format!("receiver.stack = \"{}\": {what}", described.name));
        if !described.speaks_sctp {
            return refuse("it does not speak SCTP; give one that does, such as dcsctp");
        }
        if self.receiver.tuned && !described.has_tuned {
            return refuse("there is nothing to tune; leave receiver.tuned out");
        }
        if self.workload.streams > 1 || self.tuned {
            return refuse("it reads one stream, and what it is tuned to is receiver.tuned");
        }
        Ok(())
    }

    fn check_peer(&self, name: PeerName) -> Result<(), String> {
        let described = name.described();
        let refuse = |what: &str| Err(format!("transport = \"{}\": {what}", described.name));
        let is_plain = self.policy == PolicySection::default()
            && self.receiver == Default::default()
            && self.mss.is_none()
            && self.send_buffer.is_none()
            && !self.nagle
            && self.advice.name().is_none();
        if !is_plain {
            return refuse(
                "policy, advice, receiver, mss, send_buffer and nagle are for ours only",
            );
        }
        if self.tuned && !described.has_tuned {
            return refuse("there is nothing to tune; leave tuned out");
        }
        let drawn = self.workload.drawn().filter(|arrivals| !arrivals.is_greedy());
        let Some(arrivals) = drawn.filter(|_| self.workload.streams <= 1) else {
            return refuse("it carries messages that come by a rule such as 250ms, on one stream");
        };
        let sizes = self.workload.size.map(|size| size.0).or(arrivals.own_sizes());
        let fits =
            sizes.is_some_and(|one| one.smallest() >= MARK as u64 && one.largest() <= LARGEST);
        if !fits {
            return refuse(&format!(
                "it carries messages of {MARK} to {LARGEST} bytes; give such a workload.size"
            ));
        }
        Ok(())
    }
}
