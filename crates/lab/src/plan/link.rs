//! Keys of a link in a plan, the same for `[network]`, directions, paths, hops, access lines and
//! the library.

use super::loss::LossText;
use super::network_name::NetworkName;
use crate::text::{Span, Text};
use base::{Duration, Probability, Rate};
use netsim::Jitter;
use netsim::link::{CrossTraffic, Framing, QueueText, RecordingText, Reorder};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

macro_rules! link_keys {
    ($($(#[$doc:meta])* $key:ident: $type:ty,)*) => {
        /// A plan's settings of a link, or of several at once.
        #[derive(Clone, Debug, Default)]
        pub struct LinkSection {
            $($(#[$doc])* pub $key: Option<$type>,)*
        }

        impl LinkSection {
            /// Names of all keys, in the order of the section's fields.
            pub(crate) const KEYS: &'static [&'static str] = &[$(stringify!($key)),*];

            /// Takes values that are missing here from `other`.
            pub(super) fn or(&self, other: &LinkSection) -> LinkSection {
                LinkSection { $($key: self.$key.clone().or_else(|| other.$key.clone()),)* }
            }

            /// Reads the value of a key; false if a link has no such key.
            pub(super) fn take<'de, A: MapAccess<'de>>(
                &mut self,
                key: &str,
                map: &mut A,
            ) -> Result<bool, A::Error> {
                match key {
                    $(stringify!($key) => self.$key = Some(map.next_value()?),)*
                    _ => return Ok(false),
                }
                Ok(true)
            }
        }
    };
}

link_keys! {
    /// A network of the library, whose values hold unless others are given.
    like: Text<NetworkName>,
    /// Round-trip time without queueing, half of it each way.
    rtt: Text<Duration>,
    /// One-way delay without queueing; half of `rtt` unless given.
    delay: Text<Duration>,
    /// Variation of the delay: see [`Jitter`]'s text.
    jitter: Text<Jitter>,
    /// Bits per second of the line; infinite unless given.
    rate: Text<Rate>,
    /// Size and discipline of the queue before the line: see [`QueueText`].
    queue: Text<QueueText>,
    /// Bytes that serialisation adds to a packet: see [`Framing`].
    framing: Text<Framing>,
    /// Largest IP packet, in bytes; any size unless given.
    mtu: u64,
    /// Losses: a text of [`netsim::LossModel`], or a table.
    loss: LossText,
    /// A queue filled by other traffic: see [`CrossTraffic`].
    cross: Text<CrossTraffic>,
    /// Probability and duration with which packets are held back.
    reorder: Text<Reorder>,
    /// Whether jitter and changes of the delay may reorder packets.
    allow_reordering: bool,
    /// Probability that a packet arrives twice.
    duplicate: Text<Probability>,
    /// Probability that a packet arrives with flipped bits.
    corrupt: Text<Probability>,
    /// Spans in which no packet passes.
    blackouts: Vec<Text<Span>>,
    /// Changes over time: lines as in [`netsim::link::parse_profile`], or the name of a file
    /// with such lines.
    profile: String,
    /// Files of recordings that the link plays: see [`RecordingText`].
    recording: Text<RecordingText>,
    /// Values of the direction from senders to receivers.
    forward: Box<LinkSection>,
    /// Values of the direction from receivers to senders.
    backward: Box<LinkSection>,
}

/// Reads a key that is one of these.
pub(super) struct Known<'a>(pub(super) &'a [&'a [&'a str]]);

impl<'de> DeserializeSeed<'de> for Known<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<String, D::Error> {
        let key = String::deserialize(from)?;
        match self.0.iter().any(|keys| keys.contains(&key.as_str())) {
            true => Ok(key),
            false => {
                let known = self.0.concat().join(", ");
                Err(D::Error::custom(format!("unknown key \"{key}\", expected one of {known}")))
            }
        }
    }
}

impl<'de> Deserialize<'de> for LinkSection {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<LinkSection, D::Error> {
        struct Link;
        impl<'de> Visitor<'de> for Link {
            type Value = LinkSection;

            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("a table with the settings of a link")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LinkSection, A::Error> {
                let mut section = LinkSection::default();
                while let Some(key) = map.next_key_seed(Known(&[LinkSection::KEYS]))? {
                    section.take(&key, &mut map)?;
                }
                Ok(section)
            }
        }
        from.deserialize_map(Link)
    }
}

/// One of the two ways across: forward leads from senders to receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

impl LinkSection {
    /// The settings that apply to one direction alone.
    pub(super) fn of(&self, direction: Direction) -> Option<&LinkSection> {
        match direction {
            Direction::Forward => self.forward.as_deref(),
            Direction::Backward => self.backward.as_deref(),
        }
    }

    /// The one-way delay, if the section has one.
    pub(super) fn one_way(&self, direction: Direction, hops: u64) -> Option<Duration> {
        let half = self.rtt.map(|Text(rtt)| match direction {
            Direction::Forward => rtt / 2,
            Direction::Backward => rtt - rtt / 2,
        });
        self.delay.map(|delay| delay.0).or(half.map(|half| half / hops))
    }
}
