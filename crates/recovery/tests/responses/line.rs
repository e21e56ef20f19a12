//! A sender of segments of 1000 bytes, to which a test plays the network and the peer.

use std::ops::Range;
use std::sync::Arc;

use base::{Duration, Instant};
use recovery::policy::Controller;
use recovery::{Feedback, GapRanges, Load, PathId, Recovery, RecoveryPolicy, Silence};

pub(crate) const MSS: u64 = 1000;

/// A segment that left: its time in milliseconds, its number from 0, and whether it is a
/// retransmission.
pub(crate) type Left = (u64, u64, bool);

pub(crate) struct Line {
    pub(crate) recovery: Recovery,
    /// Present time in milliseconds.
    pub(crate) now: u64,
    /// Number of segments that wait to be sent for the first time.
    pub(crate) unsent: u64,
    /// Bytes of user data in each segment.
    size: u64,
    has_sack: bool,
    needless: Option<Range<u64>>,
    echoed: Option<u64>,
}

/// The policy of a TCP without mechanisms: NewReno's window, SACK counted in threes, a least
/// timeout of 1 s.
pub(crate) fn plain() -> RecoveryPolicy {
    let mut policy = RecoveryPolicy::sctp_rfc();
    policy.congestion.controller = Controller::NewReno;
    policy.congestion.max_burst = 0;
    policy
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

impl Line {
    /// A line with a window of `cwnd` segments whose round trip was measured twice as 100 ms.
    pub(crate) fn new(policy: RecoveryPolicy, cwnd: u64) -> Line {
        let mut recovery = Recovery::new(Arc::new(policy), Silence::Nothing, MSS, MSS);
        for _ in 0..2 {
            recovery.on_rtt_sample(PathId::FIRST, Duration::from_millis(100));
        }
        recovery.set_reports(true);
        recovery.restart_window(PathId::FIRST, cwnd * MSS);
        Line {
            recovery,
            now: 0,
            unsent: 0,
            size: MSS,
            has_sack: true,
            needless: None,
            echoed: None,
        }
    }

    /// Sets the size of its segments to `size` bytes.
    pub(crate) fn of(mut self, size: u64) -> Line {
        self.size = size;
        self
    }

    /// The first unit of a segment: data begins after the unit that opens a connection.
    fn position(&self, segment: u64) -> u64 {
        MSS + segment * self.size
    }

    /// Makes the peer report no gaps.
    pub(crate) fn without_sack(mut self) -> Line {
        self.has_sack = false;
        self.recovery.set_reports(false);
        self
    }

    /// Queues `count` more segments; returns the segments that leave.
    pub(crate) fn send(&mut self, at_millis: u64, count: u64) -> Vec<Left> {
        self.advance(at_millis);
        self.unsent += count;
        self.recovery.begin_burst();
        self.flush()
    }

    /// Advances the time to `millis`; returns the segments that timers release on the way.
    pub(crate) fn wait(&mut self, millis: u64) -> Vec<Left> {
        let mut left = Vec::new();
        while let Some(due) = self.recovery.next_timeout().filter(|due| *due <= at(millis)) {
            self.now = due.as_nanos().div_ceil(1_000_000);
            self.recovery.begin_burst();
            let unsent = self.unsent as u32;
            while self.recovery.on_timeout(due, false, unsent).is_some() {}
            left.extend(self.flush());
        }
        self.now = self.now.max(millis);
        left
    }

    fn advance(&mut self, millis: u64) {
        let left = self.wait(millis);
        assert!(left.is_empty(), "a timer expired meanwhile: {left:?}");
    }

    /// Makes the peer's next acknowledgement report these segments as duplicates.
    pub(crate) fn twice(&mut self, segments: Range<u64>) -> &mut Line {
        self.needless = Some(self.position(segments.start)..self.position(segments.end));
        self
    }

    /// Makes the next acknowledgement echo the timestamp of a segment sent at `sent_millis`.
    pub(crate) fn echo(&mut self, sent_millis: u64) -> &mut Line {
        self.echoed = Some(sent_millis);
        self
    }

    /// An acknowledgement of all segments before `cumulative`, and of those in `blocks`.
    pub(crate) fn ack(
        &mut self,
        at_millis: u64,
        cumulative: u64,
        blocks: &[Range<u64>],
    ) -> Vec<Left> {
        self.advance(at_millis);
        let blocks: GapRanges = blocks
            .iter()
            .map(|block| self.position(block.start)..self.position(block.end))
            .collect();
        let rtt = self.echoed.take().map(|sent| Duration::from_millis(self.now - sent));
        self.recovery.begin_burst();
        let needless = self.needless.take();
        let ack = Feedback {
            ranges: self.has_sack.then_some(&blocks),
            needless: needless.as_slice(),
            echo: rtt,
            duplicate: true,
            ..Feedback::up_to(self.position(cumulative))
        };
        self.recovery.on_feedback(at(self.now), &ack, self.unsent as u32);
        self.flush()
    }

    fn flush(&mut self) -> Vec<Left> {
        let (now, mut left) = (at(self.now), Vec::new());
        loop {
            if let Some((unit, weight)) = self.recovery.next_again(PathId::FIRST, 0) {
                if self.recovery.room(now, PathId::FIRST, Load::Again) < self.size {
                    break;
                }
                self.recovery.draft_again(now, PathId::FIRST, unit, weight);
                self.recovery.on_sent(now, PathId::FIRST);
                left.push((self.now, (unit - MSS) / self.size, true));
            } else if self.unsent > 0
                && self.recovery.room(now, PathId::FIRST, Load::New) >= self.size
            {
                let size = self.size as u32;
                let unit = self.recovery.draft_new(PathId::FIRST, size, size);
                self.recovery.on_sent(now, PathId::FIRST);
                self.unsent -= 1;
                left.push((self.now, (unit - MSS) / self.size, false));
            } else {
                break;
            }
        }
        left
    }

    /// Congestion window and threshold, in segments.
    pub(crate) fn windows(&self) -> (u64, u64) {
        let path = self.recovery.snapshot(PathId::FIRST);
        (path.cwnd / MSS, path.ssthresh / MSS)
    }

    /// Number of segments that the ledger counts in flight.
    pub(crate) fn flight(&self) -> u64 {
        self.recovery.ledger().flight(PathId::FIRST).bytes / self.size
    }
}
