//! One client of a measuring server, and what the server counts of all of them.

use std::sync::{Arc, Mutex};

use lab::Probe;
use results::LatencyRecorder;
use thinstream::{Association, AssociationError, Message, SendError, SendOptions, TimedEvent};
use tokio::sync::mpsc::UnboundedSender;

use super::Server;
use crate::files::{SharedEventFile, lock};
use crate::stamp::{self, MEASURED};
use crate::{paths, trouble};

/// Counts of a server over all clients.
#[derive(Default)]
pub(super) struct Totals {
    pub(super) clients: u64,
    pub(super) still_there: u64,
    pub(super) failed: u64,
    pub(super) messages: u64,
    pub(super) bytes: u64,
    /// Measuring messages that did not come as they were sent.
    pub(super) damaged: u64,
    pub(super) one_way: LatencyRecorder,
    /// Messages whose sender's clock is another one.
    pub(super) unclocked: u64,
    pub(super) retransmissions: crate::retransmissions::Retransmissions,
}

impl Totals {
    /// A client begins; its number, from 1.
    pub(super) fn begin(&mut self) -> u64 {
        self.clients += 1;
        self.clients
    }

    pub(super) fn progress(&self, now: usize) -> String {
        let Totals { messages, clients, .. } = self;
        format!("{now} of {clients} clients, {messages} messages, {} B", self.bytes)
    }
}

/// A client being served, from its association's beginning to its end.
pub(super) struct Client {
    number: u64,
    association: Association,
    echo: bool,
    /// Whether its clock is ours.
    same_clock: bool,
    policy_name: String,
    events: SharedEventFile,
    verbose: bool,
    totals: Arc<Mutex<Totals>>,
    say: UnboundedSender<String>,
}

impl Client {
    pub(super) fn new(
        server: &Server<'_>,
        number: u64,
        association: Association,
        totals: &Arc<Mutex<Totals>>,
        say: &UnboundedSender<String>,
    ) -> Client {
        let options = server.options;
        let same_clock = options.same_clock || stamp::is_this_machine(association.remote());
        let verbose = options.verbose;
        if verbose || lock(&server.events).is_open() {
            association.record_recovery_events(true);
        }
        Client {
            number,
            association,
            echo: options.echo,
            same_clock,
            policy_name: options.policy_name.clone(),
            events: Arc::clone(&server.events),
            verbose,
            totals: Arc::clone(totals),
            say: say.clone(),
        }
    }

    /// Serves until the association ends.
    pub(super) async fn serve(self) {
        let mut tick = tokio::time::interval(std::time::Duration::from_millis(100));
        let recording = self.verbose || lock(&self.events).is_open();
        let ended = loop {
            tokio::select! {
                received = self.association.receive() => match received {
                    Ok(Some(message)) => {
                        if let Err(SendError::Ended(error)) = self.on_message(message).await {
                            break Err(error);
                        }
                    }
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                },
                Some(lines) = paths::next_changes(&self.association) => {
                    for line in lines {
                        let _ = self.say.send(format!("client {}: {line}", self.number));
                    }
                }
                _ = tick.tick(), if recording => self.take_events(),
            }
        };
        self.end(ended);
    }

    async fn on_message(&self, message: Message) -> Result<(), SendError> {
        let clock = self.association.clock();
        let received = stamp::wall(clock, clock.now());
        let measured = message.ppid == MEASURED;
        // An answer repeats the message, so it is put together before the message is taken apart.
        let answer = (self.echo && measured).then(|| stamp::answer(received, &message.payload));
        let (stream, ppid, unordered) = (message.stream, message.ppid, message.unordered);
        let payload = message.payload.into_bytes();
        {
            let mut totals = lock(&self.totals);
            totals.messages += 1;
            totals.bytes += payload.len() as u64;
            if measured {
                match Probe::decode(&payload) {
                    Err(_) => totals.damaged += 1,
                    Ok(probe) => match stamp::between(probe.due, received) {
                        Some(latency) if self.same_clock => totals.one_way.record(latency),
                        _ => totals.unclocked += 1,
                    },
                }
            }
        }
        if !self.echo || stream.0 >= self.association.outbound_streams() {
            return Ok(());
        }
        let options = SendOptions { ppid, unordered, ..SendOptions::default() };
        self.association.send_with(stream, answer.unwrap_or(payload), options).await
    }

    fn take_events(&self) {
        let first_unit = self.association.first_unit().unwrap_or_default();
        for event in self.association.recovery_events() {
            let flow = self.number as u32;
            lock(&self.events).write(&self.policy_name, flow, first_unit, &event);
            self.tell(first_unit, &event);
        }
    }

    fn tell(&self, first_unit: u64, event: &TimedEvent) {
        if let Some(text) = trouble::describe(first_unit, event).filter(|_| self.verbose) {
            let _ = self.say.send(format!("client {}: {text}", self.number));
        }
    }

    fn end(&self, ended: Result<(), AssociationError>) {
        self.take_events();
        let mut totals = lock(&self.totals);
        if let Some(stats) = self.association.stats() {
            totals.retransmissions.add(stats.recovery.retransmissions.into());
        }
        let how = match ended {
            Ok(()) => "closed".to_owned(),
            Err(error) => {
                totals.failed += 1;
                error.to_string()
            }
        };
        drop(totals);
        let _ = self.say.send(format!("client {}: {how}", self.number));
    }
}
