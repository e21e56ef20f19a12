//! Damaged scripts: parsing and running any script ends with a verdict or an error, never with a
//! panic.

use base::{Purpose, RandomStream};

use crate::own_scripts::{run_public_suites, scripts_as_text};
use crate::{Defines, RunConfig, Suite, conditions, parse, parse_with, run};

/// Constructs of the language that the project's own scripts do not use.
const FOREIGN: &str = "\
--tolerance_usecs=10000 --ip_version=ipv4
`../common/defaults.sh
sysctl -q net.ipv4.tcp_sack=1`
#ifdef Linux
 0.100 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3 // a comment
#else
+ 0.1 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
#endif
+0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <...>
+.1 < [ect0] . 1:1(0) ack 1 win 257 <nop,nop,sack 1:1001 2001:3001,TS val 100 ecr 0>
* > P. 1:10001(10000) ack 1
+.1~+.2 > . 10001:10001(0) ack 1
+0.01...0.211 connect(3, ..., ...) = -1 ECONNREFUSED (Connection refused)
+0 sendmsg(3, {msg_name(...)=..., msg_iov(1)=[{\"abc\", 3}], msg_flags=0}, MSG_ZEROCOPY|MSG_EOR) = 3
+0 < icmp unreachable frag_needed mtu 1200 [1:1461(1460)]
+0 < 224.0.0.1 > 192.168.0.1 sctp(bad_crc32c, tag=3): [0x01, 0x00, 0x00, 0x04]
+0 < sctp: INIT[flgs=0, tag=1, a_rwnd=1500, os=1, is=1, tsn=1, SUPPORTED_ADDRESS_TYPES[types=[IPv4, 6]]]
+0 < sctp: ABORT[flgs=T, CAUSE[code=0xffff, len=4, info=...], USER_INITIATED_ABORT[info=\"x\"]]
+0 < sctp: NR_SACK[flgs=A, cum_tsn=1, a_rwnd=9, gaps=[2:3], nr_gaps=[5:5, 7:7], dups=[1]]
+0 %{ assert 9 < tcpi_snd_cwnd <= 10, 'cwnd=%d' % tcpi_snd_cwnd; assert not TCP_CA_Open }%
`sleep 1`
";

/// Replacements of a character, a word or a number.
const PIECES: [&str; 24] = [
    "0",
    "-1",
    "65536",
    "4294967295",
    "4294967296",
    "99999999999999999999",
    "0x",
    "1.",
    ".",
    "...",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "\"",
    "`",
    "%{",
    "}%",
    "~",
    "#endif\n",
    "é",
    "\0",
];

/// Damages `text` in a few places.
fn damage(text: &str, random: &mut RandomStream) -> String {
    let mut words: Vec<&str> = text.split_inclusive([' ', '\n', ',', '=', '[']).collect();
    for _ in 0..=random.below(3) {
        if words.is_empty() {
            break;
        }
        let at = random.below(words.len() as u64) as usize;
        match random.below(7) {
            0 => drop(words.remove(at)),
            1 => words[at] = PIECES[random.below(PIECES.len() as u64) as usize],
            2 => words.insert(at, PIECES[random.below(PIECES.len() as u64) as usize]),
            3 => words.truncate(at),
            4 => words.insert(at, words[random.below(words.len() as u64) as usize]),
            5 => {
                let other = random.below(words.len() as u64) as usize;
                words.swap(at, other);
            }
            // Repeats part of a line many times.
            _ => {
                let again = words[at..(at + 3).min(words.len())].repeat(40);
                words.splice(at..at, again);
            }
        }
    }
    words.concat()
}

fn strict() -> RunConfig {
    RunConfig { exact: true, no_tail: true, ..RunConfig::default() }
}

/// Damages each text a few times; returns the number of results that were scripts, and of those
/// that were not.
fn run_damaged(texts: &[String], times: usize) -> (usize, usize) {
    let mut random = RandomStream::new(2, Purpose("damaged scripts", 0));
    let (mut read, mut refused) = (0, 0);
    for text in texts {
        for _ in 0..times {
            let damaged = damage(text, &mut random);
            let _ = conditions(&damaged);
            match parse(&damaged) {
                Ok(script) => {
                    read += 1;
                    let _ = run(&script, &strict());
                }
                Err(error) => {
                    refused += 1;
                    assert!(error.line >= 1 && !error.to_string().is_empty());
                }
            }
        }
    }
    (read, refused)
}

#[test]
fn no_damaged_script_makes_parser_or_runner_panic_or_run_for_ever() {
    let mut texts = scripts_as_text();
    texts.push(FOREIGN.to_owned());
    let (read, refused) = run_damaged(&texts, 25);
    assert!(read > 500 && refused > 500, "{read} read, {refused} refused");
}

#[test]
fn damaged_scripts_of_a_suite_are_no_trouble() {
    let Some(results) = run_public_suites() else { return };
    let read = |path: &String| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let texts: Vec<_> = results.scripts.iter().map(|result| read(&result.path)).collect();
    let (read, refused) = run_damaged(&texts, 5);
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}

#[test]
fn no_script_that_is_cut_off_makes_parser_or_runner_panic() {
    let mut texts = scripts_as_text();
    texts.truncate(4);
    texts.push(FOREIGN.to_owned());
    for text in texts {
        for end in (0..text.len()).step_by(7) {
            if let Ok(script) = parse(&text[..end]) {
                let _ = run(&script, &strict());
            }
        }
    }
}

#[test]
fn times_and_lengths_at_the_end_of_what_numbers_hold_are_no_trouble() {
    for text in [
        "99999999999999999999 close(3) = 0",
        "9223372036854775807 close(9) = -1\n+9223372036854775807 close(9) = -1",
        "+18446744073.709551615 close(9) = -1\n+18446744073.8 close(9) = -1",
        "+0~+9223372036854775807 > sctp: COOKIE_ACK[flgs=0]",
        "0...9223372036854775807 close(9) = -1",
        "--tolerance_usecs=18446744073709551615\n0 > sctp: COOKIE_ACK[flgs=0]",
        "--mtu=1\n0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 3\n+0 connect(3, ..., ...) = 0",
        "0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 3\n+0 write(3, ..., 9223372036854775807) = 0",
        "0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 3\n+0 listen(3, 1) = 0\n+0 read(3, ..., -1) = 0",
        "0 < sctp: DATA[flgs=7, len=65535, tsn=4294967295, sid=65535, ssn=65535, ppid=4294967295]",
        "0 < sctp: CHUNK[type=255, flgs=255, len=0, val=[]]",
        "0 < sctp: []",
    ] {
        if let Ok(script) = parse(text) {
            let _ = run(&script, &RunConfig::default());
        }
    }
}

#[test]
fn what_the_stacks_do_not_have_is_skipped_whatever_stands_around_it() {
    for system in ["Linux", "FreeBSD"] {
        let defines: Defines = [(system.to_owned(), None)].into();
        assert!(parse_with(FOREIGN, &defines).is_ok());
        let result = Suite { defines, ..Suite::default() }.run_text("x.pkt", FOREIGN);
        assert_eq!(result.verdict, crate::Word::Skip, "{}", result.reason);
        assert!(result.reason.contains("not supported"), "{}", result.reason);
    }
}
