//! `paths` of a flow: SCTP's settings for several paths.

use core::str::FromStr;

use base::{Duration, Instant};
use sctp::{AssociationOptions, Redundancy, RisingRtt, SwitchoverPolicy};
use serde::Deserialize;

use crate::flow::PathHint;
use crate::text::Text;

/// SCTP's settings for several paths. Defaults apply, except that heartbeats are off: they would be
/// measured as traffic of a thin stream.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathsSection {
    /// Name of the section in rows.
    #[serde(default)]
    pub name: Option<String>,
    /// Evidence for which data leaves a path: `timeouts`, `pf` or `evidence`.
    #[serde(default)]
    pub switchover: Option<Text<SwitchoverText>>,
    /// Whether data leaves a path whose round-trip time keeps rising.
    #[serde(default)]
    pub rising_rtt: bool,
    /// Occasions on which data is sent on two paths at once: `never`, `while-thin`, `always`.
    #[serde(default)]
    pub redundant: Option<Text<RedundantText>>,
    /// Path.Max.Retrans: errors in a row after which a path is inactive.
    #[serde(default)]
    pub max_retrans: Option<u8>,
    /// Association.Max.Retrans: errors in a row after which the association fails.
    #[serde(default)]
    pub association_max_retrans: Option<u8>,
    /// Time between heartbeats on an idle path.
    #[serde(default)]
    pub heartbeat: Option<Text<Duration>>,
    /// A hint about the first path.
    #[serde(default)]
    pub hint: Option<HintSection>,
}

/// A hint about a path, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HintSection {
    /// Virtual time at which the application gives the hint.
    pub at: Text<Duration>,
    /// State of the path by the hint: `down`, `weak` or `up`.
    pub says: Text<HintText>,
}

/// Text form of a switchover policy, as plans name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchoverText(pub SwitchoverPolicy);

/// Redundancy over several paths, by its name in plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedundantText(pub Redundancy);

/// Text form of a hint, as plans name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HintText(pub PathHint);

impl FromStr for SwitchoverText {
    type Err = String;

    fn from_str(text: &str) -> Result<SwitchoverText, String> {
        Ok(SwitchoverText(match text {
            "timeouts" => SwitchoverPolicy::TIMEOUTS,
            "pf" => SwitchoverPolicy::POTENTIALLY_FAILED,
            "evidence" => SwitchoverPolicy::EVIDENCE,
            _ => return Err(format!("\"{text}\" is none of timeouts, pf, evidence")),
        }))
    }
}

impl FromStr for RedundantText {
    type Err = String;

    fn from_str(text: &str) -> Result<RedundantText, String> {
        Ok(RedundantText(match text {
            "never" => Redundancy::NONE,
            "while-thin" => Redundancy::TWO_WHILE_THIN,
            "always" => Redundancy::ALL_PATHS,
            _ => return Err(format!("\"{text}\" is none of never, while-thin, always")),
        }))
    }
}

impl FromStr for HintText {
    type Err = String;

    fn from_str(text: &str) -> Result<HintText, String> {
        Ok(HintText(match text {
            "down" => PathHint::Down,
            "weak" => PathHint::Weak,
            "up" => PathHint::Up,
            _ => return Err(format!("\"{text}\" is none of down, weak, up")),
        }))
    }
}

impl PathsSection {
    pub(super) fn apply(&self, options: &mut AssociationOptions) {
        options.heartbeat_interval = self.heartbeat.map(|interval| interval.0);
        options.path_max_retrans = self.max_retrans.unwrap_or(options.path_max_retrans);
        options.association_max_retrans =
            self.association_max_retrans.unwrap_or(options.association_max_retrans);
        if let Some(Text(SwitchoverText(switchover))) = self.switchover {
            options.switchover = switchover;
        }
        if self.rising_rtt {
            options.switchover.rising_rtt = Some(RisingRtt::default());
        }
        if let Some(Text(RedundantText(redundancy))) = self.redundant {
            options.switchover.redundancy = redundancy;
        }
    }

    pub(super) fn hint(&self) -> Option<(Instant, PathHint)> {
        self.hint.map(|hint| (Instant::ZERO + hint.at.0, hint.says.0.0))
    }
}
