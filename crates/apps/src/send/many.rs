//! Many associations at once: a load for a server, reported as one association is.

use std::cell::Cell;
use std::rc::Rc;

use base::{Duration, Instant};
use io::Clock;
use thinstream::Trust;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinSet, LocalSet};

use super::ended::Ended;
use super::meter::Meter;
use super::reach::{self, Reached};
use super::reconnecting::LossReport;
use super::report::SendReport;
use super::run::{PROGRESS, Run};
use super::source::Source;
use super::{Messages, SendFailure, SendOptions};
use crate::files::{PacketFile, unwritten};
use crate::keys::ServerKey;
use crate::notice::Notice;
use crate::stamp;
use crate::transfer::TransferReport;

/// Associations that are set up at the same time.
const AT_ONCE: usize = 128;

/// Descriptors of the process beside those of the associations.
#[cfg(target_os = "linux")]
const OWN_DESCRIPTORS: u64 = 64;

/// Runs [`send_until`](super::send_until) over `options.associations` associations.
pub(super) async fn send(
    options: &SendOptions,
    clock: Clock,
    notice: &mut (dyn FnMut(Notice) + Send),
    stop: impl Future<Output = ()>,
) -> Result<SendReport, SendFailure> {
    check(options)?;
    Source::open(&options.messages, clock)?;
    let SendOptions { to, associations, .. } = options;
    notice(Notice::Line(format!("setting {associations} associations up to {to}")));
    let mut stop = std::pin::pin!(stop);
    let trust = options.server.as_ref().map(ServerKey::trust).transpose()?;
    let packets = PacketFile::create(None, "send", options.encapsulation, clock)?;
    // The first shows what is wrong with all of them, and which key and which address the server
    // has.
    let first = tokio::select! {
        reached = reach::reach(options, trust, clock, &packets) => reached?,
        () = &mut stop => return Err(SendFailure::Interrupted { remote: options.to }),
    };
    let learned = reach::learn(options, &first.association, notice);
    let options = Rc::new(SendOptions { to: first.at, other: None, ..options.clone() });
    let peer = first.association.peer().map(|peer| peer.fingerprint.to_string());
    let trust = options.server.as_ref().map(ServerKey::trust).transpose()?;
    let common = Rc::new(Common {
        meter: Meter::new(options.same_clock || stamp::is_this_machine(options.to)),
        options: Rc::clone(&options),
        clock,
        permits: Semaphore::new(AT_ONCE),
        trust,
        packets,
        ready: Cell::new(0),
        started: watch::Sender::new(None),
        stopped: watch::Sender::new(false),
    });
    let outcomes = LocalSet::new().run_until(common.clone().run_all(first, notice, stop)).await;
    let started = common.started.borrow().unwrap_or_else(|| clock.now());
    let mut report = common.report(clock.now().since(started), &outcomes);
    report.peer = peer;
    report.unwritten = unwritten([learned]);
    Ok(report)
}

/// Whether the options suit many associations.
fn check(options: &SendOptions) -> Result<(), SendFailure> {
    let associations = options.associations;
    let alone = [
        ("--pcap", options.pcap.is_some()),
        ("--events", options.events.is_some()),
        ("--verbose", options.verbose),
        ("--from", matches!(options.messages, Messages::Given { .. })),
        ("--local with a port", options.local.iter().any(|local| local.port() != 0)),
    ];
    if let Some((option, _)) = alone.into_iter().find(|(_, is_used)| *is_used) {
        return Err(SendFailure::OneAssociation { option, associations });
    }
    #[cfg(target_os = "linux")]
    if let Ok(limit) = io::raise_descriptor_limit()
        && u64::from(associations) * options.local.len().max(1) as u64 + OWN_DESCRIPTORS > limit
    {
        return Err(SendFailure::Descriptors { associations, limit });
    }
    Ok(())
}

/// State that the tasks of all associations share.
struct Common {
    options: Rc<SendOptions>,
    clock: Clock,
    meter: Meter,
    permits: Semaphore,
    trust: Option<Trust>,
    packets: PacketFile,
    /// Associations that are set up, or cannot be.
    ready: Cell<usize>,
    /// Time at which the first messages were due: once all are ready.
    started: watch::Sender<Option<Instant>>,
    stopped: watch::Sender<bool>,
}

/// Outcome of one of many associations.
enum Outcome {
    NotSetUp(SendFailure),
    Transferred {
        transfer: Box<TransferReport>,
        failure: Option<Ended>,
        losses: LossReport,
        interrupted: bool,
    },
}

impl Common {
    /// Runs all associations to their end, and reports the progress.
    async fn run_all(
        self: Rc<Self>,
        first: Reached,
        notice: &mut (dyn FnMut(Notice) + Send),
        mut stop: std::pin::Pin<&mut impl Future<Output = ()>>,
    ) -> Vec<Outcome> {
        let mut tasks = JoinSet::new();
        let mut first = Some(first);
        for number in 0..self.options.associations {
            tasks.spawn_local(self.clone().run_one(number, first.take()));
        }
        let mut tick = tokio::time::interval(PROGRESS);
        let (mut outcomes, mut is_stopped, mut is_told) = (Vec::new(), false, false);
        loop {
            tokio::select! {
                done = tasks.join_next() => match done {
                    None => return outcomes,
                    Some(Ok(outcome)) => outcomes.push(outcome),
                    Some(Err(panicked)) => std::panic::resume_unwind(panicked.into_panic()),
                },
                () = stop.as_mut(), if !is_stopped => {
                    is_stopped = true;
                    self.stopped.send_replace(true);
                }
                _ = tick.tick() => {
                    let (ready, all) = (self.ready.get(), self.options.associations);
                    match self.started.borrow().is_some() {
                        false => notice(Notice::Progress(format!("{ready} of {all} set up"))),
                        true if !is_told => {
                            is_told = true;
                            let policy = &self.options.policy_name;
                            notice(Notice::Line(format!("connected to {}, policy {policy}", self.options.to)));
                        }
                        true => notice(Notice::Progress(self.meter.progress())),
                    }
                }
            }
        }
    }

    async fn stop(&self) {
        // The sender lives as long as this.
        let _ = self.stopped.subscribe().wait_for(|stopped| *stopped).await;
    }

    /// Sets an association up, waits for the others, and transfers its messages.
    async fn run_one(self: Rc<Self>, number: u16, reached: Option<Reached>) -> Outcome {
        let reached = match reached {
            Some(reached) => Ok(reached),
            None => self.reach().await,
        };
        self.ready.update(|ready| ready + 1);
        if self.ready.get() == usize::from(self.options.associations) {
            self.started.send_replace(Some(self.clock.now()));
        }
        let _ = self.started.subscribe().wait_for(|started| started.is_some()).await;
        let reached = reached
            .and_then(|reached| Ok((reached, Source::open(&self.messages(number), self.clock)?)));
        let (Reached { endpoint, association, .. }, mut source) = match reached {
            Ok(reached) => reached,
            Err(failure) => return Outcome::NotSetUp(failure),
        };
        let mut run = Run::new(&self.options, self.clock, association, &self.meter, None);
        let ended = run.transfer_all(&mut source, std::pin::pin!(self.stop())).await;
        let transfer = Box::new(run.report());
        let (losses, interrupted) = (run.losses.report, run.interrupted.get());
        drop(run);
        endpoint.close().await;
        Outcome::Transferred { transfer, failure: ended.err(), losses, interrupted }
    }

    async fn reach(&self) -> Result<Reached, SendFailure> {
        let _permit = self.permits.acquire().await;
        let trust = self.trust.clone();
        tokio::select! {
            reached = reach::reach(&self.options, trust, self.clock, &self.packets) => reached,
            () = self.stop() => Err(SendFailure::Interrupted { remote: self.options.to }),
        }
    }

    /// The messages of an association: drawn ones come at times of its own.
    fn messages(&self, number: u16) -> Messages {
        match &self.options.messages {
            Messages::Workload { plan, seed } => {
                Messages::Workload { plan: *plan, seed: seed.wrapping_add(u64::from(number)) }
            }
            others => others.clone(),
        }
    }

    fn report(&self, duration: Duration, outcomes: &[Outcome]) -> SendReport {
        let mut sum =
            SendReport::new(&self.options, duration, &self.meter, TransferReport::default());
        sum.associations = 0;
        let mut why = None;
        for outcome in outcomes {
            match outcome {
                Outcome::NotSetUp(failure) => {
                    sum.associations_failed += 1;
                    why.get_or_insert_with(|| failure.to_string());
                }
                Outcome::Transferred { transfer, failure, losses, interrupted } => {
                    sum.associations += 1;
                    sum.associations_failed += u64::from(failure.is_some());
                    sum.transfer.add(transfer, outcomes.len());
                    sum.losses.add(losses);
                    sum.interrupted |= interrupted;
                    why = why.or(failure.as_ref().map(Ended::to_string));
                }
            }
        }
        let (failed, all) = (sum.associations_failed, outcomes.len());
        sum.failure = why.map(|why| format!("{failed} of {all} associations failed: {why}"));
        sum
    }
}
