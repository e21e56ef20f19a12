//! Other SCTP stacks, through what the tests against them have.

use base::{Datagram, DatagramMeta, Icmp, Instant, Machine, Transmit, TransmitBuffer};
use bytes::Bytes;
use sctp_proto::TransportConfig;
use std::time::Duration;
use virtual_peers::{DcSctp, Outgoing, PACKET, Reliability, SctpProto, Stack, StackEvent};

use lab::peers::{IP_HEADER, PeerEnd};

use crate::datagram::with_port;
use crate::ends::Side;

/// One end of an association of another stack, on one ordered stream.
pub(crate) struct OtherSctp<S> {
    stack: S,
    open: fn(&mut S, Instant, Side),
    side: Side,
    ended: bool,
}

/// dcsctp with its defaults; or, `tuned`, with a timeout of 5 ms beyond what was measured that
/// never doubles beyond 200 ms, the I bit on every message (RFC 7053) and no delay of SACKs.
pub(crate) fn dcsctp(side: Side, tuned: bool) -> OtherSctp<DcSctp> {
    let mut options = DcSctp::options();
    if tuned {
        options.rto_min = Duration::from_millis(1);
        options.min_rtt_variance = Duration::from_millis(5);
        options.rto_initial = Duration::from_millis(200);
        options.max_timer_backoff_duration = Some(Duration::from_millis(200));
        options.delayed_ack_max_timeout = Duration::from_millis(1);
        options.max_retransmissions = None;
        options.immediate_sack_under_cwnd_mtus = usize::MAX;
    }
    let open = |stack: &mut DcSctp, now, _| stack.connect(now);
    OtherSctp { stack: DcSctp::new(&options, side.remote), open, side, ended: false }
}

/// sctp-proto with its defaults; or, `tuned`, with a timeout of at least what was measured and at
/// most 400 ms. Its receiver delays acknowledgements by up to 200 ms, which cannot be set; a
/// timeout below that and the round trip would send everything twice.
pub(crate) fn sctp_proto(side: Side, tuned: bool) -> OtherSctp<SctpProto> {
    /// Common header and DATA chunk header, which the crate's payload size leaves out, in bytes.
    const HEADERS: u32 = 28;
    let mut transport = TransportConfig::default();
    if tuned {
        transport = transport
            .with_rto_initial_ms(200)
            .with_rto_min_ms(1)
            .with_rto_max_ms(400)
            .with_max_data_retransmits(None);
    }
    let stack = SctpProto::new(transport, side.server, PACKET as u32 - HEADERS);
    let open = |stack: &mut SctpProto, now, side: Side| {
        // Messages are refused where there is no association.
        let _ = stack.open(now, with_port(side.remote));
    };
    OtherSctp { stack, open, side, ended: false }
}

impl<S: Stack> OtherSctp<S> {
    fn take_events(&mut self) {
        while let Some(event) = self.stack.poll_event() {
            self.ended |= matches!(event, StackEvent::Ended(_));
        }
    }
}

impl<S: Stack> Machine for OtherSctp<S> {
    fn handle_datagram(&mut self, now: Instant, meta: DatagramMeta, datagram: Datagram) {
        let remote = with_port(meta.remote);
        self.stack.handle_datagram(now, DatagramMeta { remote, ..meta }, datagram);
        self.take_events();
    }

    fn handle_icmp(&mut self, _: Instant, _: Icmp<'_>) {}

    fn handle_timeout(&mut self, now: Instant) {
        self.stack.handle_timeout(now);
        self.take_events();
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        let sent = self.stack.poll_transmit(now, buffer)?;
        Some(Transmit { remote: self.side.remote, ..sent })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.stack.poll_timeout()
    }
}

impl<S: Stack> PeerEnd for OtherSctp<S> {
    /// Directly over IP, as ours; DTLS and UDP of browsers would add headers.
    fn headers(&self) -> u64 {
        IP_HEADER
    }

    fn connect(&mut self, now: Instant) {
        (self.open)(&mut self.stack, now, self.side);
    }

    fn send(&mut self, now: Instant, payload: Bytes) {
        let reliability = Reliability::Full;
        let message = Outgoing { stream: 0, payload, unordered: false, reliability };
        // Buffers are unbounded, so a message is refused only without an association.
        self.ended |= self.stack.send(now, &message).is_err();
    }

    fn receive(&mut self, now: Instant) -> Option<Bytes> {
        Some(self.stack.receive(now)?.payload)
    }

    fn has_failed(&self) -> bool {
        self.ended
    }
}
