//! Keys, and lists of them, where the disk takes no more.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::process::Command;
use std::time::Duration;

use interop::Process;

#[test]
fn a_disk_that_takes_no_more_leaves_no_half_a_key_and_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let run = |limit: &str| {
        // Beyond the limit a write fails, as on a full disk, once the signal is ignored.
        let script = format!("trap '' XFSZ; {limit} exec \"$0\" keygen key.pem");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_thinstream")]).current_dir(folder.path());
        let output = shell.output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let (made, told) = run("ulimit -f 0;");
    assert!(!made && told.contains("key.pem"), "{told}");
    assert!(!folder.path().join("key.pem").exists());
    let (made, told) = run("");
    assert!(made && folder.path().join("key.pem").exists(), "{told}");
}

#[test]
fn a_disk_that_takes_half_a_line_leaves_the_list_of_known_peers_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("known_peers");
    let mut serve = Command::new(env!("CARGO_BIN_EXE_thinstream"));
    serve.args(["serve", "127.0.0.1:0"]).env("XDG_STATE_HOME", folder.path());
    serve.env_remove("STATE_DIRECTORY");
    let server = Process::start(None, serve).unwrap();
    let line = server.wait_for_line("127.0.0.1:", Duration::from_secs(60)).unwrap();
    let port = line.split("127.0.0.1:").nth(1).unwrap().split(',').next().unwrap();
    let send = |limit: &str| {
        let words = format!("send 127.0.0.1:{port} --count 1 --known-peers known_peers");
        let script = format!("trap '' XFSZ; {limit} exec \"$0\" {words}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_thinstream")]).current_dir(folder.path());
        let output = shell.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    // Room for 12 bytes of a line more.
    let before = format!("{}\n", "#".repeat(499));
    std::fs::write(&list, &before).unwrap();
    let (code, told) = send("ulimit -f 1;");
    assert!(code == Some(2) && told.contains("cannot write \"known_peers\""), "{told}");
    assert_eq!(std::fs::read_to_string(&list).unwrap(), before);
    let (code, told) = send("");
    assert_eq!(code, Some(0), "{told}");
    let lines = std::fs::read_to_string(&list).unwrap();
    assert!(lines.lines().nth(1).unwrap().starts_with(&format!("127.0.0.1:{port} SHA256:")));
}
