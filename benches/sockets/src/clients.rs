//! The client process: opens the connections, says so, and sends until it is ended.

use std::io::Read;

use crate::Result;
use crate::transports::Transport;
use crate::pace::pace;
use crate::probe::message;

/// Drives the connections until the input ends.
pub fn run(transport: Transport, server: &str, connections: usize, interval_ms: u64) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    runtime.block_on(async {
        let mut senders = transport.connect(server, connections).await?;
        println!("connected");
        let refused = |error| eprintln!("cannot send: {error}");
        pace(connections, interval_ms, |index| {
            if let Err(error) = senders[index](&message()) {
                refused(error);
            }
        })
        .await
    })
}
