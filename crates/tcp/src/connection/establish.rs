//! A connection becomes ESTABLISHED: both directions apply the negotiated options.

use base::{Duration, Instant};

use super::handshake::Handshake;
use super::{Connection, State, mss_of, new_sender};
use crate::event::Event;
use crate::tx::SenderOptions;
use crate::wire::Segment;

/// Bytes that the timestamps option takes in every segment (RFC 7323, appendix A).
const TIMESTAMPS_LENGTH: u16 = 12;

/// Least payload of a full segment, whatever the peer's MSS and the path MTU: a smaller one is not
/// worth its header, and would let a peer make a little data cost a lot of work.
const MIN_MSS: u16 = 36;

impl Connection {
    /// `segment` acknowledges this side's SYN; `window`: what it advertises.
    pub(super) fn establish(&mut self, now: Instant, segment: &Segment, window: u64) {
        let Some(handshake) = self.handshake.take() else { return };
        self.tx =
            new_sender(&self.options, self.peer_user_timeout, u32::from(self.send_mss()), window);
        self.tx.recovery_mut().set_events_enabled(self.records_events);
        self.tx.recovery_mut().set_reports(self.negotiated.sack);
        self.tells_user_timeout = self.options.user_timeout_option;
        let rtt = self.handshake_rtt(now, &handshake, segment);
        if let Some(rtt) = rtt {
            self.rx.set_round_trip(rtt);
            self.tx.on_rtt_sample(rtt);
        }
        if handshake.expiries > 0 {
            self.tx.on_handshake_loss(handshake.expiries);
        }
        self.state = State::Established;
        self.data_received_at = now;
        self.silence.on_heard(now);
        self.events.add(match handshake.listener {
            Some(listener) => Event::Incoming { listener },
            None => Event::Established,
        });
        // Accepted data is kept, even if less would be accepted now.
        let usual = *self.tx.options();
        let buffer = usual.buffer.max(handshake.queued_bytes);
        self.tx.set_options(SenderOptions { buffer, ..usual });
        for (data, flags) in handshake.queued {
            self.tx.write(now, data, flags.more, flags.urgent);
        }
        self.tx.set_options(usual);
        if handshake.was_full && self.tx.writable_bytes() > 0 {
            self.events.add(Event::Writable);
        } else if handshake.was_full {
            self.tx.note_refused();
        }
        if handshake.finish {
            self.tx.finish();
            self.state = State::FinWait1;
        }
    }

    /// The first RTT sample: that of a SYN sent once (Karn), or of an echoed timestamp (RFC 7323,
    /// section 4.1).
    fn handshake_rtt(
        &self,
        now: Instant,
        handshake: &Handshake,
        segment: &Segment,
    ) -> Option<Duration> {
        let echo = segment.options.timestamps.map(|stamps| stamps.echo);
        match echo.filter(|echo| self.negotiated.timestamps && *echo != 0) {
            // A cookie's timestamp is not its transmission time.
            _ if handshake.sent == 0 => None,
            _ if handshake.sent == 1 => Some(now.since(handshake.sent_at)),
            Some(echo) => self.echoes.age(now, echo),
            None => None,
        }
    }

    /// The peer's window in bytes, scaled.
    pub(super) fn scaled_window(&self, field: u16) -> u64 {
        u64::from(field) << self.negotiated.window_scale.map_or(0, |(shift, _)| shift)
    }

    /// Bytes of data in a full segment: limited by the peer's MSS and the path MTU, less the
    /// options of every segment (RFC 9293, section 3.7.1; RFC 6691).
    pub(super) fn send_mss(&self) -> u16 {
        self.mss_in(self.path_mtu.get())
    }

    /// Bytes of data in a full segment if the path carries packets of `mtu` bytes.
    pub(super) fn mss_in(&self, mtu: u16) -> u16 {
        let options = if self.negotiated.timestamps { TIMESTAMPS_LENGTH } else { 0 };
        let own = mss_of(&self.options, mtu, self.local.is_ipv6());
        self.peer_mss.min(own).saturating_sub(options).max(MIN_MSS)
    }
}
