//! The project's own scripts (`conformance/`): all pass, to the nanosecond and with nothing behind their
//! end, and each fails once anything in it is changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Duration;
use recovery::RecoveryPolicy;
use recovery::policy::{
    Controller, IdleRestart, ThinBackoff, ThinDetector, TimeoutResends, TimerRestart,
};
use recovery::rtt::Ratio;

use crate::mutation::{call_mutants, mutant_scripts};
use crate::script::{Action, Script, When};
use crate::{RunConfig, Suite, Verdict, Word, parse, run};

const SEEDS: u64 = 5;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

fn strict() -> RunConfig {
    RunConfig { exact: true, no_tail: true, ..RunConfig::default() }
}

/// With the seeds that a suite is run with, and some more: TSNs as in the script, TSNs that wrap, any.
fn with_seeds() -> impl Iterator<Item = RunConfig> {
    (0..SEEDS).map(|seed| RunConfig { seed, ..strict() })
}

fn scripts() -> Vec<(String, Script)> {
    let results = Suite::default().run(&[folder()]).unwrap();
    let read = |path: String| {
        let script = parse(&fs::read_to_string(&path).unwrap());
        (path.clone(), script.unwrap_or_else(|error| panic!("{path}: {error}")))
    };
    results.scripts.into_iter().map(|result| read(result.path)).collect()
}

/// The scripts as they are written.
pub(crate) fn scripts_as_text() -> Vec<String> {
    let results = Suite::default().run(&[folder()]).unwrap();
    results.scripts.iter().map(|script| fs::read_to_string(&script.path).unwrap()).collect()
}

#[test]
fn all_own_scripts_pass_exactly_whatever_tags_and_tsns_are() {
    let suite = Suite { config: strict(), seeds: SEEDS, ..Suite::default() };
    let results = suite.run(&[folder()]).unwrap();
    for result in &results.scripts {
        assert_eq!(result.verdict, Word::Pass, "{}: {}", result.path, result.reason);
        assert!(result.leniencies.is_empty() && result.slack_s == 0.0, "{}", result.path);
    }
    assert!(results.passed >= 190, "{}", results.passed);
}

#[test]
fn each_own_script_fails_once_a_field_that_it_expects_is_changed() {
    for (path, script) in scripts() {
        let mutants = mutant_scripts(&script);
        assert!(mutants.len() >= 10, "{path}: {}", mutants.len());
        for (mutant, name) in mutants {
            for config in with_seeds() {
                let verdict = run(&mutant, &config).verdict;
                let seed = config.seed;
                assert!(matches!(verdict, Verdict::Fail(_)), "{path} {name} {seed}: {verdict:?}");
            }
        }
    }
}

#[test]
fn each_own_script_fails_once_a_call_is_to_return_or_write_something_else() {
    let mut outputs = 0;
    for (path, script) in scripts() {
        for (mutant, name) in call_mutants(&script) {
            outputs += usize::from(!name.contains("result of"));
            for config in with_seeds() {
                let verdict = run(&mutant, &config).verdict;
                assert!(matches!(verdict, Verdict::Fail(_)), "{path} {name}: {verdict:?}");
            }
        }
    }
    assert!(outputs >= 60, "{outputs}");
}

#[test]
fn each_own_script_fails_once_an_expected_packet_is_missing_or_late() {
    for (path, script) in scripts() {
        for (index, event) in script.events.iter().enumerate() {
            if !matches!(event.action, Action::Expect(_)) {
                continue;
            }
            let mut missing = script.clone();
            missing.events[index].action = Action::Shell(String::new());
            let mut late = script.clone();
            let is_late = match &mut late.events[index].when {
                When::At { from, to: None, .. } => {
                    *from += Duration::from_millis(1);
                    true
                }
                _ => false,
            };
            for (mutant, what) in [(missing, "missing"), (late, "late")] {
                if what == "late" && !is_late {
                    continue;
                }
                for config in with_seeds() {
                    let verdict = run(&mutant, &config).verdict;
                    let (line, seed) = (event.line, config.seed);
                    assert!(
                        matches!(verdict, Verdict::Fail(_)),
                        "{path} line {line} {what}, seed {seed}: {verdict:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn each_script_of_a_mechanism_fails_without_it() {
    let mut controls = 0;
    for (path, mut script) in scripts() {
        // What makes the runner look closer is no mechanism.
        script.options.retain(|option| option.name != "tcp_ts_tick_usecs");
        if script.options.is_empty() {
            continue;
        }
        script.options.clear();
        let verdict = run(&script, &strict()).verdict;
        assert!(matches!(verdict, Verdict::Fail(_)), "{path}: {verdict:?}");
        controls += 1;
    }
    assert!(controls >= 25, "{controls}");
}

/// What is spoilt in a stack.
type Spoil = fn(&mut RecoveryPolicy);

#[test]
fn tcp_that_is_spoilt_on_purpose_fails_the_scripts_about_it() {
    let spoilt: [(&str, Spoil); 15] = [
        ("rto/back-off", |policy| {
            policy.thin = ThinDetector::Always;
            policy.backoff.while_thin = ThinBackoff::Linear;
        }),
        ("rto/first-sample", |policy| policy.rto.granularity = Duration::from_secs(1)),
        ("rto/further-samples", |policy| policy.rto.beta = Ratio::new(1, 2)),
        ("rto/minimum", |policy| policy.rto.min = Duration::from_millis(10)),
        ("rto/karn", |policy| policy.rto.max = Duration::from_millis(400)),
        ("rto/restarted-by-new-data-acknowledged", |policy| {
            policy.timer_restart = TimerRestart::LessOldestAge { threshold: 4 };
        }),
        ("cwnd/initial", |policy| policy.congestion.initial_window = Some(4_000)),
        ("cwnd/slow-start", |policy| policy.congestion.abc_limit = 1),
        ("cwnd/after-quiet", |policy| policy.congestion.idle_restart = IdleRestart::Keep),
        ("cwnd/congestion-avoidance", |policy| policy.congestion.controller = Controller::Cubic),
        ("fast-retransmit/two-duplicates", |policy| policy.loss.dup_threshold = 2),
        ("fast-retransmit/three-duplicates", |policy| policy.loss.dup_threshold = 4),
        ("fast-retransmit/limited-transmit", |policy| policy.congestion.limited_transmit = false),
        ("fast-retransmit/not-early", |policy| policy.loss.early_retransmit = true),
        ("probe/no-probe-without", |policy| {
            policy.loss.tail_probe = Some(Duration::from_millis(200));
        }),
    ];
    for (name, spoil) in spoilt {
        let path = folder().join("tcp").join(name).with_extension("pkt");
        let script = parse(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(run(&script, &strict()).verdict, Verdict::Pass, "{name}");
        let mut config = strict();
        spoil(Arc::make_mut(&mut config.stack.tcp.connection.policy));
        let verdict = run(&script, &config).verdict;
        assert!(matches!(verdict, Verdict::Fail(_)), "{name}: {verdict:?}");
    }
}

#[test]
fn stacks_that_are_spoilt_on_purpose_fail_the_scripts_about_it() {
    let spoilt: [(&str, Spoil); 14] = [
        ("rto/back-off", |policy| {
            policy.thin = ThinDetector::Always;
            policy.backoff.while_thin = ThinBackoff::Linear;
        }),
        ("rto/first-sample", |policy| policy.rto.granularity = Duration::from_secs(1)),
        ("rto/further-samples", |policy| policy.rto.beta = Ratio::new(1, 2)),
        ("rto/minimum", |policy| policy.rto.min = Duration::from_millis(10)),
        ("rto/karn", |policy| policy.rto.max = Duration::from_secs(2)),
        ("t3-rtx/r3-restarted-by-the-earliest", |policy| {
            policy.timer_restart = TimerRestart::LessOldestAge { threshold: 4 };
        }),
        ("t3-rtx/r1-started-by-the-first", |policy| {
            policy.timeout_resends = TimeoutResends::OldEnough;
        }),
        ("cwnd/initial", |policy| policy.congestion.initial_window = Some(14_680)),
        ("fast-retransmit/two-misses", |policy| policy.loss.dup_threshold = 2),
        ("fast-retransmit/three-misses", |policy| policy.loss.dup_threshold = 4),
        ("fast-retransmit/once", |policy| policy.loss.repeat_fast_retransmit = true),
        ("reconfiguration/retransmission", |policy| policy.rto.max = Duration::from_secs(2)),
        ("sack/delayed", |policy| policy.acknowledgement.delay = None),
        ("sack/every-second-packet", |policy| policy.acknowledgement.every_packets = 3),
    ];
    for (name, spoil) in spoilt {
        let path = folder().join("sctp").join(name).with_extension("pkt");
        let script = parse(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(run(&script, &strict()).verdict, Verdict::Pass, "{name}");
        let mut config = strict();
        spoil(Arc::make_mut(&mut config.stack.association.policy));
        let verdict = run(&script, &config).verdict;
        assert!(matches!(verdict, Verdict::Fail(_)), "{name}: {verdict:?}");
    }
}
