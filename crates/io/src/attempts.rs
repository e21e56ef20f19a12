//! Connection attempts at the addresses of one host, staggered, until one succeeds (RFC 8305,
//! section 5).

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Time without an answer after which the next address is tried in parallel.
const DELAY: Duration = Duration::from_millis(250);

/// Significance of an attempt's failure, which decides which of several failures is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Reported if no other attempt failed before.
    Ordinary,
    /// Reported instead of ordinary failures.
    Telling,
    /// No other attempt would succeed: reported at once.
    Final,
}

/// Returns the result of the first attempt that succeeds. Each attempt begins when the previous one
/// has failed, or has not answered for a quarter of a second; earlier ones continue.
///
/// # Errors
/// The failure with the greatest weight, where `weigh` takes the index of an attempt, from 0, and
/// its failure; among equals that of the earliest address. None if there are no attempts.
pub async fn first<T, E, F: Future<Output = Result<T, E>>>(
    attempts: impl Iterator<Item = F>,
    weigh: impl Fn(usize, &E) -> Weight,
) -> Result<T, Option<E>> {
    let mut attempts = attempts.enumerate().peekable();
    let mut running: Vec<(usize, Pin<Box<F>>)> = Vec::new();
    let mut told: Option<(Weight, usize, E)> = None;
    loop {
        running.extend(attempts.next().map(|(place, attempt)| (place, Box::pin(attempt))));
        if running.is_empty() {
            return Err(told.map(|(.., error)| error));
        }
        let any = poll_fn(|context| poll_any(&mut running, context));
        let done = match attempts.peek() {
            Some(_) => tokio::time::timeout(DELAY, any).await.ok(),
            None => Some(any.await),
        };
        match done {
            None => {}
            Some((_, Ok(reached))) => return Ok(reached),
            Some((place, Err(error))) => {
                let weight = weigh(place, &error);
                let says_more = |(other, before, _): &(Weight, usize, E)| {
                    if weight == *other { place < *before } else { weight == Weight::Telling }
                };
                match weight {
                    Weight::Final => return Err(Some(error)),
                    _ if told.as_ref().is_none_or(says_more) => told = Some((weight, place, error)),
                    _ => {}
                }
            }
        }
    }
}

/// The result and index of the first attempt that has completed, which is removed.
fn poll_any<F: Future>(
    running: &mut Vec<(usize, Pin<Box<F>>)>,
    context: &mut Context<'_>,
) -> Poll<(usize, F::Output)> {
    for index in 0..running.len() {
        let (place, attempt) = &mut running[index];
        if let Poll::Ready(result) = attempt.as_mut().poll(context) {
            let place = *place;
            drop(running.swap_remove(index));
            return Poll::Ready((place, result));
        }
    }
    Poll::Pending
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;

    /// An attempt that takes this many milliseconds, and works or fails.
    async fn attempt((millis, failure): (u64, Option<Weight>)) -> Result<u64, (u64, Weight)> {
        sleep(Duration::from_millis(millis)).await;
        failure.map_or(Ok(millis), |weight| Err((millis, weight)))
    }

    /// The result of such attempts, and when it came, in milliseconds.
    async fn outcome(attempts: &[(u64, Option<Weight>)]) -> (Result<u64, Option<u64>>, u128) {
        let start = Instant::now();
        let result = first(attempts.iter().copied().map(attempt), |_, error| error.1).await;
        (result.map_err(|error| error.map(|error| error.0)), start.elapsed().as_millis())
    }

    const WORKS: Option<Weight> = None;
    const FAILS: Option<Weight> = Some(Weight::Ordinary);

    #[tokio::test(start_paused = true)]
    async fn the_next_address_begins_after_a_quarter_of_a_second_or_at_once_after_a_failure() {
        assert_eq!(outcome(&[(100, WORKS), (1, WORKS)]).await, (Ok(100), 100));
        assert_eq!(outcome(&[(1000, WORKS), (20, WORKS)]).await, (Ok(20), 270));
        assert_eq!(outcome(&[(300, WORKS), (1000, WORKS)]).await, (Ok(300), 300), "it goes on");
        assert_eq!(outcome(&[(10, FAILS), (20, WORKS)]).await, (Ok(20), 30));
        assert_eq!(outcome(&[(10, FAILS), (700, FAILS)]).await, (Err(Some(10)), 710));
        assert_eq!(outcome(&[]).await, (Err(None), 0));
    }

    #[tokio::test(start_paused = true)]
    async fn the_failure_is_that_of_the_first_address_unless_another_says_more() {
        let telling = Some(Weight::Telling);
        assert_eq!(outcome(&[(900, FAILS), (10, FAILS)]).await, (Err(Some(900)), 900));
        assert_eq!(outcome(&[(900, FAILS), (10, telling)]).await, (Err(Some(10)), 900));
        assert_eq!(outcome(&[(900, telling), (10, telling)]).await, (Err(Some(900)), 900));
        assert_eq!(outcome(&[(10, telling), (20, FAILS)]).await, (Err(Some(10)), 30));
        let last = Some(Weight::Final);
        assert_eq!(outcome(&[(10, last), (20, WORKS)]).await, (Err(Some(10)), 10));
    }
}
