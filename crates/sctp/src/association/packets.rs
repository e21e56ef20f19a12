//! Packets received by an association, chunk by chunk; [`output`](super::output) has those sent.

use base::{DatagramMeta, Instant, RandomStream};
use bytes::Bytes;
use recovery::{AckOutcome, PathId};

use super::Association;
use crate::authentication::Verdict;
use crate::control::{Control, OwnedCause};
use crate::event::{Event, Failure};
use crate::extensions::Extensions;
use crate::rx::data::Data;
use crate::state::State;
use crate::tx::acknowledged::SackError;
use crate::wire::chunk::{RawChunk, Sack};
use crate::wire::{Cause, Causes, Chunk, ChunkType, Packet, ParseError};

/// Longest part of an unrecognized chunk that is returned.
const ECHO_LIMIT: usize = 1024;

/// Whether to continue with a packet's chunks.
#[derive(PartialEq, Eq)]
pub(super) enum Next {
    Chunk,
    Stop,
}

/// Contents of a packet's chunks so far.
#[derive(Default)]
struct Contents {
    /// Whether there was data to acknowledge.
    data: bool,
    /// Whether an earlier chunk of the packet was a SACK.
    sack: bool,
    /// Whether an AUTH chunk authenticates the following chunks.
    authenticated: bool,
}

/// Whether a chunk's length is less than its header.
fn lacks_length(packet: &Packet) -> bool {
    packet.raw_chunks().any(|chunk| matches!(chunk, Err(ParseError::NoLength(..))))
}

/// Whether an error cause reports chunks of this type as unrecognized.
fn is_report_of(cause: &Result<Cause<'_>, ParseError>, chunk_type: ChunkType) -> bool {
    matches!(cause, Ok(Cause::UnrecognizedChunkType(chunk)) if chunk.first() == Some(&chunk_type.0))
}

fn is_alone(packet: &Packet) -> bool {
    packet.raw_chunks().nth(1).is_none()
}

/// A packet that is being processed.
#[derive(Clone, Copy)]
struct Arrival<'a> {
    now: Instant,
    meta: &'a DatagramMeta,
    /// The path on which it came.
    path: PathId,
    packet: &'a Packet,
}

impl Association {
    /// Processes a packet with the right verification tag.
    pub(crate) fn handle_packet(
        &mut self,
        now: Instant,
        meta: &DatagramMeta,
        packet: &Packet,
        random: &mut RandomStream,
    ) {
        self.counters.packets_received += 1;
        self.counters.bytes_received += packet.len() as u64;
        if self.is_gone(now, meta.local.ip()) {
            self.counters.chunks_dropped += 1;
            return;
        }
        self.tx.begin_burst();
        let (path, encapsulation_changed) = self.paths.on_arrival(now, meta);
        if encapsulation_changed {
            self.on_encapsulation_changed(path);
        }
        if self.paths.on_heard(path, packet.len()) {
            self.decide(|paths, context| paths.excuse(now, context, path));
        }
        let arrival = Arrival { now, meta, path, packet };
        let (mut contents, mut any_taken) = (Contents::default(), false);
        // Iterated once, whatever the number of chunks asked for, in their order.
        let mut raws = packet.raw_chunks().enumerate();
        for (index, chunk) in packet.chunks().enumerate() {
            let next = match chunk {
                Ok(chunk) => {
                    match self.judge_authenticity(
                        packet,
                        index,
                        &chunk,
                        &mut contents.authenticated,
                    ) {
                        Verdict::Taken => {}
                        Verdict::Proved | Verdict::Lacking => continue,
                        Verdict::Refused | Verdict::UnsupportedHmac(_) => break,
                    }
                    any_taken = true;
                    let raw = || raws.find(|(at, _)| *at == index)?.1.ok();
                    self.on_chunk(arrival, (index, chunk), raw, &mut contents, random)
                }
                Err(_) => self.on_unreadable(packet),
            };
            if next == Next::Stop || self.is_closed() {
                break;
            }
        }
        if any_taken {
            self.on_life(now);
            self.on_heard_while_closing(now);
        }
        self.on_packet_end(now, contents.data);
    }

    /// The encapsulation of a path began or ended, which changes the room in its packets.
    #[cold]
    fn on_encapsulation_changed(&mut self, path: PathId) {
        self.decide(|paths, context| paths.apply_path_mtu(context, path));
        self.fit_fragments();
    }

    /// Processes chunk number `index` of a packet, which is acceptable; `raw` returns its bytes.
    fn on_chunk<'a>(
        &mut self,
        arrival: Arrival<'_>,
        (index, chunk): (usize, Chunk<'_>),
        raw: impl FnOnce() -> Option<RawChunk<'a>>,
        contents: &mut Contents,
        random: &mut RandomStream,
    ) -> Next {
        let Arrival { now, meta, path, packet } = arrival;
        match chunk {
            Chunk::Data(data) => {
                self.paths.on_data_received(path);
                contents.data = true;
                self.on_user_data(Data::from_data(data, packet.len()), false);
                self.on_reset_data();
            }
            Chunk::IData(data) => {
                self.paths.on_data_received(path);
                contents.data = true;
                self.on_user_data(Data::from_i_data(data, packet.len()), true);
                self.on_reset_data();
            }
            Chunk::Sack(sack) => self.on_sack(now, &sack, contents),
            Chunk::ForwardTsn(_) | Chunk::IForwardTsn(_) => {
                self.paths.on_data_received(path);
                // RFC 3758, section 3.6: it is acknowledged as DATA is.
                contents.data |= self.extensions.contains(Extensions::PARTIAL_RELIABILITY);
                return self.on_forward_tsn(&chunk, raw);
            }
            // Section 6.10: these chunks must not be bundled. Chunks after one are ignored; those
            // before it have been processed.
            Chunk::InitAck(_) | Chunk::ShutdownComplete(_) if index > 0 || !is_alone(packet) => {
                self.counters.chunks_dropped += 1;
                return Next::Stop;
            }
            Chunk::InitAck(init_ack) => self.on_init_ack(now, path, &init_ack.0),
            Chunk::CookieAck(_) => self.on_cookie_ack(now, random),
            Chunk::Heartbeat(heartbeat) => self.on_heartbeat(path, heartbeat.info),
            Chunk::HeartbeatAck(answer) => self.on_heartbeat_ack(now, answer.info, random),
            Chunk::Shutdown(shutdown) => self.on_shutdown(now, shutdown.cumulative_tsn_ack),
            Chunk::ShutdownAck(_) => self.on_shutdown_ack(),
            Chunk::ShutdownComplete(_) => self.on_shutdown_complete(),
            Chunk::Abort(_) if self.is_deleted(meta.local.ip()) => {
                // RFC 5061, section 5.3.1: the peer has deleted the address, and answers as to a
                // packet out of the blue.
                self.counters.chunks_dropped += 1;
                return Next::Stop;
            }
            Chunk::Abort(abort) => self.on_abort(abort.t_bit, &abort.causes),
            Chunk::Error(error) => self.on_error(now, &error.causes),
            Chunk::Asconf(asconf) => self.on_asconf(now, *meta, &asconf),
            Chunk::AsconfAck(ack) => self.on_asconf_ack(now, &ack),
            Chunk::ReConfig(chunk) => self.on_reconfig(now, &chunk),
            Chunk::Auth(_) => {
                // Without agreement it is of a type that ends the packet.
                self.counters.chunks_dropped += 1;
                return Next::Stop;
            }
            Chunk::Unrecognized(raw) => return self.on_unrecognized(raw),
            // INIT must be alone: here it is bundled.
            Chunk::Init(_) => self.counters.chunks_dropped += 1,
            // The endpoint has processed COOKIE ECHO; PAD has no effect.
            Chunk::CookieEcho(_) | Chunk::Pad(_) => {}
        }
        Next::Chunk
    }

    /// Handles a chunk that cannot be parsed: aborts if it is shorter than its header, else drops
    /// the rest.
    #[cold]
    fn on_unreadable(&mut self, packet: &Packet) -> Next {
        if self.state() != State::CookieWait && lacks_length(packet) {
            // No stack sends a chunk without room for its header, whatever precedes it.
            self.abort_for_violation("a chunk is shorter than its header");
        } else {
            self.counters.chunks_dropped += 1;
        }
        Next::Stop
    }

    /// Finishes a packet after its last chunk.
    fn on_packet_end(&mut self, now: Instant, had_data: bool) {
        let shutdown_sent = self.state() == State::ShutdownSent;
        if had_data {
            self.standing.note_received(now);
        }
        if had_data && let Some(rx) = &mut self.rx {
            rx.on_packet_end(now, shutdown_sent);
        }
        if had_data && shutdown_sent {
            // Section 9.2: DATA in SHUTDOWN-SENT is answered with SHUTDOWN (and the SACK).
            self.repeat_shutdown(now);
        }
        self.tx.give_up_stale(now, self.paths.data());
        self.advance_reconfiguration(now);
        self.advance_shutdown(now);
        self.announce_progress();
    }

    fn on_sack(&mut self, now: Instant, sack: &Sack<'_>, contents: &mut Contents) {
        // Of two SACKs in one packet the first counts.
        let repeats = core::mem::replace(&mut contents.sack, true);
        if repeats || self.state().is_opening() {
            self.counters.chunks_dropped += 1;
            return;
        }
        self.counters.sacks_received += 1;
        match self.tx.on_sack(now, sack) {
            Ok(outcome) => self.on_acknowledged(now, outcome, sack.a_rwnd == 0),
            Err(SackError::BadGaps) => self.counters.chunks_dropped += 1,
            // A SACK from before the reset of TSNs.
            Err(SackError::BeyondSent) if self.is_from_before_reset(sack.cumulative_tsn_ack) => {
                self.counters.chunks_dropped += 1;
            }
            Err(SackError::BeyondSent) => {
                self.abort_for_violation("SACK acknowledges a TSN that was never sent");
            }
        }
    }

    /// The peer acknowledged data, or at least answered: resets the errors. Section 6.1: a peer
    /// that answers window probes with a closed window is alive.
    pub(super) fn on_acknowledged(
        &mut self,
        now: Instant,
        outcome: AckOutcome,
        window_closed: bool,
    ) {
        // The acknowledgement of abandoned data also proves that the peer is alive.
        let skipped = outcome.advanced && outcome.acked_bytes == 0;
        for path in self.paths.ids() {
            // Section 8.2. Data declared lost may have arrived before the path failed, and be
            // acknowledged on another path.
            let heard = self.paths.was_heard(path);
            let proofs = if heard { outcome.paths } else { outcome.certain };
            let answered = (window_closed || skipped) && path == self.paths.data();
            let alive = (proofs.contains(path) || answered) && self.paths[path].is_doubted();
            let spurious = outcome.spurious.contains(path);
            let sampled = outcome.sampled.contains(path)
                && self.paths.weighs_round_trips(&self.options, path);
            if !(alive || spurious || sampled) {
                continue;
            }
            self.decide(|paths, context| {
                if alive {
                    paths.on_alive(now, context, path);
                }
                if spurious {
                    paths.on_spurious_expiry(now, context, path);
                }
                if sampled {
                    paths.on_round_trip(now, context, path);
                }
            });
        }
        if outcome.acked_bytes > 0 {
            self.standing.note_acknowledged(now, outcome.acked_bytes);
        }
        if outcome.acked_bytes > 0 || skipped || window_closed {
            self.liveness.clear_errors();
        }
    }

    fn on_abort(&mut self, t_bit: bool, causes: &Causes<'_>) {
        if t_bit && self.state() == State::ShutdownAckSent {
            // The peer sent SHUTDOWN, so it has all data, and is closed: its SHUTDOWN COMPLETE was
            // lost, and a late packet of this side got this answer (section 8.4, rule
            // 8).
            self.control.end_with(None);
            return self.close(Event::Closed);
        }
        if t_bit {
            // Section 8.4: the peer has no association for this side's packet.
            return self.fail(Failure::Forgotten);
        }
        let cause = causes.iter().next().and_then(Result::ok);
        let code = cause.as_ref().map_or(0, |cause| cause.code().0);
        let reason = match cause {
            Some(Cause::UserInitiatedAbort(text) | Cause::ProtocolViolation(text)) => text,
            _ => &[],
        };
        let reason = Bytes::copy_from_slice(reason);
        self.control.end_with(None);
        self.fail(Failure::AbortedByPeer { code, reason });
    }

    fn on_error(&mut self, now: Instant, causes: &Causes<'_>) {
        let is_stale = |cause: Result<Cause<'_>, _>| matches!(cause, Ok(Cause::StaleCookie(_)));
        if causes.iter().any(is_stale) {
            return match self.state() {
                State::CookieEchoed => self.on_stale_cookie(now),
                // Section 5.2.6: in any other state it is old.
                _ => self.counters.chunks_dropped += 1,
            };
        }
        if causes.iter().any(|cause| is_report_of(&cause, ChunkType::ASCONF)) {
            self.on_asconf_unknown(now);
        }
        match causes.iter().next() {
            Some(Ok(first)) if self.state() != State::CookieWait => {
                let code = first.code().0;
                self.announce(Event::PeerError { code, chunk: error_chunk(causes) });
            }
            _ => self.counters.chunks_dropped += 1,
        }
    }

    /// Section 3.2: the two upper bits of the type determine the treatment.
    pub(super) fn on_unrecognized(&mut self, raw: RawChunk<'_>) -> Next {
        self.counters.chunks_dropped += 1;
        let action = raw.chunk_type.unrecognized_action();
        if action.reports() && self.state() != State::CookieWait {
            let part = &raw.bytes[..raw.bytes.len().min(ECHO_LIMIT)];
            let cause = OwnedCause::UnrecognizedChunkType(Bytes::copy_from_slice(part));
            self.control.push_answer(self.tx.fragment_size(), Control::Error(cause));
        }
        if action.stops() { Next::Stop } else { Next::Chunk }
    }

    fn on_heartbeat(&mut self, path: PathId, info: &[u8]) {
        // The returned part is no longer than the received packet.
        if self.state() == State::CookieWait {
            self.counters.chunks_dropped += 1;
            return;
        }
        let info = Bytes::copy_from_slice(info);
        self.control.push_answer(self.tx.fragment_size(), Control::HeartbeatAck { path, info });
    }
}

/// Encodes an ERROR chunk, which holds no more than `u16::MAX` bytes.
fn error_chunk(causes: &Causes<'_>) -> Bytes {
    let length = (4 + causes.bytes().len()) as u16;
    let [high, low] = length.to_be_bytes();
    [&[ChunkType::ERROR.0, 0, high, low][..], causes.bytes()].concat().into()
}
