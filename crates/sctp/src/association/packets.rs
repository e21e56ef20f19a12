//! Packets into an association, chunk by chunk; [`output`](super::output) has those out of it.

use base::{DatagramMeta, Instant, RandomStream};
use bytes::Bytes;
use recovery::AckOutcome;

use super::{Association, Control, OwnedCause, State};
use crate::authentication::Verdict;
use crate::event::{Event, Failure};
use crate::extensions::Extensions;
use crate::tx::transmission::SackError;
use crate::wire::chunk::{RawChunk, Sack};
use crate::wire::{Cause, Causes, Chunk, Packet, ParseError};

/// Longest part of an unrecognized chunk that is sent back.
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
        let mut any_taken = false;
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
            any_taken |= chunk.is_ok();
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
        if any_taken {
            self.on_life(now);
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
        if had_data {
            self.standing.last_use = Some(now);
        }
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
            Chunk::Abort(abort) => self.on_abort(abort.t_bit, &abort.causes),
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
        if outcome.acked_bytes > 0 {
            self.standing.acknowledged += outcome.acked_bytes;
            self.standing.last_use = Some(now);
        }
        if outcome.acked_bytes > 0 || skipped || window_closed {
            self.error_count = 0;
        }
    }

    fn on_abort(&mut self, t_bit: bool, causes: &Causes<'_>) {
        if t_bit {
            // Section 8.4: the peer has no association to which our packet belongs.
            return self.fail(Failure::Forgotten);
        }
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
        // What is sent back is no more than what came: the packet bounds it.
        if matches!(self.state, State::CookieWait) {
            self.counters.chunks_dropped += 1;
            return;
        }
        let info = Bytes::copy_from_slice(info);
        self.push_control(Control::HeartbeatAck { path: path as u8, info });
    }
}
