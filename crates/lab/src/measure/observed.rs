//! What meters are told of messages.

use base::{Duration, Instant};
use recovery::Cause;

use crate::workload::DueMessage;

/// What became of a message that reached the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Number of the message within its flow, from 0.
    pub index: u64,
    /// Size in bytes.
    pub size: usize,
    /// When the application wanted to send it.
    pub due: Instant,
    /// When the transport took all of it.
    pub accepted: Instant,
    /// When the last of it left for the first time.
    pub sent: Instant,
    /// When all of it had come to the receiver's transport, in whatever order.
    pub arrived: Instant,
    /// When the receiver's application had it.
    pub delivered: Instant,
    /// Retransmissions of it that left before.
    pub retransmissions: u32,
    /// Place of the message in the media: when it is to be played, from the flow's first message.
    pub media: Duration,
}

/// A unit was sent again and had arrived before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needless {
    /// Why it was sent again.
    pub cause: Cause,
    /// For the how-many-th time.
    pub order: u8,
    /// When.
    pub sent: Instant,
}

/// Something that is seen of a flow.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// The application wants to send a message.
    Due(&'a DueMessage),
    /// The receiving application read bytes.
    Read {
        /// When.
        at: Instant,
        /// How many.
        bytes: u64,
    },
    /// A packet with data left the sender.
    DataSent,
    /// A packet with data arrived at the receiver.
    DataArrived {
        /// When.
        at: Instant,
        /// Units that came for the first time.
        fresh: u64,
        /// Units that had arrived before.
        again: u64,
    },
    /// The sender measured a round-trip time.
    RoundTrip {
        /// When.
        at: Instant,
        /// The round-trip time.
        rtt: Duration,
        /// The retransmission timeout that follows.
        rto: Duration,
    },
    /// Data takes another path from now on.
    Path {
        /// When.
        at: Instant,
        /// Which, from 0.
        path: u8,
    },
    /// Something new was acknowledged.
    Progress {
        /// When.
        at: Instant,
        /// The sender's retransmission timeout now.
        rto: Duration,
    },
    /// A message was delivered.
    Delivered(&'a Delivery),
    /// A message was given to the transport and not delivered when the run ended.
    Undelivered {
        /// When the application wanted to send it.
        due: Instant,
        /// When the run ended.
        at: Instant,
    },
    /// A unit is sent again.
    Resent {
        /// When.
        at: Instant,
        /// Why.
        cause: Cause,
        /// For the how-many-th time.
        order: u8,
    },
    /// A unit that was sent again had arrived before.
    Needless(Needless),
    /// The peer reported that it received units twice.
    Reported {
        /// When.
        at: Instant,
        /// How many that had been sent again.
        units: u32,
    },
    /// A retransmission timer expired.
    Timeout {
        /// When.
        at: Instant,
    },
    /// A transfer over a connection of its own is complete.
    Transferred {
        /// When.
        at: Instant,
        /// What was asked for.
        message: &'a DueMessage,
    },
    /// The run ended.
    Finished {
        /// When.
        at: Instant,
    },
}
