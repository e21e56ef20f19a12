//! Certificates of an authority made with OpenSSL, as docs/secure.md says, through the command as a
//! process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use interop::{Process, available};
use support::{served, thinstream};

/// Runs a command to its end; all that it said.
fn said(output: Output) -> (bool, String) {
    let text = [output.stdout, output.stderr].map(|part| String::from_utf8(part).unwrap());
    (output.status.success(), text.concat())
}

fn openssl(folder: &Path, words: &str) {
    let (done, text) =
        said(Command::new("openssl").args(words.split(' ')).current_dir(folder).output().unwrap());
    assert!(done, "openssl {words}: {text}");
}

/// A key of `thinstream keygen` with a certificate that `authority` signed, in one file.
fn certified(folder: &Path, name: &str, names: &str, authority: &str) {
    let (done, text) = said(thinstream(folder, &format!("keygen {name}.key")).output().unwrap());
    assert!(done, "{text}");
    openssl(
        folder,
        &format!(
            "req -new -key {name}.key -subj /CN={name} -addext subjectAltName={names} -out {name}.request"
        ),
    );
    openssl(
        folder,
        &format!(
            "x509 -req -in {name}.request -CA {authority}.pem -CAkey {authority}.key -CAcreateserial -days 365 \
             -copy_extensions copy -out {name}.certificate"
        ),
    );
    let read = |what| std::fs::read_to_string(folder.join(format!("{name}.{what}"))).unwrap();
    let file = folder.join(format!("{name}.pem"));
    std::fs::write(&file, read("key") + &read("certificate")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
}

fn authority(folder: &Path, name: &str) {
    openssl(
        folder,
        &format!(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj /CN={name} -keyout {name}.key -out {name}.pem"
        ),
    );
}

/// A server at a free port, and that port.
fn serve(folder: &Path, words: &str) -> (Process, String) {
    let (server, at) = served(folder, &format!("serve 127.0.0.1:0 {words}"));
    (server, at.port().to_string())
}

fn send(folder: &Path, to: &str, words: &str) -> (bool, String) {
    let words = format!("send {to} --count 3 --connect-timeout 5s {words}");
    said(thinstream(folder, &words).output().unwrap())
}

#[test]
fn a_server_and_clients_with_certificates_of_an_authority_meet_and_others_do_not() {
    let found =
        interop::program("openssl", "openssl").and(interop::program("setpriv", "util-linux"));
    let Some(_) = available(found) else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    authority(folder, "ours");
    authority(folder, "theirs");
    certified(folder, "server", "DNS:localhost,IP:127.0.0.1", "ours");
    certified(folder, "elsewhere", "DNS:game.example", "ours");
    certified(folder, "client", "DNS:alice.example", "ours");
    certified(folder, "stranger", "DNS:alice.example", "theirs");
    let (_server, port) = serve(folder, "--key server.pem --ca ours.pem");
    for host in ["localhost", "127.0.0.1"] {
        let (done, text) =
            send(folder, &format!("{host}:{port}"), "--ca ours.pem --key client.pem");
        assert!(done, "{host}: {text}");
    }
    // The server refuses this client, and says nothing.
    let at = format!("127.0.0.1:{port}");
    let (done, text) = send(folder, &at, "--ca ours.pem --key stranger.pem");
    assert!(!done && text.contains("does not accept this side's key"), "{text}");
    // The client refuses this server: its authority is another.
    let (done, text) = send(folder, &at, "--ca theirs.pem --key client.pem");
    assert!(!done && text.contains("is not trusted"), "{text}");
    // And this one: its certificate is for another host.
    let (_elsewhere, port) = serve(folder, "--key elsewhere.pem --ca ours.pem");
    let (done, text) = send(folder, &format!("127.0.0.1:{port}"), "--ca ours.pem --key client.pem");
    assert!(!done && text.contains("is not trusted"), "{text}");
}
