//! `[network]`: the network between senders and receivers.

use core::ops::Range;
use core::str::FromStr;

use base::{Duration, Instant};
use netsim::LinkConfig;
use netsim::topology::Directions;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::error::PlanError;
use super::files::Files;
use super::link::{Known, LinkSection};
use super::link_config;
use super::network_name::NetworkName;
use crate::text::Text;
use crate::world::{MAX_HOPS, MAX_PATHS, Network};

/// Shape of a network: how hosts and links are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Two sides and a link each way.
    Pair,
    /// Disjoint paths between multihomed ends.
    TwoPath,
    /// A shared link, to which each flow has a way of its own.
    Dumbbell,
    /// Routers in a row; flows may enter and leave at any.
    Chain,
    /// A shared core, and an access line for each host.
    Access,
}

/// `[network]`: settings of links, which hold for both directions of all links unless a more
/// specific section differs.
#[derive(Clone, Debug)]
pub struct NetworkSection {
    /// Connections between hosts and links.
    pub kind: Kind,
    /// Whether independent losses hit the same first transmissions under every policy.
    pub paired: bool,
    /// Time until which these losses hit no packet, so that flows can be set up.
    pub spared: Duration,
    /// Settings of each path of `two-path`.
    pub paths: Vec<LinkSection>,
    /// Settings of each link of `chain`, in order.
    pub hops: Vec<LinkSection>,
    /// The line of each sender in `access`; other settings do not apply to it.
    pub sender_access: Option<LinkSection>,
    /// The line of each receiver in `access`.
    pub receiver_access: Option<LinkSection>,
    /// Values that all links share.
    pub link: LinkSection,
}

const KEYS: &[&str] =
    &["kind", "paired", "spared", "paths", "hops", "sender_access", "receiver_access"];

impl<'de> Deserialize<'de> for NetworkSection {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<NetworkSection, D::Error> {
        struct Table;
        impl<'de> Visitor<'de> for Table {
            type Value = NetworkSection;

            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(
                    "a table with a network's kind and the settings of its links, or the name of a network of \
                     the library",
                )
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<NetworkSection, E> {
                name.parse().map(NetworkSection::like).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NetworkSection, A::Error> {
                let (mut kind, mut paired) = (None, true);
                let mut spared = Text(Duration::ZERO);
                let (mut paths, mut hops) = (Vec::new(), Vec::new());
                let (mut sender_access, mut receiver_access) = (None, None);
                let mut link = LinkSection::default();
                while let Some(key) = map.next_key_seed(Known(&[KEYS, LinkSection::KEYS]))? {
                    match key.as_str() {
                        "kind" => kind = Some(map.next_value()?),
                        "paired" => paired = map.next_value()?,
                        "spared" => spared = map.next_value()?,
                        "paths" => paths = map.next_value()?,
                        "hops" => hops = map.next_value()?,
                        "sender_access" => sender_access = Some(map.next_value()?),
                        "receiver_access" => receiver_access = Some(map.next_value()?),
                        key => drop(link.take(key, &mut map)?),
                    }
                }
                let kind = kind.ok_or_else(|| A::Error::missing_field("kind"))?;
                Ok(NetworkSection {
                    kind,
                    paired,
                    spared: spared.0,
                    paths,
                    hops,
                    sender_access,
                    receiver_access,
                    link,
                })
            }
        }
        from.deserialize_any(Table)
    }
}

/// Links of a chain that a flow takes, the first is 1: `2`, or `1..3` for all from the first to the
/// third.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopsText {
    first: usize,
    last: usize,
}

impl FromStr for HopsText {
    type Err = String;

    fn from_str(text: &str) -> Result<HopsText, String> {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        let hops = first.parse().ok().zip(last.parse().ok());
        let hops = hops.map(|(first, last)| HopsText { first, last });
        hops.filter(|hops| 1 <= hops.first && hops.first <= hops.last).ok_or_else(|| {
            format!(
                "\"{text}\" names no links of a chain; give one such as 2, or a span such as 1..3"
            )
        })
    }
}

impl NetworkSection {
    /// A `pair` with the links of a network of the library.
    fn like(name: NetworkName) -> NetworkSection {
        NetworkSection {
            kind: Kind::Pair,
            paired: true,
            spared: Duration::ZERO,
            paths: Vec::new(),
            hops: Vec::new(),
            sender_access: None,
            receiver_access: None,
            link: LinkSection { like: Some(Text(name)), ..LinkSection::default() },
        }
    }

    /// The network; on a chain, each flow takes its links of `ways`.
    ///
    /// # Errors
    /// The settings that contradict each other.
    pub fn build(&self, files: &Files, ways: &[Option<HopsText>]) -> Result<Network, PlanError> {
        self.check_keys()?;
        let common = |own: &LinkSection| self.both(&[own, &self.link], files);
        let access = |line: &Option<LinkSection>| {
            line.as_ref().map(|line| self.both(&[line], files).map(Box::new)).transpose()
        };
        let all = LinkSection::default();
        if self.kind != Kind::Chain && ways.iter().any(Option::is_some) {
            return Err(PlanError::new("a flow's hops are for kind = \"chain\" only"));
        }
        Ok(match self.kind {
            Kind::Pair => Network::Pair(common(&all)?),
            Kind::Dumbbell => Network::Dumbbell(common(&all)?),
            Kind::TwoPath => {
                Network::Paths(self.paths.iter().map(common).collect::<Result<_, _>>()?)
            }
            Kind::Chain => Network::Chain {
                hops: self.hops.iter().map(common).collect::<Result<_, _>>()?,
                ways: ways.iter().map(|way| self.way(*way)).collect::<Result<_, _>>()?,
            },
            Kind::Access => Network::Access {
                core: common(&all)?,
                sender: access(&self.sender_access)?,
                receiver: access(&self.receiver_access)?,
            },
        })
    }

    /// Time at which paired losses begin; none where losses are not paired.
    pub(super) fn losses_begin(&self) -> Option<Instant> {
        self.paired.then_some(Instant::ZERO + self.spared)
    }

    fn check_keys(&self) -> Result<(), PlanError> {
        let refuse = |what: String| Err(PlanError::new(what));
        if !self.paired && !self.spared.is_zero() {
            return refuse(
                "network.spared is for paired losses; leave paired = false out".to_owned(),
            );
        }
        let has_access = self.sender_access.is_some() || self.receiver_access.is_some();
        for (key, given, kind, name) in [
            ("paths", !self.paths.is_empty(), Kind::TwoPath, "two-path"),
            ("hops", !self.hops.is_empty(), Kind::Chain, "chain"),
            ("sender_access and .receiver_access", has_access, Kind::Access, "access"),
        ] {
            if given && self.kind != kind {
                return refuse(format!("network.{key} is for kind = \"{name}\" only"));
            }
        }
        match self.kind {
            Kind::TwoPath if !(2..=MAX_PATHS).contains(&self.paths.len()) => refuse(format!(
                "network.paths has {}; give 2 to {MAX_PATHS} for kind = \"two-path\"",
                self.paths.len()
            )),
            Kind::Chain if !(1..=MAX_HOPS).contains(&self.hops.len()) => refuse(format!(
                "network.hops has {}; give 1 to {MAX_HOPS} for kind = \"chain\"",
                self.hops.len()
            )),
            Kind::Access if !has_access => refuse(
                "kind = \"access\" without network.sender_access or network.receiver_access"
                    .to_owned(),
            ),
            _ => Ok(()),
        }
    }

    /// Places of the links that a flow takes; all unless given.
    fn way(&self, hops: Option<HopsText>) -> Result<Range<usize>, PlanError> {
        let count = self.hops.len();
        match hops {
            None => Ok(0..count),
            Some(hops) if hops.last <= count => Ok(hops.first - 1..hops.last),
            Some(HopsText { first, last }) => Err(PlanError::new(format!(
                "a flow takes hops {first}..{last}, and network.hops has {count}"
            ))),
        }
    }

    fn both(
        &self,
        levels: &[&LinkSection],
        files: &Files,
    ) -> Result<Directions<LinkConfig>, PlanError> {
        link_config::both(levels, self.hops.len().max(1) as u64, files)
    }
}
