use base::Duration;

use super::*;
use crate::expression::Expression;
use crate::script::{Checksum, Content, Number, Quoted, SctpBody, TcpOption};

fn actions(text: &str) -> Vec<Action> {
    parse(text).unwrap().events.into_iter().map(|event| event.action).collect()
}

fn at(text: &str) -> When {
    let what = if text.contains("...") { "f() = 0" } else { "> S 0:0(0)" };
    parse(&format!("{text} {what}")).unwrap().events[0].when
}

#[test]
fn all_forms_of_time_are_read() {
    let plain = |relative, millis| When::At {
        relative,
        from: Duration::from_millis(millis),
        to: None,
        until: None,
    };
    assert_eq!(at("0.1"), plain(false, 100));
    assert_eq!(at("+0.1"), plain(true, 100));
    assert_eq!(at("+ 0.1"), plain(true, 100));
    assert_eq!(at("+.1"), plain(true, 100));
    assert_eq!(at("+65.0"), plain(true, 65_000));
    assert_eq!(at("*"), When::Any);
    let second = Duration::from_secs(1);
    assert_eq!(
        at("+1~+2"),
        When::At { relative: true, from: second, to: Some(second * 2), until: None }
    );
    assert_eq!(
        at("1...2"),
        When::At { relative: false, from: second, to: None, until: Some(second * 2) }
    );
}

#[test]
fn calls_have_arguments_a_result_and_an_error() {
    let actions = actions(
        "0 fcntl(3, F_SETFL, O_RDWR | O_NONBLOCK) = 0\n\
         +0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now (in) progress)\n\
         +0 setsockopt(3, IPPROTO_SCTP, SCTP_RTOINFO, {srto_initial=100,\n   srto_max=800}, 16) = 0\n\
         +0 read(3, ..., 10) = -1\n",
    );
    let Action::Call(fcntl) = &actions[0] else { panic!() };
    assert_eq!((fcntl.name.as_str(), fcntl.arguments.len()), ("fcntl", 3));
    let Action::Call(connect) = &actions[1] else { panic!() };
    assert_eq!(connect.errno.as_deref(), Some("EINPROGRESS"));
    assert_eq!(connect.returns, Expression::Integer(-1));
    let Action::Call(setsockopt) = &actions[2] else { panic!() };
    assert_eq!(setsockopt.arguments[3].fields().map(<[_]>::len), Some(2));
    let Action::Call(read) = &actions[3] else { panic!() };
    assert_eq!(read.errno, None);
}

#[test]
fn sctp_packets_have_chunks_tags_checksums_and_addresses() {
    let actions = actions(
        "+0 < sctp(bad_crc32c, tag=3): COOKIE_ACK[flgs=0];\n   SHUTDOWN[flgs=0, cum_tsn=1]\n\
         +0 < sctp(tag=0): [0x01, 0x00]\n\
         +0 < 224.0.0.0 > 192.168.0.1 sctp: COOKIE_ACK[flgs=0]\n",
    );
    let packet = |action: &Action| match action {
        Action::Inject(crate::script::Packet {
            content: Content::Sctp(sctp), addresses, ..
        }) => (sctp.clone(), *addresses),
        other => panic!("{other:?}"),
    };
    let (first, _) = packet(&actions[0]);
    assert_eq!((first.checksum, first.tag), (Checksum::Bad, Some(3)));
    assert!(matches!(&first.body, SctpBody::Chunks(chunks) if chunks.len() == 2));
    assert_eq!(packet(&actions[1]).0.body, SctpBody::Raw(vec![1, 0]));
    assert_eq!(packet(&actions[2]).1.map(|(source, _)| source.is_multicast()), Some(true));
}

#[test]
fn icmp_quotes_a_packet_by_tag_or_sequence_number_before_or_behind() {
    let actions = actions(
        "+0 < [sctp(2)] icmp unreachable frag_needed mtu 1200\n\
         +0 < icmp unreachable host_unreachable [sctp(3)]\n\
         +0 < icmp unreachable frag_needed mtu 1200 [1:1461(1460)]\n\
         +0 < [7:8(1)] icmp source_quench\n+0 f() = 0\n",
    );
    let message = |action: &Action| match action {
        Action::Inject(crate::script::Packet { content: Content::Icmp(icmp), .. }) => {
            (icmp.words.join(" "), icmp.quoted)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(
        message(&actions[0]),
        ("unreachable frag_needed mtu 1200".to_owned(), Some(Quoted::Tag(2)))
    );
    assert_eq!(
        message(&actions[1]),
        ("unreachable host_unreachable".to_owned(), Some(Quoted::Tag(3)))
    );
    assert_eq!(message(&actions[2]).1, Some(Quoted::Sequence(1)));
    assert_eq!(message(&actions[3]).1, Some(Quoted::Sequence(7)));
    assert!(matches!(actions[4], Action::Call(_)));
}

#[test]
fn segments_have_flags_numbers_and_options() {
    let actions = actions(
        "0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,wscale 7>\n\
         +0 > S. 0:0(0) ack 1 <...>\n\
         +0 < . 1:1(0) ack 1 win 257 <nop,nop,sack 1:1001 2001:3001,TS val 100 ecr ...>\n\
         +0 > [ce] P. 1:1001(1000) ack 1\n\
         +0 > (tos 0x20) (ttl 4) R. 0:0(0)! ack ... win ... urg 3\n+0 > . ...:...(0) ack 1\n",
    );
    let segment = |action: &Action| match action {
        Action::Inject(packet) | Action::Expect(packet) => match &packet.content {
            Content::Tcp(segment) => segment.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let syn = segment(&actions[0]);
    assert_eq!((syn.flags.as_str(), syn.window, syn.ack), ("S", Some(Number::Is(32792)), None));
    assert_eq!(syn.options.map(|options| options.len()), Some(4));
    assert_eq!(segment(&actions[1]).options, None);
    let sack = segment(&actions[2]).options.unwrap();
    assert_eq!(sack[2], TcpOption::Sack(vec![(1, 1001), (2001, 3001)]));
    assert_eq!(sack[3], TcpOption::Timestamp(Some(100), None));
    assert_eq!(segment(&actions[3]).length, 1000);
    let reset = segment(&actions[4]);
    assert_eq!((reset.sequence, reset.absolute, reset.urgent), (Some(0), true, Some(3)));
    assert_eq!((reset.ack, reset.window), (Some(Number::Any), Some(Number::Any)));
    match &actions[4] {
        Action::Expect(packet) => {
            assert_eq!((packet.traffic_class, packet.hop_limit), (Some(0x20), Some(4)));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(segment(&actions[5]).sequence, None);
    let error = parse("0 < . 1:100(10) ack 1").unwrap_err();
    assert!(error.message.contains("1:100"), "{error}");
}

#[test]
fn what_is_unknown_is_skipped_over_and_said() {
    let actions = actions(
        "+0 < udp (100)\n+0 < 192.0.2.1 :7 >\n   192.168.0.1 . 1:1(0)\n+0 < gre: . 1:1(0) ack 1\n+0 f() = 0\n",
    );
    let reasons: Vec<_> = actions
        .iter()
        .map(|action| match action {
            Action::Unsupported(why) => why.as_str(),
            _ => "",
        })
        .collect();
    assert!(reasons[0].contains("udp") && reasons[1].contains("ports"), "{reasons:?}");
    assert!(!reasons[2].is_empty() && reasons[3].is_empty(), "{reasons:?}");
}

#[test]
fn what_was_found_instead_is_said_as_the_script_has_it() {
    for (text, found) in [
        ("hello", "found \"hello\""),
        ("+0 f( = 0", "found '='"),
        ("+0 f() = 0 1", "found 1"),
        ("+0 f(", "found the end of the script"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.ends_with(found), "{error}");
    }
}

#[test]
fn what_is_malformed_is_an_error_with_its_line() {
    for (text, line) in [
        ("+0 f() = 0\n+x f() = 0", 2),
        ("+0 f( = 0", 1),
        ("+0 f() = 0 1", 1),
        ("+0 f() = 0\n+0 < sctp: FANCY[a=1,\n   b=2]", 2),
        ("+0 f() = 0\n+0 < fancy 1:1(0)", 2),
        ("\n+0 < sctp: SACK[flgs=0, cum_tsn=1, a_rwnd=1, gaps=[]]", 2),
        ("+0 < sctp: SACK[flgs=0, cum_tns=1, a_rwnd=1, gaps=[], dups=[]]", 1),
        ("+0 < sctp: DATA[flgs=Q, len=17, tsn=1, sid=1, ssn=1, ppid=1]", 1),
        ("+0 f(1, 2", 1),
    ] {
        assert_eq!(parse(text).unwrap_err().line, line, "{text}");
    }
}

#[test]
fn options_and_commands_are_read() {
    let script = parse("--tolerance_usecs=10000\n`a; b`\n 0 `c`\n+0 %{ assert x == 1 }%").unwrap();
    assert_eq!(script.options[0].value.as_deref(), Some("10000"));
    assert_eq!(script.events[0].when, When::Any);
    assert_eq!(script.events[1].action, Action::Shell("c".to_owned()));
    assert_eq!(script.events[2].action, Action::Code(" assert x == 1 ".to_owned()));
}

#[test]
fn deep_nesting_is_an_error_not_the_end_of_the_stack() {
    assert!(parse(&format!("+0 f({}", "[".repeat(100_000))).is_err());
}

#[test]
fn a_hyphen_in_the_name_of_a_chunk_is_as_good_as_an_underscore() {
    let hyphen = actions("+0 < sctp: I-DATA[flgs=BE, len=24, tsn=1, sid=1, mid=0, ppid=1234]");
    let underscore = actions("+0 < sctp: I_DATA[flgs=BE, len=24, tsn=1, sid=1, mid=0, ppid=1234]");
    assert_eq!(hyphen, underscore);
}

#[test]
fn definitions_replace_words_but_no_text() {
    let defines = [("N".to_owned(), Some("3, 4".to_owned())), ("X".to_owned(), None)].into();
    let script = parse_with("#ifdef X\n0 f(N, \"N\") = 0\n#endif", &defines).unwrap();
    let Action::Call(call) = &script.events[0].action else { panic!() };
    assert_eq!(call.arguments.len(), 3);
    assert_eq!(call.arguments[2], Expression::Text("N".to_owned()));
}
