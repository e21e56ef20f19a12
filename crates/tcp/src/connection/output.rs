//! Segments that a connection sends.

use core::net::SocketAddr;
use core::ops::Range;
use std::sync::Arc;

use base::{Ecn, Instant, IpService, Transmit, TransmitBuffer};

use super::handshake::{IP_HEADERS, syn_options, user_timeout_option};
use super::{Connection, State, window_shift};
use crate::options::EcnMode;
use crate::outbox;
use crate::rx::AckFields;
use crate::tx::Outgoing;
use crate::wire::{
    Flags, Options, Pseudo, SackBlock, Segment, SeqNumber, Timestamps, UserTimeout,
    sack_blocks_that_fit,
};

/// A reset that is due, with its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PendingReset {
    /// The reset ends this connection.
    Abort,
    /// The reset answers a segment that acknowledged unsent data; this connection continues.
    Answer(SeqNumber),
}

impl Connection {
    /// Writes the next segment into `buffer`; `None` if there is none.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        buffer: &mut dyn TransmitBuffer,
    ) -> Option<Transmit> {
        if let Some(reset) = self.reset.take() {
            let segment = self.reset_segment(now, reset);
            return Some(self.emit(&segment, 0..0, Ecn::NotEct, buffer));
        }
        match self.state {
            State::Closed => None,
            State::SynSent | State::SynReceived => {
                self.poll_syn(now, buffer).or_else(|| self.poll_ack(now, buffer))
            }
            // The last acknowledgement, in TIME-WAIT.
            State::TimeWait => self.poll_ack(now, buffer),
            // SACK blocks need a segment of their own, since a full segment of data has no room for
            // them.
            _ if self.has_sack_to_tell(now) => self.poll_ack(now, buffer),
            _ => self
                .poll_data(now, buffer)
                .or_else(|| self.poll_ack(now, buffer))
                .or_else(|| self.poll_probe(now, buffer)),
        }
    }

    /// Whether reading made a segment due.
    pub(crate) fn wants_transmit(&self, now: Instant) -> bool {
        self.rx.wants_ack(now)
    }

    /// Answers a segment that acknowledges unsent data with a reset, without any other effect
    /// (section 3.5.2, group 2).
    pub(super) fn send_reset_for(&mut self, segment: &Segment) {
        self.reset = Some(PendingReset::Answer(segment.ack));
    }

    fn reset_segment(&self, now: Instant, reset: PendingReset) -> Segment {
        let mut segment = Segment::new(self.local.port(), self.remote.port());
        segment.flags = Flags::RST;
        match reset {
            PendingReset::Answer(seq) => segment.seq = seq,
            PendingReset::Abort => {
                segment.seq = self.outgoing.wrap(self.tx.snd_nxt());
                // Section 3.10.5 has no ACK here; with one, more hosts accept the reset.
                segment.flags |= Flags::ACK;
                segment.ack = self.incoming.wrap(self.rx.rcv_nxt());
                // RFC 7323, section 3.2: timestamps should be present.
                segment.options.timestamps = self.timestamps(now);
            }
        }
        segment
    }

    fn poll_syn(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        let handshake = self.handshake.as_mut().filter(|handshake| handshake.wants_send)?;
        let peer = handshake.peer;
        // A SYN that may have been dropped for its ECN bits is repeated without them (RFC 3168,
        // section 6.1.1.1).
        let with_ecn = handshake.expiries <= self.options.ecn_syn_retries;
        let ecn = with_ecn
            && match &peer {
                None => self.options.ecn == EcnMode::Active,
                Some(_) => self.negotiated.ecn,
            };
        let limit = self.options.option_syn_retries.unwrap_or(u8::MAX);
        // An answer to the peer keeps to the negotiated options.
        let with_options = peer.is_some() || handshake.expiries <= limit;
        match peer {
            None => handshake.ecn_asked.on_sent(ecn),
            // The peer may receive this SYN ACK and conclude that there is no ECN: then it would
            // echo no mark, so no segment may be sent as markable (RFC 3168, section
            // 6.1.1).
            Some(_) => self.negotiated.ecn &= ecn,
        }
        handshake.on_sent(now, &self.options);
        let clock = self.echoes.clock(now);
        let offered = Arc::clone(&handshake.offered);
        let shift = window_shift(&offered, self.local.is_ipv6());
        let mut segment = Segment::new(self.local.port(), self.remote.port());
        segment.seq = self.outgoing.initial();
        segment.flags = Flags::SYN;
        segment.options = syn_options(&offered, self.advertised_mss(), shift, clock, peer.as_ref());
        if !with_options {
            segment.options = Options { mss: segment.options.mss, ..Options::default() };
        }
        segment.window = self.rx.syn_window();
        if peer.is_some() {
            segment.flags |= Flags::ACK;
            segment.ack = self.incoming.wrap(self.rx.rcv_nxt());
            if let Some(stamps) = &mut segment.options.timestamps {
                stamps.echo = self.rx.timestamp_to_echo().unwrap_or(stamps.echo);
            }
        }
        if ecn {
            // A request for ECN sets ECE and CWR, a grant sets ECE.
            let setup = if peer.is_some() { Flags::ECE } else { Flags::ECE | Flags::CWR };
            segment.flags |= setup;
        }
        Some(self.emit(&segment, 0..0, Ecn::NotEct, buffer))
    }

    fn poll_data(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        let outgoing = self.poll_outgoing(now)?;
        let data = outgoing.range();
        let Outgoing { start, bytes, fin, push, cwr, retransmission, urgent, window_probe } =
            outgoing;
        if !retransmission && start == self.tx.snd_una() {
            self.echoes.on_sent_first(now);
        }
        let mut segment = self.acknowledging(now, start, bytes);
        if fin {
            segment.flags |= Flags::FIN;
        }
        if push {
            segment.flags |= Flags::PSH;
        }
        if let Some(urgent) = urgent {
            segment.flags |= Flags::URG;
            segment.urgent = u16::try_from(urgent - start).unwrap_or(u16::MAX);
        }
        if cwr && self.negotiated.ecn {
            segment.flags |= Flags::CWR;
        }
        if bytes > 0 {
            self.tally.data_segments_sent += 1;
            self.data_sent_at = now;
        }
        // Only new data within the window may be sent as markable (RFC 3168, sections 6.1.4 to
        // 6.1.6).
        let markable = self.negotiated.ecn && bytes > 0 && !retransmission && !window_probe;
        let ecn = if markable { Ecn::Ect0 } else { Ecn::NotEct };
        Some(self.emit(&segment, data, ecn, buffer))
    }

    /// Whether an acknowledgement with SACK blocks is due.
    fn has_sack_to_tell(&self, now: Instant) -> bool {
        self.negotiated.sack && self.rx.has_sack() && self.rx.wants_ack(now)
    }

    fn poll_ack(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        if !self.rx.wants_ack(now) {
            return None;
        }
        let segment = self.acknowledging(now, self.tx.snd_nxt(), 0);
        Some(self.emit(&segment, 0..0, Ecn::NotEct, buffer))
    }

    /// Writes a keep-alive probe: an old, acknowledged number makes the peer answer (RFC 9293,
    /// section 3.8.4), whatever is outstanding.
    fn poll_probe(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        if !core::mem::take(&mut self.probes) {
            return None;
        }
        self.tally.keep_alive_probes = self.tally.keep_alive_probes.saturating_add(1);
        let segment = self.acknowledging(now, self.tx.snd_una().saturating_sub(1), 0);
        Some(self.emit(&segment, 0..0, Ecn::NotEct, buffer))
    }

    /// A segment at `start` with room for `bytes` bytes of data, which acknowledges all received
    /// data. Optional TCP options are added as far as they fit beside the data.
    fn acknowledging(&mut self, now: Instant, start: u64, bytes: usize) -> Segment {
        let mut left = usize::from(self.send_mss()).saturating_sub(bytes);
        let user_timeout = self.user_timeout_to_tell().filter(|_| left >= 4);
        if user_timeout.is_some() {
            left -= 4;
            self.tells_user_timeout = false;
        }
        let most = match self.negotiated.sack {
            true => sack_blocks_that_fit(self.negotiated.timestamps),
            false => 0,
        };
        let blocks = most.min(left.saturating_sub(4) / 8);
        let AckFields { ack, window, sack } = self.rx.acknowledge(blocks);
        let mut segment = Segment::new(self.local.port(), self.remote.port());
        segment.seq = self.outgoing.wrap(start);
        segment.ack = self.incoming.wrap(ack);
        segment.flags = Flags::ACK;
        segment.window = window;
        if self.echoes_congestion {
            segment.flags |= Flags::ECE;
        }
        let block = |range: &Range<u64>| SackBlock {
            start: self.incoming.wrap(range.start),
            end: self.incoming.wrap(range.end),
        };
        segment.options = Options {
            timestamps: self.timestamps(now),
            // There are mostly none, and collecting them costs as much as writing the rest.
            sack: if sack.is_empty() {
                Default::default()
            } else {
                sack.iter().map(block).collect()
            },
            user_timeout,
            ..Options::default()
        };
        segment
    }

    fn timestamps(&self, now: Instant) -> Option<Timestamps> {
        let echo = self.rx.timestamp_to_echo().filter(|_| self.negotiated.timestamps)?;
        Some(Timestamps { value: self.echoes.clock(now), echo })
    }

    /// The user timeout option, if the peer does not know it yet.
    fn user_timeout_to_tell(&self) -> Option<UserTimeout> {
        user_timeout_option(&self.options).filter(|_| self.tells_user_timeout)
    }

    /// Window field of the last acknowledgement, for TIME-WAIT.
    pub(super) fn window_field(&self) -> u16 {
        let shift = self.negotiated.window_scale.map_or(0, |(_, shift)| shift);
        let window = self.rx.window_edge().saturating_sub(self.rx.rcv_nxt());
        u16::try_from(window >> shift).unwrap_or(u16::MAX)
    }

    /// Writes `segment` with the data at these offsets.
    fn emit(
        &mut self,
        segment: &Segment,
        data: Range<u64>,
        ecn: Ecn,
        buffer: &mut dyn TransmitBuffer,
    ) -> Transmit {
        let addresses = Pseudo::new(self.local.ip(), self.remote.ip());
        let bytes = data.end.saturating_sub(data.start);
        let payload = self.tx.payload(data);
        // Fewer bytes would stand at the wrong offsets of the peer's stream.
        debug_assert_eq!(
            payload.bytes() as u64,
            bytes,
            "the send buffer holds all that is in flight"
        );
        let size = outbox::put(buffer, segment, addresses, payload);
        self.tally.segments_sent += 1;
        let whole = size + outbox::tail_size(buffer);
        let packet = whole + usize::from(IP_HEADERS[usize::from(self.local.is_ipv6())]);
        let dont_fragment = self.options.path_mtu_discovery && !self.path_mtu.may_fragment(packet);
        let service = self.options.service();
        Transmit { service, ..transmit(self.local, self.remote, ecn, dont_fragment, size) }
    }
}

/// Describes a datagram between two addresses with the usual IP service: over IP the ports are 0.
pub(crate) fn transmit(
    local: SocketAddr,
    remote: SocketAddr,
    ecn: Ecn,
    dont_fragment: bool,
    size: usize,
) -> Transmit {
    Transmit {
        local: Some(SocketAddr::new(local.ip(), 0)),
        remote: SocketAddr::new(remote.ip(), 0),
        ecn,
        dont_fragment,
        service: IpService::default(),
        size,
    }
}
