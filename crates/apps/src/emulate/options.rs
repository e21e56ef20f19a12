//! What `thinstream emulate` is asked for, as people write it.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use base::{ByteCount, Duration, ParseQuantityError, Probability, Rate};
use netsim::link::{GilbertElliott, Jitter, LinkConfig, LossModel, ProfileStep, QueueLimit};

/// What to relay, how, and for how long.
#[derive(Clone, Debug)]
pub struct EmulateOptions {
    /// The paths, at least one; each has links of its own.
    pub paths: Vec<PathOptions>,
    /// Chooses which packets are lost and how the delay varies.
    pub seed: u64,
    /// How long to run; none runs until the process is asked to end.
    pub duration: Option<Duration>,
}

/// A path: where it begins and ends, and its links.
#[derive(Clone, Debug)]
pub struct PathOptions {
    /// Where clients send to; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The server.
    pub forward: SocketAddr,
    /// From the clients to the server.
    pub up: LinkOptions,
    /// From the server to the clients.
    pub down: LinkOptions,
}

impl EmulateOptions {
    /// A relay over a perfect link, without end.
    pub fn new(listen: SocketAddr, forward: SocketAddr) -> EmulateOptions {
        EmulateOptions { paths: vec![PathOptions::new(listen, forward)], seed: 1, duration: None }
    }
}

impl PathOptions {
    /// A path of perfect links.
    pub fn new(listen: SocketAddr, forward: SocketAddr) -> PathOptions {
        let perfect = LinkOptions::default();
        PathOptions { listen, forward, up: perfect.clone(), down: perfect }
    }
}

/// One direction of the link.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct LinkOptions {
    /// One-way delay.
    pub delay: Duration,
    /// The largest deviation from the delay, uniformly distributed. Packets keep their order.
    pub jitter: Duration,
    /// How many of all packets are lost.
    pub loss: Probability,
    /// Mean number of packets lost in a row; none (or up to 1) loses each independently of the others.
    pub burst: Option<f64>,
    /// Rate of the bottleneck.
    pub rate: Option<Rate>,
    /// Drop-tail queue before the bottleneck; none lets any number wait.
    pub queue: Option<QueueSize>,
    /// Changes of these conditions, at times after the start, in their order.
    pub profile: Vec<ProfileStep>,
}

impl LinkOptions {
    /// The link model that this asks for.
    pub fn to_config(&self) -> LinkConfig {
        let jitter = match self.jitter {
            Duration::ZERO => Jitter::None,
            spread => Jitter::Uniform { spread },
        };
        let loss = match (self.loss, self.burst) {
            (Probability::ZERO, _) => LossModel::None,
            (loss, Some(burst)) if burst > 1.0 => {
                LossModel::GilbertElliott(GilbertElliott::from_mean_burst(loss, burst))
            }
            (loss, _) => LossModel::Bernoulli(loss),
        };
        let queue = match self.queue {
            None => QueueLimit::default(),
            Some(QueueSize::Packets(packets)) => QueueLimit::packets(packets),
            Some(QueueSize::Bytes(bytes)) => QueueLimit::bytes(bytes.0),
        };
        let (delay, rate) = (self.delay, self.rate);
        let profile = self.profile.clone();
        LinkConfig { delay, jitter, rate, queue, loss, profile, ..LinkConfig::default() }
    }
}

/// How much a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueSize {
    /// Packets of any size.
    Packets(usize),
    /// Bytes, those of the IP and UDP headers included.
    Bytes(ByteCount),
}

impl FromStr for QueueSize {
    type Err = ParseQuantityError;

    /// Reads `50p` (packets), and sizes such as `64KiB`. A number without a unit is refused.
    fn from_str(text: &str) -> Result<QueueSize, ParseQuantityError> {
        const FORM: &str = "a queue size such as 50p (packets) or 64KiB";
        let refused = || ParseQuantityError::new(text, FORM);
        if let Some(packets) = text.strip_suffix('p') {
            return packets.parse().map(QueueSize::Packets).map_err(|_| refused());
        }
        if text.ends_with(|last: char| last.is_ascii_digit()) {
            return Err(refused());
        }
        text.parse().map(QueueSize::Bytes).map_err(|_| refused())
    }
}

impl fmt::Display for QueueSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueSize::Packets(packets) => f.pad(&format!("{packets}p")),
            QueueSize::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

/// A value for each direction, written as one for both (`50ms`) or as two (`40ms,60ms`: up, down).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PerDirection<T> {
    /// From the clients to the server.
    pub up: T,
    /// From the server to the clients.
    pub down: T,
}

impl<T: FromStr + Clone> FromStr for PerDirection<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<PerDirection<T>, T::Err> {
        if let Some((up, down)) = text.split_once(',') {
            return Ok(PerDirection { up: up.parse()?, down: down.parse()? });
        }
        let both: T = text.parse()?;
        Ok(PerDirection { up: both.clone(), down: both })
    }
}

impl<T: fmt::Display + PartialEq> fmt::Display for PerDirection<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.up == self.down {
            true => write!(f, "{}", self.up),
            false => write!(f, "{},{}", self.up, self.down),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_for_both_directions_unless_two_are_given() {
        let both: PerDirection<Duration> = "50ms".parse().unwrap();
        assert_eq!((both.up, both.down), (Duration::from_millis(50), Duration::from_millis(50)));
        let two: PerDirection<Probability> = "5%,0".parse().unwrap();
        assert_eq!((two.up, two.down), ("5%".parse().unwrap(), Probability::ZERO));
        assert_eq!((both.to_string(), two.to_string()), ("50ms".into(), "5%,0%".into()));
        assert!("50ms,".parse::<PerDirection<Duration>>().is_err());
        assert!("1ms,2ms,3ms".parse::<PerDirection<Duration>>().is_err());
    }

    #[test]
    fn queues_are_in_packets_or_in_bytes_but_never_unclear() {
        assert_eq!("50p".parse(), Ok(QueueSize::Packets(50)));
        assert_eq!("64KiB".parse(), Ok(QueueSize::Bytes(ByteCount(65_536))));
        for text in ["50", "p", "-1p", "", "many"] {
            let error = text.parse::<QueueSize>().unwrap_err().to_string();
            assert!(error.contains("50p"), "{error}");
        }
    }

    #[test]
    fn bursts_choose_the_loss_model() {
        let loss = Probability::from_ratio(5, 100);
        let model = |burst| LinkOptions { loss, burst, ..LinkOptions::default() }.to_config().loss;
        assert_eq!(model(None), LossModel::Bernoulli(loss));
        assert_eq!(model(Some(1.0)), LossModel::Bernoulli(loss));
        assert!(matches!(model(Some(3.0)), LossModel::GilbertElliott(_)));
        let none = LinkOptions { burst: Some(3.0), ..LinkOptions::default() };
        assert_eq!(none.to_config(), LinkConfig::default());
    }
}
