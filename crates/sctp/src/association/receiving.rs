//! Processing of the peer's user data and FORWARD-TSNs.

use super::Association;
use super::packets::Next;
use crate::control::{Control, OwnedCause};
use crate::event::Failure;
use crate::extensions::Extensions;
use crate::rx::data::{Data, Skipped};
use crate::rx::receiver::DataVerdict;
use crate::wire::chunk::RawChunk;
use crate::wire::{Chunk, StreamId, Tsn};

impl Association {
    /// Processes a DATA chunk, or an I-DATA chunk if `interleaved`.
    pub(super) fn on_user_data(&mut self, data: Data, interleaved: bool) {
        let takes_data = self.state().receives_data()
            && !self.refuses_data(Some(data.tsn))
            && !self.is_ahead_of_reset(data.tsn, data.stream);
        let (Some(rx), true) = (&mut self.rx, takes_data) else {
            self.counters.chunks_dropped += 1;
            return;
        };
        self.counters.data_chunks_received += 1;
        if interleaved != self.extensions.contains(Extensions::INTERLEAVING) {
            // RFC 8260, section 2.2.3: all user data must be in the negotiated kind of chunk.
            return self.abort_for_violation(match interleaved {
                true => "I-DATA without agreement on it",
                false => "DATA although I-DATA was agreed on",
            });
        }
        let (tsn, stream) = (data.tsn, data.stream);
        let verdict = rx.on_data(data);
        self.answer(verdict, tsn, stream);
    }

    /// Processes a FORWARD-TSN or I-FORWARD-TSN; `raw` returns its bytes.
    #[cold]
    pub(super) fn on_forward_tsn<'a>(
        &mut self,
        chunk: &Chunk<'_>,
        raw: impl FnOnce() -> Option<RawChunk<'a>>,
    ) -> Next {
        let interleaving = self.extensions.contains(Extensions::INTERLEAVING);
        match chunk {
            _ if !self.extensions.contains(Extensions::PARTIAL_RELIABILITY) => {}
            Chunk::ForwardTsn(chunk) if !interleaving => {
                let skipped = chunk.skips.iter().map(Skipped::from);
                self.skip(chunk.new_cumulative_tsn, skipped);
                return Next::Chunk;
            }
            Chunk::IForwardTsn(chunk) if interleaving => {
                let skipped = chunk.skips.iter().map(Skipped::from);
                self.skip(chunk.new_cumulative_tsn, skipped);
                return Next::Chunk;
            }
            Chunk::ForwardTsn(_) if self.state().receives_data() => {
                // RFC 8260, section 2.3.1: I-DATA requires I-FORWARD-TSN.
                self.abort_for_violation("FORWARD-TSN although I-DATA was agreed on");
                return Next::Stop;
            }
            _ => {}
        }
        // If the extension is not in use, the chunk is treated as unknown.
        raw().map_or(Next::Stop, |raw| self.on_unrecognized(raw))
    }

    fn skip(&mut self, new_cumulative: Tsn, skipped: impl Iterator<Item = Skipped>) {
        let takes_data = self.state().receives_data() && !self.refuses_data(None);
        let (Some(rx), true) = (&mut self.rx, takes_data) else {
            self.counters.chunks_dropped += 1;
            return;
        };
        if self.extensions.reconfiguration().is_some()
            && is_half_the_space_ahead(new_cumulative, rx.cumulative())
        {
            self.counters.chunks_dropped += 1;
            return;
        }
        if let Err(fault) = rx.on_forward_tsn(new_cumulative, skipped) {
            self.answer(fault.into(), new_cumulative, StreamId(0));
        }
    }

    /// Answers chunk `tsn` of `stream` by the verdict.
    pub(super) fn answer(&mut self, verdict: DataVerdict, tsn: Tsn, stream: StreamId) {
        match verdict {
            DataVerdict::Accepted => {}
            DataVerdict::Duplicate => self.counters.duplicates_received += 1,
            DataVerdict::Dropped => self.counters.chunks_dropped += 1,
            DataVerdict::InvalidStream => {
                self.control.push_answer(
                    self.tx.fragment_size(),
                    Control::Error(OwnedCause::InvalidStreamIdentifier(stream)),
                );
            }
            DataVerdict::NoUserData => self.abort_with(
                OwnedCause::NoUserData(tsn),
                Failure::ProtocolViolation("DATA without user data"),
            ),
            DataVerdict::ProtocolViolation(violation) => {
                self.abort_for_violation(violation.reason())
            }
            DataVerdict::MessageTooLarge => self.abort_with(
                OwnedCause::OutOfResource,
                Failure::ProtocolViolation("a message is larger than this side takes"),
            ),
        }
    }
}

/// Whether `tsn` is so far ahead of `last` that it may be from before a reset of the TSNs, which
/// moves them by half the space (RFC 6525, section 5.2.4).
fn is_half_the_space_ahead(tsn: Tsn, last: Tsn) -> bool {
    tsn.is_after(last) && tsn.distance_from(last) > 1 << 30
}
