//! Events of flows that measures observe.

use base::{Duration, Instant};
use recovery::Cause;

use crate::workload::DueMessage;

/// Times of a message that reached the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Number of the message within its flow, from 0.
    pub index: u64,
    /// Size of the message, in bytes.
    pub size: usize,
    /// Time at which the application wanted to send it.
    pub due: Instant,
    /// Time at which the transport had taken all of it.
    pub accepted: Instant,
    /// Time at which its last byte left for the first time.
    pub sent: Instant,
    /// Time at which all of it had arrived at the receiver's transport, in any order.
    pub arrived: Instant,
    /// Time at which the receiver's application read it.
    pub delivered: Instant,
    /// Number of its retransmissions sent before.
    pub retransmissions: u32,
    /// Time at which the message is to be played, from the flow's first message.
    pub media: Duration,
}

/// A needless retransmission: its unit had already arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needless {
    /// Evidence on which the unit was retransmitted.
    pub cause: Cause,
    /// Number of this retransmission, from 1.
    pub order: u8,
    /// Time at which it left.
    pub sent: Instant,
}

/// An event of a flow.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// The application wants to send a message.
    Due(&'a DueMessage),
    /// The receiving application read bytes.
    Read {
        /// Virtual time of the read.
        at: Instant,
        /// Bytes that the application read at once.
        bytes: u64,
    },
    /// A packet with data left the sender.
    DataSent,
    /// A packet with data arrived at the receiver.
    DataArrived {
        /// Virtual time of the arrival.
        at: Instant,
        /// Units that arrived for the first time.
        fresh: u64,
        /// Units that had arrived before.
        again: u64,
    },
    /// The sender measured a round-trip time.
    RoundTrip {
        /// Arrival of the acknowledgement that gave the sample.
        at: Instant,
        /// Time from the transmission to the acknowledgement.
        rtt: Duration,
        /// The retransmission timeout that follows.
        rto: Duration,
    },
    /// Data takes another path from now on.
    Path {
        /// Virtual time of the change.
        at: Instant,
        /// Number of the path, from 0.
        path: u8,
    },
    /// An acknowledgement reported data that it had not reported before.
    Progress {
        /// Arrival time of the acknowledgement.
        at: Instant,
        /// The sender's retransmission timeout now.
        rto: Duration,
    },
    /// The receiving application got a whole message.
    Delivered(&'a Delivery),
    /// A message that the transport accepted had not been delivered when the run ended.
    Undelivered {
        /// Time at which the application wanted to send it.
        due: Instant,
        /// Virtual time at which the run ended.
        at: Instant,
    },
    /// A unit is sent again.
    Resent {
        /// Virtual time of the retransmission.
        at: Instant,
        /// Evidence on which the unit is retransmitted.
        cause: Cause,
        /// Number of this retransmission, from 1.
        order: u8,
    },
    /// A retransmission turned out to be needless.
    Needless(Needless),
    /// The peer reported that it received units twice.
    Reported {
        /// Arrival time of the report.
        at: Instant,
        /// Number of retransmitted units among them.
        units: u32,
    },
    /// The sender's retransmission timer expired.
    Timeout {
        /// Virtual time of the expiry.
        at: Instant,
    },
    /// A transfer over a separate connection is complete.
    Transferred {
        /// Virtual time at which the last byte was read.
        at: Instant,
        /// Message whose transfer ended, with the time at which it was due.
        message: &'a DueMessage,
    },
    /// The run ended, after its grace.
    Finished {
        /// Virtual time at which the run ended.
        at: Instant,
    },
}
