//! The sources of policy fields: those of docs/policies.md.

use recovery::policy::Protocol;

/// Field, its source for SCTP, and that for TCP.
const SOURCES: [(&str, &str, &str); 23] = [
    (
        "rto-min",
        "RFC 9260, section 16 (RTO.Min, one second)",
        "RFC 6298, section 2.4; Linux: 200 ms",
    ),
    ("rto-min-thin", "Petlund et al. 2009, section 5.2", "Petlund et al. 2009, section 5.2"),
    ("rto-initial", "RFC 9260, section 16", "RFC 6298, section 2.1"),
    (
        "rto-margin",
        "RFC 9260, section 6.3.1; learned: RFC 4015, section 3.3",
        "RFC 6298, section 2; learned: RFC 4015, section 3.3",
    ),
    ("rto-min-variation", "Linux", "Linux: 200 ms above the round trip"),
    (
        "backoff",
        "RFC 9260, section 6.3.3, rule E2; linear: Petlund et al. 2009, section 5.3",
        "RFC 6298, section 5.5; linear: Linux, after Petlund et al. 2009, section 5.3",
    ),
    (
        "thin-detector",
        "Petlund et al. 2009, section 5.1",
        "Linux; few-or-slow: after Petlund et al. 2009, section 5.1",
    ),
    (
        "timer-restart",
        "RFC 9260, section 6.3.2, rule R3; oldest-age: RFC 7765, section 4",
        "RFC 6298, rule 5.3; oldest-age: RFC 7765, section 4",
    ),
    (
        "timeout-resends",
        "RFC 9260, section 6.3.3, rule E3; old-enough: FreeBSD",
        "RFC 6298, section 5.4; by-rack: RFC 8985, section 6.3",
    ),
    ("timeout-thin", "thinstream", "thinstream"),
    ("dup-threshold", "RFC 9260, section 7.2.4", "RFC 5681, section 3.2"),
    (
        "dup-threshold-thin",
        "Petlund et al. 2009, section 5.4",
        "Petlund et al. 2009, section 5.4; Linux (tcp_thin_dupack)",
    ),
    ("early-retransmit", "RFC 5827, section 3.2", "RFC 5827, section 3.2"),
    ("early-timer", "FreeBSD", "FreeBSD"),
    (
        "fine-grained",
        "Brakmo and Peterson 1995; Yin et al.",
        "Brakmo and Peterson 1995; Yin et al.",
    ),
    ("rack", "RFC 8985, section 6", "RFC 8985, section 6"),
    (
        "reordering-window",
        "RFC 8985, section 6.2; measured: thinstream",
        "RFC 8985, section 6.2; measured: thinstream",
    ),
    ("tail-probe", "RFC 8985, section 7", "RFC 8985, section 7"),
    ("bundling", "thinstream, after Evensen et al. 2008", "Evensen et al. 2008; thinstream"),
    ("bundling-packets", "thinstream", "thinstream"),
    ("bundling-alone", "thinstream", "thinstream"),
    ("sack-delay", "RFC 9260, section 6.2", "RFC 9293, section 3.8.6.3"),
    ("sack-every", "RFC 9260, section 6.2", "RFC 5681, section 4.2"),
];

/// The paper or RFC that a field comes from; `None` for fields that no reason names.
pub fn source(field: &str, protocol: Protocol) -> Option<&'static str> {
    if field == "request-sack" {
        return Some(match protocol {
            Protocol::Sctp => "RFC 7053 (the I bit)",
            _ => "thinstream, on RFC 9293, section 3.10.7.4",
        });
    }
    let found = SOURCES.iter().find(|(name, ..)| *name == field);
    found.map(|(_, sctp, tcp)| if protocol == Protocol::Sctp { *sctp } else { *tcp })
}

#[cfg(test)]
mod tests {
    use recovery::policy::Field;

    use super::*;

    #[test]
    fn every_source_is_of_a_field_that_exists() {
        for (name, sctp, tcp) in SOURCES {
            assert!(Field::find(name).is_some(), "{name}");
            assert!(!sctp.is_empty() && !tcp.is_empty(), "{name}");
        }
        assert!(Field::find("request-sack").is_some());
    }
}
