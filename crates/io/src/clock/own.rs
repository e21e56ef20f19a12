//! A timer of the kernel for one alarm alone (timerfd).
//!
//! Moving its deadline takes one system call and wakes no thread, whereas the shared thread has to
//! be woken for an earlier deadline, and wakes needlessly for one that moved. Each timer takes a
//! descriptor, so that only the first alarms of a process have one.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use base::{Duration, Instant};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::{AsyncRead, ReadBuf};
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

/// A kernel timer and its deadline.
#[derive(Debug)]
pub(super) struct OwnTimer {
    /// The timer's descriptor, read like a pipe: it has eight bytes after expiry.
    timer: pipe::Receiver,
    set: Option<Instant>,
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
        Some(OwnTimer { timer, set: None, _share: share })
    }

    /// Wakes `waker` at `at`, which is `until` from now; none cancels.
    pub(super) fn set(
        &mut self,
        at: Option<Instant>,
        until: impl FnOnce(Instant) -> Duration,
        waker: &Waker,
    ) -> io::Result<()> {
        if self.set != at {
            // A span of zero stops the timer.
            let span = at.map(|at| until(at).max(Duration::from_nanos(1)));
            self.start(span.unwrap_or(Duration::ZERO))?;
            self.set = at;
        }
        let context = &mut Context::from_waker(waker);
        // More room than it has bytes: tokio takes from that that there are no more.
        let room = &mut [0; 16];
        while let Poll::Ready(read) =
            Pin::new(&mut self.timer).poll_read(context, &mut ReadBuf::new(room))
        {
            read?;
            waker.wake_by_ref();
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

    /// Clears a deadline that has passed; a timer that still runs causes one needless wake-up.
    pub(super) fn forget(&mut self) {
        self.set = None;
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
}
