//! Certificates of OpenSSL, good in 2030 (`make-certificates`), and what they are good for.

use super::*;
use crate::fingerprint::Fingerprint;
use crate::identity::Identity;
use crate::trust::{Refusal, Trust};

const AUTHORITIES: [&str; 2] =
    [include_str!("authority-P-256.pem"), include_str!("authority-P-384.pem")];
const SERVERS: [&str; 2] = [include_str!("server-P-256.pem"), include_str!("server-P-384.pem")];
const CLIENTS: [&str; 2] = [include_str!("client-P-256.pem"), include_str!("client-P-384.pem")];

/// The first and the last second of 2030, and the middle of it.
const BEGIN: u64 = 1_893_456_000;
const END: u64 = 1_924_992_000;
const JUNE: Duration = Duration::from_secs(1_906_502_400);

fn certificate(pem: &str) -> Vec<u8> {
    Identity::from_pem(pem).unwrap().certificate().to_vec()
}

fn server(pem: &str, name: &str) -> Authority {
    Authority::for_server(pem, name).unwrap()
}

#[test]
fn a_certificate_of_the_authority_is_good_for_its_names_and_addresses() {
    for (authority, pem) in AUTHORITIES.into_iter().zip(SERVERS) {
        let judge = |name: &str| server(authority, name).judge(&certificate(pem), JUNE);
        for name in ["game.example", "GAME.example", "eu.play.example", "192.0.2.7"] {
            assert_eq!(judge(name), Ok(()), "{name}");
        }
        for name in
            ["other.example", "play.example", "a.b.play.example", "192.0.2.8", "2001:db8::1"]
        {
            assert_eq!(judge(name), Err(format!("it is not for {name}")));
        }
    }
}

#[test]
fn a_certificate_is_good_in_its_time_alone() {
    let judge = |second| {
        let at = Duration::from_secs(second);
        server(AUTHORITIES[0], "game.example").judge(&certificate(SERVERS[0]), at)
    };
    for good in [BEGIN, END] {
        assert_eq!(judge(good), Ok(()));
    }
    for early in [0, BEGIN - 1] {
        assert!(judge(early).unwrap_err().contains("not valid yet"));
    }
    assert_eq!(judge(END + 1), Err("it has expired".to_owned()));
}

#[test]
fn another_authority_or_none_is_not_believed() {
    let name = "game.example";
    let own = Identity::from_pem(SERVERS[0]).unwrap();
    let self_signed = own.with_common_name(name).certificate().to_vec();
    for (authority, certificate) in [
        (AUTHORITIES[1], certificate(SERVERS[0])),
        (AUTHORITIES[0], certificate(SERVERS[1])),
        (AUTHORITIES[0], self_signed),
    ] {
        let verdict = server(authority, name).judge(&certificate, JUNE);
        assert_eq!(verdict, Err("none of the authorities signed it".to_owned()));
    }
    // Both are believed where both are listed.
    let both = AUTHORITIES.concat();
    for pem in SERVERS {
        assert_eq!(server(&both, name).judge(&certificate(pem), JUNE), Ok(()));
    }
}

#[test]
fn a_client_cannot_be_a_server_and_the_other_way_round() {
    for index in 0..2 {
        let clients = Authority::for_clients(AUTHORITIES[index]).unwrap();
        assert_eq!(clients.judge(&certificate(CLIENTS[index]), JUNE), Ok(()));
        let verdict = clients.judge(&certificate(SERVERS[index]), JUNE);
        assert_eq!(verdict, Err("it is not for clients".to_owned()));
        let servers = server(AUTHORITIES[index], "alice.example");
        let verdict = servers.judge(&certificate(CLIENTS[index]), JUNE);
        assert_eq!(verdict, Err("it is not for servers".to_owned()));
    }
}

#[test]
fn a_certificate_changed_anywhere_is_refused_and_never_panics() {
    let authority = server(AUTHORITIES[0], "game.example");
    let good = certificate(SERVERS[0]);
    for place in 0..good.len() {
        for bit in 0..8 {
            let mut changed = good.clone();
            changed[place] ^= 1 << bit;
            // The signature's own numbers may be written in more ways than one, and never are here.
            assert!(authority.judge(&changed, JUNE).is_err(), "byte {place}, bit {bit}");
        }
        assert!(authority.judge(&good[..place], JUNE).is_err());
    }
}

#[test]
fn a_refusal_names_the_key_and_what_is_wrong() {
    let trust = Trust::from(server(AUTHORITIES[0], "game.example"));
    let presented = certificate(SERVERS[0]);
    let fingerprint = Fingerprint::of_certificate(&presented);
    let refusal = trust.judge_certificate(&presented, Duration::ZERO).unwrap_err();
    assert_eq!(refusal.presented(), Some(fingerprint));
    let text = refusal.to_string();
    assert!(text.contains(&fingerprint.to_string()) && text.contains("not valid yet"), "{text}");
    assert_eq!(trust.judge(fingerprint), Err(Refusal::NotListed(fingerprint)));
}

#[test]
fn texts_without_an_authority_are_refused_with_what_is_wrong() {
    let [good, _] = AUTHORITIES;
    for (pem, name, wrong) in [
        ("", "a.example", AuthorityError::Nothing),
        ("a text", "a.example", AuthorityError::Nothing),
        (good, "a b", AuthorityError::Name("a b".to_owned())),
        (good, "", AuthorityError::Name(String::new())),
        (&good.replacen("\nMII", "\nMIJ", 1), "a.example", AuthorityError::Certificate(1)),
        (
            &format!("{good}{}", good.replacen("\nMII", "\nMIJ", 1)),
            "a.example",
            AuthorityError::Certificate(2),
        ),
    ] {
        assert_eq!(Authority::for_server(pem, name), Err(wrong), "{pem} {name}");
    }
}
