//! State that all hosts of a soak share: the judge, the pace, and random choices of messages and
//! policies.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use base::{Duration, Instant, RandomStream};
use recovery::RecoveryPolicy;
use recovery::policy::FIELDS;

use super::model::Ledger;

/// Port of the servers of either protocol.
pub(crate) const PORT: u16 = 5000;

/// Judge, pace and counters of a soak.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) ledger: Ledger,
    /// The first thing that was wrong.
    pub(crate) violation: Option<String>,
    /// Mean time between two messages of one side of an association.
    pub(crate) interval: Duration,
    /// Mean life of an association before its client closes it.
    pub(crate) life: Duration,
    /// No host sends or opens any more.
    pub(crate) finished: bool,
    /// Resets of streams and associations, or of connections, reported to either side.
    pub(crate) resets: u64,
    /// Recovery policies that were replaced in mid-life.
    pub(crate) policies: u64,
}

pub(crate) type SharedRef = Rc<RefCell<Shared>>;

impl Shared {
    pub(crate) fn new(interval: Duration, life: Duration) -> SharedRef {
        Rc::new(RefCell::new(Shared {
            ledger: Ledger::default(),
            violation: None,
            interval,
            life,
            finished: false,
            resets: 0,
            policies: 0,
        }))
    }

    pub(crate) fn judge(&mut self, now: Instant, verdict: Result<(), String>) {
        if let Err(what) = verdict {
            self.violation.get_or_insert_with(|| format!("{now}: {what}"));
        }
    }
}

/// A random time with this mean, at most twice as long.
pub(crate) fn spread(random: &mut RandomStream, mean: Duration) -> Duration {
    // The sum of two uniform times: nearly exponential, without the very long ones.
    mean.scale(random.below(1_000) + random.below(1_000), 1_000)
}

/// Bytes of a message: mostly thin messages, a few large ones.
pub(crate) fn size(random: &mut RandomStream) -> usize {
    match random.below(20) {
        0 => 2_000 + random.below(20_000) as usize,
        1..4 => 500 + random.below(1_500) as usize,
        _ => 21 + random.below(280) as usize,
    }
}

/// One of `presets`, in two of three cases with up to three of its fields changed.
pub(crate) fn policy(presets: &[RecoveryPolicy], random: &mut RandomStream) -> Arc<RecoveryPolicy> {
    let mut policy = presets[random.below(presets.len() as u64) as usize].clone();
    for _ in 0..random.below(3) {
        let field = &FIELDS[random.below(FIELDS.len() as u64) as usize];
        let samples = field.samples();
        let value = samples[random.below(samples.len() as u64) as usize];
        let mut changed = policy.clone();
        // A field of a disabled mechanism, or a value that contradicts others, changes nothing.
        if field.set(&mut changed, value).is_ok() && changed.check().is_ok() {
            policy = changed;
        }
    }
    Arc::new(policy)
}
