//! A timer of the kernel for one alarm alone (timerfd).
//!
//! Moving its deadline takes one system call and wakes no thread, whereas the shared thread has to
//! be woken for an earlier deadline, and wakes needlessly for one that moved. Each timer takes a
//! descriptor, so that only the first alarms of a process have one.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use base::{Duration, Instant};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::net::unix::pipe;

/// Most alarms of a process with a kernel timer each.
const MOST: usize = 16;

static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// A slot of the limited number of timers.
#[derive(Debug)]
struct Share;

impl Share {
    fn take() -> Option<Share> {
        let one_more = |taken| (taken < MOST).then_some(taken + 1);
        TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        Some(Share)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        TAKEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Rate at which a deadline moves, which decides whether a timer that would ring too early is moved
/// (a system call for each change) or rings in vain (a wake-up and a system call for many changes).
#[derive(Debug, Default)]
struct Pace {
    deadline: Option<Instant>,
    changed_at: Instant,
    /// Mean time between changes of the deadline, in which the latest gap counts a quarter.
    gap: Duration,
}

impl Pace {
    /// Changes before a timer rings in vain from which on that costs less than moving it.
    const WORTH: u64 = 8;

    /// Notes the machine's deadline, and updates the mean if it changed.
    fn note(&mut self, now: Instant, deadline: Option<Instant>) {
        if self.deadline != deadline {
            // A mean in which the latest of four counts as much as all before.
            self.gap = self.gap * 3 / 4 + now.since(self.changed_at) / 4;
            (self.deadline, self.changed_at) = (deadline, now);
        }
    }

    /// Whether a timer that rings at `rings`, before the deadline, may go on.
    fn may_ring_in_vain(&self, now: Instant, rings: Instant) -> bool {
        self.gap * Self::WORTH < rings.since(now)
    }
}

/// A kernel timer and its deadline.
#[derive(Debug)]
pub(super) struct OwnTimer {
    /// The timer's descriptor, which becomes readable, like a pipe.
    timer: pipe::Receiver,
    /// Time at which the timer rings, which may be before the deadline; none once it has rung.
    rings: Option<Instant>,
    pace: Pace,
    _share: Share,
}

impl OwnTimer {
    /// A timer without a deadline; none if the process has used all slots, or the system has no
    /// timer left. Needs a tokio runtime with I/O enabled.
    pub(super) fn take() -> Option<OwnTimer> {
        let share = Share::take()?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).ok()?;
        let timer = pipe::Receiver::from_owned_fd_unchecked(timer).ok()?;
        Some(OwnTimer { timer, rings: None, pace: Pace::default(), _share: share })
    }

    /// Wakes `waker` at `at`, or before; none cancels. If the deadline moves on often, the timer
    /// keeps an earlier time, and the next call after that sets it.
    pub(super) fn set(
        &mut self,
        now: Instant,
        at: Option<Instant>,
        waker: &Waker,
    ) -> io::Result<()> {
        self.pace.note(now, at);
        self.rings = self.rings.filter(|rings| *rings > now);
        let goes_on = match self.rings {
            None => at.is_none(),
            Some(rings) if at.is_none_or(|at| rings < at) => self.pace.may_ring_in_vain(now, rings),
            rings => rings == at,
        };
        self.listen(waker)?;
        if !goes_on {
            // A span of zero stops the timer.
            let span = at.map(|at| at.since(now).max(Duration::from_nanos(1)));
            self.start(span.unwrap_or(Duration::ZERO))?;
            self.rings = at;
        }
        Ok(())
    }

    /// Has `waker` woken when the timer rings. The expiries are never read: starting the timer anew
    /// takes them back, and the system reports the next one all the same.
    fn listen(&self, waker: &Waker) -> io::Result<()> {
        let context = &mut Context::from_waker(waker);
        while let Poll::Ready(rung) = self.timer.poll_read_ready(context) {
            rung?;
            let _ = self.timer.try_io(|| Err::<(), _>(io::ErrorKind::WouldBlock.into()));
        }
        Ok(())
    }

    fn start(&self, span: Duration) -> io::Result<()> {
        let span = Timespec::try_from(std::time::Duration::from(span))
            .map_err(|_| io::ErrorKind::InvalidInput)?;
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: span };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_has_a_few_of_them_and_gets_those_back_that_are_dropped() {
        let taken: Vec<_> = std::iter::from_fn(OwnTimer::take).take(MOST + 1).collect();
        assert!(taken.len() <= MOST);
        drop(taken);
        // Other tests have alarms, too, for some milliseconds.
        let regained = async {
            while OwnTimer::take().is_none() {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), regained).await.unwrap();
    }

    /// Times at which the timer was set to ring, as two deadlines alternate, `gap` and 5 ms apart.
    async fn rings(gap: Duration) -> usize {
        let mut timer = loop {
            match OwnTimer::take() {
                Some(timer) => break timer,
                None => tokio::time::sleep(std::time::Duration::from_millis(1)).await,
            }
        };
        let (mut now, mut starts, mut before) = (Instant::from_millis(1), 0, None);
        for number in 0..400_u64 {
            now += gap;
            let waits = Duration::from_millis(if number % 2 == 0 { 5 } else { 30_000 });
            timer.set(now, Some(now + waits), Waker::noop()).unwrap();
            starts += usize::from(timer.rings != before);
            before = timer.rings;
        }
        starts
    }

    #[tokio::test]
    async fn a_deadline_that_moves_often_moves_the_timer_rarely_and_one_that_moves_seldom_each_time()
     {
        // The mean begins with the first changes; from then on the timer rings each 5 ms, of 20 ms
        // in all.
        let often = rings(Duration::from_micros(50)).await;
        assert!(often < 20, "{often} of 400");
        assert_eq!(rings(Duration::from_millis(20)).await, 400);
    }

    #[tokio::test]
    async fn a_timer_that_rang_in_vain_is_set_to_the_deadline() {
        let (now, at) = (Instant::from_millis(1), Instant::from_millis(9));
        let mut pace = Pace::default();
        (0..100).for_each(|step| pace.note(now, Some(at + Duration::from_nanos(step))));
        assert!(pace.may_ring_in_vain(now, at));
        let Some(mut timer) = OwnTimer::take() else { return };
        (timer.pace, timer.rings) = (pace, Some(at));
        let later = Instant::from_millis(20);
        timer.set(now, Some(later), Waker::noop()).unwrap();
        assert_eq!(timer.rings, Some(at), "it goes on");
        timer.set(at, Some(later), Waker::noop()).unwrap();
        assert_eq!(timer.rings, Some(later));
        timer.set(at, Some(at), Waker::noop()).unwrap();
        assert_eq!(timer.rings, Some(at), "an earlier deadline moves it at once");
    }
}
