//! Input of the target: the ends, and the steps of the run.

use arbitrary::Arbitrary;

use crate::Steps;
use crate::advice::Number;
use crate::air::Fate;

/// Input of the target, which libFuzzer mutates and `arbitrary` reads.
#[derive(Arbitrary, Clone, Debug)]
pub struct Input {
    /// Options of the two ends.
    pub ends: [End; 2],
    /// Whether both open: the lowest bit. Whether SYN cookies are all there is: the next.
    pub opening: u8,
    /// Steps of the run, executed in order.
    pub steps: Steps<Step>,
}

/// Options of an endpoint and of its connection.
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
    /// The application writes bytes.
    Send {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Bytes of user data, reduced to a range of the run.
        size: u16,
        /// Whether more follows, and whether the bytes are urgent.
        flags: u8,
    },
    /// The application reads bytes.
    Read {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Most bytes to read.
        limit: u16,
    },
    /// The application begins or ceases to read everything at once.
    Deaf {
        /// End whose application acts, by its lowest bit.
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
        /// Kind of the ICMP error, reduced to those that exist.
        error: u8,
    },
    /// Time passes and nothing arrives.
    Pass {
        /// Time that passes, in milliseconds.
        millis: u16,
    },
    /// The network works for some round trips.
    Work {
        /// Number of round trips, reduced to a few.
        trips: u8,
    },
    /// The application changes options of the connection.
    Options {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Options that change: no delay, sizes of the buffers.
        change: u8,
    },
    /// The application changes the recovery policy.
    Policy {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Number of the preset, reduced to those that exist.
        preset: u8,
        /// Index of the changed field, modulo the number of fields.
        field: u8,
        /// Number of the field's value, reduced to those that exist.
        value: u8,
    },
    /// A policy outside advises recovery.
    Advise {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Number from which the advice is made.
        what: Number,
    },
    /// The application has nothing more to send.
    Shutdown {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Shuts down only if it is 0 modulo 8, so that most runs go on.
        sure: u8,
    },
    /// The application closes the connection.
    Close {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Closes only if it is 0 modulo 32, so that most runs go on.
        sure: u8,
    },
    /// The application aborts the connection.
    Abort {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Aborts only if it is 0 modulo 64, so that most runs go on.
        sure: u8,
    },
}
