//! Answers that need no connection: resets, SYN cookies, what TIME-WAIT says.

use core::net::SocketAddr;
use std::collections::VecDeque;

use base::{Duration, Ecn, Instant, Transmit};

use crate::wire::{Flags, Pseudo, Segment};

/// Answers that may wait to be sent; more are not worth the memory.
const LIMIT: usize = 256;

/// A segment that waits to be sent, and between which addresses.
#[derive(Debug)]
struct Reply {
    local: SocketAddr,
    remote: SocketAddr,
    segment: Segment,
}

/// Answers that wait to be sent.
#[derive(Debug, Default)]
pub(super) struct Replies(VecDeque<Reply>);

impl Replies {
    /// Queues a segment; true if there was room.
    pub(super) fn push(&mut self, local: SocketAddr, remote: SocketAddr, segment: Segment) -> bool {
        let room = self.0.len() < LIMIT;
        if room {
            self.0.push_back(Reply { local, remote, segment });
        }
        room
    }

    /// Appends the next answer to `buffer`.
    pub(super) fn emit(&mut self, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let Reply { local, remote, segment } = self.0.pop_front()?;
        let start = buffer.len();
        segment.emit(Pseudo::new(local.ip(), remote.ip()), buffer);
        Some(transmit(local, remote, Ecn::NotEct, false, buffer.len() - start))
    }
}

/// A datagram between two TCP addresses: over IP there are no ports.
pub(crate) fn transmit(
    local: SocketAddr,
    remote: SocketAddr,
    ecn: Ecn,
    dont_fragment: bool,
    size: usize,
) -> Transmit {
    Transmit {
        local: Some(SocketAddr::new(local.ip(), 0)),
        remote: SocketAddr::new(remote.ip(), 0),
        ecn,
        dont_fragment,
        size,
    }
}

/// The reset for a segment that belongs to no connection (RFC 9293, section 3.5.2, group 1, and section
/// 3.10.7.1); none for a reset.
pub(super) fn reset_for(segment: &Segment) -> Option<Segment> {
    if segment.flags.rst() {
        return None;
    }
    let mut reset = Segment::new(segment.destination_port, segment.source_port);
    if segment.flags.ack() {
        reset.seq = segment.ack;
        reset.flags = Flags::RST;
    } else {
        reset.ack = segment.seq.advance(segment.length());
        reset.flags = Flags::RST | Flags::ACK;
    }
    Some(reset)
}

/// So many a second: a bucket that fills evenly and holds those of one second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RateLimit {
    /// When the bucket would be full, counted from `now`: what was taken out in time.
    full_at: Instant,
}

impl RateLimit {
    /// Takes one, if there is one.
    pub(crate) fn take(&mut self, now: Instant, per_second: u32) -> bool {
        let second = Duration::from_secs(1);
        let cost = second / u64::from(per_second);
        let full_at = self.full_at.max(now) + cost;
        let granted = per_second > 0 && full_at.since(now) <= second;
        if granted {
            self.full_at = full_at;
        }
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SeqNumber;

    #[test]
    fn a_second_grants_its_number_and_the_next_one_grants_them_evenly() {
        let mut limit = RateLimit::default();
        let granted = |limit: &mut RateLimit, at| {
            (0..100).filter(|_| limit.take(Instant::from_millis(at), 10)).count()
        };
        assert_eq!(granted(&mut limit, 5000), 10);
        assert_eq!(granted(&mut limit, 5099), 0);
        assert_eq!(granted(&mut limit, 5100), 1);
        assert_eq!(granted(&mut limit, 5500), 4);
        assert_eq!(granted(&mut limit, 9000), 10);
        assert!(!RateLimit::default().take(Instant::from_millis(9000), 0));
    }

    #[test]
    fn a_reset_takes_its_numbers_from_what_it_answers() {
        let mut stray = Segment::new(1000, 80);
        stray.seq = SeqNumber(u32::MAX);
        stray.flags = Flags::SYN | Flags::FIN;
        stray.payload = bytes::Bytes::from_static(b"abc");
        let reset = reset_for(&stray).unwrap();
        assert_eq!((reset.source_port, reset.destination_port), (80, 1000));
        assert_eq!((reset.flags, reset.seq.0), (Flags::RST | Flags::ACK, 0));
        assert_eq!(reset.ack, SeqNumber(4));
        stray.flags = Flags::ACK;
        stray.ack = SeqNumber(77);
        let reset = reset_for(&stray).unwrap();
        assert_eq!((reset.flags, reset.seq, reset.ack.0), (Flags::RST, SeqNumber(77), 0));
        stray.flags = Flags::RST | Flags::ACK;
        assert_eq!(reset_for(&stray), None);
    }
}
