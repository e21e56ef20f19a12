use super::*;
use base::Duration;
use clap::CommandFactory;
use recovery::PRESETS;
use recovery::policy::{BundlingPolicy, ThinDetector};

use crate::line::{Line, parse};

fn preset(text: &str) -> Result<NamedPolicy, String> {
    find(Protocol::Sctp, text)
}

fn applied<P: OfProtocol>(
    policy: RecoveryPolicy,
    arguments: &[&str],
) -> Result<RecoveryPolicy, String> {
    let overrides = parse::<Overrides<P>>(arguments).map_err(|error| error.to_string())?;
    let mut changed = policy;
    overrides.apply(&mut changed).map_err(|failure| failure.to_string())?;
    Ok(changed)
}

#[test]
fn without_options_every_preset_stays_as_it_is() {
    for (name, _) in PRESETS {
        let policy = RecoveryPolicy::preset(name).unwrap();
        assert_eq!(applied::<Sctp>(policy.clone(), &[]), Ok(policy));
    }
}

#[test]
fn there_is_an_option_for_each_field_that_the_protocol_heeds() {
    let names = |command: Command| -> Vec<String> {
        let options = command.get_arguments().filter_map(|option| option.get_long());
        options.filter(|name| *name != "help").map(str::to_owned).collect()
    };
    let (sctp, tcp) =
        (names(Line::<Overrides<Sctp>>::command()), names(Line::<Overrides<Tcp>>::command()));
    for field in FIELDS {
        let is_in = |names: &[String]| names.iter().any(|name| name == field.name);
        assert_eq!(is_in(&sctp), field.is_of(Protocol::Sctp), "{}", field.name);
        assert_eq!(is_in(&tcp), field.is_of(Protocol::Tcp), "{}", field.name);
    }
    Line::<Overrides<Sctp>>::command().debug_assert();
    Line::<Overrides<Tcp>>::command().debug_assert();
}

#[test]
fn sack_with_the_mechanisms_one_by_one_is_thin_rdb_paper() {
    let arguments = [
        "--bundling-reaction=verified",
        "--bundling-charged",
        "--bundling-when",
        "interval:10ms",
        "--bundling",
        "paper",
        "--backoff",
        "linear:6",
        "--timer-restart",
        "oldest-age",
        "--dup-threshold-thin",
        "1",
    ];
    let policy = applied::<Tcp>(RecoveryPolicy::tcp_sack(), &arguments);
    assert_eq!(policy, Ok(RecoveryPolicy::tcp_thin_rdb_paper()));
}

#[test]
fn thin_paper_with_the_mechanisms_switched_off_is_lksctp() {
    let arguments = [
        "--rto-min-thin",
        "off",
        "--backoff",
        "exponential",
        "--error-counting",
        "every",
        "--timer-restart",
        "full",
        "--dup-threshold-thin",
        "off",
        "--fast-restarts-timer=off",
        "--request-sack",
        "never",
    ];
    assert_eq!(
        applied::<Sctp>(RecoveryPolicy::sctp_thin_paper(), &arguments),
        Ok(RecoveryPolicy::lksctp())
    );
}

#[test]
fn switches_need_no_value_and_take_one_behind_an_equals_sign() {
    let rack = |arguments: &[&str]| {
        let policy = applied::<Sctp>(RecoveryPolicy::sctp_rfc(), arguments);
        policy.map(|policy| policy.loss.rack)
    };
    assert_eq!(rack(&["--rack"]), Ok(true));
    assert_eq!(rack(&["--rack=on"]), Ok(true));
    assert_eq!(rack(&["--rack=off"]), Ok(false));
    assert!(rack(&["--rack=no"]).unwrap_err().contains("on or off"));
}

#[test]
fn details_of_bundling_change_what_the_preset_bundles() {
    let arguments = ["--bundling-packets=2", "--bundling-bytes", "600B"];
    let policy = applied::<Tcp>(RecoveryPolicy::tcp_thin_rdb(), &arguments).unwrap();
    let when = ThinDetector::Interval { least: Duration::from_millis(10) };
    let bundling = policy.redundancy.bundling.unwrap();
    assert_eq!((bundling.packets, bundling.bytes, bundling.when), (2, 600, when));
    let error = applied::<Tcp>(RecoveryPolicy::tcp_thin(), &arguments).unwrap_err();
    assert!(error.contains("bundling-packets") || error.contains("bundling-bytes"), "{error}");
    let policy = applied::<Tcp>(RecoveryPolicy::tcp_thin(), &["--bundling=linux"]).unwrap();
    assert_eq!(policy.redundancy.bundling, Some(BundlingPolicy::LINUX));
}

#[test]
fn nonsense_is_refused_with_what_would_be_right() {
    let cases = [
        (["--rto-alpha", "9/8"], "1/8"),
        (["--backoff", "lineal"], "linear"),
        (["--dup-threshold-thin", "0"], "255"),
        (["--early-timer", "5"], "off"),
        (["--timeout-resends", "some"], "old-enough"),
        (["--rto-max", "1ms"], "rto-max"),
    ];
    for (arguments, hint) in cases {
        let error = applied::<Sctp>(RecoveryPolicy::sctp_rfc(), &arguments).unwrap_err();
        assert!(error.contains(hint) && error.contains(&arguments[0][2..]), "{error}");
    }
}

#[test]
fn an_unknown_preset_is_answered_with_the_known_ones() {
    let error = preset("lkstcp").unwrap_err();
    for (name, _) in PRESETS {
        assert!(error.contains(name) && preset(name).unwrap().name == name, "{error}");
    }
    assert!(error.contains("lkstcp"));
}

#[test]
fn a_policy_is_a_preset_with_fields_that_differ_and_only_such_as_its_protocol_heeds() {
    let policy = preset("thin;rto-min=300ms;bundling=paper").unwrap();
    assert_eq!(policy.policy.rto.min, Duration::from_millis(300));
    assert_eq!(policy.policy.redundancy.bundling, Some(BundlingPolicy::PAPER));
    let refused = preset("thin;use-sack=off").unwrap_err();
    assert!(refused.starts_with("use-sack has no effect on SCTP"), "{refused}");
    let refused = preset("thin-rdb").unwrap_err();
    assert_eq!(refused, "thin-rdb is a preset of TCP; for SCTP say thin;bundling=paper");
    let refused = tcp_preset("linux;retransmission-path=same").unwrap_err();
    assert!(refused.starts_with("retransmission-path has no effect on TCP"), "{refused}");
}
