//! The driver that runs a machine over real sockets in real time.
//!
//! One task, [`run`], feeds the machine with datagrams and time, and sends what it has to send. The
//! application calls the machine through [`Shared::call`] from any task or thread; the driver is woken at
//! once, so that what a call queues leaves without waiting for a timer.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::{DatagramMeta, Instant, Machine, Transmit};
use bytes::Bytes;
use tokio::sync::Notify;

use crate::clock::{Alarm, Clock};
use crate::transport::{RecvBatch, Transport};

/// What the owner of a machine does beside the driver: takes its events, sees its packets.
///
/// All of it is called with the machine locked: it must be short, and must not call [`Shared`].
pub trait Hook<M>: Send {
    /// After each input and the sending that followed from it, and after calls of the application: the place
    /// to take events out of the machine. What it gives the machine to send leaves with the rest.
    fn after_input(&mut self, machine: &mut M, now: Instant);

    /// A datagram is about to be handed to the machine.
    fn on_received(&mut self, _now: Instant, _meta: &DatagramMeta, _datagram: &Bytes) {}

    /// A datagram is about to be sent; `transmit.local` is always there.
    fn on_sent(&mut self, _now: Instant, _transmit: &Transmit, _datagram: &[u8]) {}
}

impl<M, F: FnMut(&mut M, Instant) + Send> Hook<M> for F {
    fn after_input(&mut self, machine: &mut M, now: Instant) {
        self(machine, now);
    }
}

/// A machine between its driver and its application.
#[derive(Debug)]
pub struct Shared<M> {
    machine: Mutex<M>,
    clock: Clock,
    wake: Notify,
    closed: AtomicBool,
}

impl<M: Machine> Shared<M> {
    /// Shares `machine`, whose time is that of `clock`.
    pub fn new(machine: M, clock: Clock) -> Arc<Shared<M>> {
        Arc::new(Shared {
            machine: Mutex::new(machine),
            clock,
            wake: Notify::new(),
            closed: AtomicBool::new(false),
        })
    }

    /// Makes a call of the application on the machine, with the present time, and wakes the driver.
    ///
    /// The driver drains the machine soon after, not within: what calls in quick succession queue may leave
    /// in one packet and one system call.
    pub fn call<R>(&self, call: impl FnOnce(&mut M, Instant) -> R) -> R {
        let result = {
            let mut machine = self.lock();
            // Read under the lock, so that the machine never sees time go back.
            call(&mut machine, self.clock.now())
        };
        self.wake.notify_one();
        result
    }

    /// Makes a call that gives the machine nothing to do, and does not wake the driver.
    pub fn look<R>(&self, call: impl FnOnce(&mut M) -> R) -> R {
        call(&mut self.lock())
    }

    /// Looks at the machine without waking the driver.
    pub fn inspect<R>(&self, look: impl FnOnce(&M) -> R) -> R {
        look(&self.lock())
    }

    /// The clock that the machine lives by.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Ends [`run`] once it has sent what the machine has to send now.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// A panic in a hook or a call leaves the machine as it was; its driver goes on.
    fn lock(&self) -> MutexGuard<'_, M> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the machine until [`Shared::close`], or until the socket or the timer fails.
///
/// After every datagram, every deadline and every wake by a call it drains the machine's datagrams, then calls
/// the hook, as the contract of [`Machine`] says. Needs a tokio runtime with I/O and time enabled.
pub async fn run<M, T, H>(shared: Arc<Shared<M>>, transport: Arc<T>, mut hook: H) -> io::Result<()>
where
    M: Machine + Send,
    T: Transport,
    H: Hook<M>,
{
    /// Buffers of 64 KiB that one receiving system call may fill.
    const RECV_SLOTS: usize = 16;
    let mut alarm = Alarm::new(shared.clock)?;
    let mut inbox = RecvBatch::new(RECV_SLOTS);
    let mut outbox = Outbox::new(transport.local_addr());
    loop {
        // Read before the last drain, so that what was queued before closing is sent.
        let closed = shared.closed.load(Ordering::Acquire);
        let progress = shared.advance(&mut inbox, &mut outbox, &mut hook);
        transport.send(&outbox.transmits, &outbox.buffer).await;
        outbox.clear();
        let deadline = match progress {
            Progress::Unfinished => continue,
            Progress::Waiting(_) if closed => return Ok(()),
            Progress::Waiting(deadline) => deadline,
        };
        // A machine that is always due must not keep other tasks from running.
        tokio::task::consume_budget().await;
        tokio::select! {
            biased;
            received = transport.recv(&mut inbox) => received?,
            () = shared.wake.notified() => {}
            () = alarm.wait_until(deadline) => {}
        }
    }
}

/// How far a step came.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    /// The outbox is full: send, then go on.
    Unfinished,
    /// All input is handled and all output taken; the machine's next deadline.
    Waiting(Option<Instant>),
}

impl<M: Machine> Shared<M> {
    /// Hands the inbox to the machine, then the time if it is due, and drains it after each.
    fn advance(
        &self,
        inbox: &mut RecvBatch,
        outbox: &mut Outbox,
        hook: &mut impl Hook<M>,
    ) -> Progress {
        let mut machine = self.lock();
        let now = self.clock.now();
        // What calls left behind, or what did not fit the outbox before, comes before new input.
        loop {
            if !outbox.drain(&mut *machine, now, hook) {
                return Progress::Unfinished;
            }
            hook.after_input(&mut machine, now);
            if let Some(report) = inbox.pop_icmp() {
                machine.handle_icmp(now, report.as_icmp());
            } else if let Some((meta, datagram)) = inbox.pop() {
                // What a socket gives is in one piece.
                hook.on_received(now, &meta, &datagram.head);
                machine.handle_datagram(now, meta, datagram);
            } else {
                break;
            }
        }
        if machine.poll_timeout().is_some_and(|due| due <= now) {
            machine.handle_timeout(now);
            if !outbox.drain(&mut *machine, now, hook) {
                return Progress::Unfinished;
            }
            hook.after_input(&mut machine, now);
        }
        // What the hook itself gave the machine to send must not wait for the next input.
        if !outbox.drain(&mut *machine, now, hook) {
            return Progress::Unfinished;
        }
        Progress::Waiting(machine.poll_timeout())
    }
}

/// Datagrams between the machine and the socket.
#[derive(Debug)]
struct Outbox {
    local: SocketAddr,
    buffer: Vec<u8>,
    transmits: Vec<Transmit>,
}

impl Outbox {
    /// Bytes after which the outbox is sent before the machine is asked for more.
    const FULL: usize = 256 * 1024;

    fn new(local: SocketAddr) -> Outbox {
        Outbox { local, buffer: Vec::with_capacity(64 * 1024), transmits: Vec::new() }
    }

    /// Takes what the machine has to send; false when the outbox became full first.
    fn drain<M: Machine>(
        &mut self,
        machine: &mut M,
        now: Instant,
        hook: &mut impl Hook<M>,
    ) -> bool {
        while self.buffer.len() < Self::FULL {
            let start = self.buffer.len();
            let Some(transmit) = machine.poll_transmit(now, &mut self.buffer) else { return true };
            let local = transmit.local.or(Some(self.local));
            hook.on_sent(now, &Transmit { local, ..transmit }, &self.buffer[start..]);
            self.transmits.push(transmit);
        }
        false
    }

    fn clear(&mut self) {
        self.buffer.clear();
        self.transmits.clear();
    }
}

#[cfg(test)]
mod tests;
