//! The interface of a mechanism that keeps state per path; nothing else needs to know the
//! mechanism.

use base::{Duration, Instant};

use crate::policy::RecoveryPolicy;

/// Facts of an acknowledgement about delivered data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    /// Data that the acknowledgement newly reports as arrived.
    pub(crate) bytes: u64,
    /// Round trip of the latest packet, if that was sent once.
    pub(crate) round_trip: Option<Duration>,
    /// Whether more data waits to be sent.
    pub(crate) waits: bool,
}

/// Round trips of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trips {
    /// The shortest of the last minutes, as far as it is known.
    pub(crate) shortest: Duration,
    /// SRTT; the shortest round trip before the first sample.
    pub(crate) smoothed: Duration,
}

/// Per-path state of a mechanism, kept while the policy enables it. The defaults suit a mechanism
/// that only learns.
pub(crate) trait Mechanism: Default {
    /// Whether a policy enables it; otherwise no path keeps its state.
    fn is_wanted(policy: &RecoveryPolicy) -> bool;

    /// Applies a replaced policy: state that it does not ask for ends.
    fn set_policy(&mut self, _policy: &RecoveryPolicy) {}

    /// Deadline of its timer, if it has one.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// Nothing is in flight on the path: its timer stops.
    fn stop(&mut self) {}

    /// Forgets state that concerns data in flight; learned values stay.
    fn settle(&mut self) {
        self.stop();
    }

    /// The retransmission timer expired: by default the mechanism's own timer stops.
    fn on_timeout(&mut self) {
        self.stop();
    }

    /// Fast recovery begins on the path; no effect by default.
    fn on_recovery(&mut self) {}

    /// A packet without retransmitted data was delivered: its round trip is clean.
    fn on_clean_trip(&mut self) {}

    /// Data was delivered on the path while the policy enables the mechanism; no effect by default.
    fn on_data_delivered(&mut self, _now: Instant, _delivered: &Delivered, _trips: Trips) {}

    /// Shortest round trip of the last minutes, if the mechanism measures it.
    fn shortest_trip(&self) -> Option<Duration> {
        None
    }

    /// Bytes that the window keeps at a loss, for packets of `mss` bytes of data; 0: the mechanism
    /// keeps none.
    fn least_window(&self, _mss: u64) -> u64 {
        0
    }

    /// Whether it has learned nothing worth keeping: blank state is freed while nothing is
    /// outstanding.
    fn is_blank(&self) -> bool {
        true
    }
}

/// Defines a path's state from a list of mechanisms, and delegates each method to all of them.
macro_rules! mechanisms {
    ($($(#[$doc:meta])* $name:ident: $mechanism:ty,)*) => {
        /// Per-path state of the mechanisms that the policy enables.
        #[derive(Clone, Debug, Default)]
        pub(crate) struct MechanismStates {
            $($(#[$doc])* pub(crate) $name: $mechanism,)*
        }

        impl MechanismStates {
            /// Whether a policy enables any mechanism.
            pub(crate) fn is_wanted(policy: &RecoveryPolicy) -> bool {
                $(if <$mechanism>::is_wanted(policy) {
                    return true;
                })*
                false
            }

            /// Applies a replaced policy to each mechanism.
            pub(crate) fn set_policy(&mut self, policy: &RecoveryPolicy) {
                $(self.$name.set_policy(policy);)*
            }

            /// Earliest deadline of any mechanism; `None` if no timer runs.
            pub(crate) fn due(&self) -> Option<Instant> {
                [$(self.$name.due()),*].into_iter().flatten().min()
            }

            /// Stops their timers: nothing is in flight on the path.
            pub(crate) fn stop(&mut self) {
                $(self.$name.stop();)*
            }

            /// Forgets state that concerns data in flight.
            pub(crate) fn settle(&mut self) {
                $(self.$name.settle();)*
            }

            /// Notifies each mechanism that the retransmission timer expired.
            pub(crate) fn on_timeout(&mut self) {
                $(self.$name.on_timeout();)*
            }

            /// Notifies each mechanism that fast recovery begins.
            pub(crate) fn on_recovery(&mut self) {
                $(self.$name.on_recovery();)*
            }

            /// The round trip of a packet without retransmitted data was measured.
            pub(crate) fn on_clean_trip(&mut self) {
                $(self.$name.on_clean_trip();)*
            }

            /// Notifies each mechanism that the policy enables of data delivered on a path with the
            /// state `known` and the round trips `rtt`. Inlined, so that mechanisms that ignore it
            /// cost nothing.
            #[inline]
            pub(crate) fn on_data_delivered(
                known: &mut Option<Box<Self>>,
                policy: &RecoveryPolicy,
                now: Instant,
                delivered: &Delivered,
                rtt: &RttEstimator,
            ) {
                $(if <$mechanism>::is_wanted(policy) {
                    let known = known.as_deref_mut();
                    let trips = known.as_ref().and_then(|known| known.trips(rtt));
                    if let Some((known, trips)) = known.zip(trips) {
                        known.$name.on_data_delivered(now, delivered, trips);
                    }
                })*
            }

            /// The round trips of the path, if any is known.
            fn trips(&self, rtt: &RttEstimator) -> Option<Trips> {
                let srtt = rtt.srtt();
                let shortest = self.shortest_trip().or(srtt)?;
                Some(Trips { shortest, smoothed: srtt.unwrap_or(shortest) })
            }

            /// Shortest round trip of the last minutes; `None` if no mechanism has measured it.
            pub(crate) fn shortest_trip(&self) -> Option<Duration> {
                None$(.or_else(|| self.$name.shortest_trip()))*
            }

            /// Bytes that the window keeps at a loss, for packets of `mss` bytes of data: the most
            /// that any mechanism keeps.
            pub(crate) fn least_window(&self, mss: u64) -> u64 {
                0$(.max(self.$name.least_window(mss)))*
            }

            /// Whether they know only what they will learn again once data leaves.
            pub(crate) fn is_blank(&self) -> bool {
                $(if !self.$name.is_blank() {
                    return false;
                })*
                true
            }
        }
    };
}
