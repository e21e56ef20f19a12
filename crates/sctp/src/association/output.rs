//! Packets of an association: control chunks, acknowledgements and abandoned data, and new data, in
//! this order.

use base::{Ecn, Instant, Transmit, TransmitBuffer};
use bytes::Bytes;
use recovery::PathId;

use super::{Association, Identity};
use crate::control::Control;
use crate::extensions::Extensions;
use crate::paths::copies::WaitingCopies;
use crate::paths::mtu::Probe;
use crate::phase::Phase;
use crate::reconfigure::answers::Answer;
use crate::rx::receiver::Receiver;
use crate::state::State;
use crate::tx::packetizer::Filling;
use crate::wire::chunk::{
    Abort, CookieAck, CookieEcho, GapAckBlock, Heartbeat, HeartbeatAck, Init, OperationError,
    OutgoingSack, Pad, ReConfig, Shutdown, ShutdownAck, ShutdownComplete,
};
use crate::wire::{
    ChunkType, CommonHeader, DoesNotFit, KeyId, PacketBuilder, Parameter, VerificationTag,
};
use crate::zero_checksum::ErrorDetection;

/// Bytes of a chunk before its value.
const CHUNK_HEADER: usize = 4;

/// Buffer that takes a packet, and its payload by reference.
pub(crate) struct Outlet<'b> {
    /// Buffer to whose head the packet is appended: all of it, or all but the `tail` if the buffer
    /// gathers. In a gathering buffer packets may lack their checksum, too.
    pub(crate) buffer: &'b mut dyn TransmitBuffer,
    /// User data that follows the packet's bytes in the buffer's head.
    pub(crate) tail: Option<Bytes>,
}

impl Association {
    /// Writes the next packet to `outlet`.
    #[inline]
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        outlet: &mut Outlet<'_>,
    ) -> Option<Transmit> {
        let echoes_cookie = self.control.first() == Some(&Control::CookieEcho);
        if self.state() == State::CookieEchoed && !echoes_cookie {
            // Section 5.1: until COOKIE ACK no packet leaves without COOKIE ECHO.
            return None;
        }
        // The timer may be late, as after a suspension of the process: expired messages must not
        // leave.
        self.expire_messages(now);
        if let Some(copies) = self.poll_copies(outlet) {
            return Some(copies);
        }
        // This runs after every packet, and after acknowledgements most of which release nothing.
        if self.has_nothing_to_send(now) {
            return None;
        }
        let (path_id, filling) = self.next_packet(now, echoes_cookie);
        if filling.is_none() && self.control.is_empty() && !self.may_acknowledge(now, path_id) {
            return None;
        }
        if let Some(&Control::Probe(probe)) = self.control.first() {
            self.control.take_first();
            return self.emit_probe(probe, outlet);
        }
        let path = &self.paths[path_id];
        let (remote, discovers_mtu, confirmed) =
            (path.remote(), path.discovers_mtu(), path.is_confirmed());
        let asconf = self.control.first() == Some(&Control::ChangeAddress);
        let local = self.source_of(path.local(), asconf);
        // RFC 9653, section 5.2; a peer that forgot the association only answers packets with a
        // checksum.
        let may_omit_checksum = !self.phase.repeats_its_end()
            && !matches!(
                self.control.first(),
                Some(
                    Control::Init
                        | Control::CookieEcho
                        | Control::ChangeAddress
                        | Control::ReflectedAbort(_)
                )
            );
        let max_packet = self.max_packet();
        // A chunk cut for a larger path MTU must still fit the packet of its retransmission.
        let oversized = CommonHeader::LENGTH + self.tx.next_again_size(path_id);
        let key = filling.and_then(|filling| filling.key());
        let mut packet = self.start_packet(outlet, max_packet.max(oversized), key);
        let goes_on = self.append_controls(&mut packet, path_id);
        if goes_on && confirmed {
            self.append_sack_and_data(now, path_id, &mut packet, echoes_cookie, filling);
        }
        if packet.is_empty() {
            packet.discard();
            return None;
        }
        // IP fragments retransmissions that were cut for a larger path MTU (RFC 9260, section 6.9).
        let dont_fragment = discovers_mtu && packet.len() <= max_packet;
        let size = self.finish_packet(packet, may_omit_checksum);
        Some(Transmit {
            local,
            remote,
            ecn: Ecn::NotEct,
            dont_fragment,
            service: base::IpService::default(),
            size,
        })
    }

    /// Whether no chunk waits to be sent: then nothing else is asked.
    #[inline]
    fn has_nothing_to_send(&self, now: Instant) -> bool {
        self.control.is_empty()
            && self.tx.has_nothing_to_send()
            && !self.rx.as_ref().is_some_and(|rx| rx.sack_due(now))
    }

    /// The path of the next packet, if there is anything to send, and its data: the path of the
    /// first control chunk, of a SACK, of retransmissions, of new data.
    fn next_packet(&mut self, now: Instant, with_cookie: bool) -> (PathId, Option<Filling>) {
        let path = match self.control.first() {
            Some(control) => control.path().unwrap_or_else(|| self.control_route()),
            None if self.paths.is_single() => PathId::FIRST,
            None if self.may_sack(now) => self.paths.sack_route(),
            None => return self.next_data_packet(now, with_cookie),
        };
        (path, self.next_filling(now, path, with_cookie))
    }

    /// The path and data of the next packet if only data is to be sent, on several paths:
    /// retransmissions first.
    #[inline(never)]
    fn next_data_packet(&mut self, now: Instant, with_cookie: bool) -> (PathId, Option<Filling>) {
        let data = self.paths.data();
        for path in self.paths.ids().filter(|path| *path != data) {
            if self.tx.recovery().next_again(path, 0).is_some()
                && let Some(filling) = self.next_filling(now, path, with_cookie)
            {
                return (path, Some(filling));
            }
        }
        (data, self.next_filling(now, data, with_cookie))
    }

    /// Data that may leave on `path` now. Section 5.1: DATA may be bundled with COOKIE ECHO.
    fn next_filling(&mut self, now: Instant, path: PathId, with_cookie: bool) -> Option<Filling> {
        let allowed = self.state().sends_data() || with_cookie;
        if !allowed || !self.paths[path].is_confirmed() {
            return None;
        }
        let takes_new = path == self.paths.data();
        self.tx.next_filling(now, path, takes_new, self.options.no_delay)
    }

    /// Whether a SACK is due.
    fn may_sack(&self, now: Instant) -> bool {
        !self.is_closed() && self.rx.as_ref().is_some_and(|rx| rx.sack_due(now))
    }

    /// Whether there may be acknowledgements or abandoned data to report in a packet on `path`.
    fn may_acknowledge(&self, now: Instant, path: PathId) -> bool {
        let sack = self.rx.as_ref().is_some_and(|rx| rx.sack_due(now));
        (sack && path == self.paths.sack_route()) || self.tx.may_give_up()
    }

    /// Largest SCTP packet in bytes that fits every path.
    fn max_packet(&self) -> usize {
        CommonHeader::LENGTH + self.tx.fragment_size()
    }

    /// Begins a packet: its tag is that of its first chunk, and its AUTH chunk has the key of its
    /// user data, or else the active one.
    fn start_packet<'b>(
        &mut self,
        outlet: &'b mut Outlet<'_>,
        max_packet: usize,
        key: Option<KeyId>,
    ) -> PacketBuilder<'b> {
        let Identity { local_port, peer_port, tags, .. } = self.identity;
        let header = CommonHeader {
            source_port: local_port,
            destination_port: peer_port,
            verification_tag: match self.control.first() {
                Some(Control::Init) => VerificationTag(0),
                Some(Control::ReflectedAbort(_)) => tags.local,
                _ => tags.peer,
            },
        };
        // A checksum of zero has a meaning for the peer, that of a gathered packet has none.
        let gathers =
            !self.extensions.contains(Extensions::ZERO_CHECKSUM) && outlet.buffer.tail().is_some();
        let tail = gathers.then_some(&mut outlet.tail);
        PacketBuilder::start(outlet.buffer.head(), header, max_packet)
            .signed(self.signer_with(key))
            .gathering(tail)
    }

    /// Writes a packet with a probe only, of exactly its size.
    #[cold]
    fn emit_probe(&mut self, probe: Probe, outlet: &mut Outlet<'_>) -> Option<Transmit> {
        let path = &self.paths[probe.heartbeat.path];
        let (remote, local) = (path.remote(), self.source_of(path.local(), false));
        let mut packet = self.start_packet(outlet, probe.size.into(), None);
        let info = probe.heartbeat.info();
        // The peer may require PAD authenticated and HEARTBEAT not: then an AUTH chunk is between
        // them.
        let fits = packet.append(Heartbeat { info: &info }).is_ok()
            && packet
                .remaining_for(ChunkType::PAD)
                .checked_sub(CHUNK_HEADER)
                .is_some_and(|length| packet.append(Pad(length)).is_ok());
        if !fits {
            packet.discard();
            return None;
        }
        let size = self.finish_packet(packet, true);
        Some(Transmit {
            local,
            remote,
            ecn: Ecn::NotEct,
            dont_fragment: true,
            service: base::IpService::default(),
            size,
        })
    }

    /// Writes the next packet of copies to `outlet`.
    #[inline]
    fn poll_copies(&mut self, outlet: &mut Outlet<'_>) -> Option<Transmit> {
        if self.paths.has_copies() { self.emit_copies(outlet) } else { None }
    }

    #[inline(never)]
    fn emit_copies(&mut self, outlet: &mut Outlet<'_>) -> Option<Transmit> {
        while let Some(WaitingCopies { path, units }) = self.paths.next_copies() {
            let key = units.first().and_then(|unit| self.tx.key_of(*unit));
            let mut packet = self.start_packet(outlet, self.max_packet(), key);
            for unit in units {
                if !self.tx.append_copy(path, unit, &mut packet) {
                    break;
                }
            }
            if packet.is_empty() {
                packet.discard();
                continue;
            }
            let size = self.finish_packet(packet, true);
            self.paths.on_copies_sent(path);
            let state = &self.paths[path];
            let (remote, dont_fragment) = (state.remote(), state.discovers_mtu());
            let local = self.source_of(state.local(), false);
            return Some(Transmit {
                local,
                remote,
                ecn: Ecn::NotEct,
                dont_fragment,
                service: base::IpService::default(),
                size,
            });
        }
        None
    }

    /// Completes and counts a packet; returns its bytes in the outlet's head.
    fn finish_packet(&mut self, packet: PacketBuilder<'_>, may_omit_checksum: bool) -> usize {
        self.counters.packets_sent += 1;
        self.counters.bytes_sent += packet.len() as u64;
        if may_omit_checksum && self.extensions.contains(Extensions::ZERO_CHECKSUM) {
            packet.finish_without_checksum()
        } else {
            packet.finish()
        }
    }

    /// Appends control chunks for the path as far as they fit; returns false if nothing may follow
    /// them.
    fn append_controls(&mut self, packet: &mut PacketBuilder<'_>, path: PathId) -> bool {
        let usual = self.control_route();
        let on_path = |control: &&Control| control.path().unwrap_or(usual) == path;
        while let Some(control) = self.control.first().filter(on_path) {
            let alone = control.travels_alone();
            if alone && !packet.is_empty() {
                return false;
            }
            let oversized = match self.append_control(packet, control) {
                Ok(()) => false,
                Err(DoesNotFit) if packet.is_empty() => {
                    // No packet of this path has room for it, because the path MTU fell or the
                    // peer's cookie is large: it leaves alone, for IP to
                    // fragment (RFC 9260, section 6.9).
                    packet.widen();
                    let _ = self.append_control(packet, control);
                    true
                }
                Err(DoesNotFit) => return false,
            };
            let ends = control.is_abort();
            self.control.take_first();
            if alone || ends || oversized {
                return false;
            }
        }
        self.control.shrink();
        true
    }

    pub(super) fn append_control(
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
                let own = self.extensions.authentication();
                let keys = own.map(|own| own.own().parameters()).into_iter().flatten();
                packet.append(self.init(parameters.chain(keys).chain(self.paths.own_parameters())))
            }
            Control::CookieEcho => match &self.phase {
                Phase::CookieEchoed(echo) => packet.append(CookieEcho { cookie: echo.cookie() }),
                _ => Ok(()),
            },
            Control::CookieAck => packet.append(CookieAck),
            Control::Shutdown => {
                let cumulative = self.rx.as_ref().map(Receiver::cumulative).unwrap_or_default();
                packet.append(Shutdown { cumulative_tsn_ack: cumulative })
            }
            Control::ShutdownAck => packet.append(ShutdownAck),
            Control::ShutdownComplete => packet.append(ShutdownComplete { t_bit: false }),
            Control::Heartbeat(asked) => packet.append(Heartbeat { info: &asked.info() }),
            Control::HeartbeatAck { info, .. } => packet.append(HeartbeatAck { info }),
            // The probe has a packet of its own.
            Control::Probe(_) => Ok(()),
            Control::Reconfigure => match self.extensions.reconfiguration() {
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
        let (outbound_streams, inbound_streams) = self.options.offered_streams();
        Init {
            initiate_tag: self.identity.tags.local,
            a_rwnd: self.options.offered_window(),
            outbound_streams,
            inbound_streams,
            initial_tsn: self.identity.local_initial_tsn,
            parameters,
        }
    }

    fn append_sack_and_data(
        &mut self,
        now: Instant,
        path: PathId,
        packet: &mut PacketBuilder<'_>,
        with_cookie: bool,
        filling: Option<Filling>,
    ) {
        let sack_due = path == self.paths.sack_route()
            && self
                .rx
                .as_ref()
                .is_some_and(|rx| rx.sack_due(now) || (filling.is_some() && rx.sack_waiting()));
        if sack_due && !with_cookie && !self.is_closed() {
            self.append_sack(packet);
        }
        self.append_forward(now, path, packet);
        if let Some(filling) = filling
            && self.tx.fill(now, path, filling, packet)
        {
            self.paths.on_data_sent(now, &self.options, self.tx.recovery(), path);
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
