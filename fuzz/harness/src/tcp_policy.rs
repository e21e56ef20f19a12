//! Recovery policies by numbers: TCP's presets, and any field of them with any of a few values.

use recovery::policy::FIELDS;
use recovery::{RecoveryPolicy, TCP_PRESETS};

/// Preset of TCP by its index, modulo their number.
pub fn preset(number: u8) -> RecoveryPolicy {
    let (name, _) = TCP_PRESETS[usize::from(number) % TCP_PRESETS.len()];
    RecoveryPolicy::tcp_preset(name).unwrap_or_default()
}

/// Sets a field, unless what it is a detail of is off or the policy would contradict itself.
pub fn change(policy: &mut RecoveryPolicy, field: u8, value: u8) {
    let field = &FIELDS[usize::from(field) % FIELDS.len()];
    let values = field.samples();
    let mut changed = policy.clone();
    let set = field.set(&mut changed, values[usize::from(value) % values.len()]);
    if set.is_ok() && changed.check().is_ok() {
        *policy = changed;
    }
}
