//! The server process: answers each message, and prints what it measured for each line that it
//! reads.

use crate::probe::Probe;
use crate::transports::Transport;
use crate::{Result, input};

/// Serves until the input ends.
pub fn run(transport: Transport, threads: usize) -> Result<()> {
    let mut builder = match threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    if threads > 1 {
        builder.worker_threads(threads);
    }
    let runtime = builder.enable_all().build()?;
    let probe = Probe::new();
    let serving = probe.clone();
    input::follow(move || match probe.mark() {
        Ok(numbers) => println!("{numbers}"),
        Err(error) => eprintln!("no numbers: {error}"),
    });
    runtime.block_on(transport.serve(serving, threads))
}
