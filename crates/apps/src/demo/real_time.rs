//! The demo in real time: servers, emulated links and clients in one process, over loopback UDP.
//!
//! Each policy is a [`Lane`] of its own: a server, a relay with the lossy link, and a client with an
//! endpoint for each flow. All lanes run at the same time and lose the same first transmissions.

mod lane;
mod network;
mod shared;
#[cfg(test)]
mod tests;
mod view;

pub use view::{LivePolicy, LiveView};

use std::sync::{Arc, Mutex};

use base::{Duration, Instant};
use io::Clock;
use lab::scenario::{ThinFlows, pick_loss};

use super::{DemoError, DemoOptions, Outcome};
use crate::files::{EventFile, PacketFile, SharedEventFile, lock, unwritten};
use lane::Lane;

/// How long after the last message was due the rest may take to arrive, and after the user stopped it.
const PATIENCE: Duration = Duration::from_secs(30);
const PATIENCE_WHEN_STOPPED: Duration = Duration::from_secs(5);

/// What all lanes have in common.
struct Setting {
    plan: ThinFlows,
    clock: Clock,
    packets: PacketFile,
    events: SharedEventFile,
    verbose: bool,
}

/// Runs all policies in real time over sockets of this machine and compares them. `view` gets the state
/// of things several times a second. `stop` ends the sending early. Ends when all is delivered or patience
/// is over.
/// Needs a tokio runtime with I/O and time enabled.
///
/// # Errors
/// See [`DemoError`].
pub async fn run_real_time(
    options: &DemoOptions,
    view: &mut (dyn FnMut(&LiveView) + Send),
    stop: impl Future<Output = ()>,
) -> Result<Outcome, DemoError> {
    let plan = options.plan();
    plan.check()?;
    let clock = Clock::start();
    let setting = Setting {
        plan,
        clock,
        packets: PacketFile::create(options.pcap.as_deref(), "clients", clock)?,
        events: Arc::new(Mutex::new(EventFile::create(options.events.as_deref())?)),
        verbose: options.verbose,
    };
    let mut lanes = Vec::new();
    for contender in &options.policies {
        lanes.push(Lane::open(&setting, contender).await?);
    }
    // The same moment for all, a little ahead so that no flow is late from the beginning.
    let start = clock.now() + Duration::from_millis(50);
    lanes.iter_mut().for_each(|lane| lane.start(start));
    let stopped_after = watch(&setting, &lanes, start, view, stop).await;

    let outcomes: Vec<_> = lanes.iter().map(Lane::outcome).collect();
    let loss = pick_loss(outcomes.iter().map(|outcome| &outcome.losses[..]));
    let mut reports = Vec::new();
    for ((contender, outcome), lane) in options.policies.iter().zip(&outcomes).zip(&lanes) {
        let mut report = outcome.meter.report(&contender.name, &contender.description);
        report.ladder = loss.and_then(|loss| lane.draw_ladder(loss));
        reports.push(report);
    }
    for lane in lanes {
        lane.close().await;
    }
    let files = [setting.packets.finish(), lock(&setting.events).finish()];
    let mut report = options.report(reports);
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
    lanes: &[Lane],
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
        lanes.iter().for_each(Lane::take_events);
        let policies: Vec<_> = lanes.iter().map(Lane::live).collect();
        let news = lanes.iter().flat_map(Lane::take_news).collect();
        let all_sent = lanes.iter().all(Lane::has_sent_all);
        let all_delivered = policies.iter().all(|policy| policy.sent <= policy.delivered);
        let planned = setting.plan.workload.limit;
        view(&LiveView { elapsed: now.since(start), planned, all_sent, policies, news });
        if all_sent {
            let since = *all_sent_at.get_or_insert(now);
            if all_delivered || now.since(since) > patience {
                return stopped_after;
            }
        }
    }
}
