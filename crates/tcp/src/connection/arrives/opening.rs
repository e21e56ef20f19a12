//! SEGMENT ARRIVES in SYN-SENT (section 3.10.7.3) and in SYN-RECEIVED (section 3.10.7.4).

use base::Instant;

use super::super::{Connection, PeerSyn, State};
use crate::event::Failure;
use crate::rx::Incoming;
use crate::wire::Segment;

impl Connection {
    pub(super) fn on_segment_in_syn_sent(&mut self, now: Instant, segment: Segment, ce: bool) {
        let flags = segment.flags;
        // First: an ACK of anything but the SYN, if one was sent at all.
        let acks_syn = flags.ack() && self.outgoing.wrap(1) == segment.ack && self.has_sent_syn();
        if flags.ack() && !acks_syn {
            if !flags.rst() {
                self.send_reset_for(&segment);
            }
            self.tally.unacceptable = self.tally.unacceptable.saturating_add(1);
            return;
        }
        // Second: a reset counts only if it acknowledges the SYN (RFC 5961, section 3.2).
        if flags.rst() {
            if acks_syn {
                self.fail(Failure::Refused);
            }
            return;
        }
        // Fourth: no SYN.
        if !flags.syn() {
            return;
        }
        self.on_peer_syn(now, &segment);
        if acks_syn {
            // The window of a SYN is not scaled (RFC 7323, section 2.2).
            self.establish(now, &segment, segment.window.into());
            self.rx.request_ack(now);
            // Text and FIN of the same segment are processed as in ESTABLISHED; the SYN is done.
            if !segment.payload.is_empty() || flags.fin() {
                self.on_text(now, 1, segment, ce);
            }
        } else {
            // Simultaneous open. Text and FIN wait until the connection is established.
            if let Some(handshake) = &mut self.handshake {
                handshake.early = Some((segment.payload, flags.fin()));
            }
            self.state = State::SynReceived;
            self.resend_syn(true);
        }
    }

    fn has_sent_syn(&self) -> bool {
        self.handshake.as_ref().is_some_and(|handshake| handshake.sent > 0)
    }

    /// Repeats the SYN, with ACK once the peer's SYN arrived; `anew`: with a new timer.
    fn resend_syn(&mut self, anew: bool) {
        if let Some(handshake) = &mut self.handshake {
            handshake.wants_send = true;
            if anew {
                handshake.due = None;
            }
        }
    }

    /// A peer that repeats its SYN without asking for ECN assumes that there is none (RFC 3168,
    /// section 6.1.1.1).
    fn on_peer_syn_again(&mut self, syn: &Segment) {
        if !PeerSyn::read(syn, self.local.is_ipv6()).ecn {
            self.negotiated.ecn = false;
            self.negotiated.ecn_echo = false;
        }
    }

    pub(super) fn on_segment_in_syn_received(
        &mut self,
        now: Instant,
        mut segment: Segment,
        ce: bool,
    ) {
        let mut start = self.incoming.unwrap(1, segment.seq);
        let flags = segment.flags;
        if flags.rst() {
            // A listener's connection is forgotten, since the application was not notified; another
            // one was refused.
            if self.takes_reset(now, start) {
                self.fail(Failure::Refused);
            }
            return;
        }
        if flags.syn() && segment.seq == self.incoming.initial() {
            if !flags.ack() {
                // The peer repeats its SYN: the SYN ACK was lost, or is late.
                self.on_peer_syn_again(&segment);
                return self.resend_syn(false);
            }
            // The peer answers this side's SYN with its own again (simultaneous open): without the
            // SYN flag, the segment is an ACK. Its other content is repeated later.
            start = 1;
            segment.payload.clear();
            segment.flags = flags.without(crate::wire::Flags::SYN | crate::wire::Flags::FIN);
        }
        if !self.has_good_timestamp(now, start, &segment) {
            return;
        }
        if segment.flags.syn() {
            return self.challenge(now);
        }
        let end = start + u64::from(segment.length());
        if !self.rx.is_acceptable(start, end) {
            self.tally.unacceptable = self.tally.unacceptable.saturating_add(1);
            return self.challenge(now);
        }
        if !segment.flags.ack() {
            return;
        }
        if self.outgoing.wrap(1) != segment.ack {
            self.tally.unacceptable = self.tally.unacceptable.saturating_add(1);
            return self.send_reset_for(&segment);
        }
        self.open_by_acknowledgement(now, start, segment, ce, flags.syn());
    }

    /// The peer acknowledged this side's SYN: establishes the connection, and delivers early data.
    /// `is_syn`: the segment is a SYN, whose window is not scaled.
    fn open_by_acknowledgement(
        &mut self,
        now: Instant,
        start: u64,
        segment: Segment,
        ce: bool,
        is_syn: bool,
    ) {
        self.note_timestamp(now, start, &segment);
        let early = self.handshake.as_mut().and_then(|handshake| handshake.early.take());
        let window = segment.window;
        let window = if is_syn { window.into() } else { self.scaled_window(window) };
        self.establish(now, &segment, window);
        if let Some((payload, fin)) = early {
            let early = Incoming { start: 1, payload, fin, urgent: None, ..Incoming::default() };
            self.on_arrival(now, early);
        }
        self.on_text(now, start, segment, ce);
    }
}
