//! The project's own scripts (`conformance/`): all pass exactly to the nanosecond and without
//! packets after their end, and each fails once it is changed.

use std::fs;
use std::path::{Path, PathBuf};

use recovery::policy::FIELDS;

use crate::script::{Script, ScriptOption};
use crate::{RunConfig, Suite, SuiteResults, Verdict, Word, parse, run};

const SEEDS: u64 = 5;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

fn strict() -> RunConfig {
    RunConfig { exact: true, no_tail: true, ..RunConfig::default() }
}

fn scripts() -> Vec<(String, Script)> {
    let results = Suite::default().run(&[folder()]).unwrap();
    let read = |path: String| {
        let script = parse(&fs::read_to_string(&path).unwrap());
        (path.clone(), script.unwrap_or_else(|error| panic!("{path}: {error}")))
    };
    results.scripts.into_iter().map(|result| read(result.path)).collect()
}

/// Results of the public suites, which are not part of this project; `None` unless the environment
/// gives their location.
pub(crate) fn run_public_suites() -> Option<SuiteResults> {
    let Some(folder) = std::env::var_os("PACKETDRILL_SCRIPTS") else {
        println!("SKIPPED: PACKETDRILL_SCRIPTS names no folder of public suites");
        return None;
    };
    Some(Suite::default().run(&[folder.into()]).unwrap())
}

/// The unparsed texts of the scripts in `conformance/`.
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
    let row = format!("| ours, `conformance/` | {0} | {0} | 0 | 0 |", results.passed);
    let manual = folder().join("../docs/conformance.md");
    assert!(fs::read_to_string(manual).unwrap().contains(&row), "docs/conformance.md lacks {row}");
}

#[test]
fn mutants_of_own_scripts_fail_or_stand_in_the_list_with_their_reason() {
    let suite = Suite { config: strict(), seeds: 2, ..Suite::default() };
    let results = suite.mutate(&[folder()], 1).unwrap();
    assert!(results.is_right(), "{results:#?}");
    let [all, failed, listed] = [results.mutants, results.killed, results.listed].map(grouped);
    let text = format!("Of {all} mutants {failed} fail. The other {listed} make no difference");
    let manual = fs::read_to_string(folder().join("../docs/conformance.md")).unwrap();
    assert!(manual.contains(&text), "docs/conformance.md lacks: {text}");
}

/// A number below a million as the documents have it: `66,935`.
fn grouped(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", number / 1000, number % 1000),
    }
}

/// Flips a bit in the first byte of user data of a packet whose first chunk is DATA, or of the HMAC
/// if it is AUTH, and corrects the checksum.
fn damage(packet: &mut [u8]) {
    let place = match packet.get(12) {
        Some(0) => 28,
        Some(15) => 20,
        _ => return,
    };
    packet[place] ^= 1;
    packet[8..12].fill(0);
    let checksum = crc32c::crc32c(packet);
    packet[8..12].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn a_stack_that_sends_damaged_user_data_or_a_wrong_hmac_fails() {
    for (name, why) in
        [("bundling/fragments", "beginning of the message"), ("authentication/data", "wrong HMAC")]
    {
        let path = folder().join("sctp").join(name).with_extension("pkt");
        let script = parse(&fs::read_to_string(&path).unwrap()).unwrap();
        let spoilt = RunConfig { spoil: Some(damage), ..strict() };
        let Verdict::Fail(found) = run(&script, &spoilt).verdict else { panic!("{name}") };
        assert!(found.message.contains(why), "{name}: {found}");
    }
}

#[test]
fn each_script_of_a_mechanism_fails_without_it() {
    let mut controls = 0;
    for (path, mut script) in scripts() {
        // This option makes the runner stricter, and is not a mechanism.
        script.options.retain(|option| option.name != "tcp_ts_tick_usecs");
        if script.options.is_empty() {
            continue;
        }
        script.options.clear();
        let verdict = run(&script, &strict()).verdict;
        assert!(matches!(verdict, Verdict::Fail(_)), "{path}: {verdict:?}");
        controls += 1;
    }
    assert!(controls >= 90, "{controls}");
}

/// A script, and fields of the policy with values at which it must fail.
type Spoilt = (&'static str, &'static str);

/// Stacks with one changed field each, whatever the script asks for. They cover each field of a
/// policy.
const SPOILT: &[Spoilt] = &[
    ("sctp/rto/back-off", "thin-detector=always backoff=linear"),
    ("sctp/rto/first-sample", "rto-granularity=1s"),
    ("sctp/rto/further-samples", "rto-beta=1/2"),
    ("sctp/rto/minimum", "rto-min=10ms"),
    ("sctp/rto/karn", "rto-max=2s"),
    ("tcp/rto/delayed-acknowledgement", "rto-ack-delay=off"),
    ("tcp/redundancy/brake", "bundling-brake=off"),
    ("tcp/rto/delayed-acknowledgement-off", "rto-ack-delay=500ms"),
    ("sctp/t3-rtx/r3-restarted-by-the-earliest", "timer-restart=oldest-age:4"),
    ("sctp/t3-rtx/r1-started-by-the-first", "timeout-resends=old-enough"),
    ("sctp/cwnd/initial", "initial-window=14680B"),
    ("sctp/cwnd/max-burst", "max-burst=2"),
    ("sctp/cwnd/congestion-avoidance", "congestion=newreno"),
    ("sctp/fast-retransmit/two-misses", "dup-threshold=2"),
    ("sctp/fast-retransmit/three-misses", "dup-threshold=4"),
    ("sctp/fast-retransmit/once", "repeat-fast-retransmit=on"),
    ("sctp/fast-retransmit/once", "fast-restarts-timer=off"),
    ("sctp/fast-retransmit/timer-goes-on", "fast-restarts-timer=on"),
    ("sctp/fast-retransmit/early-retransmit", "early-retransmit=off"),
    ("sctp/fast-retransmit/limited-transmit", "limited-transmit=off"),
    ("sctp/freebsd/early-timer", "early-timer=off"),
    ("sctp/freebsd/early-described", "early-rule=freebsd"),
    ("sctp/freebsd/old-enough", "timeout-resends=all"),
    ("sctp/multihoming/alternate", "retransmission-path=same"),
    ("sctp/rto/proven", "rto-samples=once"),
    ("sctp/rto/proven-by-time", "rto-samples=once"),
    ("sctp/rto/from-first", "rto-samples=once"),
    ("sctp/rto/from-latest", "rto-samples=from-first"),
    ("sctp/rto/margin", "rto-margin=fixed"),
    ("sctp/thin/again", "repeat-fast-retransmit=off"),
    ("sctp/thin/few-or-slow", "thin-detector=in-flight"),
    ("sctp/thin/few-or-slow", "thin-detector=interval"),
    ("sctp/thin/few-or-slow", "request-sack=always"),
    ("sctp/thin/few-or-slow-full", "thin-detector=always"),
    ("sctp/thin/outage-ends", "backoff-ends=sample"),
    ("sctp/thin/outage-ends", "backoff=linear:1"),
    ("sctp/thin/rto-maximum", "rto-max-thin=off"),
    ("sctp/thin/rto-maximum", "rto-max-thin=501ms"),
    ("sctp/thin/timeout-probe", "timeout-thin=loss"),
    ("sctp/thin/errors-at-every-expiry", "error-counting=exponential"),
    ("sctp/thin/errors-by-the-exponential-schedule", "error-counting=every"),
    ("sctp/thin/immediate-sack", "request-sack=always"),
    ("sctp/thin/linear-setup", "linear-setup=0"),
    ("tcp/open/linear-syns", "linear-setup=3"),
    ("sctp/thin/first-setup", "rto-setup=off"),
    ("sctp/thin/first-setup", "rto-setup=300ms"),
    ("tcp/open/first-syn", "rto-setup=off"),
    ("sctp/thin/alone", "bundling-alone=off"),
    ("sctp/thin/alone", "bundling-alone=1/5"),
    ("tcp/redundancy/alone", "bundling-alone=off"),
    ("tcp/redundancy/age", "bundling-age=off"),
    ("tcp/redundancy/age", "bundling-age=1/4"),
    ("tcp/redundancy/after-loss", "bundling-after-loss=0"),
    ("tcp/redundancy/after-loss", "bundling-after-loss=1"),
    ("tcp/redundancy/budget", "bundling-budget=0"),
    ("tcp/redundancy/budget", "bundling-budget=49"),
    ("tcp/redundancy/budget", "bundling-budget=100"),
    ("tcp/redundancy/weighed", "bundling-weighed=off"),
    ("tcp/redundancy/alone", "bundling-alone=1/2"),
    ("sctp/thin/linear-queue", "linear-queue=0"),
    ("sctp/thin/linear-queue", "linear-queue=2"),
    ("sctp/thin/linear-step", "linear-step=0s"),
    ("sctp/thin/linear-step", "linear-step=600ms"),
    ("sctp/thin/outage-data", "outage-data=0s"),
    ("sctp/thin/outage-data", "outage-data=400ms"),
    ("tcp/thin/outage-data", "outage-data=0s"),
    ("tcp/thin/outage-data", "outage-data=1200ms"),
    ("sctp/reconfiguration/retransmission", "rto-max=2s"),
    ("sctp/sack/delayed", "sack-delay=off"),
    ("sctp/sack/every-second-packet", "sack-every=3"),
    ("tcp/ack/quick", "quick-acks=2"),
    ("tcp/ack/linux", "sack-delay=200ms"),
    ("tcp/rto/back-off", "thin-detector=always backoff=linear"),
    ("tcp/rto/first-sample", "rto-granularity=1s"),
    ("tcp/rto/first-sample", "rto-initial=5s rto-min=5s"),
    ("tcp/rto/further-samples", "rto-alpha=1/2"),
    ("tcp/rto/further-samples", "rto-beta=1/2"),
    ("tcp/rto/further-samples", "rto-deviation=signed"),
    ("tcp/rto/minimum", "rto-min=10ms"),
    ("tcp/rto/minimum", "rto-min-thin=10ms"),
    ("tcp/rto/least-variation", "rto-min-variation=0s"),
    ("tcp/rto/least-variation", "rto-min-variation=300ms"),
    ("tcp/rto/karn", "rto-max=400ms"),
    ("tcp/rto/restarted-by-new-data-acknowledged", "timer-restart=oldest-age:4"),
    ("tcp/rto/forgets-reports", "forget-sack-at-timeout=off"),
    ("tcp/rto/keeps-reports", "forget-sack-at-timeout=on"),
    ("tcp/thin/linear-timeouts", "backoff=exponential"),
    ("tcp/thin/linear-timeouts", "backoff=linear:6"),
    ("tcp/rto/tick", "rto-tick=0s"),
    ("tcp/thin/linear-six", "backoff=linear"),
    ("tcp/thin/linear-six", "backoff=linear:5"),
    ("tcp/thin/linear-six", "thin-detector=off"),
    ("tcp/thin/linear-anew", "backoff=linear"),
    ("tcp/thin/linear-anew", "backoff=exponential"),
    ("tcp/thin/thick-doubles", "thin-detector=always"),
    ("tcp/thin/thick-doubles", "backoff-ends=acknowledgement"),
    ("tcp/thin/errors-at-every-expiry", "error-counting=exponential"),
    ("tcp/thin/first-duplicate", "dup-threshold-thin=off"),
    ("tcp/thin/timer-restart", "timer-restart=full"),
    ("tcp/thin/timer-restart-three", "timer-restart=oldest-age:3"),
    ("tcp/thin/timer-restart-thick", "timer-restart=oldest-age:5"),
    ("tcp/thin/timer-restart-timer-age", "timer-restart=oldest-age"),
    ("tcp/cwnd/initial", "initial-window=4000B"),
    ("tcp/open/after-a-lost-syn", "handshake-losses=2"),
    ("tcp/open/lost-syns", "handshake-losses=1"),
    ("tcp/cwnd/slow-start", "abc-limit=1"),
    ("tcp/cwnd/after-idle", "idle-restart=keep"),
    ("tcp/cwnd/after-idle-halved", "idle-restart=initial-window"),
    ("tcp/cwnd/after-idle-threshold", "idle-restart=initial-window"),
    ("tcp/cwnd/congestion-avoidance", "congestion=cubic"),
    ("tcp/fast-retransmit/two-duplicates", "dup-threshold=2"),
    ("tcp/fast-retransmit/three-duplicates", "dup-threshold=4"),
    ("tcp/fast-retransmit/limited-transmit", "limited-transmit=off"),
    ("tcp/fast-retransmit/not-early", "early-retransmit=on"),
    ("tcp/fast-retransmit/early-by-bytes", "early-retransmit-by-bytes=off"),
    ("tcp/fast-retransmit/early-by-segments", "early-retransmit-by-bytes=on"),
    ("tcp/fast-retransmit/sack-two-holes", "use-sack=off"),
    ("tcp/fast-retransmit/rescue", "rescue=off"),
    ("tcp/fast-retransmit/impatient", "partial-ack=every"),
    ("tcp/fast-retransmit/slow-but-steady", "partial-ack=first"),
    ("tcp/probe/no-probe-without", "tail-probe=200ms"),
    ("tcp/probe/tail", "tail-probe=off"),
    ("tcp/probe/delayed-acknowledgement", "tail-probe=100ms"),
    ("tcp/probe/new-data", "tail-probe=off"),
    ("tcp/rack/reordering-timer", "rack=off"),
    ("tcp/rack/part-of-a-segment", "rack=off"),
    ("tcp/rack/lost-retransmission", "rack=off"),
    ("tcp/rack/three-reported", "dup-threshold=4"),
    ("tcp/rack/window-as-measured", "reordering-window=quarter"),
    ("tcp/frto/spurious-timeout", "frto=off"),
    ("tcp/frto/with-sack", "frto=off"),
    ("tcp/frto/real-loss", "frto=off"),
    ("tcp/frto/off", "frto=on"),
    ("tcp/cwnd/counts-packets", "window-counts=bytes"),
    ("tcp/icmp/path-mtu-counts-packets", "window-counts=bytes"),
    ("tcp/cwnd/counts-bytes", "window-counts=packets"),
    ("tcp/undo/duplicate-report", "undo=off"),
    ("tcp/undo/timestamps", "undo=off"),
    ("tcp/undo/timestamps-after-a-timeout", "undo=off"),
    ("tcp/undo/no-undo", "undo=on"),
    ("tcp/prr/paced", "prr=off"),
    ("tcp/prr/many-losses", "prr=off"),
    ("tcp/cubic/reduction", "congestion=newreno"),
    ("tcp/cubic/as-reno", "congestion=newreno"),
    ("tcp/cubic/towards-the-plateau", "congestion=vegas"),
    ("tcp/cubic/hystart", "hystart=off"),
    ("tcp/vegas/three-quarters", "congestion=newreno"),
    ("tcp/vegas/three-quarters", "fine-grained=off"),
    ("tcp/vegas/window-by-delay", "congestion=newreno"),
    ("tcp/vegas/window-by-delay", "congestion=vegas:1:5:1"),
    ("tcp/vegas/window-by-delay", "congestion=vegas:1:3:5"),
    ("tcp/vegas/window-by-delay", "congestion=vegas:2:3:1"),
    ("tcp/er/fine-grained-timer", "fine-grained=off"),
    ("tcp/er/young", "early-retransmit=on"),
    ("tcp/er/robust", "fine-grained=on"),
    ("tcp/er/not-robust", "fine-grained=robust"),
    ("tcp/er/third-duplicate", "dup-threshold=4"),
    ("tcp/er/window-of-two", "early-window=controller"),
    ("tcp/er/window-of-two-sack", "early-window=controller"),
    ("tcp/er/window-of-two-sack", "use-sack=off"),
    ("tcp/er/in-vegas", "early-window=controller"),
    ("tcp/er/algorithm-1", "early-window=tcp-er"),
    ("tcp/ns-2/table-iv", "sack-flight=reports"),
    ("tcp/sack/each-hole", "sack-losses=is-lost"),
    ("tcp/sack/each-hole", "sack-flight=acknowledgements"),
    ("tcp/sack/window-falls-once", "window-falls=again"),
    ("tcp/ns-2/window-of-one", "least-window=controller"),
    ("tcp/sack/carried-window", "least-window=controller"),
    ("tcp/redundancy/without", "bundling=paper"),
    ("tcp/redundancy/unacknowledged-data-rides-along", "bundling=off"),
    ("tcp/redundancy/one-packet-back", "bundling-packets=2"),
    ("tcp/redundancy/limited-bytes", "bundling-bytes=0B"),
    ("tcp/redundancy/static-limit", "bundling-when=always"),
    ("tcp/redundancy/dynamic-limit", "bundling-when=fewer-than-four"),
    ("tcp/redundancy/dynamic-limit-long-path", "bundling-when=fewer-than-four"),
    ("tcp/redundancy/dynamic-limit-long-path", "bundling-when=interval:50ms"),
    ("tcp/redundancy/on-retransmission", "bundling-on-retransmission=off"),
    ("tcp/redundancy/not-on-retransmission", "bundling-on-retransmission=on"),
    ("tcp/redundancy/charged", "bundling-charged=off"),
    ("tcp/redundancy/uncharged", "bundling-charged=on"),
    ("tcp/redundancy/reaction-ignore", "bundling-reaction=presume"),
    ("tcp/redundancy/reaction-presume", "bundling-reaction=ignore"),
    ("tcp/redundancy/reaction-presume", "bundling-reaction=verified"),
    ("tcp/redundancy/reaction-verified", "bundling-reaction=ignore"),
    ("tcp/redundancy/reaction-unverified", "bundling-reaction=presume"),
    ("sctp/path-mtu/lost-probes", "mtu-probes=2"),
    ("sctp/path-mtu/lost-probes", "mtu-probe-timer=2s"),
    ("sctp/path-mtu/too-big", "mtu-raise-timer=1s"),
    ("tcp/icmp/path-mtu-raised", "mtu-raise-timer=700s"),
    ("tcp/icmp/path-mtu-raised", "mtu-raise-timer=599s"),
    ("tcp/icmp/black-hole", "mtu-timeouts=4"),
    ("tcp/icmp/black-hole", "mtu-timeouts=2"),
    ("tcp/icmp/black-hole", "mtu-base=600B"),
    ("sctp/path-mtu/search", "mtu-base=1300B"),
    ("sctp/path-mtu/search", "mtu-sizes=common"),
    ("tcp/icmp/path-mtu-patience", "mtu-patience=9s"),
    ("tcp/icmp/path-mtu-patience", "mtu-patience=12s"),
];

/// Fields and values of a row.
fn values(changes: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    changes.split(' ').filter_map(|change| change.split_once('='))
}

#[test]
fn stacks_that_are_spoilt_on_purpose_fail_the_scripts_about_it() {
    for (name, changes) in SPOILT {
        let path = folder().join(name).with_extension("pkt");
        let mut script = parse(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(run(&script, &strict()).verdict, Verdict::Pass, "{name}");
        for (field, value) in values(changes) {
            let (name, value) = (field.to_owned(), Some(value.to_owned()));
            script.options.push(ScriptOption { line: 1, name, value });
        }
        let verdict = run(&script, &strict()).verdict;
        let Verdict::Fail(found) = verdict else { panic!("{name} {changes}: {verdict:?}") };
        assert!(!found.message.contains("the option --"), "{name} {changes}: {found}");
    }
}

#[test]
fn each_field_of_a_policy_is_spoilt_for_some_script() {
    for field in FIELDS {
        let mut spoilt = SPOILT.iter().flat_map(|(_, changes)| values(changes));
        assert!(spoilt.any(|(name, _)| name == field.name), "{}", field.name);
    }
}
