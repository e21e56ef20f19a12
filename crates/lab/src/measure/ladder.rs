//! The part of a flow that a ladder shows.

use base::{Duration, Instant};
use serde::Deserialize;

use crate::text::{Names, Text};

/// Start of the packets that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// The packets from this time on.
    At(Instant),
    /// The first packet of the sender that is lost.
    Loss,
}

/// The part of a flow to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LadderWish {
    /// Beginning of the part that is shown.
    pub from: Beginning,
    /// Length of the part that is shown.
    pub span: Duration,
}

impl core::str::FromStr for Beginning {
    type Err = String;

    fn from_str(text: &str) -> Result<Beginning, String> {
        if text == "loss" {
            return Ok(Beginning::Loss);
        }
        let time: Duration = text
            .parse()
            .map_err(|_| format!("\"{text}\" is neither a time such as 2s nor loss"))?;
        Ok(Beginning::At(Instant::ZERO + time))
    }
}

/// The ladder of a flow.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// Groups of flows; all unless given.
    #[serde(default)]
    pub of: Option<Names>,
    /// Number of the flow in each group, from 0.
    #[serde(default)]
    pub flow: u32,
    /// Start: a time of the run, or `loss` for the first packet of the sender that is lost.
    pub from: Text<Beginning>,
    /// Length of the part that is shown.
    pub span: Text<Duration>,
}

impl Ladder {
    fn includes(&self, name: &str) -> bool {
        Names::include(self.of.as_ref(), name)
    }

    /// Whether the settings make sense for these groups of flows, each with its number of flows.
    pub(super) fn check(&self, groups: &[(&str, u32)]) -> Result<(), String> {
        if self.span.0.is_zero() {
            return Err("measure.ladder.span is 0s; give one such as 2s".to_owned());
        }
        let mut named = groups.iter().filter(|(name, _)| self.includes(name));
        match named.find(|(_, count)| self.flow >= *count) {
            Some((name, count)) => Err(format!(
                "measure.ladder.flow is {}; \"{name}\" has flows 0 to {}",
                self.flow,
                count.saturating_sub(1)
            )),
            None => Ok(()),
        }
    }

    /// Flows to watch: group, number within it, and part.
    pub fn wishes<'a>(
        &self,
        groups: impl Iterator<Item = &'a str>,
    ) -> impl Iterator<Item = (String, usize, LadderWish)> {
        let wish = LadderWish { from: self.from.0, span: self.span.0 };
        let named = groups.filter(|name| self.includes(name));
        named.map(move |name| (name.to_owned(), self.flow as usize, wish))
    }
}
