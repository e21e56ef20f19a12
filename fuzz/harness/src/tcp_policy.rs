//! Recovery policies by numbers: TCP's presets, and any field of them with any of a few values.

use recovery::policy::{FIELDS, Field};
use recovery::{RecoveryPolicy, TCP_PRESETS};

/// What fields are set to, each to what it takes of it.
const VALUES: &[&str] = &[
    // Switches, numbers, durations, sizes, gains.
    "on",
    "off",
    "1",
    "2",
    "3",
    "6",
    "255",
    "10ms",
    "200ms",
    "1.5s",
    "999B",
    "20000B",
    "1/4",
    "1/8",
    // Detectors of thin streams.
    "in-flight",
    "in-flight:5:inclusive",
    "few-or-slow",
    "fewer-than-four",
    "interval",
    "always",
    // Timers and what they resend.
    "exponential",
    "linear",
    "linear:2",
    "full",
    "timer-age",
    "oldest-age",
    "every",
    "all",
    "old-enough",
    "by-rack",
    "absolute",
    "signed",
    "truncated",
    "once",
    "proven",
    "sample",
    "acknowledgement",
    "loss",
    "probe",
    // Loss.
    "robust",
    "first",
    // The window.
    "rfc9260",
    "newreno",
    "cubic",
    "vegas",
    "bytes",
    "packets",
    "keep",
    "initial-window",
    "halve",
    "controller",
    "tcp-er",
    // Copies that ride along.
    "paper",
    "linux",
    "ignore",
    "presume",
    "verified",
    // Several paths, and requests for acknowledgements.
    "same",
    "alternate",
    "never",
    "thin",
];

/// What a field takes.
pub fn values(field: &Field) -> Vec<&'static str> {
    VALUES.iter().copied().filter(|text| field.check(text).is_ok()).collect()
}

/// A preset.
pub fn preset(number: u8) -> RecoveryPolicy {
    let (name, _) = TCP_PRESETS[usize::from(number) % TCP_PRESETS.len()];
    RecoveryPolicy::tcp_preset(name).unwrap_or_default()
}

/// Sets a field, unless what it is a detail of is off or the policy would contradict itself.
pub fn change(policy: &mut RecoveryPolicy, field: u8, value: u8) {
    let field = &FIELDS[usize::from(field) % FIELDS.len()];
    let values = values(field);
    let mut changed = policy.clone();
    let set = field.set(&mut changed, values[usize::from(value) % values.len()]);
    if set.is_ok() && changed.check().is_ok() {
        *policy = changed;
    }
}
