//! Times at which the driver reads pure acknowledgements, which need not wake its task
//! ([`Carrier::try_recv_acks`](crate::Carrier::try_recv_acks)).
//!
//! A thin stream needs an acknowledgement only once it sends again, or its timer expires. Most of
//! them can therefore wait until the driver runs anyway, and one system call reads many.

use std::collections::VecDeque;
use std::net::SocketAddr;

use base::{Duration, Instant};

use crate::carrier::RecvBatch;

/// The driver reads pure acknowledgements if it last did so longer ago.
const REST: Duration = Duration::from_millis(1);

/// Most peers that are listed, the latest.
const LISTED: usize = 32;

/// Time after which pure acknowledgements wake the task no more.
const PATIENCE: Duration = Duration::from_millis(100);

/// Number of datagrams for which even a small socket buffer has room. If as many leave at a time
/// and few are acknowledged meanwhile, or as many were read at once (a flood), acknowledgements
/// might find no room there: then they wake the task.
const CROWD: usize = 128;

/// Datagrams that leave within this time leave at a time.
const AT_A_TIME: Duration = Duration::from_millis(10);

/// Time for which pure acknowledgements wake the task after a crowd: acknowledgements take a round
/// trip.
const CROWDED: Duration = Duration::from_secs(1);

/// State of the driver about pure acknowledgements.
#[derive(Debug, Default)]
pub(super) struct Hearing {
    /// All that had arrived by then is read.
    heard_at: Instant,
    /// Peers to which something was sent that have not acknowledged anything since.
    addressed: VecDeque<SocketAddr>,
    /// Last time at which the machine waited for acknowledgements.
    impatient_at: Instant,
    pub(super) wakes_on_acks: bool,
    /// Datagrams sent since then, for at most [`AT_A_TIME`], less those that acknowledged
    /// meanwhile.
    unheard: (Instant, usize),
    crowded_until: Instant,
}

impl Hearing {
    /// Whether pure acknowledgements must be read before the machine gets `inbox` and the time.
    pub(super) fn is_due(
        &self,
        now: Instant,
        deadline: Option<Instant>,
        inbox: &RecvBatch,
    ) -> bool {
        self.is_stale(now)
            || deadline.is_some_and(|at| at <= now)
            || inbox.remotes().any(|remote| self.addressed.contains(&remote))
    }

    /// Whether pure acknowledgements must be read before a call of the application.
    pub(super) fn is_stale(&self, now: Instant) -> bool {
        self.wakes_on_acks || (!self.addressed.is_empty() && self.heard_at + REST <= now)
    }

    /// All that had arrived by now is read; it came from these peers.
    pub(super) fn on_heard(&mut self, now: Instant, from: impl Iterator<Item = SocketAddr>) {
        self.heard_at = now;
        let mut count = 0;
        for remote in from {
            count += 1;
            self.addressed.retain(|peer| *peer != remote);
        }
        self.unheard.1 = self.unheard.1.saturating_sub(count);
        self.see_crowd(now, count);
    }

    fn see_crowd(&mut self, now: Instant, count: usize) {
        if count >= CROWD {
            self.crowded_until = now + CROWDED;
        }
    }

    /// Whether acknowledgements might overflow the socket's buffer if they waited there.
    pub(super) fn is_crowded(&self, now: Instant) -> bool {
        now < self.crowded_until
    }

    /// Datagrams leave to these peers.
    pub(super) fn on_sent(&mut self, now: Instant, remotes: impl Iterator<Item = SocketAddr>) {
        if self.unheard.0 + AT_A_TIME <= now {
            self.unheard = (now, 0);
        }
        for remote in remotes {
            self.unheard.1 += 1;
            if self.addressed.len() == LISTED {
                self.addressed.pop_front();
            }
            self.addressed.push_back(remote);
        }
        self.see_crowd(now, self.unheard.1);
    }

    /// Whether pure acknowledgements should wake the driver that waits, where the machine waits for
    /// them (`is_impatient`) or not.
    pub(super) fn should_wake_on_acks(&mut self, now: Instant, is_impatient: bool) -> bool {
        if is_impatient {
            self.impatient_at = now;
        }
        is_impatient
            || self.is_crowded(now)
            || (self.wakes_on_acks && now < self.impatient_at + PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use base::{DatagramMeta, Ecn};
    use bytes::Bytes;

    use super::*;

    fn peer(port: u16) -> SocketAddr {
        ([10, 0, 0, 1], port).into()
    }

    fn inbox(from: u16) -> RecvBatch {
        let mut inbox = RecvBatch::of_acks();
        let meta =
            DatagramMeta { local: peer(1), remote: peer(from), ecn: Ecn::NotEct, origin: None };
        inbox.push_datagram(meta, Bytes::new().into());
        inbox
    }

    #[test]
    fn what_acknowledges_is_read_before_it_can_matter_and_rarely_otherwise() {
        let (now, mut hearing) = (Instant::from_millis(10), Hearing::default());
        assert!(!hearing.is_due(now, None, &inbox(2)), "no peer has anything to acknowledge");
        hearing.on_sent(now, [peer(2), peer(3)].into_iter());
        assert!(hearing.is_due(now, None, &inbox(4)), "nothing was read for long");
        hearing.on_heard(now, [peer(2)].into_iter());
        assert!(!hearing.is_due(now, None, &inbox(4)));
        assert!(hearing.is_due(now + REST, None, &inbox(4)));
        assert!(hearing.is_due(now, Some(now), &inbox(4)), "a timer would take it for lost");
        assert!(!hearing.is_due(now, Some(now + REST), &inbox(4)));
        let by_old = "the answer to this peer would go by an old acknowledgement";
        assert!(hearing.is_due(now, None, &inbox(3)), "{by_old}");
        assert!(!hearing.is_due(now, None, &inbox(2)), "it has acknowledged");
        hearing.on_heard(now, [peer(3)].into_iter());
        assert!(!hearing.is_due(now + REST, None, &inbox(3)));
        hearing.on_sent(now, (0..1000).map(peer));
        assert!(hearing.is_due(now, None, &inbox(999)) && hearing.addressed.len() == LISTED);
    }

    #[test]
    fn a_machine_that_waits_for_acknowledgements_has_them_watched_and_for_a_while_longer() {
        let (mut now, mut hearing) = (Instant::from_millis(10), Hearing::default());
        assert!(!hearing.should_wake_on_acks(now, false));
        hearing.on_heard(now, [].into_iter());
        assert!(hearing.should_wake_on_acks(now, true));
        hearing.wakes_on_acks = true;
        assert!(hearing.is_due(now, None, &inbox(2)));
        now += PATIENCE / 2;
        assert!(hearing.should_wake_on_acks(now, false));
        assert!(!hearing.should_wake_on_acks(now + PATIENCE, false));
    }

    #[test]
    fn acknowledgements_of_a_crowd_and_floods_are_watched_since_they_might_find_no_room() {
        let (mut now, mut hearing) = (Instant::from_millis(10), Hearing::default());
        // As many over a longer time are read in between.
        for _ in 0..20 {
            hearing.on_sent(now, (0..100).map(peer));
            assert!(!hearing.should_wake_on_acks(now, false));
            now += AT_A_TIME;
        }
        // So are as many that are acknowledged one after another, however fast.
        for _ in 0..10 {
            hearing.on_sent(now, (0..100).map(peer));
            hearing.on_heard(now, (0..100).map(peer));
        }
        assert!(!hearing.should_wake_on_acks(now, false));
        hearing.on_sent(now, (0..100).map(peer));
        hearing.on_sent(now, (100..128).map(peer));
        assert!(hearing.should_wake_on_acks(now, false) && hearing.is_crowded(now));
        now += CROWDED;
        assert!(!hearing.should_wake_on_acks(now, false));
        hearing.on_heard(now, (0..127).map(peer));
        assert!(!hearing.is_crowded(now));
        hearing.on_heard(now, (0..128).map(|_| peer(9)));
        assert!(hearing.is_crowded(now));
    }
}
