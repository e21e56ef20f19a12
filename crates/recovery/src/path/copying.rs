//! A path's state for copies: nothing if the policy neither brakes nor weighs them.

use super::{Brake, Worth};
use crate::policy::RecoveryPolicy;

/// The brake and the value of copies, each if the policy uses it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copying(Option<Box<States>>);

#[derive(Clone, Debug, Default)]
struct States {
    brake: Option<Brake>,
    worth: Option<Box<Worth>>,
}

impl Copying {
    /// Whether the path keeps nothing for copies.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The brake of copies that ride along; `None` if the policy has none or no copy could ride
    /// yet.
    pub(crate) fn brake(&self) -> Option<&Brake> {
        self.0.as_ref()?.brake.as_ref()
    }

    pub(crate) fn brake_mut(&mut self) -> Option<&mut Brake> {
        self.0.as_mut()?.brake.as_mut()
    }

    /// Gain and cost of copies; `None` if the policy does not weigh them or no copy could ride yet.
    pub(crate) fn worth(&self) -> Option<&Worth> {
        self.0.as_ref()?.worth.as_deref()
    }

    pub(crate) fn worth_mut(&mut self) -> Option<&mut Worth> {
        self.0.as_mut()?.worth.as_deref_mut()
    }

    /// The brake, and the value of copies.
    pub(crate) fn brake_and_worth(&mut self) -> Option<(&mut Brake, Option<&Worth>)> {
        let states = self.0.as_mut()?;
        Some((states.brake.as_mut()?, states.worth.as_deref()))
    }

    /// Allocates state when data leaves; `follows`: other data is in flight. Messages that travel
    /// alone have no packet for copies to ride in.
    pub(super) fn equip(&mut self, follows: bool, policy: &RecoveryPolicy) {
        let (brakes, weighs) = (policy.redundancy.has_brake(), policy.redundancy.is_weighed());
        let keeps = brakes || (follows && weighs);
        if !keeps {
            return;
        }
        let states = self.0.get_or_insert_default();
        if brakes && states.brake.is_none() {
            states.brake = Some(Brake::default());
        }
        if follows && weighs && states.worth.is_none() {
            states.worth = Some(Box::default());
        }
    }

    /// Applies a replaced policy: state that it does not ask for ends.
    pub(super) fn set_policy(&mut self, policy: &RecoveryPolicy) {
        let (brakes, weighs) = (policy.redundancy.has_brake(), policy.redundancy.is_weighed());
        if let Some(states) = &mut self.0 {
            states.brake = states.brake.take().filter(|_| brakes);
            states.worth = states.worth.take().filter(|_| weighs);
        }
        self.0 = self.0.take().filter(|states| states.brake.is_some() || states.worth.is_some());
    }
}
