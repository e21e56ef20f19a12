//! The demo in real time: servers, emulated links and clients in one process, over loopback UDP.
//!
//! Each policy is a [`Lane`] of its own: a server, a relay with the lossy link, and a client with
//! an endpoint for each flow, encrypted as everywhere. All lanes run at the same time and lose the
//! same first transmissions.

mod decrypted;
mod lane;
mod network;
mod record;
mod shared;
mod steps;
#[cfg(test)]
mod tests;
mod view;

pub use view::{LivePolicy, LiveView};

use std::sync::{Arc, Mutex};

use base::{Duration, Instant};
use io::Clock;
use thinstream::Encapsulation;

use super::error::DemoError;
use super::options::DemoOptions;
use super::plan::measures;
use super::report::Outcome;
use crate::files::{EventFile, PacketFile, SharedEventFile, lock, unwritten};
use lane::Lane;
use record::LAG;

/// Time limit for the rest to arrive, from the last message's due time or from the user's stop.
const PATIENCE: Duration = Duration::from_secs(30);
const PATIENCE_WHEN_STOPPED: Duration = Duration::from_secs(5);

/// Settings common to all lanes.
struct Setting {
    options: Arc<DemoOptions>,
    clock: Clock,
    packets: PacketFile,
    events: SharedEventFile,
    verbose: bool,
}

/// Runs all policies in real time over sockets of this machine and compares them. `view` gets the
/// state of things several times a second. `stop` ends the sending early. Ends when all is
/// delivered or patience is over.
/// Needs a tokio runtime with I/O and time enabled.
///
/// # Errors
/// See [`DemoError`].
pub async fn run_real_time(
    options: &DemoOptions,
    view: &mut (dyn FnMut(&LiveView) + Send),
    stop: impl Future<Output = ()>,
) -> Result<Outcome, DemoError> {
    let plan = options.plan()?;
    let clock = Clock::start();
    let setting = Setting {
        options: Arc::new(options.clone()),
        clock,
        packets: PacketFile::create(
            options.pcap.as_deref(),
            "clients",
            Encapsulation::Secure,
            clock,
        )?,
        events: Arc::new(Mutex::new(EventFile::create(options.events.as_deref())?)),
        verbose: options.verbose,
    };
    let mut lanes = Vec::new();
    for contender in &options.policies {
        lanes.push(Lane::open(&setting, contender).await?);
    }
    // The same moment for all, a little ahead so that no flow is late from the beginning.
    let start = clock.now() + Duration::from_millis(50);
    for (cell, lane) in lanes.iter_mut().enumerate() {
        if let Some(measure) = measures(&plan, cell) {
            lane.start(measure, start);
        }
    }
    let stopped_after = watch(&setting, &mut lanes, start, view, stop).await;
    let runs = lanes.iter_mut().map(|lane| lane.results(&setting)).collect();
    for lane in lanes {
        lane.close().await;
    }
    let files = [setting.packets.finish(), lock(&setting.events).finish()];
    let mut report = options.report(plan, runs);
    if let Some(span) = stopped_after {
        let after = Duration::from_millis(span.as_millis());
        report.parameters.push(("interrupted after".to_owned(), after.to_string()));
        report.interrupted = true;
    }
    Ok(Outcome { report, unwritten: unwritten(files) })
}

/// Shows how it goes until it is over; answers when it was stopped, if it was.
async fn watch(
    setting: &Setting,
    lanes: &mut [Lane],
    start: Instant,
    view: &mut (dyn FnMut(&LiveView) + Send),
    stop: impl Future<Output = ()>,
) -> Option<Duration> {
    let clock = setting.clock;
    let mut tick = tokio::time::interval(std::time::Duration::from_millis(100));
    let (mut all_sent_at, mut patience, mut stopped_after) = (None, PATIENCE, None);
    tokio::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop, if patience == PATIENCE => {
                lanes.iter().for_each(Lane::stop_sending);
                patience = PATIENCE_WHEN_STOPPED;
                stopped_after = Some(clock.now().since(start));
            }
            _ = tick.tick() => {}
        }
        let now = clock.now();
        let until = Instant::ZERO + now.since(Instant::ZERO + LAG);
        lanes.iter_mut().for_each(|lane| lane.take_steps(setting, until));
        let policies: Vec<_> = lanes.iter().filter_map(Lane::live).collect();
        let news = lanes.iter_mut().flat_map(Lane::take_news).collect();
        let all_sent = lanes.iter().all(Lane::has_sent_all);
        let all_delivered = policies.iter().all(|policy| policy.sent <= policy.delivered);
        let planned = setting.options.workload().limit;
        view(&LiveView { elapsed: now.since(start), planned, all_sent, policies, news });
        if all_sent {
            let since = *all_sent_at.get_or_insert(now);
            // What happened just now is not known yet.
            let is_known = now.since(since) > LAG * 2;
            if (all_delivered && is_known) || now.since(since) > patience {
                return stopped_after;
            }
        }
    }
}
