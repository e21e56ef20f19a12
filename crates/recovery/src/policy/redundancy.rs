//! Redundant data bundling: data that rides along with other data, so that a loss is repaired
//! before it is detected (Evensen et al. 2008; Petlund et al. 2008; Opstad 2015).

use base::Duration;

use super::ThinDetector;
use crate::rtt::Ratio;

/// Copies of data in flight, sent before any evidence of its loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedundancyPolicy {
    /// Copies of data in flight in packets with other data; `None`: no copies.
    pub bundling: Option<BundlingPolicy>,
}

/// Copies of data in flight that ride along with other data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundlingPolicy {
    /// Most previous packets whose data rides along; 0: as many as fit.
    pub packets: u8,
    /// Most bytes of data in a packet with copies, its own data included; 0: as much as fits.
    pub bytes: u16,
    /// Streams whose data is copied: thin ones, by this definition.
    pub when: ThinDetector,
    /// Whether they also ride along behind retransmitted data (Evensen et al. 2008).
    pub on_retransmission: bool,
    /// Whether copies may leave only while flight, outstanding copies and the packet itself fit
    /// the congestion window. The paper's copies are not charged.
    pub charged: bool,
    /// Effect on the window of a loss that copies repaired.
    pub reaction: BundleReaction,
    /// Share of the minimum round trip: while the round trip exceeds the minimum by more, a queue
    /// is building up, and no copies ride along. `None`: always.
    pub brake: Option<Ratio>,
    /// Share of the smoothed round trip after which data without a successor is sent once more in
    /// a packet of its own, while the stream is thin. `None`: copies only ride along with
    /// other data.
    pub alone: Option<Ratio>,
    /// Share of the smoothed round trip within which the last packet must have left for copies to
    /// ride along. Older data in flight waits for a delayed acknowledgement or is lost, and
    /// the timer is as soon as a copy. `None`: at any time.
    pub age: Option<Ratio>,
    /// Number of packets delivered after a loss during which copies continue, so that a path
    /// without losses carries none. 0: copies do not depend on losses.
    pub after_loss: u16,
    /// Whether copies ride along only as far back as their measured cost does not exceed their
    /// gain. The gain is the share of lost packets, and of those lost right after another one,
    /// times the saved wait of a message and of those held behind it; the cost is the delay of
    /// each message by the copy's bytes.
    pub weighed: bool,
    /// Most bytes of copies that ride along per hundred bytes of new data; 0: no limit.
    pub budget: u16,
}

/// Effect on the window of a loss that only the copy that repaired it reveals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleReaction {
    /// No effect: the loss stays hidden (Evensen et al. 2008).
    Ignore,
    /// The window falls, once per window of data, whenever one acknowledgement covers data together
    /// with a later copy of it (Opstad 2015). A receiver that delays acknowledgements has the
    /// same effect.
    Presume,
    /// The window falls likewise, but only if the peer has reported other copies as duplicates and
    /// does not report this one: then the original was lost.
    Verified,
}

impl RedundancyPolicy {
    /// No redundant copies, as in the standards.
    pub const NONE: RedundancyPolicy = RedundancyPolicy { bundling: None };

    /// Whether the policy brakes copies that ride along.
    pub(crate) fn has_brake(&self) -> bool {
        self.brake().is_some()
    }

    /// Whether copies may leave in packets of their own.
    pub(crate) fn copies_alone(&self) -> bool {
        self.bundling.is_some_and(|bundling| bundling.alone.is_some() || bundling.weighed)
    }

    /// Number of packets after a loss during which copies continue; 0: always.
    pub(crate) fn after_loss(&self) -> u16 {
        self.bundling.map_or(0, |bundling| bundling.after_loss)
    }

    /// Whether the policy needs the gain, cost or budget of copies.
    pub(crate) fn is_weighed(&self) -> bool {
        self.bundling.is_some_and(|bundling| bundling.weighed || bundling.budget > 0)
    }

    /// Bytes of copies per hundred bytes of new data; 0: no limit.
    pub(crate) fn budget(&self) -> u16 {
        self.bundling.map_or(0, |bundling| bundling.budget)
    }

    /// Share of the minimum round trip at which copies stop; `None` without copies or without a
    /// brake.
    pub(crate) fn brake(&self) -> Option<Ratio> {
        self.bundling?.brake
    }
}

impl BundlingPolicy {
    /// The setting of Petlund et al. 2008: everything that fits, always, uncharged, on
    /// retransmissions too.
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

    /// Two packets back; otherwise as [`LINUX`](BundlingPolicy::LINUX), except that losses must be
    /// proven and that there is a brake. A second packet back costs a third more bytes than
    /// one, and repairs a burst of two losses.
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

    /// [`LATENCY`](BundlingPolicy::LATENCY), with data that has no successor sent twice, a seventh
    /// of the round trip apart: long enough for a short burst of losses to pass, and sooner
    /// than any other repair.
    pub const MAX: BundlingPolicy =
        BundlingPolicy { alone: Some(Ratio::new(1, 7)), ..BundlingPolicy::LATENCY };

    /// The setting that Opstad 2015 proposed for Linux: one packet back, while the stream is slower
    /// than one packet per 10 ms, with a reaction of the window.
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
