//! `thinstream emulate`: the virtual link in real time, as a relay of UDP datagrams.

mod options;
mod report;

pub use options::{EmulateOptions, LinkOptions, PerDirection, QueueSize};
pub use report::{DirectionReport, EmulateReport, LatenessReport};

use std::net::SocketAddr;

use base::Duration;
use io::{BindError, Clock, Emulator, EmulatorConfig};
use netsim::Link;
use netsim::link::LinkConfigError;

/// Why the relay could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum EmulateError {
    /// The address to listen at cannot be had.
    #[error(transparent)]
    Listen(#[from] BindError),
    /// What was asked of the link contradicts itself.
    #[error(transparent)]
    Link(#[from] LinkConfigError),
    /// The relay would forward to itself, or to nowhere.
    #[error("cannot forward to {0}: {1}")]
    Forward(SocketAddr, &'static str),
    /// A socket failed while the relay ran.
    #[error("the relay ended: {0}")]
    Ended(std::io::Error),
}

/// Runs the relay until `options.duration` is over or the process is asked to end (Ctrl-C, on Unix
/// SIGTERM too), and reports what happened. `on_ready` gets the address at which it listens.
///
/// # Errors
/// See [`EmulateError`]. Errors of single datagrams are counted, not returned.
pub async fn emulate(
    options: &EmulateOptions,
    on_ready: impl FnOnce(SocketAddr),
) -> Result<EmulateReport, EmulateError> {
    emulate_until(options, on_ready, interrupted()).await
}

/// As [`emulate`], but ends with `stop` in the place of signals.
///
/// # Errors
/// As [`emulate`].
pub async fn emulate_until(
    options: &EmulateOptions,
    on_ready: impl FnOnce(SocketAddr),
    stop: impl Future<Output = ()>,
) -> Result<EmulateReport, EmulateError> {
    check_forward(options)?;
    let up = Link::new(options.up.to_config(), options.seed, 0)?;
    let down = Link::new(options.down.to_config(), options.seed, 1)?;
    let clock = Clock::start();
    let config = EmulatorConfig::new(options.listen, options.forward);
    let mut emulator = Emulator::start(config, up, down, clock)?;
    let listen = emulator.local_addr();
    on_ready(listen);

    let end = clock.now() + options.duration.unwrap_or(Duration::MAX);
    tokio::select! {
        error = emulator.failure() => return Err(EmulateError::Ended(error)),
        () = clock.sleep_until(end) => {}
        () = stop => {}
    }
    let ran = clock.now().as_secs_f64();
    Ok(EmulateReport::new(options, listen, ran, &emulator.statistics()))
}

/// Refuses to forward where nobody can be or back to the relay itself, where datagrams would circle.
fn check_forward(options: &EmulateOptions) -> Result<(), EmulateError> {
    let EmulateOptions { listen, forward, .. } = *options;
    let refuse = |reason| Err(EmulateError::Forward(forward, reason));
    if forward.port() == 0 {
        return refuse("port 0 is no server's port");
    }
    if forward.ip().is_unspecified() {
        return refuse("a server has an address, such as 127.0.0.1");
    }
    let same_host = forward.ip() == listen.ip()
        || (listen.ip().is_unspecified() && forward.ip().to_canonical().is_loopback());
    if same_host && forward.port() == listen.port() {
        return refuse("the relay itself listens there");
    }
    Ok(())
}

/// Resolves when the process is asked to end: Ctrl-C, on Unix SIGTERM too.
pub async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        // Without signals only the duration ends the relay.
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests;
