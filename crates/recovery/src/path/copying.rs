//! What a path keeps for copies: nothing where the policy has neither a brake nor weighs them.

use super::{Brake, Worth};
use crate::policy::RecoveryPolicy;

/// The brake of copies and what they are worth, each where the policy asks for it.
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

    /// What keeps copies that ride along from filling a queue.
    pub(crate) fn brake(&self) -> Option<&Brake> {
        self.0.as_ref()?.brake.as_ref()
    }

    pub(crate) fn brake_mut(&mut self) -> Option<&mut Brake> {
        self.0.as_mut()?.brake.as_mut()
    }

    /// What copies gain and cost.
    pub(crate) fn worth(&self) -> Option<&Worth> {
        self.0.as_ref()?.worth.as_deref()
    }

    pub(crate) fn worth_mut(&mut self) -> Option<&mut Worth> {
        self.0.as_mut()?.worth.as_deref_mut()
    }

    /// The brake, with what copies are worth.
    pub(crate) fn brake_and_worth(&mut self) -> Option<(&mut Brake, Option<&Worth>)> {
        let states = self.0.as_mut()?;
        Some((states.brake.as_mut()?, states.worth.as_deref()))
    }

    /// Data leaves, while other data is in flight (`follows`) or not. Copies of messages that travel alone ride nowhere.
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

    /// The policy was replaced.
    pub(super) fn set_policy(&mut self, policy: &RecoveryPolicy) {
        let (brakes, weighs) = (policy.redundancy.has_brake(), policy.redundancy.is_weighed());
        if let Some(states) = &mut self.0 {
            states.brake = states.brake.take().filter(|_| brakes);
            states.worth = states.worth.take().filter(|_| weighs);
        }
        self.0 = self.0.take().filter(|states| states.brake.is_some() || states.worth.is_some());
    }
}
