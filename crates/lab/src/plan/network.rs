//! `[network]`: where flows go.

use core::str::FromStr;

use base::{ByteCount, Duration, Probability, Rate};
use netsim::link::{GilbertElliott, QueueLimit, TimedGilbert};
use netsim::topology::Directions;
use netsim::{Jitter, LinkConfig, LossModel};
use serde::Deserialize;

use super::{PlanError, Text};
use crate::world::{MAX_PATHS, Network};

/// Shapes of networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Two sides and a link each way.
    Pair,
    /// Disjoint paths between multihomed ends.
    TwoPath,
    /// A shared bottleneck.
    Dumbbell,
}

/// `[network]`: what is said here holds for both directions of all paths unless they say otherwise.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSection {
    /// Its shape.
    pub kind: Kind,
    /// Round-trip time without queueing, half of it each way.
    #[serde(default)]
    pub rtt: Option<Text<Duration>>,
    /// Rate of the link.
    #[serde(default)]
    pub rate: Option<Text<Rate>>,
    /// What may wait for it.
    #[serde(default)]
    pub queue: Option<Text<QueueText>>,
    /// Losses.
    #[serde(default)]
    pub loss: Option<Text<LossText>>,
    /// Variation of the delay.
    #[serde(default)]
    pub jitter: Option<Text<Duration>>,
    /// Largest IP packet.
    #[serde(default)]
    pub mtu: Option<u64>,
    /// From senders to receivers.
    #[serde(default)]
    pub forward: LinkSection,
    /// From receivers to senders.
    #[serde(default)]
    pub backward: LinkSection,
    /// The paths of `two-path`.
    #[serde(default)]
    pub paths: Vec<LinkSection>,
    /// Whether independent losses strike the same first transmissions under every policy.
    #[serde(default = "yes")]
    pub paired: bool,
}

fn yes() -> bool {
    true
}

/// What a direction or a path has of its own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSection {
    /// One-way delay.
    #[serde(default)]
    pub delay: Option<Text<Duration>>,
    /// See [`NetworkSection::rate`].
    #[serde(default)]
    pub rate: Option<Text<Rate>>,
    /// See [`NetworkSection::queue`].
    #[serde(default)]
    pub queue: Option<Text<QueueText>>,
    /// See [`NetworkSection::loss`].
    #[serde(default)]
    pub loss: Option<Text<LossText>>,
    /// See [`NetworkSection::jitter`].
    #[serde(default)]
    pub jitter: Option<Text<Duration>>,
    /// When nothing passes.
    #[serde(default)]
    pub blackouts: Vec<Text<super::Span>>,
    /// Changes over time: lines as in [`netsim::link::parse_profile`].
    #[serde(default)]
    pub profile: Option<String>,
}

/// What may wait for the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueText {
    /// Packets.
    Packets(usize),
    /// Bytes.
    Bytes(u64),
    /// So many times what the rate carries in a round trip, in bytes.
    Bdp(f64),
}

impl FromStr for QueueText {
    type Err = String;

    fn from_str(text: &str) -> Result<QueueText, String> {
        let refused = || {
            format!(
                "\"{text}\" is no queue such as 100p (packets), 150kB or 1.5bdp (of rate and round trip)"
            )
        };
        if let Some(number) = text.strip_suffix("bdp") {
            let factor: f64 = number.parse().map_err(|_| refused())?;
            return Some(factor)
                .filter(|f| f.is_finite() && *f > 0.0)
                .map(QueueText::Bdp)
                .ok_or_else(refused);
        }
        if let Some(number) = text.strip_suffix('p') {
            return number.parse().map(QueueText::Packets).map_err(|_| refused());
        }
        let bytes: ByteCount = text.parse().map_err(|_| refused())?;
        Ok(QueueText::Bytes(bytes.0))
    }
}

/// Which packets are lost: `5%`, `bursts 5% 4` (a share, and packets in a row on average), `outages 3s 150ms`
/// (good and bad times on average), `packets 3,17`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LossText(pub LossModel);

impl FromStr for LossText {
    type Err = String;

    fn from_str(text: &str) -> Result<LossText, String> {
        let refused = || {
            format!(
                "\"{text}\" is no loss such as 5%, \"bursts 5% 4\", \"outages 3s 150ms\" or \"packets 3,17\""
            )
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        Ok(LossText(match words[..] {
            ["bursts", share, length] => {
                let share: Probability = share.parse().map_err(|_| refused())?;
                let length: f64 = length.parse().map_err(|_| refused())?;
                LossModel::GilbertElliott(GilbertElliott::from_mean_burst(share, length))
            }
            ["outages", good, bad] => {
                let parse = |text: &str| text.parse::<Duration>().map_err(|_| refused());
                LossModel::TimedGilbert(TimedGilbert::new(parse(good)?, parse(bad)?))
            }
            ["packets", list] => {
                let numbers = list.split(',').map(|number| number.parse::<u64>());
                LossModel::List(numbers.collect::<Result<_, _>>().map_err(|_| refused())?)
            }
            [share] => {
                let share: Probability = share.parse().map_err(|_| refused())?;
                if share == Probability::ZERO {
                    LossModel::None
                } else {
                    LossModel::Bernoulli(share)
                }
            }
            _ => return Err(refused()),
        }))
    }
}

impl NetworkSection {
    /// The network.
    ///
    /// # Errors
    /// What contradicts itself.
    pub fn build(&self) -> Result<Network, PlanError> {
        let none = LinkSection::default();
        let directions = |path: &LinkSection| -> Result<Directions<LinkConfig>, PlanError> {
            Ok(Directions {
                forward: self.link(path, &self.forward, false)?,
                backward: self.link(path, &self.backward, true)?,
            })
        };
        if self.kind != Kind::TwoPath && !self.paths.is_empty() {
            return Err(PlanError::new("network.paths is for kind = \"two-path\" only"));
        }
        Ok(match self.kind {
            Kind::Pair => Network::Pair(directions(&none)?),
            Kind::Dumbbell => Network::Dumbbell(directions(&none)?),
            Kind::TwoPath if !(2..=MAX_PATHS).contains(&self.paths.len()) => {
                return Err(PlanError::new(format!(
                    "network.paths has {}; give 2 to {MAX_PATHS} for kind = \"two-path\"",
                    self.paths.len()
                )));
            }
            Kind::TwoPath => {
                Network::Paths(self.paths.iter().map(directions).collect::<Result<_, _>>()?)
            }
        })
    }

    fn link(
        &self,
        path: &LinkSection,
        own: &LinkSection,
        backward: bool,
    ) -> Result<LinkConfig, PlanError> {
        let rtt = self.rtt.map_or(Duration::ZERO, |rtt| rtt.0);
        let half = if backward { rtt - rtt / 2 } else { rtt / 2 };
        let delay = own.delay.or(path.delay).map_or(half, |delay| delay.0);
        let rate = own.rate.or(path.rate).or(self.rate).map(|rate| rate.0);
        let queue = own.queue.or(path.queue).or(self.queue).map(|queue| queue.0);
        let loss = own.loss.as_ref().or(path.loss.as_ref()).or(self.loss.as_ref());
        let jitter = own.jitter.or(path.jitter).or(self.jitter);
        let queue = match queue {
            None => QueueLimit::default(),
            Some(_) if rate.is_none() => {
                return Err(PlanError::new(
                    "network.queue without network.rate: nothing would wait",
                ));
            }
            Some(QueueText::Packets(packets)) => QueueLimit::packets(packets),
            Some(QueueText::Bytes(bytes)) => QueueLimit::bytes(bytes),
            Some(QueueText::Bdp(factor)) => {
                let bits = rate.map_or(0, Rate::bits_per_second) as f64;
                let round_trip = if rtt.is_zero() { delay * 2 } else { rtt };
                QueueLimit::bytes((bits / 8.0 * round_trip.as_secs_f64() * factor).round() as u64)
            }
        };
        let profile = own.profile.as_ref().or(path.profile.as_ref());
        let profile = match profile {
            None => Vec::new(),
            Some(text) => netsim::link::parse_profile(text)
                .map_err(|error| PlanError::new(format!("network profile: {error}")))?,
        };
        let spans = own.blackouts.iter().chain(&path.blackouts);
        let at = |span: Duration| base::Instant::ZERO + span;
        let config = LinkConfig {
            delay,
            rate,
            queue,
            loss: loss.map_or_else(LossModel::default, |loss| loss.0.0.clone()),
            jitter: jitter.map_or(Jitter::None, |mean| Jitter::Exponential { mean: mean.0 }),
            mtu: self.mtu,
            blackouts: spans.map(|span| at(span.0.from)..at(span.0.to)).collect(),
            profile,
            ..LinkConfig::default()
        };
        config.check().map_err(|error| PlanError::new(format!("network: {error}")))?;
        Ok(config)
    }
}
