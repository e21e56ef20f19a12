//! Any text as a session description, and an offer of a browser with lines of the input in it:
//! reading ends, what is read is written and read again equal, and an error names a line that there
//! is.

use webrtc::sdp::{Description, SdpError};

/// An offer that the input changes, a line at a time.
const OFFER: [&str; 14] = [
    "v=0",
    "o=- 1 2 IN IP4 127.0.0.1",
    "s=-",
    "t=0 0",
    "a=group:BUNDLE 0",
    "m=application 9 UDP/DTLS/SCTP webrtc-datachannel",
    "a=mid:0",
    "a=ice-ufrag:Bdq2",
    "a=ice-pwd:zfcOeX5hZ9U0zcOW9dbFb3/9",
    "a=fingerprint:sha-256 BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23:B0:03:61:A3:96:17:7A:9C:B4:10:FF:61:F2:00:15:AD",
    "a=setup:actpass",
    "a=sctp-port:5000",
    // The example of draft-hancke-tsvwg-snap, section 4.1.
    "a=sctp-init:AQAAHols3R0AUAAA/////+B5ZR3AAAAEgAgABoLA",
    "a=candidate:1 1 udp 1677729535 10.80.0.1 50013 typ srflx raddr 0.0.0.0 rport 0",
];

/// Reads `bytes`; answers how many of the offers made of them could be read.
pub fn run(bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes);
    check(&text);
    let offers = text.lines().enumerate().map(|(index, line)| check(&changed(index, line)));
    offers.filter(|read| *read).count()
}

/// The offer with a line of the input instead of one of its own, behind the beginning of one, or as
/// an attribute more.
pub(crate) fn changed(index: usize, line: &str) -> String {
    let mut lines = OFFER.map(str::to_owned).to_vec();
    let at = index / 3 % OFFER.len();
    match (index % 3, lines.get_mut(at)) {
        (0, Some(place)) => *place = line.to_owned(),
        (1, Some(place)) => {
            *place = format!("{}{line}", place.get(..place.len() / 2).unwrap_or_default())
        }
        _ => lines.push(format!("a={line}")),
    }
    lines.join("\r\n")
}

fn check(text: &str) -> bool {
    let read: Result<Description, SdpError> = text.parse();
    match read {
        Ok(description) => {
            let again = description.to_string().parse();
            assert_eq!(again, Ok(description), "{text}");
            true
        }
        Err(error) => {
            assert!(
                error.line >= 1 && error.line <= text.lines().count().max(1),
                "{error}: {text}"
            );
            assert!(!error.expected.is_empty() && error.found.chars().count() <= 80);
            false
        }
    }
}
