//! `thinstream emulate`: the virtual link in real time, as a relay of UDP datagrams.

mod options;
mod report;

pub use self::report::{DirectionReport, EmulateReport, LatenessReport, PathReport};
/// Descriptions of a link and their texts.
pub use netsim::link::{
    CrossTraffic, Framing, GilbertElliott, Jitter, LossModel, ProfileStep, QueueText, Recording,
    RecordingText, Reorder, parse_profile, parse_recording,
};
pub use options::{EmulateOptions, LinkOptions, PathOptions, PerDirection};

use std::future::poll_fn;
use std::net::SocketAddr;
use std::task::Poll;

use base::Duration;
use io::{BindError, Clock, Emulator, EmulatorConfig};
use netsim::Link;
use netsim::link::LinkConfigError;

/// Reason for which the relay could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum EmulateError {
    /// The address to listen at is not available.
    #[error(transparent)]
    Listen(#[from] BindError),
    /// The settings of the link contradict each other.
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
/// SIGTERM too), and reports what happened. `on_ready` gets the addresses at which it listens, one
/// for each path.
///
/// # Errors
/// See [`EmulateError`]. Errors of single datagrams are counted, not returned.
pub async fn emulate(
    options: &EmulateOptions,
    on_ready: impl FnOnce(&[SocketAddr]),
) -> Result<EmulateReport, EmulateError> {
    emulate_until(options, on_ready, crate::signals::interrupted()).await
}

/// Runs [`emulate`], but ends with `stop` instead of signals.
///
/// # Errors
/// As [`emulate`].
pub async fn emulate_until(
    options: &EmulateOptions,
    on_ready: impl FnOnce(&[SocketAddr]),
    stop: impl Future<Output = ()>,
) -> Result<EmulateReport, EmulateError> {
    options.paths.iter().try_for_each(check_forward)?;
    // Each client takes a descriptor; where the limit cannot be raised, fewer have room.
    #[cfg(target_os = "linux")]
    let _ = io::raise_descriptor_limit();
    let clock = Clock::start();
    let paths = options.paths.iter().enumerate();
    let mut emulators = paths
        .map(|(index, path)| start(options, path, index as u64, clock))
        .collect::<Result<Vec<_>, _>>()?;
    let listen: Vec<_> = emulators.iter().map(Emulator::local_addr).collect();
    on_ready(&listen);

    let end = clock.now() + options.duration.unwrap_or(Duration::MAX);
    let mut failures: Vec<_> =
        emulators.iter_mut().map(|emulator| Box::pin(emulator.failure())).collect();
    let any_failure = poll_fn(|context| {
        let mut polled = failures.iter_mut().map(|failure| failure.as_mut().poll(context));
        polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
    });
    tokio::select! {
        error = any_failure => return Err(EmulateError::Ended(error)),
        () = clock.sleep_until(end) => {}
        () = stop => {}
    }
    drop(failures);
    let ran = clock.now().as_secs_f64();
    let statistics: Vec<_> = emulators.iter().map(Emulator::statistics).collect();
    Ok(EmulateReport::new(options, &listen, ran, &statistics))
}

/// Starts the relay of one path. The links of each draw on random streams of their own.
fn start(
    options: &EmulateOptions,
    path: &PathOptions,
    index: u64,
    clock: Clock,
) -> Result<Emulator, EmulateError> {
    let up = Link::new(path.up.to_config(path.down.delay), options.seed, 2 * index)?;
    let down = Link::new(path.down.to_config(path.up.delay), options.seed, 2 * index + 1)?;
    let mut config = EmulatorConfig::new(path.listen, path.forward);
    let same_family = path.listen.is_ipv4() == path.forward.is_ipv4();
    if options.paths.len() > 1 && same_family && !path.listen.ip().is_unspecified() {
        // A server distinguishes the paths of a client by the addresses that it sees.
        config.source.set_ip(path.listen.ip());
    }
    Ok(Emulator::start(config, up, down, clock)?)
}

/// Refuses to forward to an address that no host can have, or back to the relay itself, where
/// datagrams would circle.
fn check_forward(path: &PathOptions) -> Result<(), EmulateError> {
    let PathOptions { listen, forward, .. } = *path;
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

#[cfg(test)]
mod tests;
