//! The client process: opens the connections, says so, and sends until it is told to stop.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::answers::Answers;
use crate::pace::pace;
use crate::probe::message;
use crate::transports::Transport;
use crate::{Result, input};

/// Time that the last answers may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Drives the connections until a line is read; then waits for the answers, prints how many
/// messages and answers there were, how many answers were misplaced and how many connections
/// refused a message, and ends with the input.
pub fn run(transport: Transport, server: &str, connections: usize, interval_ms: u64) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stopped = Arc::new(AtomicBool::new(false));
    let stopping = Arc::clone(&stopped);
    input::follow(move || stopping.store(true, Ordering::Relaxed));
    runtime.block_on(async {
        let answers = Answers::default();
        let mut senders = transport.connect(server, connections, &answers).await?;
        println!("connected");
        let (mut sent, mut refusing) = (vec![0_u64; connections], BTreeSet::new());
        pace(connections, interval_ms, |index| {
            match senders[index](&message(sent[index])) {
                Ok(()) => sent[index] += 1,
                Err(error) if refusing.insert(index) => {
                    eprintln!("cannot send on connection {index}: {error}");
                }
                Err(_) => {}
            }
            !stopped.load(Ordering::Relaxed)
        })
        .await?;
        let (sent, start) = (sent.iter().sum::<u64>(), Instant::now());
        while answers.arrived() < sent && start.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        println!("{sent} {} {} {}", answers.arrived(), answers.misplaced(), refusing.len());
        std::future::pending().await
    })
}
