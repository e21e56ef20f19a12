//! File descriptors: whether there are enough for a command that uses the network.

use std::fs::File;

/// Descriptors that a command takes before its first packet: for the runtime, its signals, a
/// socket, and what it reads and writes.
const NEEDED: usize = 10;

/// There are too few file descriptors.
#[derive(Debug, thiserror::Error)]
#[error(
    "only {left} file descriptors are left of the {NEEDED} that it takes: raise the limit (ulimit -n)"
)]
pub struct TooFewDescriptors {
    left: usize,
}

/// Whether the system gives as many as a command takes. To be asked before the runtime is made,
/// which panics where there are too few for its signals.
///
/// # Errors
/// [`TooFewDescriptors`], with the number that there are.
pub fn check_descriptors() -> Result<(), TooFewDescriptors> {
    let mut open = Vec::new();
    while open.len() < NEEDED {
        match File::open("/dev/null") {
            Ok(file) => open.push(file),
            Err(error) if is_shortage(&error) => {
                return Err(TooFewDescriptors { left: open.len() });
            }
            // Without that device there is nothing to be learned.
            Err(_) => break,
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn is_shortage(error: &std::io::Error) -> bool {
    io::is_shortage(error)
}

#[cfg(not(target_os = "linux"))]
fn is_shortage(_error: &std::io::Error) -> bool {
    false
}
