//! The real clock, in [`base::Instant`], and timers more precise than tokio's.

#[cfg(target_os = "linux")]
mod own;
mod thread;

use std::future;
use std::io;
use std::task::{Poll, Waker};
use std::time::SystemTime;

use base::{Duration, Instant};

#[cfg(target_os = "linux")]
use self::own::OwnTimer;
use self::thread::Place;

/// The machine's monotonic clock, counted from the moment at which this value was made.
///
/// Copies share the origin, so that instants of every task and socket that got a copy compare.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: std::time::Instant,
    origin_since_epoch: Duration,
}

impl Clock {
    /// A clock whose origin is now.
    pub fn start() -> Clock {
        Clock {
            origin: std::time::Instant::now(),
            origin_since_epoch: SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_default()
                .into(),
        }
    }

    /// Time since the origin at which the clock was made.
    pub fn now(&self) -> Instant {
        Instant::ZERO + Duration::from(self.origin.elapsed())
    }

    /// Time from now until `at`; zero if `at` has passed.
    pub fn until(&self, at: Instant) -> Duration {
        at.since(self.now())
    }

    /// `at` as an instant of tokio's timer; at most 30 years from now.
    pub fn to_tokio(&self, at: Instant) -> tokio::time::Instant {
        tokio::time::Instant::from_std(self.to_std(at))
    }

    fn to_std(self, at: Instant) -> std::time::Instant {
        const FAR: Duration = Duration::from_secs(30 * 365 * 86_400);
        let since_origin = Duration::from_nanos(at.as_nanos()).min(FAR);
        self.origin + since_origin.into()
    }

    /// `at` as time since 1970 (UTC), for packet captures and logs; as accurate as the system's
    /// clock was at the origin.
    pub fn since_epoch(&self, at: Instant) -> Duration {
        self.origin_since_epoch + Duration::from_nanos(at.as_nanos())
    }

    /// Sleeps until `at` to the granularity of the tokio timer: up to 1 ms late.
    pub async fn sleep_until(&self, at: Instant) {
        tokio::time::sleep_until(self.to_tokio(at)).await;
    }
}

/// A timer with one deadline that wakes its task some tens of microseconds after it, without
/// spinning: tokio's timer has a granularity of milliseconds. On Linux the first alarms of a
/// process have a kernel timer each; all others share one thread, which sleeps until the earliest
/// deadline, and take no file descriptor.
#[derive(Debug)]
pub struct Alarm {
    clock: Clock,
    means: Means,
}

/// The timer behind an alarm.
#[derive(Debug)]
enum Means {
    #[cfg(target_os = "linux")]
    Own(OwnTimer),
    Shared(Place),
}

impl Means {
    fn take() -> io::Result<Means> {
        #[cfg(target_os = "linux")]
        if let Some(timer) = OwnTimer::take() {
            return Ok(Means::Own(timer));
        }
        Ok(Means::Shared(Place::take()?))
    }
}

impl Alarm {
    /// An alarm of `clock`. Needs a tokio runtime with I/O enabled. Fails if the system cannot
    /// start the shared thread, which the first alarm without a kernel timer needs.
    pub fn new(clock: Clock) -> io::Result<Alarm> {
        Ok(Alarm { clock, means: Means::take()? })
    }

    /// Wakes `waker` at `at`, instead of the previous setting; none cancels. Spurious wake-ups are
    /// possible; after each the setting has to be repeated.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(unused_variables, reason = "the shared thread needs no present time")
    )]
    pub(crate) fn set(&mut self, now: Instant, at: Option<Instant>, waker: &Waker) {
        let clock = self.clock;
        match (&mut self.means, at) {
            #[cfg(target_os = "linux")]
            (Means::Own(timer), _) => {
                if timer.set(now, at, waker).is_err()
                    && let Ok(place) = Place::take()
                {
                    self.means = Means::Shared(place);
                    self.set(now, at, waker);
                }
            }
            (Means::Shared(place), Some(at)) => place.set(clock.to_std(at), waker),
            (Means::Shared(place), None) => place.clear(),
        }
    }

    /// Clears a deadline that has passed.
    fn forget(&mut self) {
        match &mut self.means {
            // It knows itself that it has rung.
            #[cfg(target_os = "linux")]
            Means::Own(_) => {}
            Means::Shared(place) => place.clear(),
        }
    }

    /// Returns at `at` or as soon as possible after it; without `at`, never. May be dropped and
    /// called again with another deadline at any time.
    pub async fn wait_until(&mut self, at: Option<Instant>) {
        let Some(at) = at else { return future::pending().await };
        future::poll_fn(|context| {
            let now = self.clock.now();
            if now >= at {
                self.forget();
                return Poll::Ready(());
            }
            self.set(now, Some(at), context.waker());
            Poll::Pending
        })
        .await;
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

    /// An alarm with a timer of its own, where there is one left, and one that shares the thread.
    fn of_both_means(clock: Clock) -> [Alarm; 2] {
        let shared = Alarm { clock, means: Means::Shared(Place::take().unwrap()) };
        [Alarm::new(clock).unwrap(), shared]
    }

    #[tokio::test]
    async fn a_deadline_may_move_in_both_directions_between_waits() {
        let clock = Clock::start();
        for mut alarm in of_both_means(clock) {
            for micros in [20_000u64, 5_000, 9_000, 700, 1] {
                let at = clock.now() + Duration::from_micros(micros);
                let cancelled = alarm.wait_until(Some(clock.now() + Duration::from_millis(2)));
                let _ =
                    tokio::time::timeout(std::time::Duration::from_micros(100), cancelled).await;
                alarm.wait_until(Some(at)).await;
                assert!(clock.now() >= at);
            }
            alarm.wait_until(Some(Instant::ZERO)).await;
        }
    }

    #[tokio::test]
    async fn an_alarm_without_deadline_never_rings() {
        for mut alarm in of_both_means(Clock::start()) {
            let wait = alarm.wait_until(None);
            assert!(tokio::time::timeout(std::time::Duration::from_millis(5), wait).await.is_err());
        }
    }

    #[tokio::test]
    async fn an_alarm_that_another_thread_sets_and_takes_back_wakes_its_task_at_the_last_deadline()
    {
        let clock = Clock::start();
        for mut alarm in of_both_means(clock) {
            let (mut rung, start) = (None, clock.now());
            std::future::poll_fn(|context| {
                if clock.now() >= start + Duration::from_millis(8) {
                    rung = Some(clock.now());
                    return Poll::Ready(());
                }
                let (alarm, waker) = (&mut alarm, context.waker());
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        let now = clock.now();
                        alarm.set(now, Some(start + Duration::from_millis(2)), waker);
                        alarm.set(now, None, waker);
                        alarm.set(now, Some(start + Duration::from_millis(8)), waker);
                    });
                });
                Poll::Pending
            })
            .await;
            assert!(rung.is_some_and(|at| at >= start + Duration::from_millis(8)));
        }
    }

    #[tokio::test]
    async fn alarms_of_many_tasks_ring_and_none_early() {
        let clock = Clock::start();
        let start = clock.now();
        let (sender, mut rung) = tokio::sync::mpsc::unbounded_channel();
        for number in (0..200_u64).rev() {
            let sender = sender.clone();
            tokio::spawn(async move {
                let mut alarm = Alarm::new(clock).unwrap();
                let at = start + Duration::from_micros(20_000 + 50 * number);
                alarm.wait_until(Some(at)).await;
                assert!(clock.now() >= at);
                sender.send(number).unwrap();
            });
        }
        drop(sender);
        let mut all = Vec::new();
        while let Some(number) = rung.recv().await {
            all.push(number);
        }
        all.sort_unstable();
        assert_eq!(all, (0..200).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn the_tokio_timer_takes_any_instant() {
        let clock = Clock::start();
        let _far = clock.to_tokio(Instant::FAR_FUTURE);
        clock.sleep_until(Instant::ZERO).await;
        assert!(clock.to_tokio(Instant::ZERO) <= tokio::time::Instant::now());
    }
}
