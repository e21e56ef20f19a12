//! Answers without a connection: resets, SYN cookies, acknowledgements of TIME-WAIT.

use core::net::{IpAddr, SocketAddr};

use base::{Duration, Ecn, HashKey, Host, Instant, IpService, Transmit};

use super::Endpoint;
use crate::connection::output::transmit;
use crate::wire::{Flags, Pseudo, Segment};

impl Endpoint {
    /// Queues an answer; returns false if the queue is full.
    pub(super) fn reply(
        &mut self,
        local: SocketAddr,
        remote: SocketAddr,
        answer: &Segment,
        service: IpService,
    ) -> bool {
        let queued = self.replies.push(|buffer| emit(local, remote, answer, service, buffer));
        self.stats.answers_dropped += u64::from(!queued);
        queued
    }
}

/// Appends an answer to `buffer`.
fn emit(
    local: SocketAddr,
    remote: SocketAddr,
    answer: &Segment,
    service: IpService,
    buffer: &mut Vec<u8>,
) -> Transmit {
    let start = buffer.len();
    answer.emit(Pseudo::new(local.ip(), remote.ip()), buffer);
    // An answer is never large enough to be fragmented, so its IP header needs no identification,
    // which would reveal the number of answers (RFC 6864, section 4).
    let size = buffer.len() - start;
    Transmit { service, ..transmit(local, remote, Ecn::NotEct, true, size) }
}

/// The reset that answers a segment without a connection (RFC 9293, section 3.5.2, group 1, and
/// section 3.10.7.1); `None` for a reset.
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

/// Number of counters; hosts with equal hashes share one.
const COUNTERS: u64 = 1024;

/// Limits resets per second for each host. A limit shared by hosts would tell one of them, by the
/// resets that it receives, whether segments with another's address were answered (Cao et al.
/// 2016). Hosts that share a counter change every second, and are secret.
#[derive(Debug)]
pub(super) struct ResetLimit {
    key: HashKey,
    /// Beginning of the present second.
    began: Instant,
    /// Resets in this second, by the hash of their destination; empty until the first.
    counts: Vec<u32>,
}

impl ResetLimit {
    pub(super) fn new(key: HashKey) -> ResetLimit {
        ResetLimit { key, began: Instant::ZERO, counts: Vec::new() }
    }

    /// Whether one more reset may go to `remote`; if so, counts it.
    pub(super) fn take(&mut self, now: Instant, remote: IpAddr, per_second: u32) -> bool {
        if self.counts.is_empty() || now.since(self.began) >= Duration::from_secs(1) {
            self.began = now;
            self.counts.clear();
            self.counts.resize(COUNTERS as usize, 0);
        }
        let mut input = [0; 24];
        input[..16].copy_from_slice(&Host::from(remote).octets());
        input[16..].copy_from_slice(&self.began.as_nanos().to_be_bytes());
        let place = (self.key.hash(&input) % COUNTERS) as usize;
        let Some(count) = self.counts.get_mut(place) else { return false };
        let granted = *count < per_second;
        *count += u32::from(granted);
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SeqNumber;
    use base::{Purpose, RandomStream};

    fn limit() -> ResetLimit {
        ResetLimit::new(HashKey::draw(&mut RandomStream::new(1, Purpose("test", 0))))
    }

    #[test]
    fn a_second_grants_its_number_to_each_host() {
        let mut limit = limit();
        let mut granted = |at, host: &str| {
            let (at, host) = (Instant::from_millis(at), host.parse().unwrap());
            (0..100).filter(|_| limit.take(at, host, 10)).count()
        };
        assert_eq!(granted(5000, "10.0.0.2"), 10);
        assert_eq!(granted(5999, "10.0.0.2"), 0);
        assert_eq!(granted(5999, "10.0.0.3"), 10);
        assert_eq!(granted(6000, "10.0.0.2"), 10);
        assert_eq!(granted(7000, "2001:db8::1"), 10);
        assert_eq!(granted(7000, "2001:db8::2"), 0, "the same network");
        assert_eq!(granted(7000, "2001:db8:0:1::1"), 10);
    }

    #[test]
    fn who_shares_a_counter_is_another_each_second() {
        let mut limit = limit();
        let hosts = |limit: &mut ResetLimit, at| {
            let at = Instant::from_millis(at);
            limit.take(at, [10, 0, 0, 2].into(), 1);
            let full = |host: &u32| !limit.take(at, (0x0b00_0000 + host).to_be_bytes().into(), 2);
            (0..500).filter(full).collect::<Vec<_>>()
        };
        let others = |limit: &mut ResetLimit, at| {
            let seen = hosts(limit, at);
            assert!(seen.len() < 250);
            seen
        };
        assert_ne!(others(&mut limit, 1000), others(&mut limit, 2000));
    }

    #[test]
    fn an_answer_is_never_to_be_fragmented() {
        let (local, remote) = ("10.0.0.1:80".parse().unwrap(), "10.0.0.2:4000".parse().unwrap());
        let answer = Segment::new(80, 4000);
        assert!(emit(local, remote, &answer, IpService::default(), &mut Vec::new()).dont_fragment);
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
