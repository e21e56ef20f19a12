//! Timestamps of this side that a segment may echo (RFC 7323, section 4.1): one that was never
//! sent, or was sent before all outstanding data, is an error or a forgery, and gives no RTT
//! sample.

use base::{Duration, Instant};

use super::clock::timestamp;

/// Bounds of valid echoes, in this connection's timestamp clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Echoes {
    offset: u32,
    /// Nothing of this connection was sent before.
    began: u32,
    /// No outstanding data was sent before.
    oldest: u32,
    /// Data from `mark` on was not sent before.
    marked: u32,
    mark: u64,
}

impl Echoes {
    pub(super) fn new(now: Instant, offset: u32) -> Echoes {
        let clock = timestamp(now, offset);
        Echoes { offset, began: clock, oldest: clock, marked: clock, mark: 0 }
    }

    /// TSval of a segment sent at `now`.
    pub(super) fn clock(&self, now: Instant) -> u32 {
        timestamp(now, self.offset)
    }

    /// Offset of this connection's clock from the one that all connections share.
    pub(super) fn offset(&self) -> u32 {
        self.offset
    }

    /// Data is sent while none is outstanding.
    pub(super) fn on_sent_first(&mut self, now: Instant) {
        self.oldest = self.clock(now);
    }

    /// All data below `acked` is acknowledged, and none from `next` on is sent yet.
    pub(super) fn on_advanced(&mut self, now: Instant, acked: u64, next: u64) {
        if acked >= self.mark {
            self.oldest = self.marked;
            self.mark = next;
            self.marked = self.clock(now);
        }
    }

    /// Time since `echo` was sent; `None` if this connection did not send it.
    pub(super) fn age(&self, now: Instant, echo: u32) -> Option<Duration> {
        self.age_since(now, echo, self.began)
    }

    /// Time since `echo` was sent, for an acknowledgement of outstanding data: the peer echoes the
    /// timestamp of the oldest segment that it had not acknowledged, or a later one.
    pub(super) fn age_of_acked(&self, now: Instant, echo: u32) -> Option<Duration> {
        self.age_since(now, echo, self.oldest)
    }

    fn age_since(&self, now: Instant, echo: u32, first: u32) -> Option<Duration> {
        let clock = self.clock(now);
        let age = clock.wrapping_sub(echo);
        (age <= clock.wrapping_sub(first)).then(|| Duration::from_millis(u64::from(age)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// An offset at which the clock wraps.
    const OFFSET: u32 = 0u32.wrapping_sub(1500);

    fn echo(millis: u64) -> u32 {
        timestamp(at(millis), OFFSET)
    }

    #[test]
    fn what_this_connection_never_sent_has_no_age() {
        let echoes = Echoes::new(at(1000), OFFSET);
        let age = |echo| echoes.age(at(2000), echo);
        assert_eq!(age(echo(1000)), Some(Duration::from_secs(1)));
        assert_eq!(age(echo(2000)), Some(Duration::ZERO));
        assert_eq!((age(echo(999)), age(echo(2001)), age(0x1234_5678)), (None, None, None));
    }

    #[test]
    fn an_acknowledgement_echoes_nothing_from_before_what_it_acknowledges() {
        let mut echoes = Echoes::new(at(0), OFFSET);
        // 1..101 is sent after a long silence, 101..201 a little later.
        echoes.on_sent_first(at(5000));
        assert_eq!(echoes.age_of_acked(at(5100), echo(4999)), None);
        assert_eq!(echoes.age_of_acked(at(5100), echo(5000)), Some(Duration::from_millis(100)));
        echoes.on_advanced(at(5100), 101, 201);
        // 201..301 is sent while 101..201 is in flight.
        echoes.on_advanced(at(5200), 201, 301);
        assert_eq!(echoes.age_of_acked(at(5300), echo(5099)), None);
        assert_eq!(echoes.age_of_acked(at(5300), echo(5100)), Some(Duration::from_millis(200)));
        echoes.on_advanced(at(5300), 301, 301);
        assert_eq!(echoes.age_of_acked(at(5400), echo(5199)), None);
    }
}
