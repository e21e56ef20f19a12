//! The sending side against acknowledgements by hand, in virtual time.

#[expect(clippy::single_range_in_vec_init, reason = "a list of blocks that has one")]
mod bundling;
mod duplicates;
mod lossy;
#[expect(clippy::single_range_in_vec_init, reason = "a list of blocks that has one")]
mod sack;
mod sending;
mod shrunk;
mod timeouts;
mod window;

use base::{Duration, Instant};
use bytes::Bytes;
use recovery::RecoveryPolicy;

use super::*;
use crate::tx::{Acknowledgement, Outgoing};

const MSS: u32 = 1000;

fn ms(at: u64) -> Instant {
    Instant::from_millis(at)
}

fn millis(span: u64) -> Duration {
    Duration::from_millis(span)
}

/// A sender with the times at which things left.
struct Bench {
    sender: Sender,
    now: Instant,
    window: u64,
    has_sack: bool,
}

/// A segment as it left: milliseconds, start, length, FIN.
type Left = (u64, u64, usize, bool);

impl Bench {
    fn new(policy: RecoveryPolicy) -> Bench {
        Bench::with(SenderOptions { no_delay: true, ..SenderOptions::default() }, policy, 100_000)
    }

    fn with(options: SenderOptions, policy: RecoveryPolicy, window: u64) -> Bench {
        let mut sender = Sender::new(options, Arc::new(policy), MSS, 1, window);
        sender.on_rtt_sample(millis(100));
        Bench { sender, now: Instant::ZERO, window, has_sack: true }
    }

    fn at(&mut self, at: u64) -> &mut Bench {
        self.now = ms(at);
        self
    }

    fn write(&mut self, len: usize) -> Vec<Left> {
        let taken = self.sender.write(self.now, Bytes::from(vec![1; len]), false, false);
        assert_eq!(taken, len);
        self.poll()
    }

    fn poll(&mut self) -> Vec<Left> {
        self.poll_all().iter().map(|out| self.left(out)).collect()
    }

    fn left(&self, out: &Outgoing) -> Left {
        (self.now.as_nanos() / 1_000_000, out.start, out.bytes, out.fin)
    }

    fn poll_all(&mut self) -> Vec<Outgoing> {
        let mut all = Vec::new();
        while let Some(segment) = self.sender.poll(self.now) {
            assert!(segment.bytes <= MSS as usize);
            all.push(segment);
            assert!(all.len() < 1000, "no end");
        }
        all
    }

    fn ack_with(&mut self, ack: u64, sack: &[core::ops::Range<u64>]) -> Vec<Left> {
        let ack = Acknowledgement {
            seq: 1,
            ack,
            window: self.window,
            sack,
            has_sack: self.has_sack,
            has_data: false,
            rtt: None,
            ece: false,
            overtaken: false,
        };
        assert!(ack.ack <= self.sender.snd_max());
        self.sender.on_ack(self.now, &ack);
        self.poll()
    }

    fn ack(&mut self, ack: u64) -> Vec<Left> {
        self.ack_with(ack, &[])
    }

    /// Runs timers until `end`, and answers what they sent.
    fn run(&mut self, end: u64) -> Vec<Left> {
        let mut all = Vec::new();
        while let Some(due) = self.sender.next_timeout().filter(|due| *due <= ms(end)) {
            self.now = self.now.max(due);
            let result = self.sender.on_timeout(self.now);
            all.extend(self.poll());
            if result.give_up.is_some() {
                break;
            }
        }
        self.now = ms(end);
        all
    }
}

fn sack() -> RecoveryPolicy {
    RecoveryPolicy::tcp_sack()
}

fn newreno() -> RecoveryPolicy {
    let mut policy = RecoveryPolicy::tcp_newreno();
    policy.rto.min = millis(200);
    policy
}
