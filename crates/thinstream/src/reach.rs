//! From a host's name to what answers there: its addresses are tried one after the other until one answers (RFC 8305).

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::error::ConnectError;
use crate::peer_address::PeerAddress;

/// Time that an address has to answer before the next is tried, too (RFC 8305, section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Makes the attempt at the peer's addresses, or at those of its host that `reaches` holds possible, until one works.
pub(crate) async fn reach<T, F>(
    peer: PeerAddress,
    reaches: impl Fn(SocketAddr) -> bool,
    attempt: impl Fn(PeerAddress) -> F,
) -> Result<T, ConnectError>
where
    F: Future<Output = Result<T, ConnectError>>,
{
    let Some(host) = &peer.host else { return attempt(peer).await };
    let lookup = |reason: std::io::Error| ConnectError::Lookup {
        host: host.clone(),
        reason: reason.to_string(),
    };
    let found: Vec<SocketAddr> = tokio::net::lookup_host(host).await.map_err(lookup)?.collect();
    let addresses = in_turn(found.into_iter().filter(|address| reaches(*address)));
    first(addresses.into_iter().map(|address| attempt(peer.at(address)))).await
}

/// The result of `connecting`, which has this time.
pub(crate) async fn within<T>(
    after: Duration,
    peer: String,
    connecting: impl Future<Output = Result<T, ConnectError>>,
) -> Result<T, ConnectError> {
    let elapsed = |_| ConnectError::TimedOut { peer, after };
    tokio::time::timeout(after, connecting).await.map_err(elapsed)?
}

/// Addresses of both families in turn, each family in its order, beginning with that of the first (RFC 8305, section 4).
fn in_turn(addresses: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let mut found: Vec<SocketAddr> = Vec::new();
    addresses.for_each(|address| {
        if !found.contains(&address) {
            found.push(address)
        }
    });
    let first_is_ipv4 = found.first().is_some_and(SocketAddr::is_ipv4);
    let (own, other): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|address| address.is_ipv4() == first_is_ipv4);
    let (mut own, mut other) = (own.into_iter(), other.into_iter());
    let mut turn = Vec::new();
    loop {
        let before = turn.len();
        turn.extend(own.next());
        turn.extend(other.next());
        if turn.len() == before {
            return turn;
        }
    }
}

/// The first attempt that works. The next one begins when the one before has failed, or has not answered for a while. The
/// failure is that of the first, unless another address has the wrong key, which says more.
async fn first<T, F>(attempts: impl Iterator<Item = F>) -> Result<T, ConnectError>
where
    F: Future<Output = Result<T, ConnectError>>,
{
    let mut attempts = attempts.peekable();
    let mut running: Vec<Pin<Box<F>>> = Vec::new();
    let mut failure: Option<ConnectError> = None;
    loop {
        running.extend(attempts.next().map(Box::pin));
        if running.is_empty() {
            return Err(failure.unwrap_or(ConnectError::NoAddress));
        }
        let any = poll_fn(|context| poll_any(&mut running, context));
        let done = match attempts.peek() {
            Some(_) => tokio::time::timeout(ATTEMPT_DELAY, any).await.ok(),
            None => Some(any.await),
        };
        match done {
            Some(Ok(reached)) => return Ok(reached),
            Some(Err(error @ ConnectError::Untrusted { .. })) => failure = Some(error),
            Some(Err(error)) => _ = failure.get_or_insert(error),
            None => {}
        }
    }
}

/// The result of the first attempt that has one, which is then gone.
fn poll_any<F: Future>(
    running: &mut Vec<Pin<Box<F>>>,
    context: &mut Context<'_>,
) -> Poll<F::Output> {
    for index in 0..running.len() {
        if let Poll::Ready(result) = running[index].as_mut().poll(context) {
            drop(running.swap_remove(index));
            return Poll::Ready(result);
        }
    }
    Poll::Pending
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn families_take_turns_and_each_address_is_tried_once() {
        let found =
            addresses(&["[::1]:1", "[::1]:1", "[::2]:1", "1.1.1.1:1", "1.1.1.2:1", "[::3]:1"]);
        let wanted = addresses(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "1.1.1.2:1", "[::3]:1"]);
        assert_eq!(in_turn(found.into_iter()), wanted);
        assert!(in_turn(std::iter::empty()).is_empty());
    }

    /// An attempt that takes this many milliseconds, and works or not.
    async fn attempt((millis, works): (u64, bool)) -> Result<u64, ConnectError> {
        sleep(Duration::from_millis(millis)).await;
        if works { Ok(millis) } else { Err(ConnectError::TooMany) }
    }

    async fn outcome(attempts: &[(u64, bool)]) -> (Option<u64>, u128) {
        let start = Instant::now();
        let reached = first(attempts.iter().copied().map(attempt)).await;
        (reached.ok(), start.elapsed().as_millis())
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_address_begins_after_a_quarter_of_a_second_or_at_once_after_a_failure() {
        assert_eq!(outcome(&[(100, true), (1, true)]).await, (Some(100), 100));
        assert_eq!(outcome(&[(1000, true), (20, true)]).await, (Some(20), 270));
        assert_eq!(
            outcome(&[(300, true), (1000, true)]).await,
            (Some(300), 300),
            "it goes on meanwhile"
        );
        assert_eq!(outcome(&[(10, false), (20, true)]).await, (Some(20), 30));
        assert_eq!(outcome(&[(10, false), (700, false)]).await, (None, 710));
        assert_eq!(outcome(&[]).await, (None, 0));
    }
}
