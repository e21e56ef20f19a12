//! Packets in and out of an association.

use base::{DatagramMeta, Ecn, Instant, RandomStream, Transmit};
use bytes::Bytes;
use recovery::AckOutcome;

use super::{Association, Control, OwnedCause, State};
use crate::authentication::Verdict;
use crate::event::{Event, Failure};
use crate::extensions::Extensions;
use crate::reconfigure::Answer;
use crate::rx::receiver::Receiver;
use crate::tx::transmission::SackError;
use crate::wire::chunk::{
    Abort, CookieAck, CookieEcho, GapAckBlock, Heartbeat, HeartbeatAck, Init, OperationError,
    OutgoingSack, RawChunk, ReConfig, Sack, Shutdown, ShutdownAck, ShutdownComplete,
};
use crate::wire::{
    Cause, Causes, Chunk, CommonHeader, DoesNotFit, PacketBuilder, ParseError, VerificationTag,
};
use crate::wire::{Packet, Parameter};
use crate::zero_checksum::ErrorDetection;

/// Control chunks that may wait at once; a peer that provokes more gets no answer to the rest.
const CONTROL_LIMIT: usize = 32;

/// Longest part of an unrecognized chunk or of heartbeat information that is sent back.
const ECHO_LIMIT: usize = 1024;

/// Whether to go on with a packet's chunks.
#[derive(PartialEq, Eq)]
pub(super) enum Next {
    Chunk,
    Stop,
}

/// What a packet's chunks said so far.
#[derive(Default)]
struct Said {
    /// Something that is to be acknowledged.
    data: bool,
    /// What of ours arrived.
    sack: bool,
    /// An AUTH chunk vouched for the chunks behind it.
    authenticated: bool,
}

/// Whether a chunk carries data, acknowledges it, or moves on without it.
fn is_about_data(chunk: &Chunk<'_>) -> bool {
    matches!(
        chunk,
        Chunk::Data(_)
            | Chunk::IData(_)
            | Chunk::ForwardTsn(_)
            | Chunk::IForwardTsn(_)
            | Chunk::Sack(_)
    )
}

/// Chunks that RFC 9260, section 6.10, forbids to bundle and the association takes.
fn travels_alone(chunk: &Chunk<'_>) -> bool {
    matches!(chunk, Chunk::InitAck(_) | Chunk::ShutdownComplete(_))
}

/// Whether a chunk says that it is shorter than its header.
fn lacks_length(packet: &Packet) -> bool {
    packet.raw_chunks().any(|chunk| matches!(chunk, Err(ParseError::NoLength(..))))
}

fn is_alone(packet: &Packet) -> bool {
    packet.raw_chunks().nth(1).is_none()
}

impl Association {
    // ---- in ------------------------------------------------------------------------------------

    /// Input: a packet whose verification tag is right.
    pub(crate) fn handle_packet(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        packet: &Packet,
        random: &mut RandomStream,
    ) {
        self.counters.packets_received += 1;
        self.counters.bytes_received += packet.len() as u64;
        self.tx.begin_burst();
        let path = self.path_of(now, meta);
        self.on_heard_from(now, path, packet.len());
        let mut said = Said::default();
        let mut raw = packet.raw_chunks().enumerate();
        for (index, chunk) in packet.chunks().enumerate() {
            if let Ok(chunk) = &chunk {
                match self.judge_authenticity(packet, index, chunk, &mut said.authenticated) {
                    Verdict::Taken => {}
                    Verdict::Passed => continue,
                    Verdict::Refused | Verdict::UnsupportedHmac(_) => break,
                }
            }
            let next = match chunk {
                Ok(chunk) if travels_alone(&chunk) && !(index == 0 && is_alone(packet)) => {
                    // Section 6.10: they must not be bundled. What is bundled behind one cannot be
                    // meant; what stands before it has been taken.
                    self.counters.chunks_dropped += 1;
                    Next::Stop
                }
                Ok(Chunk::Asconf(asconf)) => {
                    self.on_asconf(now, meta, &asconf);
                    Next::Chunk
                }
                Ok(chunk) if is_about_data(&chunk) => {
                    let raw = || raw.find(|(at, _)| *at == index)?.1.ok();
                    self.on_data_chunk(now, path, (packet.len(), chunk), raw, &mut said)
                }
                Ok(chunk) => self.on_control(now, path, chunk, random),
                Err(_) => self.on_unreadable(packet),
            };
            if next == Next::Stop || self.state == State::Closed {
                break;
            }
        }
        self.on_packet_end(now, said.data);
    }

    /// A chunk that is about data, from a packet of `len` bytes; `raw` is the chunk as it came.
    fn on_data_chunk<'a>(
        &mut self,
        now: Instant,
        path: usize,
        (len, chunk): (usize, Chunk<'_>),
        raw: impl FnOnce() -> Option<RawChunk<'a>>,
        said: &mut Said,
    ) -> Next {
        if !matches!(chunk, Chunk::Sack(_)) {
            self.sack_path = path as u8;
        }
        match chunk {
            Chunk::Data(data) => {
                said.data = true;
                self.on_data(data, len);
                self.on_reset_data();
            }
            Chunk::IData(data) => {
                said.data = true;
                self.on_i_data(data, len);
                self.on_reset_data();
            }
            Chunk::Sack(sack) => {
                // Whoever has two things to say of what arrived says the later one.
                if core::mem::replace(&mut said.sack, true) {
                    self.counters.chunks_dropped += 1;
                } else {
                    self.on_sack(now, &sack);
                }
            }
            forward => {
                // RFC 3758, section 3.6: it is acknowledged as DATA is.
                said.data |= self.extensions.contains(Extensions::PARTIAL_RELIABILITY);
                return self.on_forward_tsn(&forward, raw);
            }
        }
        Next::Chunk
    }

    /// What no chunk can be read from.
    fn on_unreadable(&mut self, packet: &Packet) -> Next {
        if self.state != State::CookieWait && lacks_length(packet) {
            // No stack puts together a chunk without room for its header, whatever stands before it.
            const WHAT: &str = "a chunk is shorter than its header";
            let cause = OwnedCause::ProtocolViolation(WHAT);
            self.abort_with(cause, Failure::ProtocolViolation(WHAT));
        } else {
            self.counters.chunks_dropped += 1;
        }
        Next::Stop
    }

    /// All of a packet was taken.
    fn on_packet_end(&mut self, now: Instant, had_data: bool) {
        let shutdown_sent = self.state == State::ShutdownSent;
        if had_data && let Some(rx) = &mut self.rx {
            rx.on_packet_end(now, shutdown_sent);
        }
        if had_data && shutdown_sent {
            // Section 9.2: DATA in SHUTDOWN-SENT is answered with SHUTDOWN (and the SACK).
            self.repeat_shutdown(now);
        }
        self.tx.give_up_stale(now, self.data_path, &mut self.queue);
        self.advance_reconfiguration(now);
        self.advance_shutdown(now);
        self.announce_progress();
    }

    fn on_control(
        &mut self,
        now: Instant,
        path: usize,
        chunk: Chunk<'_>,
        random: &mut RandomStream,
    ) -> Next {
        match chunk {
            Chunk::InitAck(init_ack) => self.on_init_ack(now, path, &init_ack.0),
            Chunk::CookieAck(_) => self.on_cookie_ack(now, random),
            Chunk::Heartbeat(heartbeat) => self.on_heartbeat(path, heartbeat.info),
            Chunk::HeartbeatAck(answer) => self.on_heartbeat_ack(now, answer.info, random),
            Chunk::Shutdown(shutdown) => self.on_shutdown(now, shutdown.cumulative_tsn_ack),
            Chunk::ShutdownAck(_) => self.on_shutdown_ack(),
            Chunk::ShutdownComplete(_) => self.on_shutdown_complete(),
            Chunk::Abort(abort) => self.on_abort(&abort.causes),
            Chunk::Error(error) => self.on_error(now, &error.causes),
            Chunk::AsconfAck(ack) => self.on_asconf_ack(now, &ack),
            // It was taken.
            Chunk::Asconf(_) => {}
            Chunk::ReConfig(chunk) => self.on_reconfig(now, &chunk),
            Chunk::Auth(_) => {
                // Not agreed on, it is of a type that stops the packet.
                self.counters.chunks_dropped += 1;
                return Next::Stop;
            }
            Chunk::Unrecognized(raw) => return self.on_unrecognized(raw),
            // The endpoint has taken it.
            Chunk::CookieEcho(_) => {}
            // It travels alone.
            Chunk::Init(_) => self.counters.chunks_dropped += 1,
            // It says nothing.
            Chunk::Pad(_) => {}
            // They have been taken.
            Chunk::Data(_)
            | Chunk::IData(_)
            | Chunk::ForwardTsn(_)
            | Chunk::IForwardTsn(_)
            | Chunk::Sack(_) => {}
        }
        Next::Chunk
    }

    fn on_sack(&mut self, now: Instant, sack: &Sack<'_>) {
        if matches!(self.state, State::CookieWait | State::CookieEchoed { .. }) {
            self.counters.chunks_dropped += 1;
            return;
        }
        self.counters.sacks_received += 1;
        match self.tx.on_sack(now, sack, &mut self.queue) {
            Ok(outcome) => self.on_acknowledged(now, outcome, sack.a_rwnd == 0),
            Err(SackError::BadGaps) => self.counters.chunks_dropped += 1,
            // One from before the TSNs began anew.
            Err(SackError::BeyondSent) if self.is_from_before_reset(sack.cumulative_tsn_ack) => {
                self.counters.chunks_dropped += 1;
            }
            Err(SackError::BeyondSent) => self.abort_with(
                OwnedCause::ProtocolViolation("SACK acknowledges a TSN that was never sent"),
                Failure::ProtocolViolation("SACK acknowledges a TSN that was never sent"),
            ),
        }
    }

    /// The peer acknowledged data, or at least answered: what errors were counted is forgotten.
    /// Section 6.1: a peer that answers window probes with a closed window is alive.
    pub(crate) fn on_acknowledged(
        &mut self,
        now: Instant,
        outcome: AckOutcome,
        window_closed: bool,
    ) {
        // That what was given up is acknowledged shows as well that the peer is there.
        let skipped = outcome.advanced && outcome.acked_bytes == 0;
        for index in 0..self.paths.len() as u8 {
            // Section 8.2. What had been taken for lost may have arrived before the path died, and be
            // acknowledged on another one.
            let heard = self.paths[usize::from(index)].heard;
            let proofs = if heard { outcome.paths } else { outcome.certain };
            let proven = proofs & (1 << index) != 0;
            if proven || ((window_closed || skipped) && index == self.data_path) {
                self.on_path_alive(now, index);
            }
            if outcome.spurious & (1 << index) != 0 {
                self.on_spurious_expiry(now, index);
            }
            if outcome.sampled & (1 << index) != 0 {
                self.on_round_trip(now, index);
            }
        }
        if outcome.acked_bytes > 0 || skipped || window_closed {
            self.error_count = 0;
        }
    }

    fn on_abort(&mut self, causes: &Causes<'_>) {
        let cause = causes.iter().next().and_then(Result::ok);
        let code = cause.as_ref().map_or(0, |cause| cause.code().0);
        let reason = match cause {
            Some(Cause::UserInitiatedAbort(text) | Cause::ProtocolViolation(text)) => text,
            _ => &[],
        };
        let reason = Bytes::copy_from_slice(reason);
        self.control.clear();
        self.fail(Failure::AbortedByPeer { code, reason });
    }

    fn on_error(&mut self, now: Instant, causes: &Causes<'_>) {
        let is_stale = |cause: Result<Cause<'_>, _>| matches!(cause, Ok(Cause::StaleCookie(_)));
        if matches!(self.state, State::CookieEchoed { .. }) && causes.iter().any(is_stale) {
            return self.on_stale_cookie(now);
        }
        match causes.iter().next() {
            Some(Ok(first)) if self.state != State::CookieWait => {
                self.announce(Event::PeerError { code: first.code().0 });
            }
            _ => self.counters.chunks_dropped += 1,
        }
    }

    /// Section 3.2: the two upper bits of the type say what to do.
    pub(super) fn on_unrecognized(&mut self, raw: RawChunk<'_>) -> Next {
        self.counters.chunks_dropped += 1;
        let action = raw.chunk_type.unrecognized_action();
        if action.reports() && !matches!(self.state, State::CookieWait) {
            let part = &raw.bytes[..raw.bytes.len().min(ECHO_LIMIT)];
            let cause = OwnedCause::UnrecognizedChunkType(Bytes::copy_from_slice(part));
            self.push_control(Control::Error(cause));
        }
        if action.stops() { Next::Stop } else { Next::Chunk }
    }

    fn on_heartbeat(&mut self, path: usize, info: &[u8]) {
        if matches!(self.state, State::CookieWait) || info.len() > ECHO_LIMIT {
            self.counters.chunks_dropped += 1;
            return;
        }
        let info = Bytes::copy_from_slice(info);
        self.push_control(Control::HeartbeatAck { path: path as u8, info });
    }

    /// Queues a control chunk, unless it is an answer and the peer provoked too many already.
    pub(crate) fn push_control(&mut self, control: Control) {
        if self.control.len() < CONTROL_LIMIT || !control.is_answer() {
            self.control.push_back(control);
        }
    }

    // ---- out -----------------------------------------------------------------------------------

    /// Output: appends the next packet to `buffer`.
    pub(crate) fn poll_transmit(&mut self, now: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let echoes_cookie = self.control.front() == Some(&Control::CookieEcho);
        if matches!(self.state, State::CookieEchoed { .. }) && !echoes_cookie {
            // Section 5.1: until COOKIE ACK no packet leaves without COOKIE ECHO.
            return None;
        }
        // The timer may be late, as after the process was stopped: what is stale does not leave.
        self.expire_messages(now);
        if let Some(copies) = self.poll_copies(buffer) {
            return Some(copies);
        }
        let path_index = self.next_path(now, echoes_cookie);
        let sends_data = self.may_send_data(now, path_index, echoes_cookie);
        if !sends_data && self.control.is_empty() && !self.may_acknowledge(now, path_index) {
            return None;
        }
        let path = &self.paths[usize::from(path_index)];
        let (remote, local, max_packet) = (path.remote, path.local, self.max_packet());
        let asconf = self.control.front() == Some(&Control::ChangeAddress);
        let local = self.source_of(local, asconf);
        let verification_tag = match self.control.front() {
            Some(Control::Init) => VerificationTag(0),
            Some(Control::ReflectedAbort(_)) => self.local_tag,
            _ => self.peer_tag,
        };
        // RFC 9653, section 5.2.
        let may_omit_checksum = !matches!(
            self.control.front(),
            Some(Control::Init | Control::CookieEcho | Control::ReflectedAbort(_))
        );
        let header = CommonHeader {
            source_port: self.local_port,
            destination_port: self.peer_port,
            verification_tag,
        };
        if let Some(&Control::Probe { path, nonce, size }) = self.control.front() {
            self.control.pop_front();
            return self.emit_probe(header, (path, nonce, size), buffer);
        }
        let discovers_mtu = path.discovers_mtu();
        let oversized =
            CommonHeader::LENGTH + self.tx.next_again_size(path_index).next_multiple_of(4);
        let mut packet =
            PacketBuilder::start(buffer, header, max_packet.max(oversized)).signed(self.signer());
        let goes_on = self.append_controls(&mut packet, path_index);
        if goes_on && self.paths[usize::from(path_index)].confirmed {
            self.append_sack_and_data(now, path_index, &mut packet, echoes_cookie, sends_data);
        }
        if packet.is_empty() {
            packet.discard();
            return None;
        }
        let size = self.finish_packet(packet, may_omit_checksum);
        // What was cut for a larger path MTU and has to be sent again is left to IP to fragment (RFC 9260,
        // section 6.9).
        let dont_fragment = discovers_mtu && size <= max_packet;
        Some(Transmit { local, remote, ecn: Ecn::NotEct, dont_fragment, size })
    }

    /// Whether there may be something to tell of what arrived or was given up, in a packet on `path`.
    fn may_acknowledge(&self, now: Instant, path: u8) -> bool {
        let sack = self.rx.as_ref().is_some_and(|rx| rx.sack_due(now));
        (sack && path == self.sack_route()) || self.tx.may_give_up()
    }

    /// Completes a packet and counts it; its size.
    pub(crate) fn finish_packet(
        &mut self,
        packet: PacketBuilder<'_>,
        may_omit_checksum: bool,
    ) -> usize {
        let size = if may_omit_checksum && self.extensions.contains(Extensions::ZERO_CHECKSUM) {
            packet.finish_without_checksum()
        } else {
            packet.finish()
        };
        self.counters.packets_sent += 1;
        self.counters.bytes_sent += size as u64;
        size
    }

    /// Appends control chunks for the path as far as they fit; false if nothing may follow them.
    fn append_controls(&mut self, packet: &mut PacketBuilder<'_>, path: u8) -> bool {
        let usual = self.control_route();
        let on_path = |control: &&Control| control.path().unwrap_or(usual) == path;
        while let Some(control) = self.control.front().filter(on_path) {
            // From a new address nothing but ASCONF may leave.
            let alone = matches!(
                control,
                Control::Init
                    | Control::ShutdownComplete
                    | Control::Probe { .. }
                    | Control::ChangeAddress
            );
            if alone && !packet.is_empty() {
                return false;
            }
            match self.append_control(packet, control) {
                Ok(()) => {}
                // Too long for any packet: it will never go.
                Err(DoesNotFit) if packet.is_empty() => {}
                Err(DoesNotFit) => return false,
            }
            let ends = matches!(control, Control::Abort(_) | Control::ReflectedAbort(_));
            self.control.pop_front();
            if alone || ends {
                return false;
            }
        }
        if self.control.is_empty() {
            self.control = Default::default();
        }
        true
    }

    fn append_control(
        &self,
        packet: &mut PacketBuilder<'_>,
        control: &Control,
    ) -> Result<(), DoesNotFit> {
        match control {
            Control::Init => {
                let types = self.options.extensions.chunk_types();
                let parameters = self.options.extensions.parameters(&types);
                let zero_checksum = self.options.zero_checksum.map(ErrorDetection::parameter);
                let parameters = parameters.chain(zero_checksum);
                let own = self.authentication.as_ref();
                let keys = own.map(|own| own.own().parameters()).into_iter().flatten();
                packet.append(self.init(parameters.chain(keys).chain(self.own_parameters())))
            }
            Control::CookieEcho => match &self.state {
                State::CookieEchoed { cookie } => packet.append(CookieEcho { cookie }),
                _ => Ok(()),
            },
            Control::CookieAck => packet.append(CookieAck),
            Control::Shutdown => {
                let cumulative = self.rx.as_ref().map(Receiver::cumulative).unwrap_or_default();
                packet.append(Shutdown { cumulative_tsn_ack: cumulative })
            }
            Control::ShutdownAck => packet.append(ShutdownAck),
            Control::ShutdownComplete => packet.append(ShutdownComplete { t_bit: false }),
            Control::Heartbeat { path, nonce } => {
                let info = crate::paths::heartbeat::info(*path, *nonce);
                packet.append(Heartbeat { info: &info })
            }
            Control::HeartbeatAck { info, .. } => packet.append(HeartbeatAck { info }),
            // It is a packet of its own.
            Control::Probe { .. } => Ok(()),
            Control::Reconfigure => match &self.reconfiguration {
                Some(own) => packet.append(own.request_chunk()),
                None => Ok(()),
            },
            Control::ReconfigureAnswers(answers) => {
                packet.append(ReConfig { parameters: answers.iter().map(Answer::parameter) })
            }
            Control::ChangeAddress => match self.asconf() {
                Some(asconf) => packet.append(asconf),
                None => Ok(()),
            },
            Control::AddressAnswer { answer, .. } => packet.append(answer.chunk()),
            Control::Error(cause) => packet.append(OperationError { causes: [cause.as_cause()] }),
            Control::Abort(cause) => {
                packet.append(Abort { t_bit: false, causes: [cause.as_cause()] })
            }
            Control::ReflectedAbort(cause) => {
                packet.append(Abort { t_bit: true, causes: [cause.as_cause()] })
            }
        }
    }

    fn init<'a, P: Iterator<Item = Parameter<'a>>>(&self, parameters: P) -> Init<P> {
        Init {
            initiate_tag: self.local_tag,
            a_rwnd: self.options.receive_buffer,
            outbound_streams: self.options.outbound_streams,
            inbound_streams: self.options.inbound_streams,
            initial_tsn: self.local_initial_tsn,
            parameters,
        }
    }

    fn append_sack_and_data(
        &mut self,
        now: Instant,
        path: u8,
        packet: &mut PacketBuilder<'_>,
        with_cookie: bool,
        sends_data: bool,
    ) {
        let sack_due = path == self.sack_route()
            && self
                .rx
                .as_ref()
                .is_some_and(|rx| rx.sack_due(now) || (sends_data && rx.sack_waiting()));
        if sack_due && !with_cookie && self.state != State::Closed {
            self.append_sack(packet);
        }
        self.append_forward(now, path, packet);
        if sends_data {
            let (no_delay, takes_new) = (self.options.no_delay, path == self.data_path);
            if self.tx.fill(now, path, takes_new, packet, &mut self.queue, no_delay) {
                self.on_data_sent(now, path);
            }
        }
        self.tx.update_forward_timer(now);
    }

    fn append_sack(&mut self, packet: &mut PacketBuilder<'_>) {
        let Some(rx) = &mut self.rx else { return };
        let contents = rx.sack();
        let appended = packet.append(OutgoingSack {
            cumulative_tsn_ack: contents.cumulative,
            a_rwnd: contents.a_rwnd,
            gap_ack_blocks: contents.gaps().map(|(start, end)| GapAckBlock { start, end }),
            duplicate_tsns: contents.duplicates().iter().copied(),
        });
        if appended.is_ok() {
            rx.on_sack_sent();
            self.counters.sacks_sent += 1;
        }
    }
}
