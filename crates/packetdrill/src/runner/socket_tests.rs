//! The socket interface of SCTP (RFC 6458), as scripts use it: what is right passes, and what is
//! otherwise fails.

use crate::{Suite, Word};

/// The beginning of a server's script, up to the accepted association. `options` stands before
/// bind().
fn server(options: &str, parameters: &str) -> String {
    format!(
        "0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 3
+0 setsockopt(3, IPPROTO_SCTP, SCTP_NODELAY, [1], 4) = 0
{options}+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < sctp: INIT[flgs=0, tag=1, a_rwnd=9000, os=9, is=9, tsn=1{parameters}]
+0 > sctp: INIT_ACK[flgs=0, tag=2, a_rwnd=..., os=..., is=..., tsn=1, ...]
+0 < sctp: COOKIE_ECHO[flgs=0, len=..., val=...]
+0 > sctp: COOKIE_ACK[flgs=0]
+0 accept(3, ..., ...) = 4
+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
"
    )
}

fn verdict(text: &str) -> (Word, String) {
    let result = Suite::default().run_text("x.pkt", text);
    (result.verdict, result.reason)
}

/// Asserts that a script passes, and that it fails for the given reason once a part of it is
/// replaced.
fn check(text: &str, changes: &[(&str, &str, &str)]) {
    let (word, reason) = verdict(text);
    assert_eq!(word, Word::Pass, "{text}: {reason}");
    for (right, wrong, why) in changes {
        assert!(text.contains(right), "{right}");
        let (word, reason) = verdict(&text.replacen(right, wrong, 1));
        assert_eq!(word, Word::Fail, "{wrong}: {reason}");
        assert!(reason.contains(why), "{wrong}: {reason}");
    }
}

/// `sendmsg()` of 100 bytes with an entry of ancillary data.
fn sendmsg(kind: &str, data: &str) -> String {
    format!(
        "+0 sendmsg(4, {{msg_name(...)=..., msg_iov(2)=[{{iov_base=..., iov_len=60}}, {{iov_base=..., iov_len=40}}], \
         msg_control(28)=[{{cmsg_len=28, cmsg_level=IPPROTO_SCTP, cmsg_type={kind}, cmsg_data={data}}}], \
         msg_flags=0}}, 0) = 100\n"
    )
}

#[test]
fn ancillary_data_says_how_a_message_is_sent() {
    let text = server("", "")
        + &sendmsg(
            "SCTP_SNDINFO",
            "{snd_sid=3, snd_flags=SCTP_UNORDERED, snd_ppid=htonl(7), snd_context=0}",
        )
        + "+0 > sctp: DATA[flgs=UBE, len=116, tsn=1, sid=3, ssn=0, ppid=7]\n"
        + &sendmsg("SCTP_SNDRCV", "{sinfo_stream=5, sinfo_flags=0, sinfo_ppid=htonl(8)}")
        + "+0 > sctp: DATA[flgs=BE, len=116, tsn=2, sid=5, ssn=0, ppid=8]\n";
    check(
        &text,
        &[
            ("snd_sid=3", "snd_sid=4", "DATA.sid"),
            ("snd_flags=SCTP_UNORDERED", "snd_flags=0", "DATA.flgs"),
            ("snd_ppid=htonl(7)", "snd_ppid=htonl(6)", "DATA.ppid"),
            ("sinfo_stream=5", "sinfo_stream=6", "DATA.sid"),
            ("0) = 100", "0) = 99", "returned 100"),
        ],
    );
    let (word, reason) = verdict(&text.replace("snd_sid=3", "snd_sid=65537"));
    assert_ne!(word, Word::Pass, "{reason}");
}

#[test]
fn ancillary_data_says_when_a_message_may_be_given_up() {
    let supports = "+0 setsockopt(3, IPPROTO_SCTP, SCTP_PR_SUPPORTED, {assoc_value=1}, 8) = 0\n";
    let text = server(supports, ", FORWARD_TSN_SUPPORTED[]")
        + &sendmsg("SCTP_PRINFO", "{pr_policy=SCTP_PR_SCTP_TTL, pr_value=50}")
        + "+0 > sctp: DATA[flgs=BE, len=116, tsn=1, sid=0, ssn=0, ppid=0]
+1 > sctp: FORWARD_TSN[flgs=0, cum_tsn=1, ids=[{0,0}]]\n";
    check(
        &text,
        &[
            ("pr_value=50", "pr_value=5000", "DATA"),
            ("SCTP_PR_SCTP_TTL", "SCTP_PR_SCTP_NONE", "DATA"),
        ],
    );
}

#[test]
fn an_association_is_opened_by_what_ancillary_data_says() {
    let text = "0 socket(..., SOCK_SEQPACKET, IPPROTO_SCTP) = 3
+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n"
        .to_owned()
        + &sendmsg(
            "SCTP_INIT",
            "{sinit_num_ostreams=3, sinit_max_instreams=5, sinit_max_attempts=1, sinit_max_init_timeo=0}",
        )
        + "+0 > sctp: INIT[flgs=0, tag=1, a_rwnd=..., os=3, is=5, tsn=1, ...]\n"
        + &sendmsg(
            "SCTP_DSTADDRV4",
            "{sa_family=AF_INET, sin_port=htons(8080), sin_addr=inet_addr(\"192.0.2.7\")}",
        )
        + "+0 > 192.168.0.1 > 192.0.2.7 sctp: INIT[flgs=0, tag=9, a_rwnd=..., os=16, is=2048, tsn=1, ...]\n";
    let text = text.replace("sendmsg(4, ", "sendmsg(3, ");
    check(
        &text,
        &[
            ("sinit_num_ostreams=3", "sinit_num_ostreams=4", "INIT.os"),
            ("sinit_max_instreams=5", "sinit_max_instreams=4", "INIT.is"),
            ("\"192.0.2.7\"", "\"192.0.2.8\"", "192.0.2.8"),
        ],
    );
}

#[test]
fn what_an_option_does_not_understand_is_never_taken_for_nothing() {
    let text = "0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 3
+0 setsockopt(3, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, {spp_flags=SPP_HB_ENABLE}, 152) = 0\n";
    assert_eq!(verdict(text).0, Word::Pass);
    assert_eq!(verdict(&text.replace("SPP_HB_ENABLE", "SPP_DSCP|SPP_HB_ENABLE")).0, Word::Skip);
    assert_eq!(verdict(&text.replace("SPP_HB_ENABLE", "\"on\"")).0, Word::Skip);
}

#[test]
fn a_path_mtu_of_the_interface_counts_what_is_left_for_chunks() {
    let text = server("+0 setsockopt(3, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, {spp_pathmtu=968}, 152) = 0\n", "")
        + "+0 getsockopt(4, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, {spp_pathmtu=968, spp_address=..., spp_hbinterval=30000, \
           spp_pathmaxrxt=5, spp_flags=SPP_HB_ENABLE|SPP_PMTUD_DISABLE}, [152]) = 0
+0 write(4, ..., 1500) = 1500
+0 > sctp: DATA[flgs=B, len=968, tsn=1, sid=0, ssn=0, ppid=0]
+0 > sctp: DATA[flgs=E, len=564, tsn=2, sid=0, ssn=0, ppid=0]\n";
    check(
        &text,
        &[
            ("{spp_pathmtu=968, spp_address", "{spp_pathmtu=1000, spp_address", "spp_pathmtu"),
            ("spp_hbinterval=30000", "spp_hbinterval=3000", "spp_hbinterval"),
            ("spp_pathmaxrxt=5", "spp_pathmaxrxt=6", "spp_pathmaxrxt"),
            ("SPP_PMTUD_DISABLE", "SPP_PMTUD_ENABLE", "spp_flags"),
        ],
    );
}

#[test]
fn notifications_tell_what_happened_since_they_were_asked_for() {
    let text = server("", "")
        + "+0 setsockopt(4, IPPROTO_SCTP, SCTP_EVENT, {se_type=SCTP_ASSOC_CHANGE, se_on=1}, 8) = 0
+0 read(4, ..., 1000) = -1 EAGAIN
+0 setsockopt(4, IPPROTO_SCTP, SCTP_EVENT, {se_type=SCTP_SENDER_DRY_EVENT, se_on=1}, 8) = 0
+0 recvmsg(4, {msg_name(...)=..., msg_iov(1)=[{iov_base={sender_dry_type=SCTP_SENDER_DRY_EVENT, sender_dry_flags=0, \
         sender_dry_length=12}, iov_len=1000}], msg_control(0)=[], msg_flags=MSG_NOTIFICATION|MSG_EOR}, 0) = 12\n";
    check(
        &text,
        &[
            ("sender_dry_length=12", "sender_dry_length=16", "sender_dry_length"),
            (") = 12", ") = 16", "returned 12"),
        ],
    );
}

#[test]
fn an_address_that_a_call_writes_has_a_family_and_a_port() {
    let text = server("", "")
        + "+0 sctp_getpaddrs(4, 0, [{sa_family=AF_INET, sin_port=htons(8080), sin_addr=inet_addr(\"192.0.2.1\")}]) = 1\n";
    check(
        &text,
        &[
            ("AF_INET,", "AF_INET6,", "found 192.0.2.1"),
            ("8080", "8081", "found 192.0.2.1"),
            ("\"192.0.2.1\"", "\"192.0.2.2\"", "found 192.0.2.1"),
            (") = 1\n", ") = 2\n", "returned 1"),
        ],
    );
}

#[test]
fn an_association_is_peeled_off_by_its_number() {
    let text = server("", "") + "+0 sctp_peeloff(4, 4) = -1 EINVAL\n+0 sctp_peeloff(4, 3) = 5\n";
    check(
        &text,
        &[
            ("(4, 4) = -1 EINVAL", "(4, 4) = 5", "EINVAL"),
            ("(4, 3) = 5", "(4, 3) = -1", "returned 5"),
        ],
    );
}

#[test]
fn discovery_of_the_path_mtu_is_not_switched_on_in_silence_within_an_association() {
    let text = server("", "")
        + "+0 setsockopt(4, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, {spp_address=192.0.2.1, spp_flags=SPP_HB_ENABLE}, 152) = 0\n";
    assert_eq!(verdict(&text).0, Word::Pass);
    assert_eq!(verdict(&text.replace("SPP_HB_ENABLE", "SPP_PMTUD_ENABLE")).0, Word::Skip);
}

#[test]
fn a_one_to_many_socket_counts_and_names_its_associations() {
    let text = "0 socket(..., SOCK_SEQPACKET, IPPROTO_SCTP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 getsockopt(3, IPPROTO_SCTP, SCTP_GET_ASSOC_NUMBER, [0], [4]) = 0
+0 < sctp: INIT[flgs=0, tag=1, a_rwnd=9000, os=2, is=2, tsn=1]
+0 > sctp: INIT_ACK[flgs=0, tag=2, a_rwnd=..., os=..., is=..., tsn=1, STATE_COOKIE[len=..., val=...]]
+0 < sctp: COOKIE_ECHO[flgs=0, len=..., val=...]
+0 > sctp: COOKIE_ACK[flgs=0]
+0 getsockopt(3, IPPROTO_SCTP, SCTP_GET_ASSOC_NUMBER, [1], [4]) = 0
+0 getsockopt(3, IPPROTO_SCTP, SCTP_GET_ASSOC_ID_LIST, {gaids_number_of_ids=1, gaids_assoc_id=[3]}, [8]) = 0
+0 < sctp: ABORT[flgs=0]
+0 getsockopt(3, IPPROTO_SCTP, SCTP_GET_ASSOC_NUMBER, [0], [4]) = 0\n";
    check(
        text,
        &[
            ("NUMBER, [1]", "NUMBER, [2]", "found 1"),
            ("ids=1", "ids=2", "gaids_number_of_ids"),
            ("id=[3]", "id=[4]", "gaids_assoc_id"),
        ],
    );
    let one = server("", "")
        + "+0 getsockopt(4, IPPROTO_SCTP, SCTP_GET_ASSOC_NUMBER, [1], [4]) = -1 EINVAL
+0 setsockopt(4, IPPROTO_SCTP, SCTP_AUTOCLOSE, [1], 4) = -1 EINVAL\n";
    assert_eq!(verdict(&one).0, Word::Pass, "{:?}", verdict(&one));
}
