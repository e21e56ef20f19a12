//! The real clock, as [`base::Instant`] counts it, and sleeping that ends on time.

use std::future;
use std::io;
use std::time::SystemTime;

use base::{Duration, Instant};

/// The machine's monotonic clock, counted from the moment at which this value was made.
///
/// Copies share the origin, so that instants of every task and socket that got a copy compare.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: std::time::Instant,
    origin_since_epoch: Duration,
}

impl Clock {
    /// A clock that reads zero now.
    pub fn start() -> Clock {
        Clock {
            origin: std::time::Instant::now(),
            origin_since_epoch: SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_default()
                .into(),
        }
    }

    /// The present instant.
    pub fn now(&self) -> Instant {
        Instant::ZERO + Duration::from(self.origin.elapsed())
    }

    /// How long from now until `at`; zero when it is past.
    pub fn until(&self, at: Instant) -> Duration {
        at.since(self.now())
    }

    /// `at` as the tokio timer counts; what is more than 30 years off becomes 30 years.
    pub fn to_tokio(&self, at: Instant) -> tokio::time::Instant {
        const FAR: Duration = Duration::from_secs(30 * 365 * 86_400);
        let since_origin = Duration::from_nanos(at.as_nanos()).min(FAR);
        tokio::time::Instant::from_std(self.origin + since_origin.into())
    }

    /// `at` as time since 1970 (UTC), for packet captures and logs; as true as the system's clock was at the
    /// origin.
    pub fn since_epoch(&self, at: Instant) -> Duration {
        self.origin_since_epoch + Duration::from_nanos(at.as_nanos())
    }

    /// Sleeps until `at` to the granularity of the tokio timer: up to 1 ms late.
    pub async fn sleep_until(&self, at: Instant) {
        tokio::time::sleep_until(self.to_tokio(at)).await;
    }

    /// Sleeps until `at` by the tokio timer to within 2 ms, then gives way to other tasks until it is due.
    ///
    /// Exact within the time that other tasks take, but it burns a core meanwhile: an [`Alarm`] is better
    /// where the system has one.
    pub async fn sleep_until_spinning(&self, at: Instant) {
        const SPIN: Duration = Duration::from_millis(2);
        if self.until(at) > SPIN {
            self.sleep_until(at.before(SPIN)).await;
        }
        while self.now() < at {
            tokio::task::yield_now().await;
        }
    }
}

/// A timer with one deadline that wakes its task some tens of microseconds after it, without spinning.
///
/// The tokio timer counts milliseconds; on Linux this one is a kernel timer (timerfd) instead. Elsewhere it
/// is [`Clock::sleep_until_spinning`].
#[derive(Debug)]
pub struct Alarm {
    clock: Clock,
    #[cfg(target_os = "linux")]
    timer: kernel::Timer,
}

impl Alarm {
    /// An alarm of `clock`. Needs a tokio runtime with I/O and time enabled; fails when the process has no
    /// file descriptor left.
    pub fn new(clock: Clock) -> io::Result<Alarm> {
        Ok(Alarm {
            clock,
            #[cfg(target_os = "linux")]
            timer: kernel::Timer::new()?,
        })
    }

    /// Returns at `at` or as soon as possible after it; never for none. May be dropped and called again with
    /// another deadline at any time.
    pub async fn wait_until(&mut self, at: Option<Instant>) {
        let Some(at) = at else { return future::pending().await };
        while self.clock.now() < at {
            self.sleep_towards(at).await;
        }
    }

    /// Sleeps until `at` or less.
    #[cfg(target_os = "linux")]
    async fn sleep_towards(&mut self, at: Instant) {
        if self.timer.sleep(&self.clock, at).await.is_err() {
            self.clock.sleep_until_spinning(at).await;
        }
    }

    /// Sleeps until `at` or less.
    #[cfg(not(target_os = "linux"))]
    async fn sleep_towards(&mut self, at: Instant) {
        self.clock.sleep_until_spinning(at).await;
    }
}

#[cfg(target_os = "linux")]
mod kernel {
    use std::io;
    use std::os::fd::AsFd;

    use base::{Duration, Instant};
    use nix::sys::time::TimeSpec;
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
    use tokio::net::unix::pipe;

    use super::Clock;

    /// Longest sleep in one piece; a longer one is slept in several.
    const LONGEST_SLEEP: Duration = Duration::from_secs(3600);

    /// A timerfd and what it is set for.
    #[derive(Debug)]
    pub(super) struct Timer {
        timer: TimerFd,
        /// A timer to read from: like a pipe, it becomes readable and yields bytes. (What tokio has
        /// for any descriptor cannot be had without `unsafe`.)
        expirations: pipe::Receiver,
        armed: Option<Instant>,
    }

    impl Timer {
        pub(super) fn new() -> io::Result<Timer> {
            let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
            let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
            let descriptor = timer.as_fd().try_clone_to_owned()?;
            let expirations = pipe::Receiver::from_owned_fd_unchecked(descriptor)?;
            Ok(Timer { timer, expirations, armed: None })
        }

        /// Sleeps until `at` or less.
        ///
        /// Deadlines mostly move later (each SACK restarts T3-rtx): a timer that is already set for an
        /// earlier moment stays as it is, and the one early wake costs less than a system call each time.
        pub(super) async fn sleep(&mut self, clock: &Clock, at: Instant) -> io::Result<()> {
            if self.armed.is_none_or(|armed| armed > at) {
                // Zero would switch the timer off.
                let span = clock.until(at).min(LONGEST_SLEEP).max(Duration::from_nanos(1));
                let expiration = Expiration::OneShot(TimeSpec::from_duration(span.into()));
                self.timer.set(expiration, TimerSetTimeFlags::empty())?;
                self.armed = Some(at);
            }
            self.expirations.readable().await?;
            match self.expirations.try_read(&mut [0; 8]) {
                // Readiness from before the timer was set anew: wait again.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
                result => {
                    self.armed = None;
                    result.map(drop)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_earlier_of_two_alarms_rings_first_and_not_early() {
        let clock = Clock::start();
        let (mut late, mut soon) = (Alarm::new(clock).unwrap(), Alarm::new(clock).unwrap());
        let sooner = clock.now() + Duration::from_micros(3_300);
        tokio::select! {
            () = late.wait_until(Some(sooner + Duration::from_secs(10))) => panic!("rang too early"),
            () = soon.wait_until(Some(sooner)) => assert!(clock.now() >= sooner),
        }
    }

    #[tokio::test]
    async fn a_deadline_may_move_in_both_directions_between_waits() {
        let clock = Clock::start();
        let mut alarm = Alarm::new(clock).unwrap();
        for micros in [20_000u64, 5_000, 9_000, 700, 1] {
            let at = clock.now() + Duration::from_micros(micros);
            let cancelled = alarm.wait_until(Some(clock.now() + Duration::from_millis(2)));
            let _ = tokio::time::timeout(std::time::Duration::from_micros(100), cancelled).await;
            alarm.wait_until(Some(at)).await;
            assert!(clock.now() >= at);
        }
        alarm.wait_until(Some(Instant::ZERO)).await;
    }

    #[tokio::test]
    async fn an_alarm_without_deadline_never_rings() {
        let mut alarm = Alarm::new(Clock::start()).unwrap();
        let wait = alarm.wait_until(None);
        assert!(tokio::time::timeout(std::time::Duration::from_millis(5), wait).await.is_err());
    }

    #[tokio::test]
    async fn the_tokio_timer_takes_any_instant() {
        let clock = Clock::start();
        let _far = clock.to_tokio(Instant::FAR_FUTURE);
        clock.sleep_until(Instant::ZERO).await;
        assert!(clock.to_tokio(Instant::ZERO) <= tokio::time::Instant::now());
    }
}
