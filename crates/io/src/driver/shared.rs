//! The machine between its driver and its application.

mod acks;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use base::{Duration, Instant, Machine, Transmit};
use tokio::sync::Notify;

use super::hearing::Hearing;
use super::hook::Hook;
use super::outbox::Outbox;
use crate::carrier::{Carrier, RecvBatch};
use crate::clock::{Alarm, Clock};

/// Time after a call that sent datagrams within which the next call leaves sending to the driver:
/// in a burst of calls, packets are filled and system calls shared.
const BURST: Duration = Duration::from_micros(20);

/// Datagrams of different peers passed to the machine before it is drained.
const UNDRAINED: usize = 64;

/// A machine between its driver and its application.
pub struct Shared<M> {
    state: Mutex<State<M>>,
    clock: Clock,
    /// Notified when the hook has input.
    mail: Option<Arc<Notify>>,
    closed: AtomicBool,
}

struct State<M> {
    machine: M,
    /// Present while the driver runs.
    driven: Option<Driven<M>>,
    outbox: Outbox,
    /// Whether the driver is running, or was woken: it will drain the machine before it waits.
    is_driver_awake: bool,
    /// Whether the driver must not wait, since there is work for it.
    has_work: bool,
    /// The machine's next deadline, while the driver waits.
    deadline: Option<Instant>,
    /// Time at which a call last sent datagrams itself.
    sent_at: Instant,
    /// The latest time that the machine knows, and the one before the present call.
    latest: Instant,
    before: Instant,
}

/// The driver's carrier and alarm, for calls that send without the driver.
struct Driven<M> {
    hook: Box<dyn Hook<M>>,
    line: Arc<dyn Line>,
    /// Acknowledgements that arrive apart; none where none do.
    hearing: Option<Box<(Hearing, RecvBatch)>>,
    alarm: Alarm,
    /// The waker of the driver's task; none before it waits for the first time.
    waker: Option<Waker>,
}

/// The calls of a [`Carrier`] that sending calls need, as an object: the trait itself has
/// asynchronous ones.
trait Line: Send + Sync {
    fn try_send(&self, transmits: &[Transmit], buffer: &[u8]) -> usize;
    fn try_recv_acks(&self, batch: &mut RecvBatch);
    fn wake_on_acks(&self, wakes: bool);
}

impl<T: Carrier> Line for T {
    fn try_send(&self, transmits: &[Transmit], buffer: &[u8]) -> usize {
        Carrier::try_send(self, transmits, buffer)
    }

    fn try_recv_acks(&self, batch: &mut RecvBatch) {
        Carrier::try_recv_acks(self, batch);
    }

    fn wake_on_acks(&self, wakes: bool) {
        Carrier::wake_on_acks(self, wakes);
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
        Shared::with_mail(machine, clock, None)
    }

    /// Like [`Shared::new`], with a driver that asks its hook for input when `wake` is notified
    /// ([`Hook::take_input`]).
    pub fn woken_by(machine: M, clock: Clock, wake: Arc<Notify>) -> Arc<Shared<M>> {
        Shared::with_mail(machine, clock, Some(wake))
    }

    fn with_mail(machine: M, clock: Clock, mail: Option<Arc<Notify>>) -> Arc<Shared<M>> {
        Arc::new(Shared {
            state: Mutex::new(State {
                machine,
                driven: None,
                outbox: Outbox::default(),
                is_driver_awake: true,
                has_work: false,
                deadline: None,
                sent_at: Instant::ZERO,
                latest: Instant::ZERO,
                before: Instant::ZERO,
            }),
            clock,
            mail,
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
        self.make(|state, now| call(&mut state.machine, now), |_| true)
    }

    /// Like [`Shared::call`], but after a failed call the driver does the work that is due. The
    /// caller may try again as soon as it is notified, and the notification must not run within the
    /// call itself, or the two would block everything else.
    pub fn attempt<R, E>(
        &self,
        call: impl FnOnce(&mut M, Instant) -> Result<R, E>,
    ) -> Result<R, E> {
        let call = |state: &mut State<M>, now| {
            state.hear_before_call(now);
            call(&mut state.machine, now)
        };
        self.make(call, Result::is_ok)
    }

    /// Like [`Shared::call`], for a call that leaves the machine without work where it returns
    /// none: neither the driver nor the caller does anything then.
    pub fn ask<R>(&self, call: impl FnOnce(&mut M, Instant) -> Option<R>) -> Option<R> {
        let (mut state, now) = self.lock_now();
        let answer = call(&mut state.machine, now);
        match answer {
            Some(_) => self.see_to(state, now, true),
            // The time of a call that did nothing does not count.
            None => state.latest = state.before,
        }
        answer
    }

    /// Like [`Shared::call`], but the driver sends the queued datagrams, if it still runs: for
    /// calls in destructors.
    pub fn post<R>(&self, call: impl FnOnce(&mut M, Instant) -> R) -> R {
        self.make(|state, now| call(&mut state.machine, now), |_| false)
    }

    /// Makes a call, and sends queued datagrams within the call if its result permits and the
    /// driver waits.
    fn make<R>(
        &self,
        call: impl FnOnce(&mut State<M>, Instant) -> R,
        within: impl FnOnce(&R) -> bool,
    ) -> R {
        let (mut state, now) = self.lock_now();
        let result = call(&mut state, now);
        self.see_to(state, now, within(&result));
        result
    }

    /// Sends what a call queued, `within` it if the driver waits, or lets the driver do it.
    fn see_to(&self, mut state: MutexGuard<'_, State<M>>, now: Instant, within: bool) {
        let is_seen_to = state.is_driver_awake || (within && state.finish_call(now));
        if !is_seen_to {
            state.wake_driver();
        }
    }

    /// Makes a call that causes no work for the machine, without waking the driver.
    pub fn look<R>(&self, call: impl FnOnce(&mut M) -> R) -> R {
        call(&mut self.lock().machine)
    }

    /// Reads the machine without waking the driver.
    pub fn inspect<R>(&self, look: impl FnOnce(&M) -> R) -> R {
        look(&self.lock().machine)
    }

    /// Like [`Shared::inspect`], once the machine knows of all acknowledgements that have arrived.
    pub fn inspect_present<R>(&self, look: impl FnOnce(&M) -> R) -> R {
        let (mut state, now) = self.lock_now();
        let has_heard = state.hear_before_call(now);
        let seen = look(&state.machine);
        match has_heard {
            true => self.see_to(state, now, true),
            false => state.latest = state.before,
        }
        seen
    }

    /// Source of the times at which the machine is called.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Ends [`run`](super::run) once it has sent the machine's present datagrams.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.lock().wake_driver();
    }

    /// Registers a driver that begins.
    pub(super) fn begin<T: Carrier>(
        &self,
        hook: impl Hook<M> + 'static,
        carrier: Arc<T>,
    ) -> io::Result<Running<'_, M>> {
        let (alarm, waker) = (Alarm::new(self.clock)?, None);
        let hearing = || Box::new((Hearing::default(), RecvBatch::of_acks()));
        let hearing = carrier.separates_acks().then(hearing);
        let driven = Driven { hook: Box::new(hook), line: carrier, hearing, alarm, waker };
        self.lock().driven = Some(driven);
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

    /// Waits until the hook has input.
    pub(super) async fn mailed(&self) {
        match &self.mail {
            Some(mail) => mail.notified().await,
            None => std::future::pending().await,
        }
    }

    /// Passes the inbox to the machine, as far as the outbox has room, and the time if a deadline
    /// has passed. Returns whether there was any input.
    pub(super) fn feed(&self, inbox: &mut RecvBatch) -> bool {
        let (mut state, now) = self.lock_now();
        let state = &mut *state;
        let has_waited = !std::mem::replace(&mut state.is_driver_awake, true);
        state.has_work = false;
        // What calls left behind comes before new input.
        if !has_waited && !state.drain(now) {
            return false;
        }
        state.read_acks(inbox, now);
        // What acknowledges is passed on as of its arrival, unless the machine was called since.
        let since = if has_waited { state.before } else { now };
        let heard = state.feed_acks(inbox, since, now);
        let (mut any, left) = state.take_inputs(now);
        state.has_work |= left;
        // What the inputs of others queued leaves before more comes in.
        if !(any || heard) || state.drain(now) {
            any |= state.feed(inbox, now);
        }
        if any || heard {
            state.run_hook(now);
        }
        any || heard
    }

    /// Whether a call has left work to the driver, or the machine's deadline has passed, which
    /// calls may change while the driver waits; if neither, `context` is woken when it may be
    /// so.
    pub(super) fn poll_work(&self, context: &Context<'_>) -> bool {
        let mut state = self.lock();
        let now = self.clock.now();
        if state.has_work || self.is_closed() || state.deadline.is_some_and(|at| at <= now) {
            return true;
        }
        state.set_alarm(now, Some(context.waker()));
        false
    }

    /// Drains the machine to `sending`, which is empty, or lets the driver wait.
    pub(super) fn next(&self, sending: &mut Outbox) -> Next {
        let (mut state, now) = self.lock_now();
        if state.drain(now) {
            state.run_hook(now);
            // What the hook itself gave the machine to send must not wait for the next input.
            state.drain(now);
        }
        if !state.outbox.is_empty() {
            state.note_sent(now);
            std::mem::swap(&mut state.outbox, sending);
            return Next::Send;
        }
        state.review_waking(now);
        state.deadline = state.machine.poll_timeout();
        state.is_driver_awake = false;
        Next::Wait
    }
}

impl<M> State<M> {
    /// Lets the driver see to what a call left behind.
    fn wake_driver(&mut self) {
        (self.is_driver_awake, self.has_work) = (true, true);
        if let Some(waker) = self.driven.as_ref().and_then(|driven| driven.waker.as_ref()) {
            waker.wake_by_ref();
        }
    }
}

impl<M> Shared<M> {
    /// Locks the state and reads the clock, in this order, so that the machine never sees time go
    /// back.
    fn lock_now(&self) -> (MutexGuard<'_, State<M>>, Instant) {
        let mut state = self.lock();
        let now = self.clock.now();
        state.before = std::mem::replace(&mut state.latest, now);
        (state, now)
    }

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

    /// [`Shared::feed`] with the lock held and a drained machine.
    fn feed(&mut self, inbox: &mut RecvBatch, now: Instant) -> bool {
        let (mut any, mut undrained) = (false, 0);
        let mut latest: Option<SocketAddr> = None;
        while inbox.has_any() {
            // A peer's datagrams are answered one by one: it counts on an acknowledgement of each
            // second one.
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
        if !self.outbox.is_empty() {
            self.sent_at = now;
            self.note_sent(now);
            let Some(driven) = &self.driven else { return false };
            let sent = driven.line.try_send(&self.outbox.transmits, &self.outbox.buffer);
            self.outbox.remove(sent);
        }
        self.deadline = self.machine.poll_timeout();
        self.set_alarm(now, None);
        all && self.outbox.is_empty() && !self.must_begin_to_wake_on_acks(now)
    }

    /// Sets the alarm for the machine's deadline, to wake the driver by `waker`, or as before.
    fn set_alarm(&mut self, now: Instant, waker: Option<&Waker>) {
        let Some(Driven { alarm, waker: known, .. }) = &mut self.driven else { return };
        if let Some(waker) = waker
            && known.as_ref().is_none_or(|known| !known.will_wake(waker))
        {
            *known = Some(waker.clone());
        }
        if let Some(waker) = known {
            alarm.set(now, self.deadline, waker);
        }
    }
}

impl<M: fmt::Debug> fmt::Debug for Shared<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Shared").field("machine", &state.machine).finish_non_exhaustive()
    }
}
