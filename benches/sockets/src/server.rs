//! The server process: answers each message, and prints what it measured for each line that it reads.

use std::io::BufRead;

use crate::Result;
use crate::probe::Probe;
use crate::transports::Transport;

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
    let probe = Probe::new()?;
    let serving = probe.clone();
    // The marks come from a thread of their own, which sleeps while messages are counted.
    std::thread::spawn(move || {
        for _ in std::io::stdin().lock().lines().map_while(std::result::Result::ok) {
            match probe.mark() {
                Ok(numbers) => println!("{numbers}"),
                Err(error) => eprintln!("no numbers: {error}"),
            }
        }
        std::process::exit(0);
    });
    runtime.block_on(transport.serve(serving, threads))
}
