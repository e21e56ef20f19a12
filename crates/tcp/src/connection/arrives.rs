//! SEGMENT ARRIVES (RFC 9293, section 3.10.7), with the checks of RFC 5961 and RFC 7323.

mod opening;

use base::{Duration, Instant};
use recovery::PathId;

use super::output::PendingReset;
use super::{Connection, Seconds, State, sender_options};
use crate::event::{Event, Failure};
use crate::rx::{Arrival, Incoming, SackRanges};
use crate::tx::{AckResult, Acknowledgement};
use crate::wire::{SackBlock, Segment, UserTimeout};

/// Shortest time by which a segment may be overtaken, however short the timeout is.
const LEAST_REORDERING: Duration = Duration::from_secs(1);
/// Least distance in bytes within which data sent before an overtaking segment lies.
const LEAST_WINDOW: u64 = 1 << 16;

/// Consequence of a segment's ACK field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckVerdict {
    /// The rest of the segment is processed.
    GoOn,
    /// The segment is dropped, its data and FIN unread.
    Drop,
}

impl Connection {
    /// A segment of this connection arrived; `ce`: its packet was marked *congestion experienced*.
    pub(crate) fn on_segment(&mut self, now: Instant, segment: Segment, ce: bool) {
        self.tally.segments_received += 1;
        self.tally.congestion_experienced =
            self.tally.congestion_experienced.saturating_add(u32::from(ce));
        match self.state {
            State::Closed | State::TimeWait => {}
            State::SynSent => self.on_segment_in_syn_sent(now, segment, ce),
            State::SynReceived => self.on_segment_in_syn_received(now, segment, ce),
            _ => self.on_segment_when_synchronized(now, segment, ce),
        }
    }

    /// Processes a segment in a synchronized state (section 3.10.7.4).
    fn on_segment_when_synchronized(&mut self, now: Instant, segment: Segment, ce: bool) {
        let start = self.incoming.unwrap(self.rx.rcv_nxt(), segment.seq);
        if segment.flags.rst() {
            if self.takes_reset(now, start) {
                self.fail(Failure::Reset);
            }
            return;
        }
        if !self.has_good_timestamp(now, start, &segment) {
            return;
        }
        // Fourth check in the RFC, but RFC 5961, section 4.2, requires the challenge whatever the
        // number.
        if segment.flags.syn() {
            return self.on_syn_in_mid_connection(now, start);
        }
        let end = start + u64::from(segment.length());
        if !self.rx.is_acceptable(start, end) {
            return self.on_unacceptable(now, start, segment);
        }
        if !segment.flags.ack() {
            self.tally.unacceptable = self.tally.unacceptable.saturating_add(1);
            return;
        }
        self.silence.on_heard(now);
        if self.on_ack(now, start, &segment) == AckVerdict::GoOn {
            self.on_text(now, start, segment, ce);
        }
    }

    /// First check: the segment is outside the window. It is answered by an acknowledgement, which
    /// tells an honest peer the present state; a window probe is such a segment. Its own
    /// acknowledgement still counts if it begins at RCV.NXT ("special allowance").
    fn on_unacceptable(&mut self, now: Instant, start: u64, segment: Segment) {
        self.tally.unacceptable = self.tally.unacceptable.saturating_add(1);
        let (next, end) = (self.rx.rcv_nxt(), start + u64::from(segment.length()));
        // An entirely old segment begins at RCV.NXT once its old part is removed, such as a
        // retransmitted FIN.
        let is_probe = (start == next || end == next) && segment.flags.ack();
        if is_probe {
            self.silence.on_heard(now);
            if self.on_ack(now, start, &segment) == AckVerdict::Drop {
                return;
            }
        }
        self.note_duplicate(now, start, segment);
    }

    /// Acknowledges a segment outside the window: always if it carries data, since the peer waits
    /// for that; otherwise at a limited rate, since it might be the answer to such an
    /// acknowledgement (RFC 5961, section 7).
    fn note_duplicate(&mut self, now: Instant, start: u64, segment: Segment) {
        if segment.payload.is_empty() && !segment.flags.fin() {
            return self.challenge(now);
        }
        let fin = segment.flags.fin();
        let payload = segment.payload;
        // The receiving side reports duplicates (RFC 2883).
        self.rx.on_segment(now, Incoming { start, payload, fin, ..Incoming::default() });
        self.rx.request_ack(now);
    }

    /// Second check (section 3.10.7.4; RFC 5961, section 3.2): whether a reset is valid. It must
    /// carry exactly the expected number; another one in the window might be forged, and is
    /// challenged.
    fn takes_reset(&mut self, now: Instant, start: u64) -> bool {
        let next = self.rx.rcv_nxt();
        // A connection that received FIN expects the number after it, which the peer may not know.
        let in_window = start == next || (start > next && start < self.rx.window_edge());
        if !in_window {
            self.tally.unacceptable = self.tally.unacceptable.saturating_add(1);
            return false;
        }
        let counts = start == next || !self.options.strict_resets;
        if !counts {
            self.challenge(now);
        }
        counts
    }

    /// Fourth check (RFC 5961, section 4.2): a SYN in mid-connection.
    fn on_syn_in_mid_connection(&mut self, now: Instant, start: u64) {
        let in_window = start >= self.rx.rcv_nxt() && start < self.rx.window_edge();
        if self.options.strict_syns || !in_window {
            return self.challenge(now);
        }
        self.abort_with(Failure::Reset);
    }

    /// Sends a challenge ACK for an unacceptable segment, if the limit allows it.
    pub(super) fn challenge(&mut self, now: Instant) {
        let (limit, interval) = (self.options.challenge_acks, self.options.challenge_ack_interval);
        if self.throttle.take(now, limit, interval) {
            self.tally.challenge_acks = self.tally.challenge_acks.saturating_add(1);
            self.rx.request_ack(now);
        }
    }

    /// PAWS (RFC 7323, section 5.3). A segment without the negotiated timestamps is dropped
    /// silently (section 3.2). Of an acknowledgement that a later segment overtook, only the
    /// SACK blocks count.
    fn has_good_timestamp(&mut self, now: Instant, start: u64, segment: &Segment) -> bool {
        if !self.negotiated.timestamps {
            return true;
        }
        let good = match segment.options.timestamps {
            None => self.options.tolerate_missing_timestamps,
            Some(stamps) if self.rx.is_old_timestamp(now, stamps.value) => {
                if self.is_overtaken_ack(now, start, segment) {
                    self.on_overtaken_ack(now, start, segment);
                    return false;
                }
                if segment.length() > 0 {
                    self.rx.request_ack(now);
                } else {
                    self.challenge(now);
                }
                false
            }
            Some(_) => true,
        };
        self.tally.unacceptable = self.tally.unacceptable.saturating_add(u32::from(!good));
        good
    }

    /// Whether a segment with an old timestamp may be an acknowledgement that was overtaken by a
    /// later segment. It must echo a recent timestamp and acknowledge nothing new, so that it
    /// cannot stem from an earlier cycle of the sequence numbers.
    fn is_overtaken_ack(&self, now: Instant, start: u64, segment: &Segment) -> bool {
        let (next, una) = (self.rx.rcv_nxt(), self.tx.snd_una());
        let ack = self.outgoing.unwrap(una, segment.ack);
        let bare = segment.length() == 0 && segment.flags.ack();
        let window = self.rx.window_edge().saturating_sub(next).max(LEAST_WINDOW);
        let sent_before = start <= next && start + window >= next;
        let acks_old = ack <= una && ack + self.tx.max_window() >= una;
        let age = self.echo(segment).and_then(|echo| self.echoes.age(now, echo));
        let recent = self.tx.recovery().rto(PathId::FIRST).max(LEAST_REORDERING);
        bare && sent_before && acks_old && age.is_some_and(|age| age <= recent)
    }

    /// The SACK blocks of an overtaken segment may contain a report that no later acknowledgement
    /// repeats, such as a duplicate (RFC 2883).
    fn on_overtaken_ack(&mut self, now: Instant, start: u64, segment: &Segment) {
        let una = self.tx.snd_una();
        let ack = Acknowledgement {
            seq: start,
            ack: self.outgoing.unwrap(una, segment.ack),
            window: self.tx.snd_wnd(),
            sack: &self.sack_ranges(una, segment),
            has_sack: self.negotiated.sack,
            has_data: false,
            rtt: None,
            ece: false,
            overtaken: true,
        };
        let result = self.tx.on_ack(now, &ack);
        self.on_ack_result(now, result);
    }

    /// The ranges of a segment's SACK blocks, as offsets near the outstanding data.
    fn sack_ranges(&self, una: u64, segment: &Segment) -> SackRanges {
        let blocks = &segment.options.sack;
        // There are mostly none, and collecting them has a cost.
        if blocks.is_empty() {
            return SackRanges::new();
        }
        let block = |block: &SackBlock| {
            self.outgoing.unwrap(una, block.start)..self.outgoing.unwrap(una, block.end)
        };
        blocks.iter().map(block).collect()
    }

    fn note_timestamp(&mut self, now: Instant, start: u64, segment: &Segment) {
        if let Some(stamps) = segment.options.timestamps {
            self.rx.on_timestamp(now, start, stamps.value);
        }
    }

    /// Fifth check: the ACK field (section 3.10.7.4; RFC 5961, section 5.2).
    fn on_ack(&mut self, now: Instant, start: u64, segment: &Segment) -> AckVerdict {
        let una = self.tx.snd_una();
        let ack = self.outgoing.unwrap(una, segment.ack);
        // Unsent data cannot be acknowledged; nor does a genuine peer acknowledge data further back
        // than its largest window.
        if ack > self.tx.snd_max() || ack + self.tx.max_window() < una {
            self.tally.unacceptable = self.tally.unacceptable.saturating_add(1);
            self.challenge(now);
            return AckVerdict::Drop;
        }
        self.note_timestamp(now, start, segment);
        self.on_peer_user_timeout(segment.options.user_timeout.map(UserTimeout::duration));
        let sack = self.sack_ranges(una, segment);
        let result = self.tx.on_ack(
            now,
            &Acknowledgement {
                seq: start,
                ack,
                window: self.scaled_window(segment.window),
                sack: &sack,
                has_sack: self.negotiated.sack,
                has_data: segment.length() > 0,
                rtt: self.echo(segment).and_then(|echo| self.echoes.age_of_acked(now, echo)),
                ece: self.negotiated.ecn && segment.flags.ece(),
                overtaken: false,
            },
        );
        if result.advanced {
            self.echoes.on_advanced(now, ack, self.tx.snd_max());
            self.on_mtu_progress(now);
        }
        self.on_ack_result(now, result);
        AckVerdict::GoOn
    }

    /// The timestamp that a segment echoes; `None` without timestamps.
    fn echo(&self, segment: &Segment) -> Option<u32> {
        let stamps = segment.options.timestamps.filter(|_| self.negotiated.timestamps);
        stamps.map(|stamps| stamps.echo)
    }

    fn on_ack_result(&mut self, now: Instant, result: AckResult) {
        if result.advanced {
            self.progress_at = now;
            self.tell_writable();
        }
        if result.fin_acked {
            self.on_fin_acked(now);
        }
    }

    /// The peer's user timeout option arrived (RFC 5482, section 3.1). It applies if the
    /// application has set none, within the limits of RFC 1122, section 4.2.3.5, for R2 and of
    /// this implementation.
    pub(super) fn on_peer_user_timeout(&mut self, told: Option<Duration>) {
        if let Some(told) = told.filter(|_| self.options.user_timeout_option) {
            let told = (told.as_millis() / 1000).clamp(100, 3600) as u32;
            self.peer_user_timeout = Seconds::new(told);
            self.tx.set_options(sender_options(&self.options, self.peer_user_timeout));
        }
    }

    /// Sixth to eighth checks: urgent pointer, text and FIN.
    fn on_text(&mut self, now: Instant, start: u64, segment: Segment, ce: bool) {
        if segment.flags.cwr() {
            self.echoes_congestion = false;
        }
        if ce && self.negotiated.ecn_echo {
            self.echoes_congestion = true;
        }
        // No data can follow the peer's FIN.
        if !self.state.may_receive() {
            return;
        }
        let round_trip = self.echo(&segment).and_then(|echo| self.echoes.age(now, echo));
        let urgent = segment.flags.urg().then_some(segment.urgent);
        let fin = segment.flags.fin();
        let payload = segment.payload;
        let has_text = !payload.is_empty();
        if has_text {
            self.tally.data_segments_received += 1;
        }
        // No application will read the data (section 3.6.1; RFC 2525, section 2.17). The reset
        // carries the number that the peer expects, whatever it has not received: the peer
        // would challenge another one (RFC 5961, section 3.2).
        if has_text && self.closed && start + payload.len() as u64 > self.rx.rcv_nxt() {
            self.reset = Some(PendingReset::Answer(segment.ack));
            return self.fail(Failure::Aborted);
        }
        self.on_arrival(now, Incoming { start, payload, fin, urgent, ce, round_trip });
    }

    /// Passes text or FIN to the receiving side.
    fn on_arrival(&mut self, now: Instant, incoming: Incoming) {
        let Arrival { readable, finished, urgent, .. } = self.rx.on_segment(now, incoming);
        if readable > 0 {
            self.data_received_at = now;
        }
        self.tally.bytes_received += readable;
        if urgent {
            self.events.add(Event::Urgent);
        }
        if (readable > 0 || finished) && !self.readable_told {
            self.readable_told = true;
            self.events.add(Event::Readable);
        }
        if finished {
            self.on_fin();
        }
    }
}
