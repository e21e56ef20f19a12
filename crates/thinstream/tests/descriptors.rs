//! File descriptors of an endpoint. Alone in its process, since descriptors are counted.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::*;

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Sockets of a server: what only acknowledges arrives at the second.
const SERVER: usize = 2;

/// Timers of the kernel that a process may have, one for each of its first endpoints.
const TIMERS: usize = 16;

#[tokio::test]
async fn a_client_takes_one_file_descriptor_and_the_first_endpoints_of_a_process_a_timer_too() {
    let mut taken = open_descriptors();
    let server = server();
    let mut ends = Vec::new();
    for wanted in [SERVER + 20 + TIMERS, 20] {
        for _ in 0..20 {
            let client = within(connect(server.local_addr(), quick_options())).await.unwrap();
            client.send(ZERO, "message").await.unwrap();
            ends.push((client, within(server.accept()).await.unwrap()));
        }
        let before = std::mem::replace(&mut taken, open_descriptors());
        assert_eq!(taken, before + wanted);
    }
}
