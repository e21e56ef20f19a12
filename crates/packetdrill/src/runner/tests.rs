//! The runner passes what is right, and fails everything that is a little wrong: without the second
//! half the first would mean nothing.

use std::sync::Arc;

use base::{Purpose, RandomStream};
use recovery::RecoveryPolicy;
use recovery::policy::{ThinBackoff, ThinDetector};

use super::*;
use crate::config::StackConfig;
use crate::leniency::Leniency;
use crate::mapping::Side;
use crate::mutation::{field_mutants, mutants};
use crate::own_scripts::run_public_suites;
use crate::parse;
use crate::sockets::WRAPPING_SEED;

/// Set-up by the peer, DATA both ways, a gap, a duplicate, a retransmission, a graceful end.
const PASSIVE: &str = "
0.0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 3
+0 setsockopt(3, IPPROTO_SCTP, SCTP_RTOINFO, {srto_initial=100, srto_max=800, srto_min=100}, 16) = 0
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < sctp: INIT[flgs=0, tag=1, a_rwnd=3000, os=2, is=3, tsn=1]
+0 > sctp: INIT_ACK[flgs=0, tag=2, a_rwnd=1048576, os=3, is=2, tsn=1, STATE_COOKIE[len=..., val=...]]
+0.1 < sctp: COOKIE_ECHO[flgs=0, len=..., val=...]
+0 > sctp: COOKIE_ACK[flgs=0]
+0 accept(3, ..., ...) = 4
+0 < sctp: DATA[flgs=BE, len=116, tsn=1, sid=0, ssn=0, ppid=0]
+0 > sctp: SACK[flgs=0, cum_tsn=1, a_rwnd=..., gaps=[], dups=[]]
+0 < sctp: DATA[flgs=BE, len=116, tsn=3, sid=0, ssn=2, ppid=0]
+0 > sctp: SACK[flgs=0, cum_tsn=1, a_rwnd=..., gaps=[2:2], dups=[]]
+0 < sctp: DATA[flgs=BE, len=116, tsn=3, sid=0, ssn=2, ppid=0]
+0 > sctp: SACK[flgs=0, cum_tsn=1, a_rwnd=..., gaps=[2:2], dups=[3]]
+0 read(4, ..., 200) = 100
+0 write(4, ..., 1000) = 1000
+0 > sctp: DATA[flgs=BE, len=1016, tsn=1, sid=0, ssn=0, ppid=0]
+0.1 > sctp: DATA[flgs=BE, len=1016, tsn=1, sid=0, ssn=0, ppid=0]
+0.2 > sctp: DATA[flgs=BE, len=1016, tsn=1, sid=0, ssn=0, ppid=0]
+0 < sctp: CHUNK[type=0xef, flgs=0, len=5, val=[1]]
+0 > sctp: ERROR[flgs=0, UNRECOGNIZED_CHUNK_TYPE[chk=CHUNK[type=0xef, flgs=0, len=5, val=[1]]]]
+0 < sctp: HEARTBEAT[flgs=0, HEARTBEAT_INFORMATION[len=8, val=[1, 2, 3, 4]]]
+0 > sctp: HEARTBEAT_ACK[flgs=0, HEARTBEAT_INFORMATION[len=8, val=[1, 2, 3, 4]]]
+0 < sctp: SHUTDOWN[flgs=0, cum_tsn=1]
+0 > sctp: SHUTDOWN_ACK[flgs=0]
+0 < sctp: SHUTDOWN_COMPLETE[flgs=0]
+0 read(4, ..., 200) = 0
";

/// Set-up by the application, which waits for it.
const ACTIVE: &str = "
0.0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 3
+0 bind(3, ..., ...) = 0
0.1...0.3 connect(3, ..., ...) = 0
+0 > sctp: INIT[flgs=0, tag=1, a_rwnd=..., os=..., is=..., tsn=0, ...]
+0.1 < sctp: INIT_ACK[flgs=0, tag=2, a_rwnd=1500, os=1, is=1, tsn=3, STATE_COOKIE[len=4, val=...]]
+0 > sctp: COOKIE_ECHO[flgs=0, len=4, val=...]
+0.1 < sctp: COOKIE_ACK[flgs=0]
+0 shutdown(3, SHUT_WR) = 0
+0 > sctp: SHUTDOWN[flgs=0, cum_tsn=2]
+0 write(3, ..., 100) = -1 EPIPE
+0 < sctp(tag=3): SHUTDOWN_ACK[flgs=0]
+1 > sctp: SHUTDOWN[flgs=0, cum_tsn=2]
+0 < sctp: SHUTDOWN_ACK[flgs=0]
+0 > sctp: SHUTDOWN_COMPLETE[flgs=0]
";

fn verdict(script: &Script, config: &RunConfig) -> Verdict {
    run(script, config).verdict
}

fn strict() -> RunConfig {
    RunConfig { exact: true, no_tail: true, ..RunConfig::default() }
}

#[test]
fn right_scripts_pass_exactly_with_any_tags_and_with_wrapping_tsns() {
    for text in [PASSIVE, ACTIVE] {
        let script = parse(text).unwrap();
        for seed in 0..20 {
            let report = run(&script, &RunConfig { seed, ..strict() });
            assert_eq!(report.verdict, Verdict::Pass, "seed {seed}");
            assert_eq!(report.slack, Duration::ZERO);
        }
    }
}

#[test]
fn a_run_gives_the_same_verdict_again() {
    let script = parse(
        &PASSIVE.replace("cum_tsn=1, a_rwnd=..., gaps=[2:2]", "cum_tsn=9, a_rwnd=..., gaps=[2:2]"),
    );
    let script = script.unwrap();
    let config = RunConfig { seed: 7, ..strict() };
    assert_eq!(run(&script, &config), run(&script, &config));
}

#[test]
fn every_mutant_of_a_script_fails() {
    let mut count = 0;
    for text in [PASSIVE, ACTIVE] {
        // What follows a packet that is left out comes sooner, so that a packet may rightly never
        // be sent; and some that the script sends change nothing.
        let left_out = |mutant: &crate::Mutant| {
            mutant.name.ends_with("left out") || mutant.name.contains("sent")
        };
        for mutant in mutants(&parse(text).unwrap()).into_iter().filter(|mutant| !left_out(mutant))
        {
            let verdict = verdict(&mutant.script, &strict());
            assert!(matches!(verdict, Verdict::Fail(_)), "{}: {verdict:?}", mutant.name);
            count += 1;
        }
    }
    assert!(count > 100, "{count} mutants");
}

#[test]
fn mutated_scripts_of_a_suite_fail() {
    let Some(results) = run_public_suites() else { return };
    let (mut killed, mut survivors) = (0, Vec::new());
    for result in results.scripts.iter().filter(|result| result.verdict == crate::Word::Pass) {
        let text = std::fs::read(&result.path).unwrap();
        let defines = result.defines.iter().map(|name| (name.clone(), None)).collect();
        let script = crate::parse_with(&String::from_utf8_lossy(&text), &defines).unwrap();
        for mutant in field_mutants(&script) {
            match verdict(&mutant.script, &RunConfig::for_path(&result.path)) {
                Verdict::Fail(_) => killed += 1,
                _ => survivors.push(format!("{} {}", result.path, mutant.name)),
            }
        }
    }
    println!("{killed} mutants failed");
    assert!(killed > 0 && survivors.is_empty(), "these did not: {survivors:#?}");
}

#[test]
fn a_call_that_blocks_must_return_when_the_script_says() {
    for wrong in ["0.1...0.2", "0.1...0.4"] {
        let script = parse(&ACTIVE.replace("0.1...0.3", wrong)).unwrap();
        assert!(matches!(verdict(&script, &strict()), Verdict::Fail(_)), "{wrong}");
    }
}

/// Adds one to the cumulative TSN of each SACK.
fn lie(packet: &mut [u8]) {
    if packet.get(12) == Some(&3) {
        packet[19] = packet[19].wrapping_add(1);
        packet[8..12].fill(0);
        let sum = crc32c::crc32c(packet);
        packet[8..12].copy_from_slice(&sum.to_le_bytes());
    }
}

#[test]
fn a_stack_that_acknowledges_too_much_fails() {
    let script = parse(PASSIVE).unwrap();
    let Verdict::Fail(divergence) = verdict(&script, &RunConfig { spoil: Some(lie), ..strict() })
    else {
        panic!("passed")
    };
    assert!(divergence.message.contains("SACK.cum_tsn: expected 1, found 2"), "{divergence}");
    assert_eq!(divergence.line, 12);
}

#[test]
fn a_stack_whose_checksum_is_wrong_fails() {
    let spoil = Some((|packet| packet[8] ^= 1) as fn(&mut [u8]));
    let script = parse(PASSIVE).unwrap();
    let verdict = verdict(&script, &RunConfig { spoil, ..strict() });
    assert!(matches!(verdict, Verdict::Fail(found) if found.message.contains("checksum")));
}

#[test]
fn a_tcp_whose_segments_are_damaged_fails() {
    let script = parse(
        "0 < S 0:0(0) win 65535 <mss 1000>\n+0 > R. 0:0(0) ack 1 win 0\n\
         +.1 < . 5:15(10) ack 77 win 65535\n+0 > R 77:77(0) win 0\n",
    )
    .unwrap();
    assert_eq!(verdict(&script, &strict()), Verdict::Pass);
    let checksum = Some((|packet| packet[16] ^= 1) as fn(&mut [u8]));
    let port = Some((|packet| packet[3] ^= 1) as fn(&mut [u8]));
    for spoil in [checksum, port] {
        let verdict = verdict(&script, &RunConfig { spoil, ..strict() });
        assert!(matches!(verdict, Verdict::Fail(_)), "{verdict:?}");
    }
}

/// A listener that sends a byte, and then acknowledges one.
const ONE_BYTE_EACH_WAY: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000>
+0 > S. 0:0(0) ack 1 win 65535 <mss 1460>
+.1 < . 1:1(0) ack 1 win 32792
+0 accept(3, ..., ...) = 4
+0 write(4, ..., 1) = 1
+0 > P. 1:2(1) ack 1 win 65535
+.1 < P. 1:2(1) ack 2 win 32792
+.2 > . 2:2(0) ack 2 win 65534
";

#[test]
fn a_tcp_that_sends_another_byte_fails_even_if_the_segment_has_but_one() {
    let script = parse(ONE_BYTE_EACH_WAY).unwrap();
    assert_eq!(verdict(&script, &strict()), Verdict::Pass);
    // The byte more, the checksum less.
    let spoil: fn(&mut [u8]) = |packet| {
        if packet.len() == 21 {
            packet[20] = packet[20].wrapping_add(1);
            packet[16] = packet[16].wrapping_sub(1);
        }
    };
    let found = verdict(&script, &RunConfig { spoil: Some(spoil), ..strict() });
    assert!(
        matches!(&found, Verdict::Fail(found) if found.message.contains("other bytes")),
        "{found:?}"
    );
}

#[test]
fn a_tcp_that_takes_back_what_it_promised_to_take_fails_where_windows_may_differ() {
    let script = parse(ONE_BYTE_EACH_WAY).unwrap();
    let leniencies = &[Leniency::RoundedWindow];
    let take_back: fn(&mut [u8]) = |packet| {
        if packet.len() == 20 {
            packet[15] -= 1;
            packet[17] += 1;
        }
    };
    let config = RunConfig { leniencies, ..strict() };
    assert_eq!(verdict(&script, &config), Verdict::Pass);
    let found = verdict(&script, &RunConfig { spoil: Some(take_back), ..config });
    assert!(
        matches!(&found, Verdict::Fail(found) if found.message.contains("goes back")),
        "{found:?}"
    );
}

/// Makes the window of a segment of `length` bytes a thousand less, and the checksum right again.
fn lessen_window(packet: &mut [u8], length: usize) {
    if packet.len() != length {
        return;
    }
    let mut change = |at: usize, by: u16, more: bool| {
        let field = u16::from_be_bytes([packet[at], packet[at + 1]]);
        let (sum, carry) = if more { field.overflowing_add(by) } else { (field - by, false) };
        packet[at..at + 2].copy_from_slice(&(sum + u16::from(carry)).to_be_bytes());
    };
    change(14, 1000, false);
    change(16, 1000, true);
}

#[test]
fn a_tcp_whose_window_is_a_thousand_bytes_less_fails_where_windows_may_differ() {
    // The script's system moves the right edge with the byte that is read; this stack keeps it.
    let text = ONE_BYTE_EACH_WAY.replace(
        "+.2 > . 2:2(0) ack 2 win 65534",
        "+0 read(4, ..., 1) = 1\n+.2 > . 2:2(0) ack 2 win 65535",
    );
    let script = parse(&text).unwrap();
    let config = RunConfig { leniencies: &[Leniency::RoundedWindow], exact: false, ..strict() };
    let report = run(&script, &config);
    assert_eq!((report.verdict, report.leniencies), (Verdict::Pass, vec!["rounded-window"]));
    let acknowledgement: fn(&mut [u8]) = |packet| lessen_window(packet, 20);
    let with_data: fn(&mut [u8]) = |packet| lessen_window(packet, 21);
    let syn_ack: fn(&mut [u8]) = |packet| lessen_window(packet, 24);
    for spoil in [acknowledgement, with_data, syn_ack] {
        let found = verdict(&script, &RunConfig { spoil: Some(spoil), ..config.clone() });
        assert!(
            matches!(&found, Verdict::Fail(found) if found.message.contains("other window")),
            "{found:?}"
        );
    }
}

#[test]
fn a_stack_that_does_not_back_off_fails() {
    let mut policy = RecoveryPolicy::sctp_rfc();
    policy.thin = ThinDetector::Always;
    policy.backoff.while_thin = ThinBackoff::Linear;
    let mut stack = StackConfig::default();
    stack.association.policy = Arc::new(policy);
    let script = parse(PASSIVE).unwrap();
    let verdict = verdict(&script, &RunConfig { stack, ..RunConfig::default() });
    assert!(matches!(verdict, Verdict::Fail(found) if found.line == 21));
}

#[test]
fn tolerance_covers_small_differences_in_time_and_reports_them() {
    let script = parse(&PASSIVE.replace("+0.2 >", "+0.203 >")).unwrap();
    let report = run(&script, &RunConfig::default());
    assert_eq!((report.verdict, report.slack), (Verdict::Pass, Duration::from_millis(3)));
    let wide = PASSIVE.replace("+0.2 >", "+0.3 >");
    let wide = parse(&format!("--tolerance_usecs=100000\n{wide}")).unwrap();
    assert_eq!(verdict(&wide, &RunConfig::default()), Verdict::Pass);
}

#[test]
fn what_cannot_be_run_is_skipped_with_its_line_and_reason() {
    for (text, line, word) in [
        ("+0 < udp (100)", 1, "udp"),
        ("0 `sysctl net.inet.sctp.ecn_enable=1`", 1, "ecn_enable"),
        ("\n0 socket(..., SOCK_DGRAM, IPPROTO_TCP) = 3", 2, "other protocols"),
        ("0 `sysctl -w net.ipv4.tcp_fack=1`\n0 < S 0:0(0) win 100", 1, "tcp_fack"),
        ("0 < S 0:0(0) win 100\n+0 > (tos 4) S. 0:0(0) ack 1", 2, "traffic class"),
        ("--debug\n0 close(3) = 0", 1, "debug"),
        ("0 < S 0:0(0) win 100 <FO aaaa>", 1, "TCP option FO"),
        ("0 < icmp unreachable frag_needed mtu 1200 [1:1461(1460)]", 1, "ICMP"),
        ("\n0 > [sctp(1)] icmp unreachable host_unreachable", 2, "ICMP from the stack"),
        ("0 < [sctp(1)] icmp echo_request", 1, "echo_request"),
        ("0 %{ import x }%", 1, "import"),
        ("0 %{ assert tcpi_snd_cwnd == 1 }%", 1, "tcpi_snd_cwnd"),
    ] {
        let verdict = verdict(&parse(text).unwrap(), &strict());
        let Verdict::Skip { line: found, reason } = verdict else { panic!("{text}: {verdict:?}") };
        assert!(found == line && reason.contains(word), "{text}: {found} {reason}");
    }
}

#[test]
fn leniencies_overlook_what_they_name_and_are_reported() {
    let closed = "tsn=1, STATE_COOKIE[len=..., val=...]]";
    let none = PASSIVE.replace(closed, "tsn=1]");
    let config = |leniencies| RunConfig { leniencies, exact: false, ..strict() };
    let all = Leniency::ALL;
    let missing = parse(&none).unwrap();
    assert!(
        matches!(verdict(&missing, &config(all)), Verdict::Fail(_)),
        "a state cookie is no extension that may be there or not"
    );
    let two = "tsn=1, STATE_COOKIE[len=..., val=...], UNRECOGNIZED_PARAMETER[params=[PARAMETER[\
               type=0xc0cc, len=4, val=[]]]]]";
    let swapped = "tsn=1, UNRECOGNIZED_PARAMETER[params=[PARAMETER[type=0xc0cc, len=4, \
                   val=[]]]], STATE_COOKIE[len=..., val=...]]";
    let init = |text: &str| {
        let text = PASSIVE.replace(closed, text);
        let asked = "is=3, tsn=1, PARAMETER[type=0xc0cc, len=4, val=[]]]";
        parse(&text.replace("is=3, tsn=1]", asked)).unwrap()
    };
    let strict: &[Leniency] = &[];
    assert_eq!(verdict(&init(two), &config(strict)), Verdict::Pass);
    assert!(matches!(verdict(&init(swapped), &config(strict)), Verdict::Fail(_)));
    let report = run(&init(swapped), &config(all));
    assert_eq!((report.verdict, report.leniencies), (Verdict::Pass, vec!["parameter-set"]));
}

#[test]
fn no_text_makes_parser_or_runner_panic() {
    let mut random = RandomStream::new(1, Purpose("mutated scripts", 0));
    let (mut scripts, mut failures) = (0, 0);
    for round in 0..6_000 {
        let text = if round % 2 == 0 { PASSIVE } else { ACTIVE };
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(4) {
                0 => drop(bytes.remove(at)),
                1 => bytes[at] = b"0123456789+-.,=<>[](){}|~*\"`%:;T"[random.below(32) as usize],
                2 => bytes.insert(at, b'0' + random.below(10) as u8),
                _ => bytes.truncate(at.max(100)),
            }
        }
        let Ok(script) = parse(&String::from_utf8_lossy(&bytes)) else { continue };
        scripts += 1;
        failures += u32::from(matches!(verdict(&script, &strict()), Verdict::Fail(_)));
    }
    assert!(scripts > 300 && failures > 50, "{scripts} scripts, {failures} failures");
}

#[test]
fn the_second_seed_wraps_the_tsns_of_both_sides() {
    let text = PASSIVE
        .replace("tsn=1, sid=0, ssn=0, ppid=0]\n+0.1 >", "tsn=9, sid=0, ssn=0, ppid=0]\n+0.1 >");
    let report = run(&parse(&text).unwrap(), &RunConfig { seed: WRAPPING_SEED, ..strict() });
    let Verdict::Fail(found) = report.verdict else { panic!() };
    assert!(found.message.contains("DATA.tsn: expected 9, found 1"), "{found}");
    let config = RunConfig { seed: WRAPPING_SEED, ..strict() };
    let mut mapping = Runner::<Sctp>::new(&config).party.talk.mapping;
    mapping.bind_tsn(1, u32::MAX - 1);
    use crate::mapping::Role;
    for side in [Side::Stack, Side::Script] {
        let perspective = mapping.perspective(side);
        assert!(perspective.live(Role::OwnTsn, 1) > perspective.live(Role::OwnTsn, 4));
    }
}
