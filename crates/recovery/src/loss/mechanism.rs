//! What a mechanism that keeps state on a path has to answer, so that nothing else needs to know of it.

use base::Instant;

use crate::policy::RecoveryPolicy;

/// State that a mechanism keeps on a path, for as long as the policy asks for it. The defaults are those of one that
/// only learns.
pub(crate) trait Mechanism: Default {
    /// Whether a policy needs it: otherwise no path keeps any.
    fn is_wanted(policy: &RecoveryPolicy) -> bool;

    /// The policy was replaced: what it does not ask for any more ends.
    fn set_policy(&mut self, _policy: &RecoveryPolicy) {}

    /// When it wants to be looked at again.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// Nothing is in flight on the path: its timer stops.
    fn stop(&mut self) {}

    /// What was in flight is let go of: all that concerned it is forgotten, what was learned stays.
    fn settle(&mut self) {
        self.stop();
    }

    /// The retransmission timer expired.
    fn on_timeout(&mut self) {
        self.stop();
    }

    /// Fast recovery begins.
    fn on_recovery(&mut self) {}

    /// A packet was delivered that had carried nothing twice: its round trip is clean.
    fn on_clean_trip(&mut self) {}

    /// Whether it knows nothing that would be missed: while nothing is outstanding, state that is blank is given
    /// back.
    fn is_blank(&self) -> bool {
        true
    }
}

/// Makes the state of a path out of a list of mechanisms, and hands every question on to each of them.
macro_rules! mechanisms {
    ($($(#[$doc:meta])* $name:ident: $mechanism:ty,)*) => {
        /// What the mechanisms that the policy asks for keep of a path.
        #[derive(Clone, Debug, Default)]
        pub(crate) struct MechanismStates {
            $($(#[$doc])* pub(crate) $name: $mechanism,)*
        }

        impl MechanismStates {
            /// Whether a policy needs any of it.
            pub(crate) fn is_wanted(policy: &RecoveryPolicy) -> bool {
                $(if <$mechanism>::is_wanted(policy) {
                    return true;
                })*
                false
            }

            /// The policy was replaced.
            pub(crate) fn set_policy(&mut self, policy: &RecoveryPolicy) {
                $(self.$name.set_policy(policy);)*
            }

            /// The next timer of theirs.
            pub(crate) fn due(&self) -> Option<Instant> {
                [$(self.$name.due()),*].into_iter().flatten().min()
            }

            /// Nothing is in flight on the path.
            pub(crate) fn stop(&mut self) {
                $(self.$name.stop();)*
            }

            /// What was in flight is let go of.
            pub(crate) fn settle(&mut self) {
                $(self.$name.settle();)*
            }

            /// The retransmission timer expired.
            pub(crate) fn on_timeout(&mut self) {
                $(self.$name.on_timeout();)*
            }

            /// Fast recovery begins.
            pub(crate) fn on_recovery(&mut self) {
                $(self.$name.on_recovery();)*
            }

            /// The round trip of a packet that had carried nothing twice was measured.
            pub(crate) fn on_clean_trip(&mut self) {
                $(self.$name.on_clean_trip();)*
            }

            /// Whether they know nothing but what will be learned again once data leaves.
            pub(crate) fn is_blank(&self) -> bool {
                $(if !self.$name.is_blank() {
                    return false;
                })*
                true
            }
        }
    };
}
