//! The tasks of a shard: its driver, and one for each connection, all on one thread.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::{JoinError, JoinSet};

use super::flow;
use super::registry::Registry;
use super::shard::{Accepted, Events, Shard};

/// A thread that runs the tasks that are spawned on it; it ends with this value.
pub(super) struct Thread {
    handle: Handle,
    /// Ends the thread when it is dropped.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Thread {
    /// Starts the thread of a shard, in the network namespace of the calling thread.
    pub(super) fn start(shard: usize) -> io::Result<Thread> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (end, ended) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name(format!("shard {shard}"));
        let thread = thread.spawn(move || {
            // An error says that the sender is gone.
            let _ = runtime.block_on(ended);
        })?;
        Ok(Thread { handle, end: Some(end), thread: Some(thread) })
    }

    /// Spawns tasks on the thread.
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs a shard until `end` is closed, or its driver fails; then its connections are reset, on both
/// sides.
pub(super) async fn run(
    registry: Arc<Registry>,
    shard: Arc<Shard>,
    mut accepted: mpsc::UnboundedReceiver<Accepted>,
    end: Arc<Semaphore>,
) -> io::Result<()> {
    let mut flows = JoinSet::new();
    let mut drivers = JoinSet::new();
    let events = Events(shard.clone());
    drivers.spawn(::io::run(shard.machine.clone(), shard.carrier.clone(), events));
    let failed = loop {
        tokio::select! {
            Some(accepted) = accepted.recv() => {
                flows.spawn(flow::run(registry.clone(), accepted));
            }
            Some(_) = flows.join_next() => {}
            _ = end.acquire() => break None,
            Some(ended) = drivers.join_next() => break Some(cause(ended)),
        }
    };
    flows.shutdown().await;
    shard.end();
    while drivers.join_next().await.is_some() {}
    failed.map_or(Ok(()), Err)
}

/// Error for which a task that should go on has ended.
pub(super) fn cause(ended: Result<io::Result<()>, JoinError>) -> io::Error {
    match ended {
        Ok(Ok(())) => io::Error::other("its driver ended"),
        Ok(Err(error)) => error,
        Err(error) => io::Error::other(error),
    }
}
