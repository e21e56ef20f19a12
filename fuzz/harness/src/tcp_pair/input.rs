//! Input of the target: the ends, and the steps of the run.

use arbitrary::Arbitrary;

use crate::Steps;
use crate::advice::Number;
use crate::air::Fate;

/// Input of the target.
#[derive(Arbitrary, Clone, Debug)]
pub struct Input {
    /// Options of the two ends.
    pub ends: [End; 2],
    /// Whether both open: the lowest bit. Whether SYN cookies are all there is: the next.
    pub opening: u8,
    /// Steps of the run.
    pub steps: Steps<Step>,
}

/// Options of an end.
#[derive(Arbitrary, Clone, Debug)]
pub struct End {
    /// Number of a recovery preset.
    pub preset: u8,
    /// Size of its buffers, in steps of 1 kB.
    pub buffers: [u8; 2],
    /// A bit each: timestamps, SACK, window scale, ECN, no delay, keep-alive, path MTU discovery,
    /// urgent data among the rest.
    pub features: u8,
    /// The initial sequence number, just before numbers wrap.
    pub sequence: u8,
    /// The MTU, above 88 in steps of 5.
    pub mtu: u8,
}

/// A step of the run. `to` and `at` choose an end by their lowest bit, `which` a segment.
#[derive(Arbitrary, Clone, Debug)]
pub enum Step {
    /// The application sends.
    Send {
        /// The end.
        at: u8,
        /// Bytes.
        size: u16,
        /// More, or urgent.
        flags: u8,
    },
    /// The application reads.
    Read {
        /// The end.
        at: u8,
        /// Bytes at most.
        limit: u16,
    },
    /// The application begins or ceases to read everything at once.
    Deaf {
        /// The end.
        at: u8,
    },
    /// A segment under way meets its fate.
    Segment {
        /// The end that it is for.
        to: u8,
        /// Number of the segment under way, reduced to those that exist.
        which: u8,
        /// Whether it arrives once, twice, damaged or marked, or is lost.
        fate: Fate,
    },
    /// A router says something about a segment under way.
    Icmp {
        /// The end that hears it.
        at: u8,
        /// The segment, by its place among those to the other end.
        which: u8,
        /// Kind of the error.
        error: u8,
    },
    /// Time passes and nothing arrives.
    Pass {
        /// Milliseconds.
        millis: u16,
    },
    /// The network works for some round trips.
    Work {
        /// Number of round trips.
        trips: u8,
    },
    /// The application changes options.
    Options {
        /// The end.
        at: u8,
        /// No delay, buffers.
        change: u8,
    },
    /// The application changes the recovery policy.
    Policy {
        /// The end.
        at: u8,
        /// Number of the preset, reduced to those that exist.
        preset: u8,
        /// Field of the policy that it sets.
        field: u8,
        /// Number of the field's value, reduced to those that exist.
        value: u8,
    },
    /// A policy outside advises recovery.
    Advise {
        /// The end.
        at: u8,
        /// Contents of the advice.
        what: Number,
    },
    /// The application has nothing more to send.
    Shutdown {
        /// The end.
        at: u8,
        /// One in eight does.
        sure: u8,
    },
    /// The application is done.
    Close {
        /// The end.
        at: u8,
        /// One in 32 is.
        sure: u8,
    },
    /// The application gives up.
    Abort {
        /// The end.
        at: u8,
        /// One in 64 does.
        sure: u8,
    },
}
