//! Packets out of an association: control chunks, what arrived and was given up, and data, in this order.

use base::{Ecn, Instant, Transmit};

use super::{Association, Control, State};
use crate::extensions::Extensions;
use crate::reconfigure::Answer;
use crate::rx::receiver::Receiver;
use crate::wire::chunk::{
    Abort, CookieAck, CookieEcho, GapAckBlock, Heartbeat, HeartbeatAck, Init, OperationError,
    OutgoingSack, ReConfig, Shutdown, ShutdownAck, ShutdownComplete,
};
use crate::wire::{CommonHeader, DoesNotFit, PacketBuilder, Parameter, VerificationTag};
use crate::zero_checksum::ErrorDetection;

/// Control chunks that may wait at once; a peer that provokes more gets no answer to the rest.
const CONTROL_LIMIT: usize = 32;

impl Association {
    /// Queues a control chunk, unless it is an answer and the peer provoked too many already.
    pub(crate) fn push_control(&mut self, control: Control) {
        if self.control.len() < CONTROL_LIMIT || !control.is_answer() {
            self.control.push_back(control);
        }
    }

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
        // A chunk that was cut for a larger path MTU still has to fit the packet that carries it again.
        let oversized = CommonHeader::LENGTH + self.tx.next_again_size(path_index);
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
            let oversized = match self.append_control(packet, control) {
                Ok(()) => false,
                Err(DoesNotFit) if packet.is_empty() => {
                    // No packet of this path takes it, as after its MTU fell, or with the cookie of a
                    // talkative peer: it leaves alone, for IP to fragment (RFC 9260, section 6.9).
                    packet.widen();
                    let _ = self.append_control(packet, control);
                    true
                }
                Err(DoesNotFit) => return false,
            };
            let ends = matches!(control, Control::Abort(_) | Control::ReflectedAbort(_));
            self.control.pop_front();
            if alone || ends || oversized {
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
