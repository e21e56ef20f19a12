//! Few file descriptors: each command that uses the network says so, or works, and never panics.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::process::{Command, Output};

/// Exit code of the loader if a program may not even open its libraries.
const NOT_LOADED: i32 = 127;

fn run(limit: u32, arguments: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_thinstream");
    let script = format!("ulimit -n {limit}; exec {program} {arguments}");
    Command::new("sh").args(["-c", &script]).output().unwrap()
}

#[test]
fn with_few_descriptors_commands_name_them_or_work_and_never_panic() {
    for arguments in [
        "send 127.0.0.1:9 --count 1 --connect-timeout 100ms",
        "serve 127.0.0.1:0 --duration 10ms",
        "demo --duration 10ms",
        "emulate --listen 127.0.0.1:0 --forward 127.0.0.1:9 --duration 10ms",
    ] {
        let (mut named, mut worked) = (0, 0);
        for limit in 3..=24 {
            let output = run(limit, arguments);
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!text.contains("panicked"), "{arguments}, limit {limit}: {text}");
            match output.status.code() {
                Some(NOT_LOADED) => assert!(limit < 6, "{arguments}, limit {limit}: {text}"),
                Some(3) if text.contains("descriptors") => {
                    named += 1;
                    assert!(text.lines().count() <= 2 && text.contains("ulimit -n"), "{text}");
                }
                // The network's own failures, which few descriptors are not.
                Some(0 | 3) => worked += 1,
                other => panic!("{arguments}, limit {limit}: {other:?} {text}"),
            }
        }
        assert!(named >= 3 && worked >= 6, "{arguments}: {named} named, {worked} worked");
    }
}
