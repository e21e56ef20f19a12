//! Scripts that once passed although they should not: what they say is not so, or means nothing.

use crate::{Suite, Word};

/// The beginning of a server's script of TCP, up to the accepted connection.
const TCP: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000,sackOK>
+0 > S. 0:0(0) ack 1 win 65535 <mss 1460,nop,nop,sackOK>
+0.1 < . 1:1(0) ack 1 win 32792
+0 accept(3, ..., ...) = 4
";

/// Beginning of a server's script of SCTP, up to the accepted association.
const SCTP: &str = "0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < sctp: INIT[flgs=0, tag=1, a_rwnd=9000, os=2, is=2, tsn=1]
+0 > sctp: INIT_ACK[flgs=0, tag=2, a_rwnd=..., os=..., is=..., tsn=1, STATE_COOKIE[len=..., val=...]]
+0 < sctp: COOKIE_ECHO[flgs=0, len=..., val=...]
+0 > sctp: COOKIE_ACK[flgs=0]
+0 accept(3, ..., ...) = 4
";

fn verdict(text: &str) -> (Word, String) {
    let result = Suite::default().run_text("x.pkt", text);
    (result.verdict, result.reason)
}

/// Each line behind the set-up: that what is right passes, and that what is wrong fails and says
/// why.
fn check(set_up: &str, cases: &[(&str, &str, &str)]) {
    for (right, wrong, why) in cases {
        let (word, reason) = verdict(&format!("{set_up}{right}"));
        assert_eq!(word, Word::Pass, "{right}: {reason}");
        let (word, reason) = verdict(&format!("{set_up}{wrong}"));
        assert_eq!(word, Word::Fail, "{wrong}: {reason}");
        assert!(reason.contains(why), "{wrong}: {reason}");
    }
}

#[test]
fn what_hides_events_is_an_error() {
    check(
        TCP,
        &[
            (
                "+0 close(9) = -1 /* a comment */\n",
                "+0 close(9) = -1 /* a comment\n+0 close(9) = 0",
                "without */",
            ),
            (
                "+0 close(9) = -1 EBADF (Bad file)\n",
                "+0 close(9) = -1 EBADF (Bad file\n+0 close(9) = 0\n)",
                "does not end on its line",
            ),
            (
                "+0 write(4, \"abc\", 0) = 0\n",
                "+0 write(4, \"abc, 0) = 0\n+0 close(9) = 0\n+0 write(4, \", 0) = 0\n",
                "another line",
            ),
        ],
    );
}

#[test]
fn a_further_peer_has_an_address() {
    let script = |option: &str| {
        format!(
            "{option}0 socket(..., SOCK_SEQPACKET, IPPROTO_SCTP) = 3\n+0 bind(3, ..., ...) = 0\n"
        )
    };
    let (right, wrong) = (script("--peer=192.0.2.9\n"), script("--peer=no-address\n"));
    check("", &[(&right, &wrong, "should name an address of a further peer")]);
}

#[test]
fn options_are_given_once_and_in_front() {
    let script = |options: &str| format!("{options}{TCP}");
    check(
        "",
        &[
            (
                &script("--tolerance_usecs=5\n"),
                &script("--tolerance_usecs=5 --tolerance_usecs=9\n"),
                "given twice",
            ),
            (&script("--mtu=1500\n"), &script("mtu=1500\n"), "a time in seconds"),
            (&script("--mtu=1500\n"), &script("--mtu=1500 mss=1\n"), "--name=value wanted"),
            (TCP, &format!("{TCP}--tolerance_usecs=900000000\n"), "behind the first event"),
        ],
    );
}

#[test]
fn times_go_on_and_have_a_form_that_goes_with_the_event() {
    check(
        TCP,
        &[
            (
                "0.2 close(9) = -1\n",
                "0.2 close(9) = -1\n0.15 close(9) = -1\n",
                "lies before the event before",
            ),
            ("+0 close(9) = -1\n", "* close(9) = -1\n", "at any time"),
            ("+0 < R 1:1(0) win 0\n", "* < R 1:1(0) win 0\n", "at any time"),
            ("+0 < R 1:1(0) win 0\n", "+0~+1 < R 1:1(0) win 0\n", "within a range"),
            (
                "+0 shutdown(4, SHUT_WR) = 0\n+0~+1 > F. 1:1(0) ack 1\n",
                "+0 shutdown(4, SHUT_WR) = 0\n+0...1 > F. 1:1(0) ack 1\n",
                "only a call",
            ),
            (
                "+0 shutdown(4, SHUT_WR) = 0\n+0~+1 > F. 1:1(0) ack 1\n",
                "+0 shutdown(4, SHUT_WR) = 0\n+1~+0 > F. 1:1(0) ack 1\n",
                "before its beginning",
            ),
            (
                "+0 shutdown(4, SHUT_WR) = 0\n+0~+1 > F. 1:1(0) ack 1\n",
                "+0 shutdown(4, SHUT_WR) = 0\n+0~1 > F. 1:1(0) ack 1\n",
                "'+' wanted",
            ),
        ],
    );
}

#[test]
fn a_call_without_an_end_returns_at_once() {
    let connects = "--syn-retries=0\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n";
    check(
        connects,
        &[(
            "0...1 connect(3, ..., ...) = -1 ETIMEDOUT\n",
            "+0 connect(3, ..., ...) = -1 ETIMEDOUT\n",
            "returned at 1s",
        )],
    );
}

#[test]
fn a_script_that_only_sends_could_not_fail() {
    let (word, reason) = verdict("0 < S 0:0(0) win 1000\n");
    assert_eq!(word, Word::Fail, "{reason}");
}

#[test]
fn calls_have_their_arguments_results_and_errors() {
    check(
        TCP,
        &[
            ("+0 close(4) = 0\n", "+0 close(4, 5) = 0\n", "wants 1 arguments"),
            ("+0 write(4, ..., 0) = 0\n", "+0 write(4, ..., 0, 0) = 0\n", "wants 3 arguments"),
            ("+0 close(9) = -1 EBADF\n", "+0 close(9) = -1 EBATF\n", "no error EBATF"),
            (
                "+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [0], [4]) = 0\n",
                "+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [0], [8]) = 0\n",
                "expected 8",
            ),
            (
                "+0 setsockopt(4, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0\n",
                "+0 setsockopt(4, SOL_SOCKET, SO_LINGER, {onoff=1, onoff=0}, 8) = 0\n",
                "given twice",
            ),
            (
                "+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [0], [htonl(4)]) = 0\n",
                "+0 getsockopt(4, SOL_SOCKET, SO_ERROR, [0], [htonk(4)]) = 0\n",
                "no conversion htonk()",
            ),
        ],
    );
}

#[test]
fn what_is_read_is_not_compared_with_a_text_and_is_no_pass() {
    for (set_up, arrives) in [
        (TCP, "+0 < P. 1:4(3) ack 1 win 32792\n"),
        (SCTP, "+0 < sctp: DATA[flgs=BE, len=19, tsn=1, sid=0, ssn=0, ppid=0]\n"),
    ] {
        let (word, reason) = verdict(&format!("{set_up}{arrives}+0 read(4, ..., 3) = 3\n"));
        assert_eq!(word, Word::Pass, "{reason}");
        let (word, _) = verdict(&format!("{set_up}{arrives}+0 read(4, \"abc\", 3) = 3\n"));
        assert_eq!(word, Word::Skip);
    }
}

#[test]
fn a_peek_takes_nothing_or_is_no_pass() {
    let text = "+0 < sctp: DATA[flgs=BE, len=19, tsn=1, sid=0, ssn=0, ppid=0]\n+0 recv(4, ..., 3, MSG_PEEK) = 3\n";
    assert_eq!(verdict(&format!("{SCTP}{text}")).0, Word::Skip);
}

#[test]
fn another_address_is_another_peer() {
    let connects = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n";
    let to = |address: &str| {
        format!(
            "{connects}+0 connect(3, {{sa_family=AF_INET, sin_port=htons(8080), \
             sin_addr=inet_addr(\"{address}\")}}, 16) = -1 EINPROGRESS\n"
        )
    };
    assert_eq!(verdict(&to("192.0.2.1")).0, Word::Pass);
    assert_eq!(verdict(&to("192.0.2.7")).0, Word::Skip);
    let sctp = to("192.0.2.7").replace("IPPROTO_TCP", "IPPROTO_SCTP");
    let init = "sctp: INIT[flgs=0, tag=1, a_rwnd=..., os=..., is=..., tsn=1, ...]\n";
    assert_eq!(verdict(&format!("{sctp}+0 > 192.168.0.1 > 192.0.2.7 {init}")).0, Word::Pass);
    assert_eq!(verdict(&format!("{sctp}+0 > {init}")).0, Word::Fail);
}

#[test]
fn segments_have_flags_numbers_and_options_that_can_be() {
    let fin = "+0 shutdown(4, SHUT_WR) = 0\n+0 > F. 1:1(0) ack 1\n";
    let segment = "+0 < P. 1:101(100) ack 1 win 1000\n+0.2 > . 1:1(0) ack 101 win 65535\n";
    let segment = segment.replace("win 65535", "win ...");
    let changed = |from: &str, to: &str| {
        assert!(segment.contains(from), "{from}");
        segment.replacen(from, to, 1)
    };
    check(
        TCP,
        &[
            (fin, &fin.replace(" ack 1", ""), "acknowledgement"),
            (fin, &fin.replace("F. ", "F.. "), "twice"),
            (fin, &fin.replace("F. ", "F.- "), "'-' beside"),
            (fin, &fin.replace("ack 1", "ack 1 wni 9"), "ack, win, urg"),
            (fin, &fin.replace("ack 1", "ack 1 urg 7"), "urgent pointer"),
            (&segment, &changed("win 1000", "win 66536"), "at most 65535"),
            (&segment, &changed("win 1000", "win ..."), "needs its window"),
            (&segment, &changed("win 1000", "win 1000 urg 65536"), "at most 65535"),
            (&segment, &changed("win 1000", "win 1000 <...>"), "needs its options"),
            (
                &segment,
                &changed("win 1000", "win 1000 <nop,nop,sack 1:2 3:4 5:6 7:8 9:10>"),
                "at most 40",
            ),
            (&segment, &changed("win 1000", "win 1000 <nop,>"), "TCP option wanted"),
            (&segment, &changed("win 1000", "win 1000 <noop>"), "TCP option wanted"),
        ],
    );
    check(
        "",
        &[
            (TCP, &TCP.replace("<mss 1000", "<mss 66536"), "at most 65535"),
            (TCP, &TCP.replace("+0 < S ", "+0 < [ce) S "), "']' wanted"),
            (TCP, &TCP.replace("+0 < S ", "+0 < (ttl 4) (ttl 5) S "), "twice"),
            (TCP, &TCP.replace("+0 < S ", "+0 < tpc S "), "a protocol"),
        ],
    );
}

#[test]
fn a_codepoint_that_the_script_does_not_name_is_one_only_where_ecn_is_in_use() {
    let with_ecn =
        format!("--ecn=passive\n{TCP}").replace("< S 0", "< SEW 0").replace("> S. 0", "> SE. 0");
    let marked = "+0 write(4, ..., 10) = 10\n+0 > [ect0] P. 1:11(10) ack 1\n";
    assert_eq!(verdict(&format!("{with_ecn}{marked}")).0, Word::Pass);
    assert_eq!(verdict(&format!("{with_ecn}{}", marked.replace("[ect0] ", ""))).0, Word::Pass);
    assert_eq!(
        verdict(&format!("{with_ecn}{}", marked.replace("[ect0]", "[noecn]"))).0,
        Word::Fail
    );
    assert_eq!(verdict(&format!("{TCP}{marked}")).0, Word::Fail);
}

/// Marks what a stack sends, so that a run which does not look at codepoints would not notice.
#[test]
fn the_class_of_a_packet_to_send_carries_its_codepoint() {
    let with_ecn =
        format!("--ecn=passive\n{TCP}").replace("< S 0", "< SEW 0").replace("> S. 0", "> SE. 0");
    let arrives = "+0 < (tos 0x3) P. 1:11(10) ack 1 win 1000\n";
    assert_eq!(verdict(&format!("{with_ecn}{arrives}+0 > E. 1:1(0) ack 11\n")).0, Word::Pass);
    assert_eq!(verdict(&format!("{with_ecn}{arrives}+0.2 > . 1:1(0) ack 11\n")).0, Word::Fail);
}

#[test]
fn chunks_have_fields_that_can_be_each_once() {
    let data = "+0 < sctp: DATA[flgs=BE, len=116, tsn=1, sid=0, ssn=0, ppid=0]
+0 > sctp: SACK[flgs=0, cum_tsn=1, a_rwnd=..., gaps=[], dups=[]]\n";
    let changed = |from: &str, to: &str| {
        assert!(data.contains(from), "{from}");
        data.replacen(from, to, 1)
    };
    check(
        SCTP,
        &[
            (data, &changed("SACK[flgs=0", "SACK[flgs=1"), "flgs"),
            (
                &changed("SACK[flgs=0, ", "SACK["),
                &changed("DATA[flgs=BE, ", "DATA["),
                "found ABORT",
            ),
            (data, &changed("len=116, ", ""), "wants the field len"),
            (data, &changed("tsn=1, sid", "tsn=1, tsn=2, sid"), "twice"),
            (data, &changed("flgs=BE", "flgs=BBE"), "no flags"),
            (data, &changed("sid=0", "sid=..."), "needs sid of DATA"),
            (data, &changed("sctp: DATA", "sctp: DATTA"), "no Chunk DATTA"),
            (data, &changed("< sctp", "< sctp(bad_crc)"), "wanted in sctp"),
            (data, &changed("< sctp", "< sctp(tag=4294967298)"), "wanted in sctp"),
            (data, &changed("< sctp", "< sctp(tag=2, tag=2)"), "says a thing twice"),
            (data, &changed("gaps=[]", "gaps=[65538:65538]"), "no value"),
        ],
    );
    assert_eq!(
        verdict(&format!("{SCTP}{}", changed("> sctp", "> sctp(bad_crc32c)"))).0,
        Word::Skip
    );
    let init = SCTP.replace("is=2, tsn=1]", "is=2, tsn=1, PARAMETER[len=4, val=[]]]");
    assert_eq!(verdict(&init).0, Word::Fail, "which parameter it is");
    let init = SCTP.replace("is=2, tsn=1]", "is=2, tsn=1, IPV4_ADDRESS[flgs=1, addr=192.0.2.1]]");
    assert_eq!(verdict(&init).0, Word::Fail, "parameters have no flags");
}

#[test]
fn an_init_that_came_later_does_not_change_the_tag_of_the_association() {
    let later = "+0 < sctp: INIT[flgs=0, tag=5, a_rwnd=9000, os=2, is=2, tsn=9]
+0 > sctp(tag=5): INIT_ACK[flgs=0, tag=..., a_rwnd=..., os=..., is=..., tsn=..., STATE_COOKIE[len=..., val=...]]
+0 < sctp: DATA[flgs=BE, len=116, tsn=1, sid=0, ssn=0, ppid=0]
+0 > sctp: SACK[flgs=0, cum_tsn=1, a_rwnd=..., gaps=[], dups=[]]\n";
    check(
        SCTP,
        &[(later, &later.replace("> sctp: SACK", "> sctp(tag=5): SACK"), "verification tag")],
    );
}

#[test]
fn encapsulated_packets_come_from_and_go_to_the_port_of_the_host() {
    let init = "0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 3
+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0 setsockopt(3, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, {sue_port=htons(4000)}, 8) = 0
+0 connect(3, ..., ...) = -1 EINPROGRESS
+0 > sctp/udp(9899>4000): INIT[flgs=0, tag=1, a_rwnd=..., os=..., is=..., tsn=1, ...]
+0 < sctp/udp(4000>9899): INIT_ACK[flgs=0, tag=2, a_rwnd=9000, os=2, is=2, tsn=3, STATE_COOKIE[len=4, val=...]]
+0 > sctp/udp(9899>4000): COOKIE_ECHO[flgs=0, len=4, val=...]\n";
    check(
        "",
        &[
            (init, &init.replace("9899>4000): INIT", "9898>4000): INIT"), "UDP encapsulation"),
            (init, &init.replace("(4000>9899)", "(4000>9898)"), "found INIT"),
        ],
    );
}

#[test]
fn an_option_has_as_many_bytes_and_numbers_as_it_takes() {
    let nodelay = "+0 setsockopt(4, IPPROTO_SCTP, SCTP_NODELAY, [1], 4) = 0\n";
    let timeouts = "+0 setsockopt(4, IPPROTO_SCTP, SCTP_RTOINFO, {srto_initial=1000, srto_max=2000}, 16) = 0\n";
    let key = "+0 setsockopt(4, IPPROTO_SCTP, SCTP_AUTH_KEY, {sca_keynumber=7, sca_keylength=2, sca_key=[1, 2]}, 10) = 0\n";
    let streams =
        "+0 setsockopt(4, IPPROTO_SCTP, SCTP_INITMSG, {sinit_num_ostreams=65535}, 8) = 0\n";
    let heartbeats = "+0 setsockopt(4, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, {spp_flags=SPP_HB_DISABLE}, 152) = 0\n";
    check(
        SCTP,
        &[
            (nodelay, &nodelay.replace(", 4)", ", 3)"), "EINVAL"),
            (nodelay, &nodelay.replace("[1]", "[1, 1]"), "one number, found 2"),
            (nodelay, &nodelay.replace("[1]", "[]"), "one number, found 0"),
            (timeouts, &timeouts.replace(", 16)", ", 15)"), "EINVAL"),
            (timeouts, &timeouts.replace("srto_initial=", ""), "has no name"),
            (timeouts, &timeouts.replace("=1000", "=-1000"), "32 bits"),
            (timeouts, &timeouts.replace("=1000", "=4294967296"), "32 bits"),
            (streams, &streams.replace("65535", "65536"), "16 bits"),
            (heartbeats, &heartbeats.replace("DISABLE}", "DISABLE|SPP_HB_ENABLE}"), "EINVAL"),
        ],
    );
    let set_up = SCTP.replacen("+0 bind", &format!("{}+0 bind", key.replace("(4", "(3")), 1);
    assert_eq!(verdict(&set_up).0, Word::Pass, "{:?}", verdict(&set_up));
    assert_eq!(verdict(&set_up.replace(", 10)", ", 9)")).0, Word::Fail);
    let tcp = "+0 setsockopt(4, IPPROTO_TCP, TCP_NODELAY, [1], 4) = 0\n";
    check(TCP, &[(tcp, &tcp.replace(", 4)", ", 2)"), "EINVAL")]);
}

#[test]
fn a_list_of_addresses_is_as_long_as_the_call_says() {
    let script = |count: &str| {
        format!(
            "0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 3
+0 sctp_bindx(3, [192.168.0.1], {count}, SCTP_BINDX_ADD_ADDR) = 0\n"
        )
    };
    check("", &[(&script("1"), &script("2"), "lists 1 addresses")]);
}

#[test]
fn a_socket_is_shut_in_one_of_three_ways() {
    for set_up in [TCP, SCTP] {
        let shut = "+0 shutdown(4, SHUT_RD) = 0\n";
        check(set_up, &[(shut, &shut.replace("SHUT_RD", "3"), "EINVAL")]);
    }
}

#[test]
fn a_one_to_many_socket_does_not_listen_with_a_backlog_of_nothing() {
    let script = "0 socket(..., SOCK_SEQPACKET, IPPROTO_SCTP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < sctp: INIT[flgs=0, tag=1, a_rwnd=9000, os=2, is=2, tsn=1]
+0 > sctp: INIT_ACK[flgs=0, tag=2, a_rwnd=..., os=..., is=..., tsn=1, STATE_COOKIE[len=..., val=...]]\n";
    check("", &[(script, &script.replace("listen(3, 1)", "listen(3, 0)"), "ABORT")]);
}

#[test]
fn no_association_has_the_tag_0() {
    check("", &[(SCTP, &SCTP.replace("tag=2", "tag=0"), "cannot have the tag 0")]);
}
