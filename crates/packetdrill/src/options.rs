//! Options of a script (`--name=value` lines): tolerance, and the policy of the stack under test.
//!
//! The names of the policy's options are those of the command's, as far as scripts need them.

use std::sync::Arc;

use base::Duration;
use recovery::RecoveryPolicy;
use recovery::policy::{
    BundleReaction, BundlingPolicy, Controller, EarlyWindow, ErrorCounting, FineGrainedTimer,
    IdleRestart, ImmediateRequest, PartialAck, RetransmissionPath, ThinBackoff, ThinDetector,
    TimeoutResends, TimerRestart, VegasPolicy,
};

use sctp::{PotentiallyFailed, Redundancy, SwitchoverPolicy};
use tcp::{EcnMode, Nagle, SynCookies, WindowProbe};

use crate::config::{StackConfig, TcpConfig};
use crate::script::ScriptOption;

/// What an option says, or why it cannot be followed.
type Parsed<T> = Result<T, String>;

/// Sets what an option says; answers the tolerance in time if that is what it is about.
///
/// # Errors
/// Why the script cannot be run.
pub(crate) fn apply(
    option: &ScriptOption,
    config: &mut StackConfig,
) -> Result<Option<Duration>, String> {
    let name = option.name.as_str();
    let value = option.value.as_deref().unwrap_or_default();
    let unknown = || format!("the option --{name}={value} is not supported");
    match name {
        "tolerance_usecs" => {
            return value
                .parse()
                .map(|micros| Some(Duration::from_micros(micros)))
                .map_err(|_| unknown());
        }
        // What a runner that does not stop does at the first failure.
        "non_fatal" => {}
        "ip_version" if value == "ipv4" => {}
        "mtu" => config.association.path_mtu = value.parse().map_err(|_| unknown())?,
        "switchover" => {
            config.association.switchover = match value {
                "timeouts" => SwitchoverPolicy::TIMEOUTS,
                "pf" => SwitchoverPolicy::POTENTIALLY_FAILED,
                "evidence" => SwitchoverPolicy::EVIDENCE,
                _ => return Err(unknown()),
            };
        }
        "redundant" if value.is_empty() => {
            config.association.switchover.redundancy = Redundancy::TWO_WHILE_THIN;
        }
        "potentially-failed-after" => {
            let errors = or_off(value, number).map_err(|_| unknown())?;
            config.association.switchover.potentially_failed =
                errors.map_or(PotentiallyFailed::Never, PotentiallyFailed::AfterErrors);
        }
        "primary-switchover-after" => {
            let errors = or_off(value, number).map_err(|_| unknown())?;
            config.association.switchover.primary_switchover_after = errors;
        }
        "policy" => {
            let policy = RecoveryPolicy::preset(value).ok_or_else(unknown)?;
            config.association.policy = Arc::new(policy);
        }
        _ => {
            let policy = Arc::make_mut(&mut config.association.policy);
            return mechanism(policy, name, value).map(|()| None).map_err(|_| unknown());
        }
    }
    Ok(None)
}

/// Sets what an option says of TCP; answers the tolerance in time if that is what it is about.
///
/// # Errors
/// Why the script cannot be run.
pub(crate) fn apply_tcp(
    option: &ScriptOption,
    config: &mut TcpConfig,
) -> Result<Option<Duration>, String> {
    let name = option.name.as_str();
    let value = option.value.as_deref().unwrap_or_default();
    let unknown = || format!("the option --{name}={value} is not supported");
    match name {
        "tolerance_usecs" => {
            return value
                .parse()
                .map(|micros| Some(Duration::from_micros(micros)))
                .map_err(|_| unknown());
        }
        "non_fatal" => {}
        "mtu" => config.connection.path_mtu = value.parse().map_err(|_| unknown())?,
        "policy" => {
            let policy = RecoveryPolicy::tcp_preset(value).ok_or_else(unknown)?;
            config.connection.policy = Arc::new(policy);
        }
        "no-delay" => config.connection.no_delay = switch(value).map_err(|_| unknown())?,
        "nagle" => {
            config.connection.nagle = match value {
                "minshall" => Nagle::Minshall,
                "rfc9293" => Nagle::Rfc9293,
                _ => return Err(unknown()),
            };
        }
        "hold" => config.connection.hold = span(value).map_err(|_| unknown())?,
        "window-probe" => {
            config.connection.window_probe = match value {
                "next-byte" => WindowProbe::NextByte,
                "old-sequence" => WindowProbe::OldSequence,
                _ => return Err(unknown()),
            };
        }
        "window-scaling" => {
            config.connection.window_scaling = switch(value).map_err(|_| unknown())?;
        }
        "timestamps" => config.connection.timestamps = switch(value).map_err(|_| unknown())?,
        "sack" => config.connection.sack = switch(value).map_err(|_| unknown())?,
        "ecn" => {
            config.connection.ecn = match value {
                "off" => EcnMode::Off,
                "passive" => EcnMode::Passive,
                "active" => EcnMode::Active,
                _ => return Err(unknown()),
            };
        }
        "syn-cookies" => {
            config.endpoint.syn_cookies = match value {
                "off" => SynCookies::Off,
                "when-full" => SynCookies::WhenFull,
                "always" => SynCookies::Always,
                _ => return Err(unknown()),
            };
        }
        "time-wait" => config.connection.time_wait = span(value).map_err(|_| unknown())?,
        "retries" => config.connection.retries = number(value).map_err(|_| unknown())?,
        "syn-retries" => config.connection.syn_retries = number(value).map_err(|_| unknown())?,
        _ => {
            let policy = Arc::make_mut(&mut config.connection.policy);
            mechanism(policy, name, value).map_err(|_| unknown())?;
        }
    }
    Ok(None)
}

/// Sets a single mechanism.
fn mechanism(policy: &mut RecoveryPolicy, name: &str, value: &str) -> Parsed<()> {
    match name {
        "rto-initial" => policy.rto.initial = span(value)?,
        "rto-min" => policy.rto.min = span(value)?,
        "rto-max" => policy.rto.max = span(value)?,
        "rto-min-thin" => policy.rto.min_while_thin = or_off(value, span)?,
        "thin-detector" => policy.thin = thin_detector(value)?,
        "backoff" => policy.backoff.while_thin = backoff(value)?,
        "error-counting" => {
            policy.backoff.errors = match value {
                "every" => ErrorCounting::EveryExpiry,
                "exponential" => ErrorCounting::ExponentialSchedule,
                _ => return refused(),
            }
        }
        "timer-restart" => policy.timer_restart = timer_restart(value)?,
        "dup-threshold" => policy.loss.dup_threshold = number(value)?,
        "dup-threshold-thin" => policy.loss.dup_threshold_while_thin = or_off(value, number)?,
        "repeat-fast-retransmit" => policy.loss.repeat_fast_retransmit = switch(value)?,
        "early-retransmit" => policy.loss.early_retransmit = switch(value)?,
        "early-timer" => policy.loss.early_timer = or_off(value, span)?,
        "limited-transmit" => policy.congestion.limited_transmit = switch(value)?,
        "timeout-resends" => {
            policy.timeout_resends = match value {
                "all" => TimeoutResends::AllOutstanding,
                "old-enough" => TimeoutResends::OldEnough,
                _ => return refused(),
            }
        }
        "retransmission-path" => {
            policy.retransmission_path = match value {
                "same" => RetransmissionPath::Same,
                "alternate" => RetransmissionPath::Alternate,
                _ => return refused(),
            }
        }
        "initial-window" => {
            policy.congestion.initial_window =
                or_off(value, |text| text.parse().or_else(|_| refused()))?;
        }
        "use-sack" => policy.loss.use_sack = switch(value)?,
        "rack" => policy.loss.rack = switch(value)?,
        "tail-probe" => policy.loss.tail_probe = or_off(value, span)?,
        "frto" => policy.loss.frto = switch(value)?,
        "fine-grained" => {
            policy.loss.fine_grained = match value {
                "off" => FineGrainedTimer::Off,
                "on" => FineGrainedTimer::On,
                "robust" => FineGrainedTimer::Robust,
                _ => return refused(),
            }
        }
        "rescue" => policy.loss.rescue = switch(value)?,
        "partial-ack" => {
            policy.loss.partial_ack = match value {
                "first" => PartialAck::First,
                "every" => PartialAck::Every,
                _ => return refused(),
            }
        }
        "controller" => {
            policy.congestion.controller = match value {
                "rfc9260" => Controller::Rfc9260,
                "newreno" => Controller::NewReno,
                "cubic" => Controller::Cubic,
                "vegas" => Controller::Vegas(VegasPolicy::default()),
                _ => return refused(),
            }
        }
        "abc-limit" => policy.congestion.abc_limit = number(value)?,
        "idle-restart" => {
            policy.congestion.idle_restart = match value {
                "keep" => IdleRestart::Keep,
                "initial" => IdleRestart::InitialWindow,
                "halve" => IdleRestart::Halve,
                _ => return refused(),
            }
        }
        "prr" => policy.congestion.prr = switch(value)?,
        "undo" => policy.congestion.undo = switch(value)?,
        "early-window" => {
            policy.congestion.early_window = match value {
                "controller" => EarlyWindow::Controller,
                "tcp-er" => EarlyWindow::TcpEr,
                _ => return refused(),
            }
        }
        "bundling" => {
            policy.redundancy.bundling = match value {
                "off" => None,
                "paper" => Some(BundlingPolicy::PAPER),
                "linux" => Some(BundlingPolicy::LINUX),
                _ => return refused(),
            }
        }
        _ if name.starts_with("bundling-") => {
            let bundling = policy.redundancy.bundling.get_or_insert(BundlingPolicy::PAPER);
            bundling_option(bundling, name, value)?;
        }
        "max-burst" => policy.congestion.max_burst = number(value)?,
        "sack-delay" => policy.acknowledgement.delay = or_off(value, span)?,
        "sack-every" => policy.acknowledgement.every_packets = number(value)?,
        "request-sack" => {
            policy.acknowledgement.request_immediate = match value {
                "never" => ImmediateRequest::Never,
                "thin" => ImmediateRequest::WhileThin,
                "always" => ImmediateRequest::Always,
                _ => return refused(),
            }
        }
        _ => return refused(),
    }
    Ok(())
}

fn bundling_option(bundling: &mut BundlingPolicy, name: &str, value: &str) -> Parsed<()> {
    match name {
        "bundling-packets" => bundling.packets = number(value)?,
        "bundling-bytes" => bundling.bytes = value.parse().or_else(|_| refused())?,
        "bundling-when" => bundling.when = thin_detector(value)?,
        "bundling-on-retransmission" => bundling.on_retransmission = switch(value)?,
        "bundling-charged" => bundling.charged = switch(value)?,
        "bundling-reaction" => {
            bundling.reaction = match value {
                "ignore" => BundleReaction::Ignore,
                "presume" => BundleReaction::Presume,
                "verified" => BundleReaction::Verified,
                _ => return refused(),
            }
        }
        _ => return refused(),
    }
    Ok(())
}

fn refused<T>() -> Parsed<T> {
    Err("not understood".to_owned())
}

fn span(text: &str) -> Parsed<Duration> {
    text.parse().or_else(|_| refused())
}

fn number(text: &str) -> Parsed<u8> {
    text.parse().or_else(|_| refused())
}

fn or_off<T>(text: &str, read: fn(&str) -> Parsed<T>) -> Parsed<Option<T>> {
    if text == "off" { Ok(None) } else { read(text).map(Some) }
}

fn switch(text: &str) -> Parsed<bool> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => refused(),
    }
}

fn thin_detector(text: &str) -> Parsed<ThinDetector> {
    Ok(match text.split_once(':').unwrap_or((text, "3")) {
        ("off", _) => ThinDetector::Off,
        ("always", _) => ThinDetector::Always,
        ("fewer-than-four", _) => ThinDetector::FewerThanFour,
        ("in-flight", threshold) => {
            ThinDetector::InFlight { threshold: number(threshold)?, inclusive: false }
        }
        _ => return refused(),
    })
}

fn backoff(text: &str) -> Parsed<ThinBackoff> {
    Ok(match text.split_once(':') {
        None if text == "exponential" => ThinBackoff::Exponential,
        None if text == "linear" => ThinBackoff::Linear,
        Some(("linear", count)) => ThinBackoff::LinearFor(number(count)?),
        _ => return refused(),
    })
}

fn timer_restart(text: &str) -> Parsed<TimerRestart> {
    Ok(match text.split_once(':').unwrap_or((text, "4")) {
        ("full", _) => TimerRestart::Full,
        ("timer-age", _) => TimerRestart::LessTimerAge,
        ("oldest-age", threshold) => TimerRestart::LessOldestAge { threshold: number(threshold)? },
        _ => return refused(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> Result<(StackConfig, Option<Duration>), String> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let option = ScriptOption { line: 1, name: name.to_owned(), value: Some(value.to_owned()) };
        let mut config = StackConfig::default();
        apply(&option, &mut config).map(|tolerance| (config, tolerance))
    }

    #[test]
    fn policies_come_by_name_and_single_mechanisms_change_them() {
        let policy = |text| given(text).unwrap().0.association.policy;
        assert_eq!(*policy("policy=thin"), RecoveryPolicy::thin());
        assert_eq!(policy("rto-min=200ms").rto.min, Duration::from_millis(200));
        assert_eq!(policy("rto-min-thin=off").rto.min_while_thin, None);
        assert_eq!(policy("backoff=linear:6").backoff.while_thin, ThinBackoff::LinearFor(6));
        assert_eq!(policy("timer-restart=timer-age").timer_restart, TimerRestart::LessTimerAge);
        assert_eq!(given("tolerance_usecs=7").unwrap().1, Some(Duration::from_micros(7)));
    }

    #[test]
    fn what_is_not_understood_is_never_ignored() {
        for text in
            ["policy=thick", "rto-min=soon", "backoff=none", "debug", "mtu=0x5", "switch=on"]
        {
            assert!(given(text).is_err(), "{text}");
        }
    }
}
