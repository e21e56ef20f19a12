//! The driver that runs a machine over real sockets in real time.
//!
//! One task, [`run`], feeds the machine with datagrams and time, and sends what it has to send. The
//! application calls the machine through [`Shared::call`] from any task or thread. What a call
//! queues leaves within the call where nothing else is under way; while the driver is at work, or
//! calls follow each other closely, the driver sends it with the rest, in as few packets and system
//! calls as can be.

mod hearing;
mod hook;
mod outbox;
mod shared;

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use base::Machine;

pub use self::hook::Hook;
use self::outbox::Outbox;
use self::shared::Next;
pub use self::shared::Shared;
use crate::carrier::{Carrier, RecvBatch};

/// Runs the machine until [`Shared::close`], or until the socket fails.
///
/// The machine's datagrams are drained as the contract of [`Machine`] says: before each input of a
/// peer that had one already, and before time. Tasks that the hook wakes run before the last drain,
/// so that their answers leave in the same packets as acknowledgements. Needs a tokio runtime with
/// I/O enabled.
pub async fn run<M, T, H>(shared: Arc<Shared<M>>, carrier: Arc<T>, hook: H) -> io::Result<()>
where
    M: Machine + Send + 'static,
    T: Carrier,
    H: Hook<M> + 'static,
{
    /// Buffers of 64 KiB that one receiving system call may fill.
    const RECV_SLOTS: usize = 16;
    let mut inbox = RecvBatch::new(RECV_SLOTS);
    let mut sending = Outbox::default();
    let _driven = shared.begin(hook, Arc::clone(&carrier))?;
    loop {
        // Read before the last drain, so that what was queued before closing is sent.
        let closed = shared.is_closed();
        if shared.feed(&mut inbox) {
            after_others().await;
        }
        while shared.next(&mut sending) == Next::Send {
            carrier.send(&sending.transmits, &sending.buffer).await;
            sending.clear();
        }
        // A machine that is always due must not keep other tasks from running.
        tokio::task::consume_budget().await;
        if inbox.has_any() {
            continue;
        }
        if closed {
            return Ok(());
        }
        wait(&shared, &*carrier, &mut inbox).await?;
    }
}

/// Waits for datagrams, work that a call left to the driver, input of the hook, or the machine's
/// deadline.
async fn wait<M: Machine, T: Carrier>(
    shared: &Shared<M>,
    carrier: &T,
    inbox: &mut RecvBatch,
) -> io::Result<()> {
    let mut mailed = pin!(shared.mailed());
    poll_fn(|context| {
        if let Poll::Ready(received) = carrier.poll_recv(context, inbox) {
            return Poll::Ready(received);
        }
        let is_woken = carrier.poll_acks(context).is_ready()
            || mailed.as_mut().poll(context).is_ready()
            || shared.poll_work(context);
        if is_woken { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await
}

/// Yields once, so that tasks woken earlier run.
async fn after_others() {
    let mut yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        // To the end of the queue; `yield_now` would also ask the system for further events.
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests;
