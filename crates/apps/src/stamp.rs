//! Messages between measuring clients and servers.
//!
//! A measuring message is a [`lab::Probe`] sent with the payload protocol identifier [`MEASURED`];
//! the due time in it counts from 1970, by the sender's clock. A server that echoes answers it with
//! the time at which it received it, 8 bytes in network byte order, counted likewise by its own
//! clock, and the message as it came. Messages with other identifiers come back as they are.

use base::{Duration, Instant};
use bytes::{BufMut, Bytes, BytesMut};
use io::Clock;
use thinstream::{AssociationOptions, Payload, Ppid};

/// Payload protocol identifier of measuring messages and of answers to them: "tSPr".
pub const MEASURED: Ppid = Ppid(0x7453_5072);

/// Bytes of an answer before the message: the time.
const ANSWER_HEAD: usize = size_of::<u64>();

/// Bytes of the longest measuring message: with an answer to it an association has to take more.
pub(crate) fn longest_measured() -> usize {
    AssociationOptions::default().max_message_size.saturating_sub(ANSWER_HEAD)
}

/// `at` as an instant after 1970: comparable between processes of one machine.
pub(crate) fn wall(clock: Clock, at: Instant) -> Instant {
    Instant::ZERO + clock.since_epoch(at)
}

/// The answer to a measuring message received at `received`.
pub(crate) fn answer(received: Instant, message: &Payload) -> Bytes {
    let mut answer = BytesMut::with_capacity(ANSWER_HEAD + message.len());
    answer.put_u64(received.as_nanos());
    for part in message.parts() {
        answer.extend_from_slice(part);
    }
    answer.freeze()
}

/// Time at which the server received a message, and the message as it came back; none of an answer
/// too short.
pub(crate) fn read_answer(answer: &[u8]) -> Option<(Instant, &[u8])> {
    let (stamp, message) = answer.split_first_chunk()?;
    Some((Instant::from_nanos(u64::from_be_bytes(*stamp)), message))
}

/// Whether `remote` is this machine, so that its clock is ours: a loopback address, or one from
/// which the system itself would send to it.
pub(crate) fn is_this_machine(remote: std::net::SocketAddr) -> bool {
    let ip = remote.ip().to_canonical();
    if ip.is_loopback() {
        return true;
    }
    let connected = || {
        let socket = std::net::UdpSocket::bind(io::unspecified_for(remote))?;
        socket.connect((remote.ip(), 9))?;
        socket.local_addr()
    };
    connected().is_ok_and(|local| local.ip().to_canonical() == ip)
}

/// A latency by two readings of one clock; none when the earlier reading is the later one by more
/// than clocks of one machine can differ.
pub(crate) fn between(earlier: Instant, later: Instant) -> Option<Duration> {
    const SLACK: Duration = Duration::from_millis(1);
    (later + SLACK >= earlier).then(|| later.since(earlier))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_carries_the_time_and_the_message() {
        let message = Payload::from(Bytes::from_static(b"probe"));
        let answer = answer(Instant::from_millis(7), &message);
        assert_eq!(read_answer(&answer), Some((Instant::from_millis(7), &b"probe"[..])));
        assert_eq!(read_answer(b"short"), None);
    }

    #[test]
    fn loopback_is_this_machine_and_a_documentation_address_is_not() {
        assert!(is_this_machine("127.0.0.1:9".parse().unwrap()));
        assert!(is_this_machine("[::ffff:127.0.0.1]:9".parse().unwrap()));
        assert!(!is_this_machine("192.0.2.1:9".parse().unwrap()));
    }

    #[test]
    fn clocks_that_contradict_each_other_give_no_latency() {
        let (one, two) = (Instant::from_millis(100), Instant::from_millis(103));
        assert_eq!(between(one, two), Some(Duration::from_millis(3)));
        assert_eq!(between(two, one), None);
    }
}
