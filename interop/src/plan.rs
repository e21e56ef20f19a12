//! The echo workload that every peer understands.

use std::net::Ipv4Addr;
use std::time::Duration;

use virtual_peers::{AddressChange, Reliability};

/// The side that ends an association, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client shuts the association down.
    ClientShutdown,
    /// The client ends the association with an ABORT.
    ClientAbort,
    /// The server closes it after the last message.
    ServerShutdown,
    /// The server aborts it after the last message.
    ServerAbort,
}

/// Streams that are reset (RFC 6525), each on request of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// The client resets its own, and the server its own when it learns of that, as WebRTC does.
    EachItsOwn,
    /// The client asks the server to reset the server's.
    AskedFor,
    /// All streams of both sides, and the TSNs.
    Association,
}

/// Messages that a client sends, each expected back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EchoPlan {
    /// Sizes in bytes, 1 to 1 MiB each; message `i` has the one at `i` modulo their number.
    pub sizes: Vec<usize>,
    /// Number of messages that the client sends.
    pub count: usize,
    /// Streams that the messages take in turn.
    pub streams: u16,
    /// RTO.Min that the peer is to use; its RTO.Initial is twice that.
    pub rto_min: Duration,
    /// RTO.Max that the peer is to use.
    pub rto_max: Duration,
    /// Whether the messages go unordered, both ways.
    pub unordered: bool,
    /// Reliability of the client's messages except the last; echoes are always reliable.
    pub reliability: Reliability,
    /// Time from message to message; none waits until the one before came back.
    pub pace: Option<Duration>,
    /// Before this message streams are reset. Without a pace the message waits for that.
    pub reset: Option<(usize, Reset)>,
    /// Before this message the client adds this number of streams in each direction, and uses them
    /// from then on.
    pub added_streams: Option<(usize, u16)>,
    /// Whether user message interleaving is offered.
    pub interleaving: bool,
    /// Changes of its addresses that the client tells, each before the message with this number.
    pub address_changes: Vec<(usize, AddressChange, Ipv4Addr)>,
    /// Before this message usrsctp as client begins to send to this address of the server.
    pub towards: Option<(usize, Ipv4Addr)>,
    /// The side that ends the association.
    pub end: End,
    /// Addresses of the peer; none gives it the one that leads to us.
    pub addresses: Vec<Ipv4Addr>,
    /// Whether a peer's client leaves its address open, so that it tells all that it has.
    pub unbound: bool,
    /// SCTP port of a peer's client; the stack chooses where there is none.
    pub local_port: Option<u16>,
    /// Time between the peer's heartbeats, and errors after which one of its paths is down.
    pub heartbeat: Duration,
    /// See `heartbeat`.
    pub path_max_retrans: u8,
    /// The time after which a run counts as hung.
    pub limit: Duration,
}

impl EchoPlan {
    /// `count` messages of `size` bytes.
    pub fn of(count: usize, size: usize) -> EchoPlan {
        EchoPlan {
            sizes: vec![size],
            count,
            streams: 4,
            rto_min: Duration::from_secs(1),
            rto_max: Duration::from_secs(60),
            unordered: false,
            reliability: Reliability::Full,
            pace: None,
            reset: None,
            added_streams: None,
            interleaving: false,
            address_changes: vec![],
            towards: None,
            end: End::ClientShutdown,
            addresses: vec![],
            unbound: false,
            local_port: None,
            heartbeat: Duration::from_secs(30),
            path_max_retrans: 5,
            limit: Duration::from_secs(60),
        }
    }

    /// `count` messages from 1 to `largest` bytes: small ones as often as large ones (equal steps
    /// of the logarithm), the two ends included, in an order that mixes them.
    pub fn graded(count: usize, largest: usize) -> EchoPlan {
        let steps = count.saturating_sub(1).max(1);
        let size = |step: usize| {
            let exponent = step as f64 / steps as f64;
            ((largest as f64).powf(exponent).round() as usize).clamp(1, largest)
        };
        // A stride without a common divisor visits every step once; the golden section spreads
        // them.
        let stride =
            (count * 618 / 1000..).find(|s| greatest_common_divisor(*s, count) == 1).unwrap_or(1);
        let sizes = (0..count).map(|i| size(i * stride % count)).collect();
        EchoPlan { sizes, ..EchoPlan::of(count, 1) }
    }

    /// Adds one more message, of `size` bytes, at the end.
    pub fn and_one_of(mut self, size: usize) -> EchoPlan {
        self.sizes = (0..self.count).map(|index| self.size(index)).chain([size]).collect();
        self.count += 1;
        self
    }

    /// Fits the peer's timers to a network that loses packets: RTO from 100 ms to 1 s.
    pub fn with_fast_timers(self) -> EchoPlan {
        EchoPlan {
            rto_min: Duration::from_millis(100),
            rto_max: Duration::from_secs(1),
            limit: Duration::from_secs(240),
            ..self
        }
    }

    /// Size of message `index` in bytes.
    pub fn size(&self, index: usize) -> usize {
        self.sizes[index % self.sizes.len()]
    }

    /// All bytes that the client sends, and expects back.
    pub fn total(&self) -> u64 {
        (0..self.count).map(|index| self.size(index) as u64).sum()
    }

    /// Streams that each side asks for at first.
    pub fn initial_streams(&self) -> u16 {
        if self.added_streams.is_some() { self.streams } else { 64 }
    }

    /// Stream of the message with this index: the streams take turns.
    pub fn stream(&self, index: usize) -> u16 {
        let streams = match self.added_streams {
            Some((before, added)) if index >= before => self.streams + added,
            _ => self.streams,
        };
        (index % usize::from(streams)) as u16
    }

    /// Message `index`, as the peers' `workload.h` makes it too.
    pub fn message(&self, index: usize) -> Vec<u8> {
        let byte = |at: usize| (index * 131 + at * 7 + (at >> 8) * 3) as u8;
        (0..self.size(index)).map(byte).collect()
    }

    /// The number of a message with this content, where the plan has fewer than 256.
    pub fn index_of(&self, content: &[u8]) -> usize {
        // 43 is the inverse of 131 modulo 256.
        usize::from(content.first().map_or(0, |first| first.wrapping_mul(43)))
    }

    /// Time at which message `index` is due, counted from the first.
    pub(crate) fn due(&self, index: usize) -> Option<Duration> {
        Some(self.pace? * index as u32)
    }

    /// The plan as words of command for a peer's program (`peers/options.h`), as client or as
    /// server.
    pub fn words(&self, client: bool) -> Vec<String> {
        let mut words = vec![];
        let mut add = |name: &str, value: String| words.extend([format!("--{name}"), value]);
        let millis = |time: Duration| time.as_millis().to_string();
        add("client", u8::from(client).to_string());
        add("sizes", joined(&self.sizes));
        add("addresses", joined(&self.addresses));
        add("reliability", reliability_text(self.reliability));
        let towards = self.towards.map(|(index, address)| format!("{index}:towards:{address}"));
        add("asconf", joined(self.address_changes.iter().map(change_text).chain(towards)));
        add("count", self.count.to_string());
        add("streams", self.streams.to_string());
        add("unordered", u8::from(self.unordered).to_string());
        add("interleaving", u8::from(self.interleaving).to_string());
        add("pace", millis(self.pace.unwrap_or_default()));
        add("reset-before", self.reset.map_or(0, |(before, _)| before).to_string());
        let is = |kind| u8::from(self.reset.is_some_and(|(_, reset)| reset == kind)).to_string();
        add("ask-for-reset", is(Reset::AskedFor));
        add("reset-association", is(Reset::Association));
        let (before, added) = self.added_streams.unwrap_or_default();
        add("initial-streams", self.initial_streams().to_string());
        add("add-before", before.to_string());
        add("add-streams", added.to_string());
        add("unbound", u8::from(self.unbound).to_string());
        add("local-port", self.local_port.unwrap_or(0).to_string());
        add("rto-min", millis(self.rto_min));
        add("rto-initial", millis(self.rto_initial()));
        add("rto-max", millis(self.rto_max));
        add("heartbeat", millis(self.heartbeat));
        add("path-retrans", self.path_max_retrans.to_string());
        add("seconds", self.limit.as_secs().max(1).to_string());
        let (own, how) = match self.end {
            End::ClientShutdown => (client, "shutdown"),
            End::ClientAbort => (client, "abort"),
            End::ServerShutdown => (!client, "shutdown"),
            End::ServerAbort => (!client, "abort"),
        };
        add("end", if own { how } else { "peer" }.to_owned());
        add("end-after", if own && !client { self.count } else { 0 }.to_string());
        words
    }

    /// RTO.Initial for the peer: twice RTO.Min, at most RTO.Max.
    pub fn rto_initial(&self) -> Duration {
        (self.rto_min * 2).min(self.rto_max)
    }
}

fn joined<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    texts.join(",")
}

fn reliability_text(reliability: Reliability) -> String {
    match reliability {
        Reliability::Full => "full".to_owned(),
        Reliability::Retransmissions(limit) => format!("rtx:{limit}"),
        Reliability::Lifetime(lifetime) => {
            format!("lifetime:{}", lifetime.as_nanos() / 1_000_000)
        }
    }
}

fn change_text((index, change, address): &(usize, AddressChange, Ipv4Addr)) -> String {
    let word = match change {
        AddressChange::Added => "add",
        AddressChange::Deleted => "delete",
        AddressChange::MadePrimary => "primary",
    };
    format!("{index}:{word}:{address}")
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graded_sizes_span_the_range_and_mix_small_and_large() {
        let plan = EchoPlan::graded(500, 100_000);
        assert_eq!(plan.sizes.iter().min(), Some(&1));
        assert_eq!(plan.sizes.iter().max(), Some(&100_000));
        assert!(plan.sizes[..10].iter().any(|s| *s > 10_000));
        let small = plan.sizes.iter().filter(|s| **s < 317).count();
        assert!((240..=260).contains(&small), "half below the geometric mean, not {small}");
        assert_eq!(plan.total(), plan.sizes.iter().map(|s| *s as u64).sum::<u64>());
    }

    #[test]
    fn a_message_tells_its_number() {
        let plan = EchoPlan::of(250, 1);
        assert!((0..250).all(|index| plan.index_of(&plan.message(index)) == index));
    }

    #[test]
    fn only_the_side_that_ends_is_told_how() {
        let plan = EchoPlan { end: End::ServerAbort, ..EchoPlan::of(3, 1) };
        let word = |client, name: &str| {
            let words = plan.words(client);
            let at = words.iter().position(|word| word == name).unwrap();
            words[at + 1].clone()
        };
        assert_eq!((word(true, "--end"), word(true, "--end-after")), ("peer".into(), "0".into()));
        assert_eq!(
            (word(false, "--end"), word(false, "--end-after")),
            ("abort".into(), "3".into())
        );
    }

    #[test]
    fn messages_differ_from_each_other_and_within() {
        let plan = EchoPlan::of(3, 1000);
        assert_ne!(plan.message(0), plan.message(1));
        assert_ne!(plan.message(0)[..256], plan.message(0)[256..512]);
    }
}
