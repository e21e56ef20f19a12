//! ASCONF and ASCONF-ACK: one side's addresses change (RFC 5061, sections 4.1 and 4.2).
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+---------------+-------------------------------+
//! | type 193, 128 | flags 0       | length                        |
//! +---------------+---------------+-------------------------------+
//! | serial number                                                 |
//! +---------------------------------------------------------------+
//! | ASCONF: an address parameter, to find the association by      |
//! +---------------------------------------------------------------+
//! | ASCONF: Add IP Address, Delete IP Address, Set Primary Address: a number of 32 bits by which the
//! | answer refers to it, and an address parameter
//! | ASCONF-ACK: Error Cause Indication, Success Indication: that number, and the causes
//! ```

use core::net::IpAddr;

use super::super::builder::EmitChunk;
use super::super::cause::{Cause, Causes};
use super::super::error::{Item, ParseError};
use super::super::ids::AsconfSerial;
use super::super::parameter::{RawParameter, emit_address, parse_addresses};
use super::super::registry::{ChunkType, ParameterType};
use super::super::tlv::{self, Tlv, TlvIter};
use super::raw::{RawChunk, too_short};

/// Asks the receiver to change its list of the sender's addresses.
///
/// A received chunk holds [`AddressRequests`]; one to be sent holds anything that iterates over
/// [`AddressRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asconf<P> {
    /// Serial number of the chunk.
    pub serial: AsconfSerial,
    /// An address of the sender that the receiver knows, or the unspecified one.
    pub address: IpAddr,
    /// The requested changes, in the order of execution.
    pub requests: P,
}

/// Answers [`Asconf`]. A received one holds [`AddressAnswers`]; one to be sent holds anything that
/// iterates over [`AddressAnswer`]. A request without an answer succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsconfAck<P> {
    /// Serial number that the ASCONF had, by which it is found.
    pub serial: AsconfSerial,
    /// Results of the ASCONF's requests.
    pub answers: P,
}

/// A change of the sender's addresses. The unspecified address stands for the source of the packet;
/// in a deletion, for all addresses but that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressRequest<'a> {
    /// Adds an address (section 4.2.1).
    Add {
        /// Number by which the answer refers to this request.
        correlation: u32,
        /// The address to be used from now on.
        address: IpAddr,
    },
    /// Deletes an address (section 4.2.2).
    Delete {
        /// Number by which the answer refers to this request.
        correlation: u32,
        /// An address of the sender, from which and to which no packets go any more.
        address: IpAddr,
    },
    /// Makes an address the primary destination (section 4.2.4).
    SetPrimary {
        /// Number by which the answer refers to this request.
        correlation: u32,
        /// The destination that the receiver is to prefer.
        address: IpAddr,
    },
    /// A parameter that is no known request.
    Unrecognized(RawParameter<'a>),
}

/// Result of a request. `C` iterates over [`Cause`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressAnswer<C> {
    /// The request was carried out (section 4.2.5).
    Success {
        /// Number of the request that succeeded.
        correlation: u32,
    },
    /// The request was not carried out (section 4.2.3).
    Error {
        /// Number of the request that was refused.
        correlation: u32,
        /// Reasons of the refusal, as error causes.
        causes: C,
    },
    /// A parameter that is no known answer.
    Unrecognized,
}

/// The requests of a received ASCONF, not parsed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRequests<'a>(&'a [u8]);

/// The answers of a received ASCONF-ACK, not parsed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressAnswers<'a>(&'a [u8]);

impl<'a> AddressRequests<'a> {
    /// The requests, each with its bytes including the header, which an error cause repeats.
    pub fn iter(
        &self,
    ) -> impl Iterator<Item = Result<(AddressRequest<'a>, &'a [u8]), ParseError>> + Clone + 'a {
        TlvIter::new(self.0, Item::Parameter).map(|tlv| {
            let tlv = tlv?;
            Ok((request(tlv)?, tlv.bytes))
        })
    }
}

impl<'a> AddressAnswers<'a> {
    /// The answers, in the order of the chunk.
    pub fn iter(
        &self,
    ) -> impl Iterator<Item = Result<AddressAnswer<Causes<'a>>, ParseError>> + Clone + 'a {
        TlvIter::new(self.0, Item::Parameter).map(|tlv| answer(tlv?))
    }
}

fn request(tlv: Tlv<'_>) -> Result<AddressRequest<'_>, ParseError> {
    let parameter_type = ParameterType(tlv.head);
    let fields = || {
        let too_short = ParseError::TooShort(Item::Parameter, tlv.head);
        let (correlation, address) = tlv.value().split_first_chunk().ok_or(too_short)?;
        let address = parse_addresses(address).next().ok_or(too_short)??;
        Ok((u32::from_be_bytes(*correlation), address))
    };
    Ok(match parameter_type {
        ParameterType::ADD_IP_ADDRESS => {
            let (correlation, address) = fields()?;
            AddressRequest::Add { correlation, address }
        }
        ParameterType::DELETE_IP_ADDRESS => {
            let (correlation, address) = fields()?;
            AddressRequest::Delete { correlation, address }
        }
        ParameterType::SET_PRIMARY_ADDRESS => {
            let (correlation, address) = fields()?;
            AddressRequest::SetPrimary { correlation, address }
        }
        _ => AddressRequest::Unrecognized(RawParameter { parameter_type, bytes: tlv.bytes }),
    })
}

fn answer(tlv: Tlv<'_>) -> Result<AddressAnswer<Causes<'_>>, ParseError> {
    let too_short = ParseError::TooShort(Item::Parameter, tlv.head);
    let correlation = || {
        let (correlation, rest) = tlv.value().split_first_chunk().ok_or(too_short)?;
        Ok((u32::from_be_bytes(*correlation), rest))
    };
    Ok(match ParameterType(tlv.head) {
        ParameterType::SUCCESS_INDICATION => {
            AddressAnswer::Success { correlation: correlation()?.0 }
        }
        ParameterType::ERROR_CAUSE_INDICATION => {
            let (correlation, causes) = correlation()?;
            AddressAnswer::Error { correlation, causes: Causes::new(causes) }
        }
        _ => AddressAnswer::Unrecognized,
    })
}

impl<'a> Asconf<AddressRequests<'a>> {
    pub(super) fn parse(raw: RawChunk<'a>) -> Result<Self, ParseError> {
        let (serial, rest) = raw.split_fields()?;
        let serial = AsconfSerial(u32::from_be_bytes(*serial));
        // The address parameter is mandatory, and needs no padding (section 4.1.1).
        let address = parse_addresses(rest).next().ok_or(too_short(raw.chunk_type))??;
        let length = if address.is_ipv4() { 8 } else { 20 };
        Ok(Asconf {
            serial,
            address,
            requests: AddressRequests(rest.get(length..).unwrap_or_default()),
        })
    }
}

impl<'a> AsconfAck<AddressAnswers<'a>> {
    pub(super) fn parse(raw: RawChunk<'a>) -> Result<Self, ParseError> {
        let (serial, answers) = raw.split_fields()?;
        let serial = AsconfSerial(u32::from_be_bytes(*serial));
        Ok(AsconfAck { serial, answers: AddressAnswers(answers) })
    }
}

impl<'p, P: IntoIterator<Item = AddressRequest<'p>>> EmitChunk for Asconf<P> {
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::ASCONF, 0)
    }

    fn emit_value(self, buffer: &mut Vec<u8>, _room: usize) {
        buffer.extend_from_slice(&self.serial.0.to_be_bytes());
        emit_address(buffer, self.address);
        tlv::emit_list(buffer, self.requests, emit_request);
    }
}

fn emit_request(request: &AddressRequest<'_>, buffer: &mut Vec<u8>) {
    let (parameter_type, correlation, address) = match *request {
        AddressRequest::Add { correlation, address } => {
            (ParameterType::ADD_IP_ADDRESS, correlation, address)
        }
        AddressRequest::Delete { correlation, address } => {
            (ParameterType::DELETE_IP_ADDRESS, correlation, address)
        }
        AddressRequest::SetPrimary { correlation, address } => {
            (ParameterType::SET_PRIMARY_ADDRESS, correlation, address)
        }
        AddressRequest::Unrecognized(raw) => return buffer.extend_from_slice(raw.bytes),
    };
    tlv::emit(buffer, parameter_type.0, |buffer| {
        buffer.extend_from_slice(&correlation.to_be_bytes());
        emit_address(buffer, address);
    });
}

impl<'c, C, P> EmitChunk for AsconfAck<P>
where
    C: IntoIterator<Item = Cause<'c>> + Clone,
    P: IntoIterator<Item = AddressAnswer<C>>,
{
    fn head(&self) -> (ChunkType, u8) {
        (ChunkType::ASCONF_ACK, 0)
    }

    fn emit_value(self, buffer: &mut Vec<u8>, _room: usize) {
        buffer.extend_from_slice(&self.serial.0.to_be_bytes());
        tlv::emit_list(buffer, self.answers, |answer, buffer| match answer {
            AddressAnswer::Success { correlation } => {
                tlv::emit(buffer, ParameterType::SUCCESS_INDICATION.0, |buffer| {
                    buffer.extend_from_slice(&correlation.to_be_bytes());
                });
            }
            AddressAnswer::Error { correlation, causes } => {
                tlv::emit(buffer, ParameterType::ERROR_CAUSE_INDICATION.0, |buffer| {
                    buffer.extend_from_slice(&correlation.to_be_bytes());
                    tlv::emit_list(buffer, causes.clone(), Cause::emit);
                });
            }
            AddressAnswer::Unrecognized => {}
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{CauseCode, CommonHeader, Packet, PacketBuilder, VerificationTag};
    use super::super::Chunk;
    use super::*;

    fn packet(chunk: impl EmitChunk) -> Vec<u8> {
        let header = CommonHeader {
            source_port: 1,
            destination_port: 2,
            verification_tag: VerificationTag(9),
        };
        let mut buffer = Vec::new();
        let mut packet = PacketBuilder::start(&mut buffer, header, 400);
        packet.append(chunk).unwrap();
        packet.finish();
        buffer
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_asconf_comes_out_as_it_went_in() {
        let requests = [
            AddressRequest::Add { correlation: 1, address: ip("192.0.2.7") },
            AddressRequest::Delete { correlation: u32::MAX, address: ip("2001:db8::7") },
            AddressRequest::SetPrimary { correlation: 3, address: ip("0.0.0.0") },
        ];
        for address in [ip("198.51.100.1"), ip("2001:db8::1")] {
            let packet = packet(Asconf { serial: AsconfSerial(7), address, requests });
            let packet = Packet::parse(packet.into()).unwrap();
            let Some(Ok(Chunk::Asconf(read))) = packet.chunks().next() else { panic!() };
            assert_eq!((read.serial, read.address), (AsconfSerial(7), address));
            let read: Vec<_> = read.requests.iter().map(|request| request.unwrap().0).collect();
            assert_eq!(read, requests);
        }
    }

    #[test]
    fn the_layout_is_that_of_section_4() {
        let add = [AddressRequest::Add { correlation: 0x0a0b_0c0d, address: ip("192.0.2.7") }];
        let address = ip("198.51.100.1");
        let bytes = packet(Asconf { serial: AsconfSerial(7), address, requests: add });
        let expected = [
            193, 0, 0, 32, 0, 0, 0, 7, 0, 5, 0, 8, 198, 51, 100, 1, 0xc0, 1, 0, 16, 10, 11, 12, 13,
            0, 5, 0, 8, 192, 0, 2, 7,
        ];
        assert_eq!(bytes[12..], expected);
    }

    #[test]
    fn an_asconf_ack_comes_out_as_it_went_in() {
        let cause = Cause::Unrecognized {
            code: CauseCode::DELETE_LAST_ADDRESS,
            value: &[0xc0, 2, 0, 16, 0, 0, 0, 9, 0, 5, 0, 8, 192, 0, 2, 7],
        };
        let answers = [
            AddressAnswer::Success { correlation: 4 },
            AddressAnswer::Error { correlation: 9, causes: [cause] },
        ];
        let bytes = packet(AsconfAck { serial: AsconfSerial(7), answers });
        let packet = Packet::parse(bytes.into()).unwrap();
        let Some(Ok(Chunk::AsconfAck(read))) = packet.chunks().next() else { panic!() };
        let read: Vec<_> = read.answers.iter().map(Result::unwrap).collect();
        assert_eq!(read[0], AddressAnswer::Success { correlation: 4 });
        let AddressAnswer::Error { correlation: 9, causes } = read[1] else { panic!("{read:?}") };
        assert_eq!(causes.iter().collect::<Vec<_>>(), [Ok(cause)]);
    }

    #[test]
    fn without_its_address_an_asconf_is_an_error_and_so_is_a_request_cut_off() {
        let raw = |bytes| RawChunk { chunk_type: ChunkType::ASCONF, flags: 0, bytes, tail: None };
        assert!(Asconf::parse(raw(&[193, 0, 0, 8, 0, 0, 0, 7])).is_err());
        assert!(Asconf::parse(raw(&[193, 0, 0, 12, 0, 0, 0, 7, 0, 5, 0, 8])).is_err());
        let add = [AddressRequest::Add { correlation: 1, address: ip("2001:db8::7") }];
        let whole = packet(Asconf { serial: AsconfSerial(7), address: ip("::1"), requests: add });
        let request = &whole[12 + 8 + 20..];
        for length in 4..request.len() {
            let mut cut = request[..length].to_vec();
            cut[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            assert!(AddressRequests(&cut).iter().next().unwrap().is_err(), "{length}");
        }
    }
}
