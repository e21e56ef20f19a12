//! The weather of a soak: links that lose, reorder, duplicate, corrupt and fall silent.

use base::{Duration, Instant, Probability, RandomStream};
use netsim::link::{Jitter, ProfileStep, Reorder};
use netsim::{LinkConfig, LossModel};

/// A link with weather from fine to awful until `span` has passed, with outages of seconds and,
/// rarely, of many minutes; then the weather is fine.
pub(crate) fn weather(span: Duration, random: &mut RandomStream) -> LinkConfig {
    let percent = |n: u64| Probability::from_ratio(n, 1_000);
    let mut link = LinkConfig::with_delay(Duration::from_millis(5 + random.below(150)));
    link.loss = LossModel::Bernoulli(percent(random.below(120)));
    link.jitter = Jitter::Uniform { spread: Duration::from_millis(random.below(5)) };
    link.allow_reordering = true;
    link.reorder = Reorder {
        probability: percent(random.below(80)),
        extra_delay: Duration::from_millis(10 + random.below(200)),
    };
    link.duplicate = percent(random.below(30));
    link.corrupt = percent(random.below(30));
    let mut at = Instant::ZERO + Duration::from_secs(60 + random.below(600));
    let end = Instant::ZERO + span;
    while at < end {
        let silence = if random.below(12) == 0 { 1_000 } else { 20 };
        let until = at + Duration::from_millis(200 + random.below(silence * 1_000));
        link.blackouts.push(at..until.min(end));
        at = until + Duration::from_secs(60 + random.below(1_200));
    }
    link.blackouts.retain(|silence| !silence.is_empty());
    // At the end the weather turns fine.
    link.profile.push(ProfileStep { at: end, loss: Some(LossModel::None), ..Default::default() });
    link
}
