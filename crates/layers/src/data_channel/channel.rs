//! One data channel: how far it is open, and how far closed.

use super::{ChannelOptions, ChannelReliability};
use sctp::{Reliability, SendOptions};

/// Progress in opening a channel by DCEP (RFC 8832).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// OPEN was sent, and nothing came yet: messages go in order behind it (RFC 8832, section 6).
    Opening,
    /// Both sides know the channel, by DCEP or by an agreement outside of it.
    Open,
    /// The peer's OPEN was wrong: the channel is there only to be closed.
    Refused,
}

/// The outgoing half of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outgoing {
    /// The stream is in use: messages may be sent.
    Open,
    /// The channel's stream is to be reset.
    ToReset,
    /// The peer was asked to reset the stream (RFC 6525) and has not answered.
    Resetting,
    /// The peer agreed: the outgoing half is closed.
    Reset,
    /// The peer does not agree, and is not asked any more.
    Stuck,
}

#[derive(Debug)]
pub(super) struct Channel {
    pub(super) options: ChannelOptions,
    stage: Stage,
    pub(super) outgoing: Outgoing,
    /// The peer reset its stream.
    incoming_reset: bool,
    /// Resets of the outgoing stream that the peer refused.
    pub(super) refusals: u8,
    pub(super) low: Option<LowMark>,
}

/// Threshold of the buffered amount below which the application is notified.
#[derive(Clone, Copy, Debug)]
pub(super) struct LowMark {
    pub(super) threshold: usize,
    /// Whether more than the threshold was buffered since the application's last notification.
    pub(super) exceeded: bool,
    /// Whether messages may wait, so that their amount is compared with the threshold.
    pub(super) watched: bool,
}

impl LowMark {
    pub(super) fn new(threshold: usize) -> LowMark {
        LowMark { threshold, exceeded: false, watched: true }
    }
}

impl Channel {
    pub(super) fn new(options: ChannelOptions, stage: Stage) -> Channel {
        let outgoing = Outgoing::Open;
        Channel { options, stage, outgoing, incoming_reset: false, refusals: 0, low: None }
    }

    /// Whether messages may be sent.
    pub(super) fn is_open(&self) -> bool {
        self.outgoing == Outgoing::Open && !self.incoming_reset
    }

    /// Whether messages are taken: also while this side closes, until the peer does.
    pub(super) fn is_heard(&self) -> bool {
        !self.incoming_reset && self.stage != Stage::Refused && self.outgoing != Outgoing::Stuck
    }

    /// A message came; true if it is the first.
    pub(super) fn confirm(&mut self) -> bool {
        let first = self.stage == Stage::Opening;
        if first {
            self.stage = Stage::Open;
        }
        first
    }

    /// Options with which its messages are sent; none if they are not.
    pub(super) fn send_options(&self) -> Option<SendOptions> {
        if !self.is_open() {
            return None;
        }
        let confirmed = self.stage == Stage::Open;
        let reliability = match self.options.reliability {
            ChannelReliability::Full => Reliability::Full,
            ChannelReliability::Retransmissions(limit) => Reliability::Retransmissions(limit),
            ChannelReliability::Lifetime(span) => Reliability::Lifetime(span),
        };
        Some(SendOptions {
            unordered: !self.options.ordered && confirmed,
            reliability,
            ..SendOptions::default()
        })
    }

    /// One of the sides closes: the peer, if `by_peer`. Then this side does, too (RFC 8831, section
    /// 6.7).
    pub(super) fn close(&mut self, by_peer: bool) {
        self.incoming_reset |= by_peer;
        if self.outgoing == Outgoing::Open {
            self.outgoing = Outgoing::ToReset;
        }
    }

    pub(super) fn on_outgoing_reset(&mut self) {
        if self.outgoing == Outgoing::Resetting {
            self.outgoing = Outgoing::Reset;
        }
    }

    pub(super) fn on_reset_failed(&mut self) {
        if self.outgoing == Outgoing::Resetting {
            self.outgoing = Outgoing::ToReset;
            self.refusals = self.refusals.saturating_add(1);
        }
    }

    /// Whether only the peer's answer to the reset of the outgoing stream is wanting.
    pub(super) fn is_reset_but_unanswered(&self) -> bool {
        self.incoming_reset && self.outgoing == Outgoing::Resetting
    }

    /// Whether both streams are reset.
    pub(super) fn is_done(&self) -> bool {
        self.incoming_reset && self.outgoing == Outgoing::Reset
    }
}
