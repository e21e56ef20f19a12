//! RE-CONFIG: resets streams, adds streams, resets the association (RFC 6525, sections 3 and 4).
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+---------------+-------------------------------+
//! | type 130      | flags 0       | length                        |
//! +---------------+---------------+-------------------------------+
//! | one or two of:                                                |
//! |   13 Outgoing SSN Reset Request    14 Incoming SSN Reset Request
//! |   15 SSN/TSN Reset Request         16 Re-configuration Response
//! |   17 Add Outgoing Streams Request  18 Add Incoming Streams Request
//! ```
//!
//! Each begins with a re-configuration sequence number of 32 bits: a request's own, or that of the
//! request that a response answers.

use super::super::builder::EmitChunk;
use super::super::error::{Item, ParseError};
use super::super::ids::{Rsn, StreamId, Tsn};
use super::super::parameter::RawParameter;
use super::super::registry::{ChunkType, ParameterType};
use super::super::tlv::{self, Tlv, TlvIter};
use super::raw::RawChunk;

/// A RE-CONFIG chunk.
///
/// A received chunk holds [`ReconfigParameters`]; one to be sent holds anything that iterates over
/// [`ReconfigParameter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReConfig<P> {
    /// One or two requests and responses.
    pub parameters: P,
}

/// A request or a response. `S` iterates over [`StreamId`]s; an empty list means all streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconfigParameter<'a, S> {
    /// The sender restarts its streams at SSN 0 (section 4.1).
    OutgoingReset {
        /// Request sequence number of this request.
        request: Rsn,
        /// The peer's request that this one answers, otherwise the last one received.
        response: Rsn,
        /// The last TSN before the reset.
        last_tsn: Tsn,
        /// Stream identifiers; an empty list means all streams.
        streams: S,
    },
    /// Asks the peer to reset its outgoing streams (section 4.2).
    IncomingReset {
        /// Request sequence number of this request.
        request: Rsn,
        /// Stream identifiers; an empty list means all streams.
        streams: S,
    },
    /// Both sides restart with new TSNs and with SSN 0 on all streams (section 4.3).
    SsnTsnReset {
        /// Request sequence number of this request.
        request: Rsn,
    },
    /// Result of a request (section 4.4).
    Response {
        /// Request sequence number of the answered request.
        response: Rsn,
        /// Whether the request was carried out, or why not.
        result: ReconfigResult,
        /// After an SSN/TSN reset: the next TSN of the sender of this response, and the next TSN
        /// that its receiver must use.
        next_tsns: Option<(Tsn, Tsn)>,
    },
    /// The sender asks for further outgoing streams (section 4.5).
    AddOutgoing {
        /// Request sequence number of this request.
        request: Rsn,
        /// Number of streams to be added.
        count: u16,
    },
    /// Asks the peer to add outgoing streams (section 4.6).
    AddIncoming {
        /// Request sequence number of this request.
        request: Rsn,
        /// Number of streams to be added.
        count: u16,
    },
    /// A parameter that is none of these.
    Unrecognized(RawParameter<'a>),
}

/// Result of a request (section 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReconfigResult(pub u32);

impl ReconfigResult {
    /// Nothing had to be done.
    pub const NOTHING_TO_DO: ReconfigResult = ReconfigResult(0);
    /// The request was carried out.
    pub const PERFORMED: ReconfigResult = ReconfigResult(1);
    /// The receiver refuses the request.
    pub const DENIED: ReconfigResult = ReconfigResult(2);
    /// One of the streams does not exist.
    pub const WRONG_SSN: ReconfigResult = ReconfigResult(3);
    /// A request of the receiver is in progress.
    pub const REQUEST_IN_PROGRESS: ReconfigResult = ReconfigResult(4);
    /// The request's number is neither the next nor that of a request just answered.
    pub const BAD_SEQUENCE_NUMBER: ReconfigResult = ReconfigResult(5);
    /// The request will be carried out; the sender repeats it to learn the result.
    pub const IN_PROGRESS: ReconfigResult = ReconfigResult(6);
}

/// The streams of a received request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamIds<'a>(&'a [[u8; 2]]);

impl<'a> StreamIds<'a> {
    /// The stream identifiers, in the order of the request.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = StreamId> + Clone + 'a {
        self.0.iter().map(|number| StreamId(u16::from_be_bytes(*number)))
    }

    /// Whether the list is empty, which means all streams.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for StreamIds<'a> {
    type Item = StreamId;
    type IntoIter = core::iter::Map<core::slice::Iter<'a, [u8; 2]>, fn(&[u8; 2]) -> StreamId>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|number| StreamId(u16::from_be_bytes(*number)))
    }
}

/// The parameters of a RE-CONFIG chunk, not parsed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReconfigParameters<'a>(&'a [u8]);

impl<'a> ReconfigParameters<'a> {
    /// Iterates over the parameters; ends after the first error.
    pub fn iter(&self) -> ReconfigIter<'a> {
        ReconfigIter(TlvIter::new(self.0, Item::Parameter))
    }
}

/// Parameters of a RE-CONFIG chunk, as [`ReconfigParameters::iter`] yields them.
#[derive(Clone, Debug)]
pub struct ReconfigIter<'a>(TlvIter<'a>);

impl<'a> Iterator for ReconfigIter<'a> {
    type Item = Result<ReconfigParameter<'a, StreamIds<'a>>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        let parameter = self.0.next()?.and_then(parse);
        if parameter.is_err() {
            self.0.stop();
        }
        Some(parameter)
    }
}

impl core::iter::FusedIterator for ReconfigIter<'_> {}

fn parse(tlv: Tlv<'_>) -> Result<ReconfigParameter<'_, StreamIds<'_>>, ParseError> {
    let parameter_type = ParameterType(tlv.head);
    let too_short = ParseError::TooShort(Item::Parameter, tlv.head);
    let raw = RawParameter { parameter_type, bytes: tlv.bytes };
    let mut fields = Fields { rest: tlv.value(), too_short };
    Ok(match parameter_type {
        ParameterType::OUTGOING_SSN_RESET_REQUEST => ReconfigParameter::OutgoingReset {
            request: fields.rsn()?,
            response: fields.rsn()?,
            last_tsn: Tsn(fields.u32()?),
            streams: fields.streams()?,
        },
        ParameterType::INCOMING_SSN_RESET_REQUEST => {
            ReconfigParameter::IncomingReset { request: fields.rsn()?, streams: fields.streams()? }
        }
        ParameterType::SSN_TSN_RESET_REQUEST => {
            ReconfigParameter::SsnTsnReset { request: fields.rsn()? }
        }
        ParameterType::RECONFIGURATION_RESPONSE => ReconfigParameter::Response {
            response: fields.rsn()?,
            result: ReconfigResult(fields.u32()?),
            next_tsns: match fields.rest.len() {
                0 => None,
                _ => Some((Tsn(fields.u32()?), Tsn(fields.u32()?))),
            },
        },
        ParameterType::ADD_OUTGOING_STREAMS_REQUEST => {
            ReconfigParameter::AddOutgoing { request: fields.rsn()?, count: fields.count()? }
        }
        ParameterType::ADD_INCOMING_STREAMS_REQUEST => {
            ReconfigParameter::AddIncoming { request: fields.rsn()?, count: fields.count()? }
        }
        _ => ReconfigParameter::Unrecognized(raw),
    })
}

/// Reads fields from the front of a parameter's value.
struct Fields<'a> {
    rest: &'a [u8],
    too_short: ParseError,
}

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], ParseError> {
        let (field, rest) = self.rest.split_first_chunk().ok_or(self.too_short)?;
        self.rest = rest;
        Ok(*field)
    }

    fn u32(&mut self) -> Result<u32, ParseError> {
        self.take().map(u32::from_be_bytes)
    }

    fn rsn(&mut self) -> Result<Rsn, ParseError> {
        self.u32().map(Rsn)
    }

    /// A number of streams, followed by 16 reserved bits.
    fn count(&mut self) -> Result<u16, ParseError> {
        let [high, low, _, _] = self.take()?;
        Ok(u16::from_be_bytes([high, low]))
    }

    fn streams(&mut self) -> Result<StreamIds<'a>, ParseError> {
        let (streams, cut_off) = self.rest.as_chunks();
        if cut_off.is_empty() { Ok(StreamIds(streams)) } else { Err(self.too_short) }
    }
}

impl<'a> ReConfig<ReconfigParameters<'a>> {
    pub(super) fn parse(raw: RawChunk<'a>) -> Self {
        ReConfig { parameters: ReconfigParameters(raw.value()) }
    }
}

impl<'p, S, P> EmitChunk for ReConfig<P>
where
    S: IntoIterator<Item = StreamId> + Clone,
    P: IntoIterator<Item = ReconfigParameter<'p, S>>,
{
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::RE_CONFIG, 0)
    }

    fn emit_value(self, buffer: &mut Vec<u8>, _room: usize) {
        tlv::emit_list(buffer, self.parameters, emit);
    }
}

fn emit<S: IntoIterator<Item = StreamId> + Clone>(
    parameter: &ReconfigParameter<'_, S>,
    buffer: &mut Vec<u8>,
) {
    let mut put = |parameter_type: ParameterType, words: &[u32], streams: Option<S>| {
        tlv::emit(buffer, parameter_type.0, |buffer| {
            for word in words {
                buffer.extend_from_slice(&word.to_be_bytes());
            }
            for stream in streams.into_iter().flatten() {
                buffer.extend_from_slice(&stream.0.to_be_bytes());
            }
        });
    };
    // The number of streams is the upper half of its word.
    let count_word = |count: u16| u32::from(count) << 16;
    match parameter {
        ReconfigParameter::OutgoingReset { request, response, last_tsn, streams } => put(
            ParameterType::OUTGOING_SSN_RESET_REQUEST,
            &[request.0, response.0, last_tsn.0],
            Some(streams.clone()),
        ),
        ReconfigParameter::IncomingReset { request, streams } => {
            put(ParameterType::INCOMING_SSN_RESET_REQUEST, &[request.0], Some(streams.clone()));
        }
        ReconfigParameter::SsnTsnReset { request } => {
            put(ParameterType::SSN_TSN_RESET_REQUEST, &[request.0], None);
        }
        ReconfigParameter::Response { response, result, next_tsns: None } => {
            put(ParameterType::RECONFIGURATION_RESPONSE, &[response.0, result.0], None);
        }
        ReconfigParameter::Response { response, result, next_tsns: Some((sender, receiver)) } => {
            let words = [response.0, result.0, sender.0, receiver.0];
            put(ParameterType::RECONFIGURATION_RESPONSE, &words, None);
        }
        ReconfigParameter::AddOutgoing { request, count } => {
            let words = [request.0, count_word(*count)];
            put(ParameterType::ADD_OUTGOING_STREAMS_REQUEST, &words, None);
        }
        ReconfigParameter::AddIncoming { request, count } => {
            let words = [request.0, count_word(*count)];
            put(ParameterType::ADD_INCOMING_STREAMS_REQUEST, &words, None);
        }
        ReconfigParameter::Unrecognized(raw) => buffer.extend_from_slice(raw.bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{CommonHeader, Packet, PacketBuilder, VerificationTag};
    use super::super::Chunk;
    use super::*;

    type Owned = ReconfigParameter<'static, Vec<StreamId>>;

    fn streams(numbers: &[u16]) -> Vec<StreamId> {
        numbers.iter().copied().map(StreamId).collect()
    }

    fn all() -> [Owned; 9] {
        let (request, response, last_tsn) = (Rsn(0x0102_0304), Rsn(u32::MAX), Tsn(7));
        [
            Owned::OutgoingReset { request, response, last_tsn, streams: streams(&[1, 0xffff, 3]) },
            Owned::OutgoingReset { request, response, last_tsn, streams: streams(&[]) },
            Owned::IncomingReset { request, streams: streams(&[5]) },
            Owned::IncomingReset { request, streams: streams(&[]) },
            Owned::SsnTsnReset { request },
            Owned::Response { response, result: ReconfigResult::PERFORMED, next_tsns: None },
            Owned::Response {
                response,
                result: ReconfigResult::IN_PROGRESS,
                next_tsns: Some((Tsn(1), Tsn(2))),
            },
            Owned::AddOutgoing { request, count: 0x0506 },
            Owned::AddIncoming { request, count: 1 },
        ]
    }

    fn packet(parameters: &[Owned]) -> Vec<u8> {
        let header = CommonHeader {
            source_port: 1,
            destination_port: 2,
            verification_tag: VerificationTag(9),
        };
        let mut buffer = Vec::new();
        let mut packet = PacketBuilder::start(&mut buffer, header, 400);
        packet.append(ReConfig { parameters: parameters.iter().cloned() }).unwrap();
        packet.finish();
        buffer
    }

    /// Copies the streams of a parsed parameter.
    fn owned(read: ReconfigParameter<'_, StreamIds<'_>>) -> Owned {
        match read {
            ReconfigParameter::OutgoingReset { request, response, last_tsn, streams } => {
                let streams = streams.iter().collect();
                Owned::OutgoingReset { request, response, last_tsn, streams }
            }
            ReconfigParameter::IncomingReset { request, streams } => {
                Owned::IncomingReset { request, streams: streams.into_iter().collect() }
            }
            ReconfigParameter::SsnTsnReset { request } => Owned::SsnTsnReset { request },
            ReconfigParameter::Response { response, result, next_tsns } => {
                Owned::Response { response, result, next_tsns }
            }
            ReconfigParameter::AddOutgoing { request, count } => {
                Owned::AddOutgoing { request, count }
            }
            ReconfigParameter::AddIncoming { request, count } => {
                Owned::AddIncoming { request, count }
            }
            ReconfigParameter::Unrecognized(raw) => panic!("{raw:?}"),
        }
    }

    #[test]
    fn every_parameter_comes_out_as_it_went_in_alone_and_in_pairs() {
        for first in all() {
            for second in all() {
                let sent = [first.clone(), second.clone()];
                for sent in [&sent[..1], &sent[..]] {
                    let packet = Packet::parse(packet(sent).into()).unwrap();
                    let Some(Ok(Chunk::ReConfig(read))) = packet.chunks().next() else { panic!() };
                    let read: Vec<_> =
                        read.parameters.iter().map(|parameter| owned(parameter.unwrap())).collect();
                    assert_eq!(read, sent);
                }
            }
        }
    }

    #[test]
    fn the_layout_is_that_of_section_4() {
        let packet = packet(&all()[..1]);
        let expected = [
            130, 0, 0, 26, 0, 13, 0, 22, 1, 2, 3, 4, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 7, 0, 1,
            0xff, 0xff, 0, 3, 0, 0,
        ];
        assert_eq!(packet[12..], expected);
        let packet = super::tests::packet(&all()[7..8]);
        assert_eq!(packet[12..], [130, 0, 0, 16, 0, 17, 0, 12, 1, 2, 3, 4, 5, 6, 0, 0]);
        let others: [(usize, &[u8]); 6] = [
            (2, &[0, 14, 0, 10, 1, 2, 3, 4, 0, 5, 0, 0]),
            (3, &[0, 14, 0, 8, 1, 2, 3, 4]),
            (4, &[0, 15, 0, 8, 1, 2, 3, 4]),
            (5, &[0, 16, 0, 12, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1]),
            (6, &[0, 16, 0, 20, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 2]),
            (8, &[0, 18, 0, 12, 1, 2, 3, 4, 0, 1, 0, 0]),
        ];
        for (index, expected) in others {
            let packet = super::tests::packet(&all()[index..=index]);
            assert_eq!(packet[16..], *expected, "{:?}", all()[index]);
        }
    }

    #[test]
    fn the_reserved_field_of_a_request_for_streams_is_ignored() {
        for (number, sent) in [(17, &all()[7]), (18, &all()[8])] {
            let (Owned::AddOutgoing { count, .. } | Owned::AddIncoming { count, .. }) = sent else {
                panic!("{sent:?}")
            };
            let [high, low] = count.to_be_bytes();
            let strange = [0, number, 0, 12, 1, 2, 3, 4, high, low, 0xff, 0xff];
            let read = ReconfigParameters(&strange).iter().next().unwrap().unwrap();
            assert_eq!(owned(read), *sent);
        }
    }

    #[test]
    fn a_parameter_cut_off_at_any_length_is_an_error_or_a_shorter_list() {
        for sent in all() {
            let whole = packet(std::slice::from_ref(&sent));
            let length = usize::from(u16::from_be_bytes([whole[18], whole[19]]));
            for shorter in 4..length {
                let mut value = whole[16..16 + shorter].to_vec();
                value[2..4].copy_from_slice(&(shorter as u16).to_be_bytes());
                let read = ReconfigParameters(&value).iter().next().unwrap();
                let listed = match &sent {
                    Owned::OutgoingReset { .. } => Some(16),
                    Owned::IncomingReset { .. } => Some(8),
                    // A response is complete without the two TSNs and with both.
                    Owned::Response { .. } => Some(12).filter(|whole| *whole == shorter),
                    _ => None,
                };
                let whole = listed.is_some_and(|least| shorter >= least && shorter % 2 == 0);
                assert_eq!(read.is_ok(), whole, "{sent:?} cut to {shorter}: {read:?}");
            }
        }
    }
}
