//! Places of connections, by host: a host with many gives its oldest up for the next one, so that
//! others always get theirs.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Host;
use tokio::task::AbortHandle;

/// Connections at once, and those of one host (an IPv4 address, or an IPv6 network of 64 bits).
const ALL: usize = 128;
const OF_HOST: usize = 32;

/// Open connections by host, of which the oldest makes room for a new one.
#[derive(Clone, Debug, Default)]
pub(super) struct Guests(Arc<Mutex<Seats>>);

#[derive(Debug, Default)]
struct Seats {
    last: u64,
    /// The oldest of each host first.
    taken: BTreeMap<Host, VecDeque<(u64, AbortHandle)>>,
}

/// The place of a connection, which is free again once its task has ended, by a panic, too.
struct Seat {
    guests: Guests,
    host: Host,
    number: u64,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.guests.seats().leave(self.host, self.number);
    }
}

impl Guests {
    /// Serves a connection of this host in a task of its own. Where there are too many, the oldest
    /// one ends: of the same host, or of the host that has most.
    pub(super) fn seat(&self, ip: IpAddr, serve: impl Future<Output = ()> + Send + 'static) {
        let (host, guests) = (Host::from(ip), self.clone());
        let mut seats = self.seats();
        if seats.of(host) >= OF_HOST {
            seats.end_oldest(host);
        } else if seats.all() >= ALL
            && let Some(most) = seats.largest()
        {
            seats.end_oldest(most);
        }
        seats.last += 1;
        let number = seats.last;
        let task = tokio::spawn(async move {
            let _seat = Seat { guests, host, number };
            serve.await;
        });
        seats.taken.entry(host).or_default().push_back((number, task.abort_handle()));
    }

    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seats {
    fn of(&self, host: Host) -> usize {
        self.taken.get(&host).map_or(0, VecDeque::len)
    }

    fn all(&self) -> usize {
        self.taken.values().map(VecDeque::len).sum()
    }

    fn largest(&self) -> Option<Host> {
        self.taken.iter().max_by_key(|(_, own)| own.len()).map(|(host, _)| *host)
    }

    fn end_oldest(&mut self, host: Host) {
        if let Some((number, task)) = self.taken.get(&host).and_then(VecDeque::front) {
            task.abort();
            self.leave(host, *number);
        }
    }

    fn leave(&mut self, host: Host, number: u64) {
        if let Some(own) = self.taken.get_mut(&host) {
            own.retain(|(other, _)| *other != number);
            if own.is_empty() {
                self.taken.remove(&host);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    /// Connections that exist, once those that were ended are gone.
    async fn settled(guests: &Guests, hosts: &[IpAddr]) -> Vec<usize> {
        // The scheduler takes some sixty tasks at a time, those that were ended among them.
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        hosts.iter().map(|ip| guests.seats().of(Host::from(*ip))).collect()
    }

    #[tokio::test]
    async fn a_host_ends_its_own_oldest_connection_and_the_busiest_host_makes_room_for_others() {
        let hosts: Vec<IpAddr> = (1..=6).map(|last| IpAddr::from([192, 0, 2, last])).collect();
        let guests = Guests::default();
        for ip in &hosts[..4] {
            (0..1000).for_each(|_| guests.seat(*ip, pending()));
        }
        assert_eq!(settled(&guests, &hosts).await, [32, 32, 32, 32, 0, 0]);
        (0..10).for_each(|_| guests.seat(hosts[4], pending()));
        let seen = settled(&guests, &hosts).await;
        assert_eq!((seen.iter().sum::<usize>(), seen[4]), (128, 10));
        // One that ends by itself leaves nothing behind, nor does one that panics.
        guests.seat(hosts[5], async {});
        guests.seat(hosts[5], async { panic!("a connection's task fails") });
        assert_eq!(settled(&guests, &hosts).await[5], 0);
        assert_eq!(guests.seats().taken.len(), 5);
    }
}
