//! Places and hosts' members, counted over all shards.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use base::Host;
use sctp::Census;

/// The places and the members of each host that all shards of an endpoint have together.
#[derive(Debug, Default)]
pub(crate) struct Commons {
    places: AtomicUsize,
    hosts: Mutex<BTreeMap<Host, usize>>,
}

impl Commons {
    fn with<R>(&self, change: impl FnOnce(&mut BTreeMap<Host, usize>) -> R) -> R {
        change(&mut self.hosts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Census for Commons {
    fn take_place(&self, most: usize) -> bool {
        let one_more = |taken: usize| (taken < most).then_some(taken + 1);
        self.places.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).is_ok()
    }

    fn give_place(&self) {
        self.places.fetch_sub(1, Ordering::AcqRel);
    }

    fn admit(&self, host: Host, most: usize) -> bool {
        self.with(|hosts| match hosts.get_mut(&host) {
            Some(count) if *count >= most => false,
            Some(count) => {
                *count += 1;
                true
            }
            None => most > 0 && hosts.insert(host, 1).is_none(),
        })
    }

    fn dismiss(&self, host: Host) {
        self.with(|hosts| {
            let Some(count) = hosts.get_mut(&host) else { return };
            *count -= 1;
            if *count == 0 {
                hosts.remove(&host);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;

    use super::*;

    fn host(last: u8) -> Host {
        Host::from(IpAddr::from([192, 0, 2, last]))
    }

    #[test]
    fn limits_hold_however_many_threads_admit_members() {
        let commons = Arc::new(Commons::default());
        let admitted = |commons: &Commons| {
            let of = |last: u8| (0..1000).filter(|_| commons.admit(host(last), 700)).count();
            (of(1), of(2), (0..1000).filter(|_| commons.take_place(900)).count())
        };
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let commons = Arc::clone(&commons);
                std::thread::spawn(move || admitted(&commons))
            })
            .collect();
        let sums = threads.into_iter().map(|thread| thread.join().unwrap());
        let sum = sums.fold((0, 0, 0), |sum, own| (sum.0 + own.0, sum.1 + own.1, sum.2 + own.2));
        assert_eq!(sum, (700, 700, 900));
        commons.dismiss(host(1));
        commons.give_place();
        assert_eq!(admitted(&commons), (1, 0, 1));
        for _ in 0..700 {
            commons.dismiss(host(2));
        }
        assert!(commons.with(|hosts| !hosts.contains_key(&host(2))));
    }
}
