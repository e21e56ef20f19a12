//! Several paths on the command line: when data leaves one, and what is asked of the peer.

use std::str::FromStr;

use base::{Duration, ParseQuantityError};
use thinstream::{AssociationOptions, Extensions, Redundancy, RisingRtt, SwitchoverPolicy};

use crate::number::within;
use crate::policy::OrOff;

/// Options of paths that server and client share.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Paths")]
pub(crate) struct Paths {
    /// Evidence for which data leaves a path: timeouts (after --path-max-retrans), pf (the first
    /// timeout, RFC 7829), evidence (two timeouts, or one and a heartbeat without answer: the
    /// default).
    #[arg(long, value_name = "POLICY")]
    switchover: Option<Switchover>,
    /// Number of consecutive errors after which a path is inactive (Path.Max.Retrans), 5.
    #[arg(long, value_name = "N", value_parser = within(0..=10u8))]
    path_max_retrans: Option<u8>,
    /// Leave a path whose round-trip time keeps rising.
    #[arg(long)]
    rising_rtt: bool,
    /// Send on two paths at once while the stream is thin.
    #[arg(long)]
    redundant: bool,
    /// Time between heartbeats on an idle path, 30s; off sends none.
    #[arg(long, value_name = "DURATION|off")]
    heartbeat_interval: Option<OrOff<Duration>>,
    /// Silence of the peer after which it counts as dead, 30s; off leaves this to the counters of
    /// RFC 9260, which take minutes. An idle peer is probed once per twelfth of this time.
    #[arg(long, value_name = "DURATION|off")]
    dead_after: Option<OrOff<Duration>>,
    /// Offer the interleaving of messages (I-DATA, RFC 8260).
    #[arg(long)]
    interleaving: bool,
    /// Discover the largest packet of each path (RFC 8899), and never have packets fragmented.
    #[arg(long)]
    path_mtu_discovery: bool,
}

/// A switchover policy that is read from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Switchover(SwitchoverPolicy);

impl FromStr for Switchover {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Switchover, ParseQuantityError> {
        match text {
            "timeouts" => Ok(Switchover(SwitchoverPolicy::TIMEOUTS)),
            "pf" => Ok(Switchover(SwitchoverPolicy::POTENTIALLY_FAILED)),
            "evidence" => Ok(Switchover(SwitchoverPolicy::EVIDENCE)),
            _ => Err(ParseQuantityError::new(text, "timeouts, pf or evidence")),
        }
    }
}

impl Paths {
    /// Silence after which a peer is dead, if it ever is.
    pub(crate) fn dead_after(&self) -> Option<Duration> {
        self.dead_after.as_ref().map_or(Some(thinstream::DEAD_AFTER.into()), |OrOff(span)| *span)
    }

    /// Options of an association, those that nothing is said of at their defaults.
    pub(crate) fn options(&self) -> AssociationOptions {
        let mut options = AssociationOptions::default();
        if let Some(switchover) = self.switchover {
            options.switchover = switchover.0;
        }
        if let Some(most) = self.path_max_retrans {
            options.path_max_retrans = most;
        }
        if self.rising_rtt {
            options.switchover.rising_rtt = Some(RisingRtt::default());
        }
        if self.redundant {
            options.switchover.redundancy = Redundancy::TWO_WHILE_THIN;
        }
        if let Some(OrOff(interval)) = self.heartbeat_interval {
            options.heartbeat_interval = interval;
        }
        options.path_mtu_discovery = self.path_mtu_discovery;
        if self.interleaving {
            options.extensions = options.extensions | Extensions::INTERLEAVING;
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use thinstream::PotentiallyFailed;

    use super::*;
    use crate::line::parse;

    fn options(typed: &[&str]) -> Result<AssociationOptions, String> {
        parse::<Paths>(typed).map(|paths| paths.options()).map_err(|error| error.to_string())
    }

    #[test]
    fn each_option_changes_what_it_names() {
        let plain = options(&[]).unwrap();
        assert_eq!(plain.switchover, SwitchoverPolicy::EVIDENCE);
        assert!(!plain.extensions.contains(Extensions::INTERLEAVING) && !plain.path_mtu_discovery);
        assert!(options(&["--path-mtu-discovery"]).unwrap().path_mtu_discovery);
        let pf =
            options(&["--switchover", "pf", "--path-max-retrans", "0", "--redundant"]).unwrap();
        assert_eq!(pf.switchover.potentially_failed, PotentiallyFailed::AfterErrors(0));
        assert_eq!(pf.switchover.redundancy, Redundancy::TWO_WHILE_THIN);
        assert_eq!((pf.path_max_retrans, pf.switchover.rising_rtt), (0, None));
        let rising = options(&["--rising-rtt", "--heartbeat-interval", "200ms", "--interleaving"]);
        let rising = rising.unwrap();
        assert!(rising.switchover.rising_rtt.is_some());
        assert_eq!(rising.heartbeat_interval, Some(Duration::from_millis(200)));
        assert!(rising.extensions.contains(Extensions::INTERLEAVING));
        assert!(rising.extensions.contains(plain.extensions));
        assert_eq!(options(&["--heartbeat-interval", "off"]).unwrap().heartbeat_interval, None);
    }

    #[test]
    fn a_silent_peer_is_dead_after_half_a_minute_unless_another_span_is_typed() {
        let dead_after = |typed: &[&str]| parse::<Paths>(typed).unwrap().dead_after();
        assert_eq!(dead_after(&[]), Some(Duration::from_secs(30)));
        assert_eq!(dead_after(&["--dead-after", "2min"]), Some(Duration::from_secs(120)));
        assert_eq!(dead_after(&["--dead-after", "off"]), None);
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        let error = options(&["--switchover", "never"]).unwrap_err();
        assert!(error.contains("\"never\"") && error.contains("timeouts, pf or evidence"));
        let error = options(&["--path-max-retrans", "11"]).unwrap_err();
        assert!(error.contains("from 0 to 10"), "{error}");
    }
}
