use super::*;
use crate::policy::{PRESETS, TCP_PRESETS, VegasPolicy, WindowCounts};

/// Every preset, and a policy with no field as in any preset.
fn policies() -> Vec<RecoveryPolicy> {
    let sctp = PRESETS.iter().map(|(name, _)| RecoveryPolicy::preset(name).unwrap());
    let tcp = TCP_PRESETS.iter().map(|(name, _)| RecoveryPolicy::tcp_preset(name).unwrap());
    sctp.chain(tcp).chain([strange()]).collect()
}

/// A policy of which no field is as in the preset `rfc`, those that are not named here by their
/// samples.
fn strange() -> RecoveryPolicy {
    let mut policy = RecoveryPolicy::sctp_rfc();
    for field in FIELDS {
        let before = field.get(&policy);
        for sample in field.samples() {
            if before.is_some() && field.get(&policy) == before {
                field.set(&mut policy, sample).unwrap();
            }
        }
    }
    let millis = Duration::from_millis;
    policy.rto.alpha = Ratio::new(3, 7);
    policy.rto.beta = Ratio::new(0, 1);
    policy.rto.deviation = Deviation::Signed;
    policy.rto.initial = millis(1234);
    policy.rto.min = millis(7);
    policy.rto.min_while_thin = Some(Duration::from_nanos(7_000_001));
    policy.rto.max = Duration::from_secs(7200);
    policy.rto.max_while_thin = Some(millis(1235));
    policy.rto.samples = RttSamples::Proven;
    policy.rto.granularity = Duration::from_micros(5);
    policy.rto.min_variation = Duration::from_micros(7);
    policy.rto.ack_delay = Some(Duration::from_micros(8));
    policy.rto.tick = Duration::from_micros(6);
    policy.backoff.while_thin = ThinBackoff::LinearFor(9);
    policy.backoff.errors = ErrorCounting::ExponentialSchedule;
    policy.backoff.linear_setup = 9;
    policy.backoff.first_setup = Some(millis(11));
    policy.backoff.linear_step = Duration::from_micros(9);
    policy.backoff.linear_queue = 9;
    policy.backoff.outage_data = Duration::from_micros(9);
    policy.backoff.ends = BackoffEnd::Acknowledgement;
    policy.timer_restart = TimerRestart::LessTimerAge;
    policy.thin = ThinDetector::InFlight { threshold: 5, inclusive: true };
    policy.timeout_resends = TimeoutResends::OldEnough;
    policy.timeout_while_thin = ThinTimeout::Probe;
    policy.retransmission_path = RetransmissionPath::Same;
    let loss = &mut policy.loss;
    (loss.dup_threshold, loss.dup_threshold_while_thin) = (9, Some(2));
    (loss.repeat_fast_retransmit, loss.early_retransmit) = (RepeatFast::Always, true);
    loss.fast_restarts_timer = false;
    (loss.early_retransmit_by_bytes, loss.early_timer) = (true, Some(millis(3)));
    (loss.use_sack, loss.rack, loss.tail_probe) = (false, true, Some(millis(9)));
    (loss.frto, loss.fine_grained) = (true, FineGrainedTimer::Robust);
    (loss.rescue, loss.partial_ack) = (true, PartialAck::Every);
    loss.reordering_window = ReorderingWindow::Measured;
    loss.forget_sack_at_timeout = false;
    loss.early_rule = EarlyRule::Described;
    loss.sack_losses = SackLosses::EachHole;
    loss.sack_flight = SackFlight::Acknowledgements;
    let congestion = &mut policy.congestion;
    let vegas = VegasPolicy { alpha: 2, beta: 4, gamma: 3 };
    (congestion.controller, congestion.initial_window) = (Controller::Vegas(vegas), Some(4404));
    congestion.handshake_losses = 9;
    (congestion.max_burst, congestion.limited_transmit, congestion.abc_limit) = (9, true, 9);
    (congestion.hystart, congestion.idle_restart) = (true, IdleRestart::Halve);
    congestion.window_counts = WindowCounts::Packets;
    (congestion.prr, congestion.undo, congestion.early_window) = (true, true, EarlyWindow::TcpEr);
    congestion.least_window = LeastWindow::Carried;
    congestion.window_falls = WindowFalls::Once;
    let acknowledgement = &mut policy.acknowledgement;
    (acknowledgement.delay, acknowledgement.every_packets) = (None, 9);
    acknowledgement.quick = 9;
    acknowledgement.request_immediate = ImmediateRequest::Always;
    let path_mtu = &mut policy.path_mtu;
    (path_mtu.max_probes, path_mtu.black_hole_timeouts) = (9, 8);
    (path_mtu.probe_timer, path_mtu.raise_timer) = (millis(11), Duration::from_secs(12));
    (path_mtu.base, path_mtu.sizes, path_mtu.patience) = (999, ProbeSizes::Common, millis(13));
    policy.redundancy.bundling = Some(BundlingPolicy {
        packets: 3,
        bytes: 999,
        when: ThinDetector::Interval { least: millis(8) },
        on_retransmission: false,
        charged: true,
        reaction: BundleReaction::Verified,
        brake: Some(Ratio::new(3, 7)),
        alone: Some(Ratio::new(2, 7)),
        age: Some(Ratio::new(1, 7)),
        after_loss: 300,
        weighed: true,
        budget: 150,
    });
    policy
}

/// A field that another test would pass over, because `strange` lacks a value of its own for it, is
/// missing from `policy/samples.rs`.
#[test]
fn every_field_has_a_value_that_the_preset_rfc_lacks() {
    let (rfc, strange) = (RecoveryPolicy::sctp_rfc(), strange());
    for field in FIELDS {
        assert_ne!(field.get(&strange), field.get(&rfc), "{}", field.name);
    }
}

#[test]
fn the_fields_of_a_policy_make_it_of_any_other() {
    for wanted in policies() {
        for mut policy in policies() {
            for (field, text) in wanted.fields() {
                field.set(&mut policy, &text).unwrap();
            }
            assert_eq!(policy, wanted);
        }
    }
}

/// Whatever stands between the names of the fields in the output of `Debug` is a field too: a field
/// that is added to a policy but not to the table changes the number.
#[test]
fn no_field_is_missing_from_the_table() {
    let written = format!("{:?}", strange());
    // Each struct of a policy, and each variant with fields, stands behind a name of its own.
    let structs = ["RecoveryPolicy", "RtoPolicy", "BackoffPolicy", "LossPolicy", "PathMtuPolicy"];
    let more = ["CongestionPolicy", "AcknowledgementPolicy", "RedundancyPolicy", "BundlingPolicy"];
    let values = ["Ratio", "InFlight", "VegasPolicy", "Interval"];
    let names = written.matches(": ").count();
    let count = |words: &[&str]| -> usize {
        words.iter().map(|word| written.matches(&format!("{word} {{")).count()).sum()
    };
    // Two numbers each in five ratios, two in a detector, three in Vegas, one in an interval.
    assert_eq!(count(&values), 8);
    let nested = count(&structs) + count(&more) - 1;
    // A policy's name stands before the struct that it is, except for that of the bundling, which
    // is a field.
    assert_eq!(names - (5 * 2 + 2 + 3 + 1) - (nested - 1), FIELDS.len(), "{written}");
}

#[test]
fn every_field_is_told_apart_and_says_what_it_is() {
    for (index, field) in FIELDS.iter().enumerate() {
        assert!(FIELDS[..index].iter().all(|other| other.name != field.name), "{}", field.name);
        assert!(core::ptr::eq(Field::find(field.name).unwrap(), field));
        assert!(core::ptr::eq(Field::find(&field.name.replace('-', "_")).unwrap(), field));
        assert!(field.meaning.ends_with('.'), "{}", field.name);
        let error = field.check("what?").unwrap_err().to_string();
        assert!(error.contains(field.expected), "{error}");
        let others = ["robust", "thin"].map(|word| field.check(word).is_err());
        assert_eq!(field.is_switch(), field.check("on").is_ok() && others == [true; 2]);
    }
    assert!(Field::find("rto").is_none() && Field::find("rto-min-thi_").is_none());
}

#[test]
fn values_are_read_in_all_their_forms() {
    let changed = |name: &str, text: &str| {
        let mut policy = RecoveryPolicy::tcp_thin_rdb();
        policy.set(name, text).map(|()| policy)
    };
    let thin = |text| changed("thin-detector", text).unwrap().thin;
    let in_flight = |threshold, inclusive| ThinDetector::InFlight { threshold, inclusive };
    assert_eq!(thin("in-flight"), in_flight(3, false));
    assert_eq!(thin("in-flight:5"), in_flight(5, false));
    assert_eq!(thin("in-flight:3:inclusive"), in_flight(3, true));
    assert_eq!(thin("interval"), ThinDetector::Interval { least: Duration::from_millis(10) });
    assert_eq!(
        thin("interval:1.5ms"),
        ThinDetector::Interval { least: Duration::from_micros(1500) }
    );
    let controller = |text| changed("congestion", text).unwrap().congestion.controller;
    assert_eq!(controller("vegas"), Controller::Vegas(VegasPolicy::default()));
    let limits = VegasPolicy { alpha: 2, beta: 4, gamma: 0 };
    assert_eq!(controller("vegas:2:4:0"), Controller::Vegas(limits));
    let restart = changed("timer-restart", "oldest-age").unwrap().timer_restart;
    assert_eq!(restart, TimerRestart::LessOldestAge { threshold: 4 });
    assert_eq!(changed("rto-alpha", "1").unwrap().rto.alpha, Ratio::new(1, 1));
    assert_eq!(changed("rto-alpha", "0.7").unwrap().rto.alpha, Ratio::new(7, 10));
    assert_eq!(changed("rto-deviation", "truncated").unwrap().rto.deviation, Deviation::Truncated);
    assert_eq!(changed("initial-window", "4kB").unwrap().congestion.initial_window, Some(4000));
    assert_eq!(changed("initial-window", "4404").unwrap().congestion.initial_window, Some(4404));
    assert_eq!(changed("bundling", "off").unwrap().redundancy.bundling, None);
}

#[test]
fn nonsense_is_refused_with_the_fields_name_and_what_would_be_right() {
    for (name, text, hint) in [
        ("rto-alpha", "9/8", "1/8"),
        ("rto-alpha", "1.1", "1/8"),
        ("rto-alpha", "0.00001", "1/8"),
        ("rto-alpha", "1/0", "1/8"),
        ("rto-min-variation", "off", "50ms"),
        ("rto-min-variation", "-200ms", "50ms"),
        ("backoff", "lineal", "linear"),
        ("backoff", "exponential:3", "linear"),
        ("dup-threshold", "0", "1 to 255"),
        ("dup-threshold-thin", "0", "255, or off"),
        ("early-timer", "5", "off"),
        ("timeout-resends", "some", "old-enough"),
        ("thin-detector", "in-flight:3:exclusive", "inclusive"),
        ("thin-detector", "off:3", "fewer-than-four"),
        ("thin-detector", "in-flight:3:inclusive:no", "fewer-than-four"),
        ("timer-restart", "full:3", "timer-age"),
        ("congestion", "vegas:1:3", "vegas:1:3:1"),
        ("congestion", "vegas:1:3:1:1", "vegas:1:3:1"),
        ("congestion", "cubic:1", "cubic"),
        ("initial-window", "0B", "off"),
        ("bundling-bytes", "65536B", "65535B"),
        ("rack", "true", "on or off"),
    ] {
        let error = RecoveryPolicy::tcp_thin_rdb().set(name, text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{name}: \"{text}\" is not ")), "{error}");
        assert!(error.contains(hint), "{error}");
    }
    let unknown = RecoveryPolicy::sctp_rfc().set("rto-mini", "1s").unwrap_err().to_string();
    assert!(unknown.contains("\"rto-mini\"") && unknown.contains("rto-min, "), "{unknown}");
    let off = RecoveryPolicy::sctp_rfc().set("bundling-packets", "1").unwrap_err();
    assert_eq!(off, FieldError::Off("bundling-packets"));
}

#[test]
fn bounds_of_the_timeout_must_go_together() {
    let mut policy = RecoveryPolicy::sctp_rfc();
    assert_eq!(policy.check(), Ok(()));
    policy.rto.min_while_thin = Some(Duration::from_secs(61));
    let max = policy.rto.max;
    assert_eq!(policy.check(), Err(FieldError::Bounds(Duration::from_secs(61), max)));
    policy.rto.min_while_thin = None;
    policy.rto.min_variation = Duration::from_secs(62);
    assert_eq!(policy.check(), Err(FieldError::Bounds(Duration::from_secs(62), max)));
}

#[test]
fn a_flight_or_losses_by_other_rules_than_the_reports_contradict_what_needs_those() {
    let told = |fields: &str| {
        let policy = RecoveryPolicy::parse(Protocol::Tcp, &format!("sack;{fields}"));
        policy.err().map(|error| error.to_string()).unwrap_or_default()
    };
    for (value, other) in [
        ("sack-losses=each-hole", "use-sack=off"),
        ("sack-losses=each-hole", "rack=on"),
        ("sack-flight=acknowledgements", "use-sack=off"),
        ("sack-flight=acknowledgements", "prr=on"),
    ] {
        let text = told(&format!("{other};{value}"));
        assert!(text.starts_with(&format!("{value} contradicts {other}: ")), "{text}");
        assert!(text.ends_with("; change one of them"), "{text}");
        assert_eq!((told(value).as_str(), told(other).as_str()), ("", ""));
    }
    for apart in ["rack=on;sack-flight=acknowledgements", "prr=on;sack-losses=each-hole"] {
        assert_eq!(told(apart), "");
    }
    assert_eq!(told("window-falls=once;use-sack=off;rack=on;prr=on"), "");
}
