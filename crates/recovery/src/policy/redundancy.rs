//! Redundant data bundling: what rides along with other data, so that a loss is repaired before anybody
//! knows of it (Evensen et al. 2008; Petlund et al. 2008; Opstad 2015).

use base::Duration;

use super::ThinDetector;
use crate::rtt::Ratio;

/// Redundancy on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedundancyPolicy {
    /// Copies of what is in flight in packets with other data; none: no copies.
    pub bundling: Option<BundlingPolicy>,
}

/// Copies of data in flight that ride along with other data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundlingPolicy {
    /// Previous packets' data that rides along at most; 0: as much as fits.
    pub packets: u8,
    /// Most bytes of data in a packet that carries copies, what it is sent for included; 0: as much as fits.
    pub bytes: u16,
    /// When copies ride along.
    pub when: ThinDetector,
    /// Whether they also do so behind data that is sent again (Evensen et al. 2008).
    pub on_retransmission: bool,
    /// Whether they may leave only while flight, copies outstanding and the packet itself fit the congestion
    /// window. The paper's are not charged.
    pub charged: bool,
    /// What becomes of the window when copies repaired a loss.
    pub reaction: BundleReaction,
    /// The share of the least round trip by which the round trip may exceed it: while it does, a queue is building
    /// up, and no copies ride along. None: nothing stops them.
    pub brake: Option<Ratio>,
    /// The share of the smoothed round trip after which data that nothing followed is sent once more while the stream is
    /// thin, in a packet of its own. None: copies ride along with other data only.
    pub alone: Option<Ratio>,
    /// The share of the smoothed round trip within which the last packet must have left for copies to ride along: what is in
    /// flight for longer waits for an acknowledgement that the peer delays, or is lost, and the timer is as soon. None: at
    /// any time.
    pub age: Option<Ratio>,
    /// Packets delivered after a loss for which copies go on: where nothing is lost, nothing is copied. 0: copies do not
    /// wait for a loss.
    pub after_loss: u16,
    /// Whether copies ride along only as far back as they do not cost more than they gain, as measured: the share of lost
    /// packets, and of those lost behind another one, by what a message and those held behind it wait less, against the
    /// time that the bytes of a copy delay each message by.
    pub weighed: bool,
    /// Bytes of copies that ride along for each hundred of new data, at most; 0: no limit.
    pub budget: u16,
}

/// What a loss does to the window that only shows by the copy that repaired it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleReaction {
    /// Nothing: the loss stays hidden (Evensen et al. 2008).
    Ignore,
    /// The window falls once per window of data whenever one acknowledgement covers data together with a later copy
    /// of it (Opstad 2015). A receiver that delays acknowledgements looks the same.
    Presume,
    /// The window falls as well, but only once the peer has said of other copies that they were needless, and does not say so
    /// of this one: then what it says nothing about was lost.
    Verified,
}

impl RedundancyPolicy {
    /// No copies.
    pub const NONE: RedundancyPolicy = RedundancyPolicy { bundling: None };

    /// Whether copies ride along with a brake.
    pub(crate) fn has_brake(&self) -> bool {
        self.brake().is_some()
    }

    /// Whether copies may leave in packets of their own.
    pub(crate) fn copies_alone(&self) -> bool {
        self.bundling.is_some_and(|bundling| bundling.alone.is_some() || bundling.weighed)
    }

    /// The packets after a loss for which copies go on; 0: always.
    pub(crate) fn after_loss(&self) -> u16 {
        self.bundling.map_or(0, |bundling| bundling.after_loss)
    }

    /// Whether gain and cost of copies, or their budget, are kept account of.
    pub(crate) fn is_weighed(&self) -> bool {
        self.bundling.is_some_and(|bundling| bundling.weighed || bundling.budget > 0)
    }

    /// Bytes of copies for each hundred of new data; 0: no limit.
    pub(crate) fn budget(&self) -> u16 {
        self.bundling.map_or(0, |bundling| bundling.budget)
    }

    /// The share of the least round trip at which copies stop, if there are any, and anything stops them.
    pub(crate) fn brake(&self) -> Option<Ratio> {
        self.bundling?.brake
    }
}

impl BundlingPolicy {
    /// As Petlund et al. 2008 measured it: all that fits, always, uncharged, on retransmissions too.
    pub const PAPER: BundlingPolicy = BundlingPolicy {
        packets: 0,
        bytes: 0,
        when: ThinDetector::Always,
        on_retransmission: true,
        charged: false,
        reaction: BundleReaction::Ignore,
        brake: None,
        alone: None,
        age: None,
        after_loss: 0,
        weighed: false,
        budget: 0,
    };

    /// Two packets back, as [`LINUX`](BundlingPolicy::LINUX) otherwise, but for losses that must be proven, and with a brake.
    /// A second packet back costs a third more bytes than one, and repairs what a burst of two lost.
    pub const LATENCY: BundlingPolicy = BundlingPolicy {
        packets: 2,
        charged: true,
        reaction: BundleReaction::Verified,
        brake: Some(Ratio::new(1, 4)),
        age: Some(Ratio::new(1, 1)),
        after_loss: 2000,
        weighed: true,
        budget: 200,
        ..BundlingPolicy::LINUX
    };

    /// [`LATENCY`](BundlingPolicy::LATENCY), and what nothing follows is sent twice, a seventh of the round trip apart: far enough
    /// for a short burst of losses to pass, and sooner than anything else could repair it.
    pub const MAX: BundlingPolicy =
        BundlingPolicy { alone: Some(Ratio::new(1, 7)), ..BundlingPolicy::LATENCY };

    /// As Opstad 2015 proposed it to Linux: one packet back, while the stream is slower than one packet each
    /// 10 ms, the window reacting.
    pub const LINUX: BundlingPolicy = BundlingPolicy {
        packets: 1,
        bytes: 0,
        when: ThinDetector::Interval { least: Duration::from_millis(10) },
        on_retransmission: false,
        charged: false,
        reaction: BundleReaction::Presume,
        brake: None,
        alone: None,
        age: None,
        after_loss: 0,
        weighed: false,
        budget: 0,
    };
}
