//! Offers of real browsers, wrong lines with what would be right, and any description there and
//! back.

use proptest::prelude::*;

use super::*;

/// An offer as Chromium writes it.
const CHROMIUM: &str = "v=0\r
o=- 8063203493420926297 2 IN IP4 127.0.0.1\r
s=-\r
t=0 0\r
a=group:BUNDLE 0\r
a=extmap-allow-mixed\r
a=msid-semantic: WMS\r
m=application 50013 UDP/DTLS/SCTP webrtc-datachannel\r
c=IN IP4 10.80.0.1\r
a=candidate:2318266398 1 udp 2113937151 67c7b8a5-6f68-4e50-8b20-8c2b1e1d4a0f.local 50013 typ host generation 0 network-cost 999\r
a=candidate:1 1 udp 1677729535 10.80.0.1 50013 typ srflx raddr 0.0.0.0 rport 0 generation 0 network-cost 999\r
a=candidate:3 1 tcp 1518149375 10.80.0.1 9 typ host tcptype active generation 0\r
a=ice-ufrag:Bdq2\r
a=ice-pwd:zfcOeX5hZ9U0zcOW9dbFb3/9\r
a=ice-options:trickle\r
a=fingerprint:sha-256 BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23:B0:03:61:A3:96:17:7A:9C:B4:10:FF:61:F2:00:15:AD\r
a=setup:actpass\r
a=mid:0\r
a=sctp-port:5000\r
a=max-message-size:262144\r
";

/// An offer as Firefox writes it: fingerprint and ice-options for the session.
const FIREFOX: &str = "v=0\r
o=mozilla...THIS_IS_SDPARTA-99.0 1871204716533265041 0 IN IP4 0.0.0.0\r
s=-\r
t=0 0\r
a=fingerprint:sha-256 ba:78:16:bf:8f:01:cf:ea:41:41:40:de:5d:ae:22:23:b0:03:61:a3:96:17:7a:9c:b4:10:ff:61:f2:00:15:ad\r
a=group:BUNDLE 0\r
a=ice-options:trickle\r
a=msid-semantic:WMS *\r
m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r
c=IN IP4 0.0.0.0\r
a=sendrecv\r
a=ice-pwd:b4c82eb4d38e9b5d4c4b3b9d1e7f6a2c\r
a=ice-ufrag:57a0f4be\r
a=mid:0\r
a=setup:actpass\r
a=sctp-port:5000\r
a=max-message-size:1073741823\r
";

fn parse(text: &str) -> Result<Description, SdpError> {
    text.parse()
}

#[test]
fn an_offer_of_chromium_is_read() {
    let offer = parse(CHROMIUM).unwrap();
    assert_eq!(offer.session, 8_063_203_493_420_926_297);
    assert_eq!((offer.mid.as_deref(), offer.bundled, offer.lite), (Some("0"), true, false));
    assert_eq!(offer.credentials.ufrag, "Bdq2");
    assert_eq!(offer.credentials.password, "zfcOeX5hZ9U0zcOW9dbFb3/9");
    assert_eq!(offer.fingerprints.len(), 1);
    assert_eq!((offer.setup, offer.sctp_port), (Setup::ActPass, 5000));
    assert_eq!(offer.max_message, Some(262_144));
    // The one over TCP is left out.
    let sockets: Vec<_> = offer.candidates.iter().map(Candidate::socket).collect();
    assert_eq!(sockets, [None, Some("10.80.0.1:50013".parse().unwrap())]);
}

#[test]
fn an_offer_of_firefox_is_read_with_the_fingerprint_of_the_session() {
    let offer = parse(FIREFOX).unwrap();
    assert_eq!(offer.fingerprints, parse(CHROMIUM).unwrap().fingerprints);
    assert_eq!(offer.credentials.ufrag, "57a0f4be");
    assert_eq!(offer.max_message, Some(1_073_741_823));
}

#[test]
fn lines_may_end_without_carriage_returns_and_unknown_attributes_are_ignored() {
    let plain = CHROMIUM.replace('\r', "");
    assert_eq!(parse(&plain), parse(CHROMIUM));
    let more =
        CHROMIUM.replace("a=mid:0", "a=mid:0\r\na=nonsense\r\na=x-future:1 2 3\r\nb=AS:30\r\nz=1");
    assert_eq!(parse(&more), parse(CHROMIUM));
}

#[test]
fn what_an_offer_leaves_unsaid_has_the_defaults_of_the_standards() {
    let without = |line: &str| parse(&CHROMIUM.replace(line, "a=x:y")).unwrap();
    assert_eq!(without("a=max-message-size:262144").max_message, Some(65_536));
    assert!(!without("a=group:BUNDLE 0").bundled);
    assert_eq!(parse(&CHROMIUM.replace("size:262144", "size:0")).unwrap().max_message, None);
}

#[test]
fn an_error_names_the_line_and_what_would_be_right() {
    for (right, wrong, line, expected) in [
        ("v=0", "v=1", 1, "v=0"),
        ("s=-", "nonsense", 3, "TYPE=VALUE"),
        ("o=- 8063203493420926297", "o=- x", 2, "o=USER SESSION"),
        ("a=group:BUNDLE 0", "a=group:BUNDLE 1 2", 5, "a=mid"),
        ("UDP/DTLS/SCTP", "DTLS/SCTP", 8, "m=application PORT UDP/DTLS/SCTP webrtc-datachannel"),
        ("m=application 50013", "m=application 0", 8, "m=application"),
        ("m=application", "m=audio", 8, "only data channels"),
        ("typ srflx", "srflx", 11, "typ KIND"),
        ("10.80.0.1 50013 typ", "10.80.0.1 70000 typ", 11, "PORT"),
        ("ufrag:Bdq2", "ufrag:Bd", 13, "4 to 256"),
        ("9U0zcOW9dbFb3/9", "", 14, "22 to 256"),
        ("sha-256 BA", "sha-256 B", 16, "32 pairs"),
        // No other hash of the certificate is compared.
        ("sha-256", "sha-1", 16, "sha-256"),
        ("a=setup:actpass", "a=setup:holdconn", 17, "actpass, active or passive"),
        ("a=mid:0", "a=mid:a b", 18, "token"),
        ("a=sctp-port:5000", "a=sctp-port:0", 19, "1 to 65535"),
        ("a=max-message-size:262144", "a=max-message-size:-1", 20, "0 for any"),
        // Missing ones are missed in the section.
        ("a=ice-ufrag:Bdq2", "a=x", 8, "a=ice-ufrag"),
        ("a=ice-pwd:", "a=x:", 8, "a=ice-pwd"),
        ("a=fingerprint:", "a=x:", 8, "a=fingerprint"),
        ("a=setup:actpass", "a=x", 8, "a=setup"),
        ("a=sctp-port:5000", "a=sctpmap:5000 webrtc-datachannel 1024", 8, "a=sctp-port"),
    ] {
        let text = CHROMIUM.replacen(right, wrong, 1);
        let error = parse(&text).unwrap_err();
        assert_eq!(error.line, line, "{wrong}: {error}");
        assert!(error.to_string().contains(expected), "{wrong}: {error}");
    }
}

#[test]
fn a_second_section_is_refused_where_it_begins() {
    let video = format!("{CHROMIUM}m=video 9 UDP/TLS/RTP/SAVPF 96\r\n");
    let error = parse(&video).unwrap_err();
    assert_eq!((error.line, error.found.as_str()), (21, "m=video 9 UDP/TLS/RTP/SAVPF 96"));
    let error = parse("v=0\r\ns=-\r\n").unwrap_err();
    assert_eq!((error.line, error.found.as_str()), (2, "s=-"));
    assert!(parse("").is_err());
}

#[test]
fn the_size_of_a_description_and_of_its_lists_is_bounded() {
    let long = format!("{CHROMIUM}a=x:{}\r\n", "y".repeat(MAX_DESCRIPTION));
    assert!(parse(&long).unwrap_err().to_string().contains("65536 bytes at most"));
    let many = format!("{CHROMIUM}{}", "a=candidate:1 1 udp 1 10.0.0.1 9 typ host\r\n".repeat(500));
    assert_eq!(parse(&many).unwrap().candidates.len(), 64);
    let prints: String = (0..40u8)
        .map(|n| format!("a=fingerprint:{}\r\n", Fingerprint::of_certificate(&[n]).sdp()))
        .collect();
    let error = parse(&format!("{CHROMIUM}{prints}")).unwrap_err();
    assert!(error.to_string().contains("16 such lines at most"), "{error}");
}

#[test]
fn an_error_shows_no_more_than_the_beginning_of_a_line() {
    let text = CHROMIUM.replace("a=setup:actpass", &format!("a=setup:{}", "ä".repeat(1000)));
    assert_eq!(parse(&text).unwrap_err().found.chars().count(), 80);
}

#[test]
fn roles_of_dtls_follow_the_offer() {
    use secure::Role::{Client, Server};
    for (offer, wanted, answer) in [
        (Setup::ActPass, Client, Client),
        (Setup::ActPass, Server, Server),
        (Setup::Active, Client, Server),
        (Setup::Passive, Server, Client),
    ] {
        assert_eq!(offer.answer(wanted), answer);
    }
}

fn candidate() -> impl Strategy<Value = Candidate> {
    let address = prop_oneof![
        any::<std::net::IpAddr>().prop_map(CandidateAddress::Ip),
        "[a-z][a-z0-9-]{1,40}\\.local".prop_map(CandidateAddress::Name),
    ];
    let kind = prop_oneof![Just("host"), Just("srflx"), Just("prflx"), Just("relay")];
    ("[A-Za-z0-9+/]{1,32}", any::<u16>(), any::<u32>(), address, any::<u16>(), kind).prop_map(
        |(foundation, component, priority, address, port, kind)| Candidate {
            foundation,
            component,
            priority,
            address,
            port,
            kind: kind.to_owned(),
        },
    )
}

/// The INIT of the draft's example.
const INIT: [u8; 30] = [
    1, 0, 0, 30, 0x89, 0x6c, 0xdd, 0x1d, 0, 0x50, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xe0, 0x79, 0x65,
    0x1d, 0xc0, 0, 0, 4, 0x80, 8, 0, 6, 0x82, 0xc0,
];

#[test]
fn an_init_is_read_as_the_draft_writes_it_and_other_bytes_are_refused_with_their_line() {
    let line = "a=sctp-init:AQAAHols3R0AUAAA/////+B5ZR3AAAAEgAgABoLA\r\n";
    let offer = parse(&format!("{CHROMIUM}{line}")).unwrap();
    assert_eq!(offer.sctp_init.as_deref(), Some(&INIT[..]));
    assert!(offer.to_string().contains(line));
    for wrong in ["", "AQAAHols3R0", "no base64", "AgAAHols3R0AUAAA/////+B5ZR3AAAAEgAgABoLA"] {
        let error = parse(&format!("{CHROMIUM}a=sctp-init:{wrong}\r\n")).unwrap_err();
        assert_eq!(error.line, CHROMIUM.lines().count() + 1, "{wrong}");
        assert!(error.to_string().contains("a=sctp-init with an INIT chunk"), "{error}");
    }
}

fn description() -> impl Strategy<Value = Description> {
    let setup = prop_oneof![Just(Setup::ActPass), Just(Setup::Active), Just(Setup::Passive)];
    let mid = proptest::option::of("[a-zA-Z0-9_.-]{1,16}");
    let prints = proptest::collection::btree_set(any::<u64>(), 1..4);
    let names = ("[A-Za-z0-9+/]{4,64}", "[A-Za-z0-9+/]{22,64}");
    let numbers = (any::<u64>(), 1..=u16::MAX, proptest::option::of(1..=u64::MAX));
    let candidates = proptest::collection::vec(candidate(), 0..8);
    (mid, any::<[bool; 2]>(), names, prints, setup, numbers, candidates).prop_map(
        |(mid, [grouped, lite], (ufrag, password), prints, setup, numbers, candidates)| {
            Description {
                session: numbers.0,
                bundled: grouped && mid.is_some(),
                mid,
                lite,
                credentials: Credentials { ufrag, password },
                fingerprints: prints
                    .into_iter()
                    .map(|n| Fingerprint::of_certificate(&n.to_be_bytes()))
                    .collect(),
                setup,
                sctp_port: numbers.1,
                max_message: numbers.2,
                sctp_init: (numbers.1 % 2 == 0).then(|| INIT.to_vec()),
                candidates,
            }
        },
    )
}

proptest! {
    #[test]
    fn any_description_is_read_as_it_was_written(description in description()) {
        prop_assert_eq!(parse(&description.to_string()), Ok(description));
    }

    #[test]
    fn a_damaged_offer_is_read_or_refused_with_a_line_that_it_has(
        at in 0..CHROMIUM.len(), length in 0..60usize, insert in "[ -~\r\n]{0,40}"
    ) {
        let end = (at + length).min(CHROMIUM.len());
        let text = format!("{}{insert}{}", &CHROMIUM[..at], &CHROMIUM[end..]);
        if let Err(error) = parse(&text) {
            prop_assert!((1..=text.lines().count().max(1)).contains(&error.line), "{error}");
            prop_assert!(!error.expected.is_empty());
        }
    }
}
