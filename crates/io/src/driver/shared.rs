//! The machine between its driver and its application.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use base::{Duration, Instant, Machine, Transmit};
use tokio::sync::Notify;

use super::hook::Hook;
use super::outbox::Outbox;
use crate::carrier::{Carrier, RecvBatch};
use crate::clock::{Alarm, Clock};

/// If a call sent datagrams within this time before, the next call leaves sending to the driver: in
/// a burst of calls, packets are filled and system calls shared.
const BURST: Duration = Duration::from_micros(20);

/// Datagrams of different peers passed to the machine before it is drained.
const UNDRAINED: usize = 64;

/// A machine between its driver and its application.
pub struct Shared<M> {
    state: Mutex<State<M>>,
    clock: Clock,
    wake: Arc<Notify>,
    closed: AtomicBool,
}

struct State<M> {
    machine: M,
    /// Present while the driver runs.
    driven: Option<Driven<M>>,
    outbox: Outbox,
    /// Whether the driver is running, or was woken: it will drain the machine before it waits.
    is_driver_awake: bool,
    /// The machine's next deadline, while the driver waits.
    deadline: Option<Instant>,
    /// When a call last sent datagrams itself.
    sent_at: Instant,
}

/// The driver's carrier and alarm, for calls that send without the driver.
struct Driven<M> {
    hook: Box<dyn Hook<M>>,
    sender: Arc<dyn TrySend>,
    alarm: Alarm,
    /// The waker of the driver's task; none before it waits for the first time.
    waker: Option<Waker>,
}

/// [`Carrier::try_send`] of any carrier.
trait TrySend: Send + Sync {
    fn try_send(&self, transmits: &[Transmit], buffer: &[u8]) -> usize;
}

impl<T: Carrier> TrySend for T {
    fn try_send(&self, transmits: &[Transmit], buffer: &[u8]) -> usize {
        Carrier::try_send(self, transmits, buffer)
    }
}

/// Next step of the driver.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The outbox has datagrams to send.
    Send,
    /// The driver waits for input, a call, or the machine's deadline.
    Wait,
}

/// Marks the time in which a driver runs; dropping it removes what calls need to send themselves.
pub(super) struct Running<'a, M>(&'a Shared<M>);

impl<M> Drop for Running<'_, M> {
    fn drop(&mut self) {
        let driven = self.0.lock().driven.take();
        // Its parts may hold what holds the machine.
        drop(driven);
    }
}

impl<M: Machine> Shared<M> {
    /// Shares `machine`, which uses the time of `clock`.
    pub fn new(machine: M, clock: Clock) -> Arc<Shared<M>> {
        Shared::woken_by(machine, clock, Arc::default())
    }

    /// Like [`Shared::new`], with a driver that asks its hook for input when `wake` is notified
    /// ([`Hook::take_input`]).
    pub fn woken_by(machine: M, clock: Clock, wake: Arc<Notify>) -> Arc<Shared<M>> {
        Arc::new(Shared {
            state: Mutex::new(State {
                machine,
                driven: None,
                outbox: Outbox::default(),
                is_driver_awake: true,
                deadline: None,
                sent_at: Instant::ZERO,
            }),
            clock,
            wake,
            closed: AtomicBool::new(false),
        })
    }

    /// Makes a call of the application on the machine, with the current time, and ensures that
    /// queued datagrams are sent.
    ///
    /// If the driver waits, and the call is not part of a burst, they are sent within the call.
    /// Otherwise the driver sends them soon after, so that data of calls in quick succession may
    /// share a packet and a system call.
    pub fn call<R>(&self, call: impl FnOnce(&mut M, Instant) -> R) -> R {
        self.make(call, |_| true)
    }

    /// Like [`Shared::call`], but after a failed call the driver does the work that is due. The
    /// caller may try again as soon as it is notified, and the notification must not run within the
    /// call itself, or the two would block everything else.
    pub fn attempt<R, E>(
        &self,
        call: impl FnOnce(&mut M, Instant) -> Result<R, E>,
    ) -> Result<R, E> {
        self.make(call, Result::is_ok)
    }

    /// Like [`Shared::call`], but the driver sends the queued datagrams, if it still runs: for
    /// calls in destructors.
    pub fn post<R>(&self, call: impl FnOnce(&mut M, Instant) -> R) -> R {
        self.make(call, |_| false)
    }

    /// Makes a call, and sends queued datagrams within the call if its result permits and the
    /// driver waits.
    fn make<R>(
        &self,
        call: impl FnOnce(&mut M, Instant) -> R,
        within: impl FnOnce(&R) -> bool,
    ) -> R {
        let mut state = self.lock();
        // Read under the lock, so that the machine never sees time go back.
        let now = self.clock.now();
        let result = call(&mut state.machine, now);
        let is_seen_to = state.is_driver_awake || (within(&result) && state.finish_call(now));
        if !is_seen_to {
            state.is_driver_awake = true;
            self.wake.notify_one();
        }
        result
    }

    /// Makes a call that causes no work for the machine, without waking the driver.
    pub fn look<R>(&self, call: impl FnOnce(&mut M) -> R) -> R {
        call(&mut self.lock().machine)
    }

    /// Reads the machine without waking the driver.
    pub fn inspect<R>(&self, look: impl FnOnce(&M) -> R) -> R {
        look(&self.lock().machine)
    }

    /// The machine's clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Ends [`run`](super::run) once it has sent the machine's present datagrams.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.lock().is_driver_awake = true;
        self.wake.notify_one();
    }

    /// Registers a driver that begins.
    pub(super) fn begin<T: Carrier>(
        &self,
        hook: impl Hook<M> + 'static,
        carrier: Arc<T>,
    ) -> io::Result<Running<'_, M>> {
        let (alarm, waker) = (Alarm::new(self.clock)?, None);
        self.lock().driven = Some(Driven { hook: Box::new(hook), sender: carrier, alarm, waker });
        Ok(Running(self))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Whether the driver is running, or was woken.
    #[cfg(test)]
    pub(super) fn is_driver_awake(&self) -> bool {
        self.lock().is_driver_awake
    }

    /// Waits until a call has something for the driver.
    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Passes the inbox to the machine, as far as the outbox has room, and the time if a deadline
    /// has passed. Returns whether there was any input.
    pub(super) fn feed(&self, inbox: &mut RecvBatch) -> bool {
        let mut state = self.lock();
        let state = &mut *state;
        state.is_driver_awake = true;
        let now = self.clock.now();
        // What calls left behind comes before new input.
        if !state.drain(now) {
            return false;
        }
        let (mut any, left) = state.take_inputs(now);
        if left {
            self.wake.notify_one();
        }
        // What the inputs of others queued leaves before more comes in.
        if !any || state.drain(now) {
            any |= state.feed(inbox, now);
        }
        if any {
            state.run_hook(now);
        }
        any
    }

    /// Waits until the machine's deadline, which calls may change meanwhile.
    pub(super) async fn due(&self) {
        poll_fn(|context| {
            let mut state = self.lock();
            if state.deadline.is_some_and(|at| at <= self.clock.now()) {
                return Poll::Ready(());
            }
            state.set_alarm(Some(context.waker()));
            Poll::Pending
        })
        .await;
    }

    /// Drains the machine to `sending`, which is empty, or lets the driver wait.
    pub(super) fn next(&self, sending: &mut Outbox) -> Next {
        let mut state = self.lock();
        let now = self.clock.now();
        if state.drain(now) {
            state.run_hook(now);
            // What the hook itself gave the machine to send must not wait for the next input.
            state.drain(now);
        }
        if !state.outbox.is_empty() {
            std::mem::swap(&mut state.outbox, sending);
            return Next::Send;
        }
        state.deadline = state.machine.poll_timeout();
        state.is_driver_awake = false;
        Next::Wait
    }
}

impl<M> Shared<M> {
    /// Locks the state, also after a panic in a hook or a call, so that the driver goes on.
    fn lock(&self) -> MutexGuard<'_, State<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Machine> State<M> {
    fn drain(&mut self, now: Instant) -> bool {
        self.outbox.drain(&mut self.machine, now)
    }

    fn run_hook(&mut self, now: Instant) {
        if let Some(driven) = &mut self.driven {
            driven.hook.after_input(&mut self.machine, now);
        }
    }

    /// Takes input from the hook; returns whether there was any, and whether more may be left. The
    /// machine is drained before each.
    fn take_inputs(&mut self, now: Instant) -> (bool, bool) {
        let Some(driven) = &mut self.driven else { return (false, false) };
        for taken in 0..UNDRAINED {
            if !driven.hook.take_input(&mut self.machine, now) {
                return (taken > 0, false);
            }
            if !self.outbox.drain(&mut self.machine, now) {
                break;
            }
        }
        (true, true)
    }

    /// As [`Shared::feed`], with a drained machine.
    fn feed(&mut self, inbox: &mut RecvBatch, now: Instant) -> bool {
        let (mut any, mut undrained) = (false, 0);
        let mut latest: Option<SocketAddr> = None;
        while inbox.has_any() {
            // A peer's datagrams are answered one by one: it counts on an acknowledgement of each second one.
            let same_again = latest.is_some() && inbox.next_remote() == latest;
            if (same_again || undrained == UNDRAINED) && !self.drain(now) {
                return any;
            }
            undrained = if same_again || undrained == UNDRAINED { 1 } else { undrained + 1 };
            if let Some(report) = inbox.pop_icmp() {
                self.machine.handle_icmp(now, report.as_icmp());
            } else if let Some((meta, datagram)) = inbox.pop() {
                latest = Some(meta.remote);
                self.machine.handle_datagram(now, meta, datagram);
            }
            any = true;
        }
        let is_due = |machine: &M| machine.poll_timeout().is_some_and(|due| due <= now);
        if is_due(&self.machine) && self.drain(now) && is_due(&self.machine) {
            self.machine.handle_timeout(now);
            any = true;
        }
        any
    }

    /// Sends the datagrams that a call queued while the driver waits. False if the driver is
    /// needed.
    fn finish_call(&mut self, now: Instant) -> bool {
        if self.driven.is_none() || now < self.sent_at + BURST {
            return false;
        }
        let mut all = self.drain(now);
        self.run_hook(now);
        all &= self.drain(now);
        if let Some(driven) = &self.driven
            && !self.outbox.is_empty()
        {
            self.sent_at = now;
            let sent = driven.sender.try_send(&self.outbox.transmits, &self.outbox.buffer);
            self.outbox.remove(sent);
        }
        self.deadline = self.machine.poll_timeout();
        self.set_alarm(None);
        all && self.outbox.is_empty()
    }

    /// Sets the alarm for the machine's deadline, to wake the driver by `waker`, or as before.
    fn set_alarm(&mut self, waker: Option<&Waker>) {
        let Some(Driven { alarm, waker: known, .. }) = &mut self.driven else { return };
        if let Some(waker) = waker
            && known.as_ref().is_none_or(|known| !known.will_wake(waker))
        {
            *known = Some(waker.clone());
        }
        if let Some(waker) = known {
            alarm.set(self.deadline, waker);
        }
    }
}

impl<M: fmt::Debug> fmt::Debug for Shared<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Shared").field("machine", &state.machine).finish_non_exhaustive()
    }
}
