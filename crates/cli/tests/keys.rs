//! `keygen` where the disk takes no more.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::process::Command;

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
