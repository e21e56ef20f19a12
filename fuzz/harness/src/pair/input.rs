//! Input of the target: the ends, and the steps of the run.

use arbitrary::Arbitrary;

use crate::Steps;
use crate::advice::Number;
use crate::air::Fate;

/// Input of the target: two ends and the steps between them.
#[derive(Arbitrary, Clone, Debug)]
pub struct Input {
    /// Options of the two ends.
    pub ends: [End; 2],
    /// Whether the ends have two addresses each, and so two paths: the lowest bit; the next two,
    /// if both are set: all streams are data channels.
    pub paths: u8,
    /// Steps of the run, executed in order.
    pub steps: Steps<Step>,
}

/// Options of an endpoint and of its association.
#[derive(Arbitrary, Clone, Debug)]
pub struct End {
    /// Number of a recovery preset.
    pub preset: u8,
    /// Size of the receive buffer, in steps of 4 kB.
    pub buffer: u8,
    /// Size that packets may have.
    pub mtu: u8,
    /// Whether small messages wait for each other.
    pub nagle: bool,
    /// Whether heartbeats are sent on idle paths.
    pub heartbeats: bool,
    /// Chunks that it takes only authenticated, by groups, a bit each; the highest bits say
    /// whether it offers to find out the path MTU, and that something below it protects
    /// packets.
    pub security: u8,
    /// The key with which it signs what it sends: 0, which is empty, or one of those that both
    /// ends know, or one that the other does not know.
    pub key: u8,
    /// Extensions that it offers, a bit each; then whether it lets the peer reset the association
    /// and add streams, and has fewer streams than its application uses.
    pub extensions: u8,
}

/// A step of the run. `to` and `at` choose an end by their lowest bit, `which` a packet.
#[derive(Arbitrary, Clone, Debug)]
pub enum Step {
    /// The application sends a message.
    Send {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// The message's stream, by the lowest two bits.
        stream: u8,
        /// Bytes of user data, reduced to a range of the run.
        size: u16,
        /// Whether the message is sent unordered.
        unordered: bool,
        /// Condition under which it may be given up: mostly never.
        patience: u8,
    },
    /// The application sends a part of a message.
    Part {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Stream of the message, by its lowest bits.
        stream: u8,
        /// Bytes of user data, reduced to a range of the run.
        size: u16,
        /// Head of a message that begins: whether without order, and when it may be given up.
        head: [u8; 2],
        /// Ends the message if it is 0 modulo 4.
        end: u8,
    },
    /// The application gives a message up of which it sent parts.
    Abandon {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Stream of the message, by its lowest bits.
        stream: u8,
    },
    /// The application lets streams begin again.
    Reset {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Side whose streams are reset.
        direction: u8,
        /// The streams, a bit each; no bit means all.
        streams: u8,
    },
    /// The application lets the association begin again.
    ResetAssociation {
        /// End whose application acts, by its lowest bit.
        at: u8,
    },
    /// The application wants more streams.
    AddStreams {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Number of streams on which it sends, by the upper four bits, and on which the peer
        /// does, by the lower.
        counts: u8,
    },
    /// An address comes or goes.
    Address {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Selects whether the address is added, deleted or made primary.
        change: u8,
        /// Index of the path, reduced to those that exist.
        path: u8,
    },
    /// A packet under way meets its fate.
    Packet {
        /// The end that it is for.
        to: u8,
        /// Number of the packet under way, reduced to those that exist.
        which: u8,
        /// Whether it arrives once, twice, damaged or marked, or is lost.
        fate: Fate,
    },
    /// Time passes and nothing arrives.
    Pass {
        /// Time that passes, in milliseconds.
        millis: u16,
    },
    /// Nothing under way or sent meanwhile arrives.
    Blackout {
        /// Length of the blackout in tenths of a second.
        tenths: u8,
    },
    /// The network works for some round trips.
    Work {
        /// Number of round trips, reduced to a few.
        trips: u8,
    },
    /// All packets to one of the two networks are lost, until it works again.
    Network {
        /// Index of the path, reduced to those that exist.
        path: u8,
        /// Breaks the network if it is 0 modulo 8, and mends it otherwise.
        sure: u8,
    },
    /// The application changes the policy.
    Policy {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Number of the preset, reduced to those that exist.
        preset: u8,
    },
    /// A policy outside advises recovery.
    Advise {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Number from which the advice is made.
        what: Number,
    },
    /// The application signs with another key.
    Key {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Number of the key: one in 256 is unknown to the other end.
        key: u8,
    },
    /// The application sends a message on a data channel, opens one or closes one.
    Channel {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Number of the channel, and what it does.
        which: u8,
        /// Bytes of user data, reduced to a range of the run.
        size: u16,
    },
    /// The application sends a message in partial order.
    Order {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Messages before it for which it waits, a bit each, the last one the lowest; all bits:
        /// everything.
        after: u8,
        /// Bytes of user data, reduced to a range of the run.
        size: u16,
    },
    /// The path takes smaller or larger packets.
    Mtu {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Bytes above 576, in steps of 3.
        mtu: u8,
    },
    /// The application shuts the association down.
    Shutdown {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Shuts down only if it is 0 modulo 16, so that most runs go on.
        sure: u8,
    },
    /// The application aborts the association.
    Abort {
        /// End whose application acts, by its lowest bit.
        at: u8,
        /// Aborts only if it is 0 modulo 64, so that most runs go on.
        sure: u8,
    },
}
