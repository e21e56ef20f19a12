//! Honest clients: new ones again and again, and one that stays.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Time between set-ups, and between messages of the client that stays.
const INTERVAL: Duration = Duration::from_millis(100);
/// Time limit of a client for its set-up and first answer together, and for each later answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Attempts, failures and round trips of honest clients.
#[derive(Clone, Debug, Default)]
pub struct Honest {
    /// Time from the beginning of each set-up to the answer to its first message.
    pub set_ups: Vec<Duration>,
    /// Set-ups without an answer, and why.
    pub failures: Vec<String>,
    /// Round trips of the client that was there before the attack, a message each 100 ms.
    pub round_trips: Vec<Duration>,
    /// Reason for which that client got no further, if so.
    pub ended: Option<String>,
}

/// An honest client of some protocol.
pub(super) trait Client: Sized {
    /// A client with an association or connection to the server.
    async fn connect(server: SocketAddr) -> Result<Self>;
    /// A message that comes back.
    async fn exchange(&mut self) -> Result<()>;
    /// The client's end, in order.
    async fn close(self) -> Result<()>;
}

impl Honest {
    /// Sets up clients at `server`, one each 100 ms, while another goes on, until `over` and at
    /// least nineteen times.
    pub(super) fn meet<C: Client>(server: SocketAddr, over: &AtomicBool) -> Result<Honest> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.context("no runtime for honest clients")?;
        runtime.block_on(async {
            let mut honest = Honest::default();
            let mut stayer = C::connect(server).await?;
            stayer.exchange().await?;
            while !over.load(Ordering::Relaxed) || honest.attempts() < 19 {
                let begun = Instant::now();
                match tokio::time::timeout(PATIENCE, set_up::<C>(server)).await {
                    Ok(Ok(())) => honest.set_ups.push(begun.elapsed()),
                    Ok(Err(error)) => honest.failures.push(format!("{error:#}")),
                    Err(_) => honest.failures.push(format!("no answer within {PATIENCE:?}")),
                }
                honest.go_on(&mut stayer).await;
                tokio::time::sleep(INTERVAL.saturating_sub(begun.elapsed())).await;
            }
            Ok(honest)
        })
    }

    /// Set-ups, those that failed among them.
    pub fn attempts(&self) -> usize {
        self.set_ups.len() + self.failures.len()
    }

    /// The time within which this share of the set-ups that succeeded had their answer.
    pub fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.set_ups.clone();
        sorted.sort_unstable();
        results::quantile_of_sorted(&sorted, share).unwrap_or_default()
    }

    /// Set-ups that took longer than this.
    pub fn later_than(&self, limit: Duration) -> usize {
        self.set_ups.iter().filter(|took| **took > limit).count()
    }

    /// Complaints of honest clients, a sentence each.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some(first) = self.failures.first() {
            let (failed, all) = (self.failures.len(), self.attempts());
            faults.push(format!("{failed} of {all} honest set-ups failed, the first: {first}"));
        }
        faults.extend(self.ended.iter().map(|why| format!("the client that was there: {why}")));
        faults
    }

    /// A message of the client that stays, and its answer.
    async fn go_on(&mut self, stayer: &mut impl Client) {
        if self.ended.is_some() {
            return;
        }
        let begun = Instant::now();
        match tokio::time::timeout(PATIENCE, stayer.exchange()).await {
            Ok(Ok(())) => self.round_trips.push(begun.elapsed()),
            Ok(Err(error)) => self.ended = Some(format!("{error:#}")),
            Err(_) => self.ended = Some(format!("no answer within {PATIENCE:?}")),
        }
    }
}

async fn set_up<C: Client>(server: SocketAddr) -> Result<()> {
    let mut client = C::connect(server).await?;
    client.exchange().await?;
    client.close().await
}
