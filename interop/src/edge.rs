//! An edge in this process, in a namespace.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use apps::edge::{EdgeNotice, EdgeOptions, EdgeReport, EdgeStatus, edge_until};
use tokio::sync::Semaphore;

use crate::namespace::Namespace;

/// Time limit for any step, even on a slow machine.
const LIMIT: Duration = Duration::from_secs(120);

/// An edge on a thread of its own.
pub struct RunningEdge {
    stop: Arc<Semaphore>,
    seen: Arc<Mutex<EdgeSeen>>,
    thread: Option<JoinHandle<Result<EdgeReport>>>,
}

/// The latest report of the edge.
#[derive(Default)]
pub struct EdgeSeen {
    /// Address at which it serves metrics.
    pub metrics: Option<SocketAddr>,
    /// The edge's state, once it has reported one.
    pub status: Option<EdgeStatus>,
    /// Whether it drains: it accepts no connections and ends with the last one.
    pub draining: bool,
}

impl RunningEdge {
    /// Starts it, and waits until it is there.
    ///
    /// # Errors
    /// With why it is not.
    pub fn start(namespace: &Namespace, options: EdgeOptions) -> Result<RunningEdge> {
        let stop = Arc::new(Semaphore::new(0));
        let seen = Arc::<Mutex<EdgeSeen>>::default();
        let (ready, is_ready) = mpsc::channel();
        let (namespace, stopped, shared) = (namespace.clone(), stop.clone(), seen.clone());
        let thread = std::thread::spawn(move || {
            namespace.enter(|| -> Result<EdgeReport> {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                let mut notice = |notice| {
                    let mut seen = lock(&shared);
                    match notice {
                        EdgeNotice::Ready { metrics, .. } => {
                            seen.metrics = metrics;
                            // No client waits for it where it came too late.
                            let _ = ready.send(());
                        }
                        EdgeNotice::Status(status) => seen.status = Some(status),
                        EdgeNotice::Draining { .. } => seen.draining = true,
                        EdgeNotice::RulesLost { .. } | EdgeNotice::RulesRestored => {}
                    }
                };
                let stop = || async {
                    if let Ok(permit) = stopped.acquire().await {
                        permit.forget();
                    }
                };
                Ok(runtime.block_on(edge_until(&options, &mut notice, stop))?)
            })?
        });
        let edge = RunningEdge { stop, seen, thread: Some(thread) };
        match is_ready.recv_timeout(LIMIT) {
            Ok(()) => Ok(edge),
            Err(mpsc::RecvTimeoutError::Timeout) => bail!("the edge does not come up"),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                edge.report()?;
                bail!("the edge ended before it was up")
            }
        }
    }

    /// Waits until `look` finds something in what it tells.
    ///
    /// # Errors
    /// When it ends before, or nothing is found for two minutes.
    pub fn wait<T>(&self, what: &str, mut look: impl FnMut(&EdgeSeen) -> Option<T>) -> Result<T> {
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(found) = look(&lock(&self.seen)) {
                return Ok(found);
            }
            let ended = self.thread.as_ref().is_none_or(JoinHandle::is_finished);
            if ended || Instant::now() > deadline {
                bail!("waited in vain: {what}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Asks it to drain, or to end at once the second time.
    pub fn ask_to_end(&self) {
        self.stop.add_permits(1);
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// With why it ended, if not in order.
    pub fn report(mut self) -> Result<EdgeReport> {
        let thread = self.thread.take().context("an edge ends once")?;
        thread.join().map_err(|_| anyhow!("the edge's thread died"))?
    }

    /// Asks it to drain, and waits for its end.
    ///
    /// # Errors
    /// As [`RunningEdge::report`].
    pub fn end(self) -> Result<EdgeReport> {
        self.ask_to_end();
        self.report()
    }
}

fn lock(seen: &Mutex<EdgeSeen>) -> MutexGuard<'_, EdgeSeen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}
