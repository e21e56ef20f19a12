//! A transfer over an association: messages out, answers in, and reports of it meanwhile.

use std::cell::{Cell, RefCell};
use std::pin::Pin;

use base::{Duration, Instant};
use io::Clock;
use thinstream::{Association, Reliability, SendError, StreamId};

use super::SendOptions;
use super::ended::Ended;
use super::meter::Meter;
use super::reconnecting::{self, Losses};
use super::source::Source;
use crate::files::EventFile;
use crate::notice::Notice;
use crate::transfer::TransferReport;
use crate::{paths, stamp, trouble};

/// Time between two reports of progress.
pub(super) const PROGRESS: std::time::Duration = std::time::Duration::from_millis(200);

/// Receiver of notices, and the file of events.
pub(super) type Outputs<'a> = (&'a mut (dyn FnMut(Notice) + Send), EventFile);

/// A transfer under way: an association, its messages and their answers.
pub(super) struct Run<'a> {
    options: &'a SendOptions,
    clock: Clock,
    pub(super) association: Association,
    /// Counts of all associations of the command.
    meter: &'a Meter,
    /// Messages of this association, and their answers.
    sent: Cell<u64>,
    answers: Cell<u64>,
    /// Output; none where the association is one of many.
    outputs: Option<RefCell<Outputs<'a>>>,
    /// The process was asked to end before all was sent.
    pub(super) interrupted: Cell<bool>,
    pub(super) losses: Losses,
    /// Counts of associations that were replaced after a failure.
    earlier: TransferReport,
    /// The report once the association has failed: nothing can be read of one that was replaced.
    failed: Option<TransferReport>,
    /// Messages whose answers do not come, since their association failed.
    lost: u64,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        options: &'a SendOptions,
        clock: Clock,
        association: Association,
        meter: &'a Meter,
        outputs: Option<Outputs<'a>>,
    ) -> Run<'a> {
        let run = Run {
            options,
            clock,
            association,
            meter,
            sent: Cell::new(0),
            answers: Cell::new(0),
            outputs: outputs.map(RefCell::new),
            interrupted: Cell::new(false),
            losses: Losses::default(),
            earlier: TransferReport::default(),
            failed: None,
            lost: 0,
        };
        run.association.record_recovery_events(run.records());
        run
    }

    /// The association, and the file of events, in the end.
    pub(super) fn finish(self) -> (Association, Option<EventFile>) {
        (self.association, self.outputs.map(|outputs| outputs.into_inner().1))
    }

    fn records(&self) -> bool {
        let outputs = self.outputs.as_ref().map(|outputs| outputs.borrow());
        outputs.is_some_and(|outputs| self.options.verbose || outputs.1.is_open())
    }

    /// Transfers, by as many associations as it takes if that is wanted.
    pub(super) async fn transfer_all(
        &mut self,
        source: &mut Source,
        mut stop: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<(), Ended> {
        loop {
            let ended = self.transfer(source, stop.as_mut()).await;
            let Err(Ended::Association(error)) = &ended else { return ended };
            let left = self.losses.on_failure(self.clock.now(), self.association.stats().as_ref());
            self.failed = Some(self.report());
            let again = self.options.reconnect && !self.interrupted.get();
            if !again || !reconnecting::may_help(error) {
                return ended;
            }
            self.say(format!("{error}; {left}"));
            self.take_events();
            let anew = tokio::select! {
                anew = reconnecting::reconnect(self.options, self.clock, &self.association) => anew,
                () = stop.as_mut() => {
                    self.interrupted.set(true);
                    return ended;
                }
            };
            match anew {
                Ok(anew) => self.go_on_with(anew),
                Err(failure) => {
                    self.say(format!("cannot connect again: {failure}"));
                    return ended;
                }
            }
        }
    }

    /// The report of the association, with the counts of those before it.
    pub(super) fn report(&self) -> TransferReport {
        if let Some(report) = &self.failed {
            return report.clone();
        }
        let stats = self.association.stats();
        let report = stats.map(|stats| TransferReport::new(&stats, self.options.encapsulation));
        let mut report = report.unwrap_or_default();
        report.add_counts(&self.earlier);
        report
    }

    fn go_on_with(&mut self, anew: Association) {
        self.earlier = self.failed.take().unwrap_or_default();
        self.lost = self.answers_missing();
        anew.record_recovery_events(self.records());
        self.association = anew;
        let text = self.losses.on_reconnected(self.clock.now());
        self.say(text);
    }

    fn say(&self, text: String) {
        if let Some(outputs) = &self.outputs {
            (outputs.borrow_mut().0)(Notice::Line(text));
        }
    }

    fn answers_missing(&self) -> u64 {
        self.sent.get().saturating_sub(self.answers.get())
    }

    /// Sends, receives answers and reports the progress until all is done and closed.
    async fn transfer(
        &self,
        source: &mut Source,
        stop: impl Future<Output = ()>,
    ) -> Result<(), Ended> {
        let sending = async {
            let sent = tokio::select! {
                sent = self.send_all(source) => sent,
                () = stop => {
                    self.interrupted.set(true);
                    Ok(())
                }
            };
            if !matches!(sent, Err(Ended::Association(_))) {
                // What was sent before a line that is no message counts.
                self.await_answers().await;
                self.shut_down().await?;
            }
            sent
        };
        tokio::select! {
            done = sending => done,
            failed = self.receive_all() => failed,
            never = self.tell() => match never {},
        }
    }

    async fn send_all(&self, source: &mut Source) -> Result<(), Ended> {
        let reliability = self.options.lifetime.map_or(Reliability::Full, Reliability::Lifetime);
        while let Some(message) = source.next().await? {
            let stream = StreamId((self.sent.get() % u64::from(self.options.streams)) as u16);
            let options = thinstream::SendOptions {
                ppid: message.ppid,
                unordered: !self.options.ordered,
                reliability,
                ..thinstream::SendOptions::default()
            };
            let sent = self.association.send_with(stream, message.payload.clone(), options).await;
            // One that still waited for room when the process was asked to end was never sent.
            self.meter.on_sent(stream, &message);
            self.sent.update(|sent| sent + 1);
            match sent {
                Ok(()) => {}
                Err(SendError::Ended(error)) => return Err(Ended::Association(error)),
                Err(error) => return Err(Ended::Input(error.to_string())),
            }
        }
        Ok(())
    }

    async fn receive_all(&self) -> Result<(), Ended> {
        loop {
            match self.association.receive().await {
                Ok(Some(message)) => {
                    self.answers.update(|answers| answers + 1);
                    self.meter.on_answer(stamp::wall(self.clock, self.clock.now()), message);
                }
                // Closed by either side: the sending part sees to the rest.
                Ok(None) => return std::future::pending().await,
                Err(error) => return Err(Ended::Association(error)),
            }
        }
    }

    /// Waits for answers until all are there, patience ends, or the server obviously sends none.
    async fn await_answers(&self) {
        const IDLE: Duration = Duration::from_secs(2);
        let begin = self.clock.now();
        let mut settled_since: Option<Instant> = None;
        while self.answers_missing() > self.given_up() {
            let now = self.clock.now();
            let settled = self.association.is_settled();
            settled_since = settled_since.filter(|_| settled).or(settled.then_some(now));
            let idle = settled_since.is_some_and(|since| now.since(since) > IDLE);
            let silent = idle && self.answers.get() == 0;
            if silent || now.since(begin) > self.options.patience {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    /// Messages that grew too old, or were left behind by an association that failed.
    fn given_up(&self) -> u64 {
        let abandoned = self.association.stats().map(|stats| stats.abandoned);
        self.lost + abandoned.map_or(0, |abandoned| abandoned.unsent + abandoned.sent)
    }

    async fn shut_down(&self) -> Result<(), Ended> {
        let closing = self.association.shutdown();
        match tokio::time::timeout(self.options.patience.into(), closing).await {
            Ok(closed) => closed.map_err(Ended::Association),
            Err(_) => Err(Ended::Impatient),
        }
    }

    /// Reports progress and paths, if it is wanted.
    async fn tell(&self) -> std::convert::Infallible {
        let Some(outputs) = &self.outputs else { return std::future::pending().await };
        tokio::select! {
            never = self.tell_progress(outputs) => never,
            never = self.tell_paths(outputs) => never,
        }
    }

    async fn tell_progress(&self, outputs: &RefCell<Outputs<'_>>) -> std::convert::Infallible {
        let mut tick = tokio::time::interval(PROGRESS);
        loop {
            tick.tick().await;
            self.take_events();
            let again = self.association.stats().map_or(0, |s| s.recovery.retransmissions.total());
            let text = format!("{}, {again} sent again", self.meter.progress());
            (outputs.borrow_mut().0)(Notice::Progress(text));
        }
    }

    async fn tell_paths(&self, outputs: &RefCell<Outputs<'_>>) -> std::convert::Infallible {
        while let Some(lines) = paths::next_changes(&self.association).await {
            let notice = &mut *outputs.borrow_mut().0;
            lines.into_iter().for_each(|line| notice(Notice::Line(line)));
        }
        std::future::pending().await
    }

    /// Writes down and tells what recovery did.
    pub(super) fn take_events(&self) {
        let Some(outputs) = &self.outputs else { return };
        let first_unit = self.association.first_unit().unwrap_or_default();
        let (notice, file) = &mut *outputs.borrow_mut();
        for event in self.association.recovery_events() {
            file.write(&self.options.policy_name, 0, first_unit, &event);
            if let Some(text) =
                trouble::describe(first_unit, &event).filter(|_| self.options.verbose)
            {
                notice(Notice::Line(text));
            }
        }
    }
}
