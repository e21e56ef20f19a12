//! Options of `thinstream emulate`, as people write them.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use base::{Duration, Rate};
use netsim::link::{
    CrossTraffic, Framing, Jitter, LinkConfig, LossModel, ProfileStep, QueueText, Recording,
    Reorder,
};

/// Addresses, link and duration of a relay.
#[derive(Clone, Debug)]
pub struct EmulateOptions {
    /// The paths, at least one; each has links of its own.
    pub paths: Vec<PathOptions>,
    /// Chooses which packets are lost and how the delay varies.
    pub seed: u64,
    /// Duration of the run; `None`: until the process is asked to end.
    pub duration: Option<Duration>,
}

/// A path: where it begins and ends, and its links.
#[derive(Clone, Debug)]
pub struct PathOptions {
    /// Address to which clients send; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Address of the server that datagrams are relayed to.
    pub forward: SocketAddr,
    /// Link from the clients to the server.
    pub up: LinkOptions,
    /// Link from the server to the clients.
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
    /// One-way delay, without jitter, rate and queue.
    pub delay: Duration,
    /// Variation of the delay. Packets keep their order.
    pub jitter: Jitter,
    /// Model that selects the packets to lose.
    pub loss: LossModel,
    /// Rate of the bottleneck; none for no limit.
    pub rate: Option<Rate>,
    /// Queue before the bottleneck and its discipline; none lets any number wait.
    pub queue: Option<QueueText>,
    /// Bytes that the bottleneck's link layer adds to each packet.
    pub framing: Framing,
    /// A queue on the way that foreign traffic fills.
    pub cross: Option<CrossTraffic>,
    /// Reordering: packets that are held back so that later ones overtake them.
    pub reorder: Reorder,
    /// Changes of these conditions, at times after the start, in their order.
    pub profile: Vec<ProfileStep>,
    /// Recordings of real links, which the link plays.
    pub recording: Recording,
    /// A link of the library instead of all this but the delay, which is added.
    pub like: Option<LinkConfig>,
}

impl LinkOptions {
    /// The link model that this asks for, where the way back takes `other_delay`.
    pub fn to_config(&self, other_delay: Duration) -> LinkConfig {
        if let Some(like) = &self.like {
            return LinkConfig { delay: like.delay + self.delay, ..like.clone() };
        }
        let plain = LinkConfig {
            delay: self.delay,
            jitter: self.jitter,
            rate: self.rate,
            framing: self.framing,
            cross: self.cross,
            loss: self.loss.clone(),
            reorder: self.reorder,
            profile: self.profile.clone(),
            recording: self.recording.clone(),
            ..LinkConfig::default()
        };
        let (queue, discipline) = match (&self.queue, plain.mean_rate()) {
            (Some(queue), Some(rate)) => queue.resolve(rate, self.delay + other_delay),
            _ => Default::default(),
        };
        LinkConfig { queue, discipline, ..plain }
    }
}

/// A value for each direction, written as one for both (`50ms`) or as two (`40ms,60ms`: up, down).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PerDirection<T> {
    /// Value from the clients to the server.
    pub up: T,
    /// Value from the server to the clients.
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
        let two: PerDirection<base::Probability> = "5%,0".parse().unwrap();
        assert_eq!((two.up, two.down), ("5%".parse().unwrap(), base::Probability::ZERO));
        assert_eq!((both.to_string(), two.to_string()), ("50ms".into(), "5%,0%".into()));
        assert!("50ms,".parse::<PerDirection<Duration>>().is_err());
        assert!("1ms,2ms,3ms".parse::<PerDirection<Duration>>().is_err());
    }

    #[test]
    fn a_link_is_what_its_options_say() {
        let none = LinkOptions::default();
        assert_eq!(none.to_config(Duration::ZERO), LinkConfig::default());
        let link = LinkOptions {
            delay: Duration::from_millis(20),
            rate: "8mbit".parse().ok(),
            queue: Some("codel 0.5bdp ecn".parse().unwrap()),
            loss: "bursts 5% 3".parse().unwrap(),
            cross: Some("70% 5ms".parse().unwrap()),
            ..none
        };
        let config = link.to_config(Duration::from_millis(30));
        assert_eq!(config.queue.bytes, Some(25_000), "half of what a round trip carries");
        assert!(config.discipline.marks() && config.cross.is_some());
        assert!(matches!(config.loss, LossModel::GilbertElliott(_)));
        assert!(config.check().is_ok());
    }

    #[test]
    fn a_link_of_the_library_has_a_delay_added_and_one_that_is_recorded_has_a_queue() {
        let lte = lab::plan::links_of("lte".parse().unwrap()).unwrap().forward;
        let delay = Duration::from_millis(5);
        let link = LinkOptions { delay, like: Some(lte.clone()), ..LinkOptions::default() };
        let config = link.to_config(delay);
        assert_eq!(config.delay, lte.delay + delay);
        assert_eq!(LinkConfig { delay: lte.delay, ..config }, lte);
        let recording = netsim::link::parse_recording("1\n2\n").unwrap();
        let queue = Some("1bdp".parse().unwrap());
        let link = LinkOptions { delay, recording, queue, ..LinkOptions::default() };
        // 12 Mbit/s for 10 ms.
        assert_eq!(link.to_config(delay).queue.bytes, Some(15_000));
    }
}
