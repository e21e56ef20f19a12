//! Each leniency overlooks what it names and nothing else, and is reported where it was needed.

use super::*;
use crate::leniency::Leniency;
use crate::parse;

/// The beginning of a server's script up to the INIT ACK, with parameters for INIT and INIT ACK.
fn set_up(own: &str, peer: &str) -> String {
    format!(
        "0 `sysctl net.inet.sctp.pr_enable=1`
+0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 3
+0 setsockopt(3, IPPROTO_SCTP, SCTP_NODELAY, [1], 4) = 0
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < sctp: INIT[flgs=0, tag=1, a_rwnd=9000, os=2, is=2, tsn=1{peer}]
+0 > sctp: INIT_ACK[flgs=0, tag=2, a_rwnd=..., os=..., is=..., tsn=1{own}, STATE_COOKIE[len=..., val=...]]
"
    )
}

const BOTH: &str = ", FORWARD_TSN_SUPPORTED[], SUPPORTED_EXTENSIONS[types=[FORWARD_TSN]]";

/// A script that is right, a replacement that makes it need leniencies, and which ones.
struct Case {
    script: String,
    change: (&'static str, &'static str),
    needs: &'static [Leniency],
}

fn cases() -> Vec<Case> {
    use Leniency::*;
    let cookie =
        "+0 < sctp: COOKIE_ECHO[flgs=0, len=..., val=...]\n+0 > sctp: COOKIE_ACK[flgs=0]\n";
    let given_up = "+0 accept(3, ..., ...) = 4
+0 sctp_sendmsg(4, ..., 100, ..., ..., 0, 0, 0, 50, 0) = 100
+0 > sctp: DATA[flgs=BE, len=116, tsn=1, sid=0, ssn=0, ppid=0]
+0 sctp_sendmsg(4, ..., 100, ..., ..., 0, 0, 1, 50, 0) = 100
+0 > sctp: DATA[flgs=BE, len=116, tsn=2, sid=1, ssn=0, ppid=0]
+1 > sctp: FORWARD_TSN[flgs=0, cum_tsn=2, ids=[{0,0}, {1,0}]]
";
    let bundled = "+0 < sctp: COOKIE_ECHO[flgs=0, len=..., val=...]; \
                   DATA[flgs=BE, len=116, tsn=1, sid=0, ssn=0, ppid=0]
+0 > sctp: COOKIE_ACK[flgs=0]; SACK[flgs=0, cum_tsn=1, a_rwnd=..., gaps=[], dups=[]]
";
    let unknown = ", UNRECOGNIZED_PARAMETER[params=[PARAMETER[type=0xc0cc, len=4, val=[]]]]";
    let plain = || set_up(BOTH, ", FORWARD_TSN_SUPPORTED[]") + cookie;
    vec![
        Case {
            script: plain(),
            change: ("FORWARD_TSN_SUPPORTED[], SUPPORTED", "SUPPORTED"),
            needs: &[ExtraParameters],
        },
        Case {
            script: plain(),
            change: (", SUPPORTED_EXTENSIONS[types=[FORWARD_TSN]]", ""),
            needs: &[ListedExtensions],
        },
        Case {
            script: plain(),
            change: ("types=[FORWARD_TSN]]", "types=[FORWARD_TSN]], ECN_CAPABLE[]"),
            needs: &[NoEcn],
        },
        Case {
            script: plain(),
            change: (
                "FORWARD_TSN_SUPPORTED[], SUPPORTED_EXTENSIONS[types=[FORWARD_TSN]]",
                "SUPPORTED_EXTENSIONS[types=[FORWARD_TSN]], FORWARD_TSN_SUPPORTED[]",
            ),
            needs: &[ParameterSet],
        },
        Case {
            script: set_up(BOTH, ", PARAMETER[type=0xc0cc, len=4, val=[]]").replacen(
                ", STATE_COOKIE[len=..., val=...]",
                &format!(", STATE_COOKIE[len=..., val=...]{unknown}"),
                1,
            ) + cookie,
            change: (
                ", UNRECOGNIZED_PARAMETER[params=[PARAMETER[type=0xc0cc, len=4, val=[]]]]",
                "",
            ),
            needs: &[UnrecognizedReport],
        },
        Case {
            script: plain() + given_up,
            change: ("[{0,0}, {1,0}]", "[{1,0}, {0,0}, {1,0}]"),
            needs: &[SkippedStreams],
        },
        Case {
            script: set_up(BOTH, ", FORWARD_TSN_SUPPORTED[]") + bundled,
            change: ("COOKIE_ACK[flgs=0]; SACK", "COOKIE_ACK[flgs=0]\n+0 > sctp: SACK"),
            needs: &[Bundled],
        },
        Case {
            script: set_up(BOTH, ", IPV4_ADDRESS[addr=192.0.2.2], IPV4_ADDRESS[addr=192.0.2.1]")
                + cookie
                + "+0 > 192.168.0.1 > 192.0.2.2 sctp: HEARTBEAT[flgs=0, ...]
+0 < sctp: DATA[flgs=BE, len=116, tsn=1, sid=0, ssn=0, ppid=0]
+0 > sctp: SACK[flgs=0, cum_tsn=1, a_rwnd=..., gaps=[], dups=[]]
",
            change: ("+0 > 192.168.0.1 > 192.0.2.2 sctp: HEARTBEAT[flgs=0, ...]\n", ""),
            needs: &[OtherAddresses],
        },
        Case {
            script: set_up("", "").replace("pr_enable", "plpmtud_enable")
                + cookie
                + "+0 > sctp: HEARTBEAT[flgs=0, ...]; PAD[flgs=0, len=1148, val=...]\n",
            change: ("len=1148", "len=1120"),
            needs: &[ProbePadding],
        },
    ]
    .into_iter()
    .chain(tcp_cases())
    .collect()
}

/// The beginning of a server's script of TCP, up to the accepted connection.
const TCP: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000,sackOK>
+0 > S. 0:0(0) ack 1 win 65535 <mss 1460,nop,nop,sackOK>
";
const ACCEPTED: &str = "+0.1 < . 1:1(0) ack 1 win 32792
+0 accept(3, ..., ...) = 4
";

fn tcp_cases() -> Vec<Case> {
    use Leniency::*;
    let case = |more: &str, change, needs| Case {
        script: format!("{TCP}{ACCEPTED}{more}"),
        change,
        needs,
    };
    let written = "+0 write(4, ..., 2000) = 2000
+0 > . 1:1001(1000) ack 1
+0 > P. 1001:2001(1000) ack 1
";
    let closing = "+0 shutdown(4, SHUT_WR) = 0
+0 > F. 1:1(0) ack 1
+0 < F. 1:1(0) ack 1 win 32792
+0 > . 2:2(0) ack 2
";
    vec![
        case("", ("win 65535", "win 65534"), &[RoundedWindow]),
        case("", ("<mss 1460,nop,nop,sackOK>", "<sackOK,mss 1460>"), &[OptionSet]),
        case(written, ("P. 1001", ". 1001"), &[Push]),
        case(
            written,
            (". 1:1001(1000) ack 1\n+0 > P. 1001:2001(1000) ack 1", "P. 1:2001(2000) ack 1"),
            &[SuperSegment],
        ),
        case(
            "+0 getsockopt(4, SOL_SOCKET, SO_RCVBUF, [65535], [4]) = 0\n",
            ("[65535]", "[65700]"),
            &[BufferSize],
        ),
        case(
            "+0 < P. 1:101(100) ack 1 win 32792\n+.2 > . 1:1(0) ack 101\n",
            ("+.2 >", "+.24 >"),
            &[PromptAck],
        ),
        case(closing, ("> . 2:2(0)", "> F. 1:1(0)"), &[FinNotRepeated]),
        case(
            "+0 < R 65535:65535(0) win 9\n+0 > . 1:1(0) ack 1\n",
            ("R 65535:65535", "R 65700:65700"),
            &[WindowEdge],
        ),
    ]
}

fn run_with(text: &str, leniencies: &'static [Leniency]) -> Report {
    let tolerance = Duration::ZERO;
    let config =
        RunConfig { leniencies, tolerance, tolerance_per_mille: 0, ..RunConfig::default() };
    run(&parse(text).unwrap(), &config)
}

#[test]
fn each_leniency_is_needed_for_what_it_names_and_told() {
    for Case { script, change, needs } in cases() {
        let right = run_with(&script, &[]);
        assert_eq!(right.verdict, Verdict::Pass, "{script}");
        assert!(script.contains(change.0), "{script}");
        let changed = script.replacen(change.0, change.1, 1);
        assert!(matches!(run_with(&changed, &[]).verdict, Verdict::Fail(_)), "{changed}");
        let names: Vec<_> = needs.iter().map(|leniency| leniency.name()).collect();
        for allowed in [needs, Leniency::ALL] {
            let report = run_with(&changed, allowed);
            assert_eq!(
                (report.verdict, report.leniencies),
                (Verdict::Pass, names.clone()),
                "{changed}"
            );
        }
    }
}

#[test]
fn there_is_a_case_for_each_leniency() {
    for leniency in Leniency::ALL {
        assert!(cases().iter().any(|case| case.needs.contains(leniency)), "{leniency:?}");
    }
}

#[test]
fn no_leniency_overlooks_another_value_or_chunk() {
    for Case { script, change, needs } in cases() {
        let changed = script.replacen(change.0, change.1, 1);
        for (right, wrong) in [
            ("cum_tsn=2", "cum_tsn=1"),
            ("cum_tsn=1", "cum_tsn=9"),
            ("types=[FORWARD_TSN]", "types=[I_DATA]"),
            ("len=1120", "len=1124"),
            ("ack 1", "ack 2"),
            ("mss 1460", "mss 1461"),
            ("win 65535", "win 0"),
            ("win 65534", "win 65533"),
            ("> P. 1001:2001(1000)", "> P. 1001:2002(1001)"),
            ("> P. 1:2001(2000)", "> P. 1:2002(2001)"),
            ("[65700], [4]) = 0", "[65700], [4]) = -1"),
            ("> . 1:1(0) ack 101", "> . 1:1(0) ack 102"),
            ("> F. 1:1(0) ack 2", "> F. 2:2(0) ack 2"),
            ("+.24 > . 1", "+.25 > . 1"),
            ("R 65700:65700(0)", "R 65698:65698(0)"),
        ] {
            if !changed.contains(right) {
                continue;
            }
            let wrong = changed.replacen(right, wrong, 1);
            let report = run_with(&wrong, needs);
            assert!(matches!(report.verdict, Verdict::Fail(_)), "{wrong}");
        }
    }
}
