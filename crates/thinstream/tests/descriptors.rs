//! File descriptors of an endpoint. Alone in its process, since descriptors are counted.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::*;

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[tokio::test]
async fn an_endpoint_takes_one_file_descriptor() {
    let server = server();
    let before = open_descriptors();
    let mut clients = Vec::new();
    for _ in 0..20 {
        let client = within(connect(server.local_addr(), quick_options())).await.unwrap();
        client.send(ZERO, "message").await.unwrap();
        clients.push((client, within(server.accept()).await.unwrap()));
    }
    assert_eq!(open_descriptors(), before + 20);
}
