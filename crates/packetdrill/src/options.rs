//! Options of a script (`--name=value` lines): tolerance, and the policy of the stack under test.
//!
//! The policy's options are the fields of a [`RecoveryPolicy`] by name, as in the command.

use std::sync::Arc;

use base::Duration;
use recovery::RecoveryPolicy;
use recovery::policy::{FIELDS, Field, FieldError, Protocol};

use sctp::{PotentiallyFailed, Redundancy, SwitchoverPolicy};
use tcp::{ConnectionOptions, EcnMode, Nagle, SynCookies, WindowProbe};

use crate::config::{StackConfig, TcpConfig};
use crate::script::ScriptOption;
use crate::vocabulary;

/// A parsed option, or why it cannot be applied.
type Parsed<T> = Result<T, String>;

/// Meaning of an option, once the options that do not concern the stack are handled.
enum Meant<'a> {
    /// Tolerance in time that the script sets.
    Tolerance(Duration),
    /// An option without effect here.
    Nothing,
    /// A setting of the stack and its value.
    Setting(&'a str, &'a str),
}

fn meant(option: &ScriptOption) -> Parsed<Meant<'_>> {
    let name = option.name.as_str();
    let value = option.value.as_deref().unwrap_or_default();
    match name {
        "tolerance_usecs" => {
            let micros = value.parse().map_err(|_| unknown(option))?;
            Ok(Meant::Tolerance(Duration::from_micros(micros)))
        }
        // Behaviour at the first failure, for runners that do not stop.
        "non_fatal" => Ok(Meant::Nothing),
        _ => Ok(Meant::Setting(name, value)),
    }
}

fn unknown(option: &ScriptOption) -> String {
    let value = option.value.as_deref().unwrap_or_default();
    format!("the option --{}={value} is not supported", option.name)
}

/// Reason for which an option is invalid; `None` if it is valid.
pub(crate) fn is_nonsense(option: &ScriptOption) -> Option<String> {
    let known = vocabulary::is_script_option(&option.name) || is_own(option);
    (!known).then(|| format!("there is no option --{}", option.name))
}

/// Whether the option is one of this crate's additions to the language: then an unknown value is a
/// mistake of the script.
pub(crate) fn is_own(option: &ScriptOption) -> bool {
    OWN.contains(&option.name.as_str()) || FIELDS.iter().any(|field| field.name == option.name)
}

/// This crate's additions to the language, besides the fields of the policy.
const OWN: [&str; 21] = [
    "ecn",
    "hold",
    "nagle",
    "no-delay",
    "peer",
    "policy",
    "potentially-failed-after",
    "primary-switchover-after",
    "redundant",
    "retries",
    "sack",
    "switchover",
    "syn-cookies",
    "syn-retries",
    "time-wait",
    "timestamps",
    "window-probe",
    "window-scaling",
    "remote-udp-port",
    "authentication",
    "addresses",
];

/// Applies an option; returns the tolerance in time if the option sets it.
///
/// # Errors
/// Why the script cannot be run.
pub(crate) fn apply(
    option: &ScriptOption,
    config: &mut StackConfig,
) -> Result<Option<Duration>, String> {
    let unknown = || unknown(option);
    let (name, value) = match meant(option)? {
        Meant::Tolerance(tolerance) => return Ok(Some(tolerance)),
        Meant::Nothing => return Ok(None),
        Meant::Setting(name, value) => (name, value),
    };
    match name {
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
            mechanism(&mut config.association.policy, Protocol::Sctp, option)?;
        }
    }
    Ok(None)
}

/// Applies an option for TCP; returns the tolerance in time if the option sets it.
///
/// # Errors
/// Why the script cannot be run.
pub(crate) fn apply_tcp(
    option: &ScriptOption,
    config: &mut TcpConfig,
) -> Result<Option<Duration>, String> {
    let (name, value) = match meant(option)? {
        Meant::Tolerance(tolerance) => return Ok(Some(tolerance)),
        Meant::Nothing => return Ok(None),
        Meant::Setting(name, value) => (name, value),
    };
    let found = match name {
        "policy" => match RecoveryPolicy::tcp_preset(value) {
            Some(policy) => {
                config.connection.policy = Arc::new(policy);
                Ok(())
            }
            None => refused(),
        },
        "syn-cookies" => choose(&mut config.endpoint.syn_cookies, value, &SYN_COOKIES),
        _ => match set_connection(&mut config.connection, name, value) {
            Some(found) => found,
            None => {
                return mechanism(&mut config.connection.policy, Protocol::Tcp, option)
                    .map(|()| None);
            }
        },
    };
    found.map(|()| None).map_err(|_| unknown(option))
}

const SYN_COOKIES: [(&str, SynCookies); 3] =
    [("off", SynCookies::Off), ("when-full", SynCookies::WhenFull), ("always", SynCookies::Always)];
const NAGLE: [(&str, Nagle); 2] = [("minshall", Nagle::Minshall), ("rfc9293", Nagle::Rfc9293)];
const WINDOW_PROBE: [(&str, WindowProbe); 2] =
    [("next-byte", WindowProbe::NextByte), ("old-sequence", WindowProbe::OldSequence)];
const ECN: [(&str, EcnMode); 3] =
    [("off", EcnMode::Off), ("passive", EcnMode::Passive), ("active", EcnMode::Active)];

/// Sets an option of connections; `None` if the name is unknown.
fn set_connection(
    connection: &mut ConnectionOptions,
    name: &str,
    value: &str,
) -> Option<Parsed<()>> {
    Some(match name {
        "mtu" => put(&mut connection.path_mtu, value, |value| value.parse().or_else(|_| refused())),
        "no-delay" => put(&mut connection.no_delay, value, switch),
        "nagle" => choose(&mut connection.nagle, value, &NAGLE),
        "hold" => put(&mut connection.hold, value, span),
        "window-probe" => choose(&mut connection.window_probe, value, &WINDOW_PROBE),
        "window-scaling" => put(&mut connection.window_scaling, value, switch),
        "timestamps" => put(&mut connection.timestamps, value, switch),
        "sack" => put(&mut connection.sack, value, switch),
        "ecn" => choose(&mut connection.ecn, value, &ECN),
        "time-wait" => put(&mut connection.time_wait, value, span),
        "retries" => put(&mut connection.retries, value, number),
        "syn-retries" => put(&mut connection.syn_retries, value, number),
        _ => return None,
    })
}

fn put<T>(place: &mut T, value: &str, read: fn(&str) -> Parsed<T>) -> Parsed<()> {
    *place = read(value)?;
    Ok(())
}

/// Sets one of several named values.
fn choose<T: Copy>(place: &mut T, value: &str, names: &[(&str, T)]) -> Parsed<()> {
    let Some((_, found)) = names.iter().find(|(name, _)| *name == value) else {
        return refused();
    };
    *place = *found;
    Ok(())
}

/// Sets a field of the policy by its name.
fn mechanism(
    policy: &mut Arc<RecoveryPolicy>,
    protocol: Protocol,
    option: &ScriptOption,
) -> Parsed<()> {
    let value = option.value.as_deref().unwrap_or_default();
    if let Some(field) = Field::find(&option.name).filter(|field| !field.is_of(protocol)) {
        return Err(format!("the option --{}", FieldError::Elsewhere(field.name, protocol)));
    }
    Arc::make_mut(policy).set(&option.name, value).map_err(|error| match error {
        FieldError::Unknown(_) => unknown(option),
        error => format!("the option --{error}"),
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use recovery::policy::{ThinBackoff, TimerRestart};

    fn given(text: &str) -> Result<(StackConfig, Option<Duration>), String> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let option = ScriptOption { line: 1, name: name.to_owned(), value: Some(value.to_owned()) };
        let mut config = StackConfig::default();
        apply(&option, &mut config).map(|tolerance| (config, tolerance))
    }

    #[test]
    fn policies_come_by_name_and_single_mechanisms_change_them() {
        let policy = |text| given(text).unwrap().0.association.policy;
        assert_eq!(*policy("policy=thin"), RecoveryPolicy::sctp_thin());
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
            let error = given(text).unwrap_err();
            assert!(error.contains(text.split('=').next().unwrap()), "{text}: {error}");
        }
        assert!(given("rto-min=soon").unwrap_err().contains("a duration such as 50ms"));
    }
}
