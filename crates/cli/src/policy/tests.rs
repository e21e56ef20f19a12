use super::*;
use clap::Parser;
use recovery::policy::{Controller, EarlyWindow, FineGrainedTimer, IdleRestart, VegasPolicy};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    overrides: Overrides,
}

fn applied(policy: RecoveryPolicy, arguments: &[&str]) -> Result<RecoveryPolicy, String> {
    let line = Line::try_parse_from([&["test"], arguments].concat());
    let line = line.map_err(|error| error.to_string())?;
    let mut changed = policy;
    line.overrides.apply(&mut changed).map_err(|failure| format!("{failure:?}"))?;
    Ok(changed)
}

#[test]
fn without_options_every_preset_stays_as_it_is() {
    for (name, _) in PRESETS {
        let policy = RecoveryPolicy::preset(name).unwrap();
        assert_eq!(applied(policy.clone(), &[]), Ok(policy));
    }
}

#[test]
fn lksctp_with_the_thin_stream_mechanisms_one_by_one_is_thin() {
    let arguments = [
        "--rto-min-thin",
        "200ms",
        "--backoff",
        "linear",
        "--error-counting",
        "exponential",
        "--timer-restart",
        "oldest-age",
        "--dup-threshold-thin",
        "1",
        "--request-sack",
        "thin",
    ];
    assert_eq!(applied(RecoveryPolicy::lksctp(), &arguments), Ok(RecoveryPolicy::thin()));
}

#[test]
fn thin_with_the_mechanisms_switched_off_is_lksctp() {
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
        "--request-sack",
        "never",
    ];
    assert_eq!(applied(RecoveryPolicy::thin(), &arguments), Ok(RecoveryPolicy::lksctp()));
}

#[test]
fn rfc_becomes_freebsd_efr_by_its_mechanisms() {
    let arguments =
        ["--repeat-fast-retransmit", "--timeout-resends", "old-enough", "--early-timer", "250ms"];
    assert_eq!(applied(RecoveryPolicy::rfc(), &arguments), Ok(RecoveryPolicy::freebsd_efr()));
}

#[test]
fn every_option_changes_its_own_field() {
    type Change = fn(&mut RecoveryPolicy);
    let cases: [(&[&str], Change); 15] = [
        (&["--rto-min", "300ms"], |p| p.rto.min = Duration::from_millis(300)),
        (&["--rto-initial", "2s"], |p| p.rto.initial = Duration::from_secs(2)),
        (&["--rto-max", "9s"], |p| p.rto.max = Duration::from_secs(9)),
        (&["--rto-alpha", "1/16"], |p| p.rto.alpha = Ratio::new(1, 16)),
        (&["--rto-beta", "0"], |p| p.rto.beta = Ratio::new(0, 1)),
        (&["--rto-deviation", "signed"], |p| p.rto.deviation = Deviation::Signed),
        (&["--thin-detector", "always"], |p| p.thin = ThinDetector::Always),
        (&["--backoff", "linear:6"], |p| p.backoff.while_thin = ThinBackoff::LinearFor(6)),
        (&["--dup-threshold", "2"], |p| p.loss.dup_threshold = 2),
        (&["--early-retransmit"], |p| p.loss.early_retransmit = true),
        (&["--limited-transmit=on"], |p| p.congestion.limited_transmit = true),
        (&["--max-burst", "0"], |p| p.congestion.max_burst = 0),
        (&["--initial-window", "2904B"], |p| p.congestion.initial_window = Some(2904)),
        (&["--sack-delay", "off"], |p| p.acknowledgement.delay = None),
        (&["--sack-every", "3", "--request-sack", "always"], |p| {
            p.acknowledgement.every_packets = 3;
            p.acknowledgement.request_immediate = ImmediateRequest::Always;
        }),
    ];
    for (arguments, change) in cases {
        let mut expected = RecoveryPolicy::rfc();
        change(&mut expected);
        assert_ne!(expected, RecoveryPolicy::rfc(), "{arguments:?}");
        assert_eq!(applied(RecoveryPolicy::rfc(), arguments), Ok(expected), "{arguments:?}");
    }
}

#[test]
fn every_option_of_congestion_control_and_of_time_changes_its_own_field() {
    type Change = fn(&mut RecoveryPolicy);
    let cases: [(&[&str], Change); 13] = [
        (&["--congestion", "newreno"], |p| p.congestion.controller = Controller::NewReno),
        (&["--congestion", "cubic"], |p| p.congestion.controller = Controller::Cubic),
        (&["--congestion", "vegas:2:4:1"], |p| {
            let limits = VegasPolicy { alpha: 2, beta: 4, gamma: 1 };
            p.congestion.controller = Controller::Vegas(limits);
        }),
        (&["--abc-limit", "2"], |p| p.congestion.abc_limit = 2),
        (&["--hystart"], |p| p.congestion.hystart = true),
        (&["--idle-restart", "halve"], |p| p.congestion.idle_restart = IdleRestart::Halve),
        (&["--prr=on"], |p| p.congestion.prr = true),
        (&["--undo"], |p| p.congestion.undo = true),
        (&["--early-window", "tcp-er"], |p| p.congestion.early_window = EarlyWindow::TcpEr),
        (&["--rack"], |p| p.loss.rack = true),
        (&["--tail-probe", "200ms"], |p| p.loss.tail_probe = Some(Duration::from_millis(200))),
        (&["--frto"], |p| p.loss.frto = true),
        (&["--fine-grained", "robust"], |p| p.loss.fine_grained = FineGrainedTimer::Robust),
    ];
    for (arguments, change) in cases {
        let mut expected = RecoveryPolicy::rfc();
        change(&mut expected);
        assert_ne!(expected, RecoveryPolicy::rfc(), "{arguments:?}");
        assert_eq!(applied(RecoveryPolicy::rfc(), arguments), Ok(expected), "{arguments:?}");
    }
}

#[test]
fn thin_detectors_are_read_in_all_their_forms() {
    let detector =
        |text| applied(RecoveryPolicy::rfc(), &["--thin-detector", text]).map(|p| p.thin);
    let in_flight = |threshold, inclusive| Ok(ThinDetector::InFlight { threshold, inclusive });
    assert_eq!(detector("in-flight"), in_flight(3, false));
    assert_eq!(detector("in-flight:5"), in_flight(5, false));
    assert_eq!(detector("in-flight:3:inclusive"), in_flight(3, true));
    assert_eq!(detector("fewer-than-four"), Ok(ThinDetector::FewerThanFour));
    assert!(detector("in-flight:3:exclusive").unwrap_err().contains("fewer-than-four"));
}

#[test]
fn nonsense_is_refused_with_what_would_be_right() {
    let cases = [
        (["--rto-alpha", "9/8"], "1/8"),
        (["--backoff", "lineal"], "linear"),
        (["--dup-threshold-thin", "0"], "255"),
        (["--early-timer", "5"], "off"),
        (["--timeout-resends", "some"], "old-enough"),
        (["--rto-max", "1ms"], "--rto-max"),
    ];
    for (arguments, hint) in cases {
        let error = applied(RecoveryPolicy::rfc(), &arguments).unwrap_err();
        assert!(error.contains(hint), "{error}");
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
