//! The messages of the Data Channel Establishment Protocol (RFC 8832, section 5).
//!
//! ```text
//!  0                   1                   2                   3
//! +---------------+---------------+-------------------------------+
//! | 3: OPEN       | channel type  | priority                      |
//! +---------------+---------------+-------------------------------+
//! | reliability parameter                                         |
//! +-------------------------------+-------------------------------+
//! | length of label               | length of protocol            |
//! +-------------------------------+-------------------------------+
//! | label, protocol
//! +---------------+
//! | 2: ACK        |
//! +---------------+
//! ```

use base::Duration;

use super::{ChannelOptions, ChannelReliability, DcepError};

const ACK: u8 = 2;
const OPEN: u8 = 3;
/// Bytes of OPEN before the label.
const FIELDS: usize = 12;
/// Set in the types of channels without order.
const UNORDERED: u8 = 0x80;

/// A message of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Dcep {
    /// Opens the channel of the stream that it comes on.
    Open(ChannelOptions),
    /// Confirms the OPEN on the stream that it comes on (RFC 8832, section 5.2).
    Ack,
}

impl Dcep {
    /// Reads a message; label and protocol may have `name_max` bytes together.
    pub(super) fn parse(bytes: &[u8], name_max: usize) -> Result<Dcep, DcepError> {
        match bytes.first() {
            Some(&ACK) => Ok(Dcep::Ack),
            Some(&OPEN) => parse_open(bytes, name_max).map(Dcep::Open),
            Some(other) => Err(DcepError::UnknownMessage(*other)),
            None => Err(DcepError::TooShort),
        }
    }

    /// The message as bytes. Label and protocol have at most 65535 bytes each.
    pub(super) fn emit(&self) -> Vec<u8> {
        let Dcep::Open(options) = self else { return vec![ACK] };
        let (reliability, parameter) = match options.reliability {
            ChannelReliability::Full => (0, 0),
            ChannelReliability::Retransmissions(limit) => (1, limit),
            ChannelReliability::Lifetime(span) => {
                (2, u32::try_from(span.as_millis()).unwrap_or(u32::MAX))
            }
        };
        let order = if options.ordered { 0 } else { UNORDERED };
        let (label, protocol) = (options.label.as_bytes(), options.protocol.as_bytes());
        let length = |name: &[u8]| u16::try_from(name.len()).unwrap_or(u16::MAX).to_be_bytes();
        let mut bytes = Vec::with_capacity(FIELDS + label.len() + protocol.len());
        bytes.extend_from_slice(&[OPEN, order | reliability]);
        bytes.extend_from_slice(&options.priority.to_be_bytes());
        bytes.extend_from_slice(&parameter.to_be_bytes());
        bytes.extend_from_slice(&length(label));
        bytes.extend_from_slice(&length(protocol));
        bytes.extend_from_slice(label);
        bytes.extend_from_slice(protocol);
        bytes
    }
}

fn parse_open(bytes: &[u8], name_max: usize) -> Result<ChannelOptions, DcepError> {
    let Some((fields, names)) = bytes.split_first_chunk::<FIELDS>() else {
        return Err(DcepError::TooShort);
    };
    let &[_, channel_type, p0, p1, r0, r1, r2, r3, l0, l1, q0, q1] = fields;
    let label_len = usize::from(u16::from_be_bytes([l0, l1]));
    let protocol_len = usize::from(u16::from_be_bytes([q0, q1]));
    if label_len + protocol_len > name_max {
        return Err(DcepError::NameTooLong);
    }
    let label = names.get(..label_len).ok_or(DcepError::TooShort)?;
    let protocol = names.get(label_len..label_len + protocol_len).ok_or(DcepError::TooShort)?;
    let text =
        |name: &[u8]| core::str::from_utf8(name).map(str::to_owned).map_err(|_| DcepError::NotText);
    let parameter = u32::from_be_bytes([r0, r1, r2, r3]);
    let reliability = match channel_type & !UNORDERED {
        // The parameter means nothing then (section 5.1).
        0 => ChannelReliability::Full,
        1 => ChannelReliability::Retransmissions(parameter),
        2 => ChannelReliability::Lifetime(Duration::from_millis(parameter.into())),
        _ => return Err(DcepError::UnknownChannelType(channel_type)),
    };
    Ok(ChannelOptions {
        label: text(label)?,
        protocol: text(protocol)?,
        priority: u16::from_be_bytes([p0, p1]),
        ordered: channel_type & UNORDERED == 0,
        reliability,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_message_reads_as_in_the_rfc_and_back() {
        let options = ChannelOptions {
            label: "chat".into(),
            protocol: "x".into(),
            priority: 256,
            ordered: false,
            reliability: ChannelReliability::Lifetime(Duration::from_millis(500)),
        };
        let bytes = Dcep::Open(options.clone()).emit();
        let fixed = [3, 0x82, 1, 0, 0, 0, 1, 0xf4, 0, 4, 0, 1];
        assert_eq!(bytes, [&fixed[..], b"chatx"].concat());
        assert_eq!(Dcep::parse(&bytes, 5), Ok(Dcep::Open(options)));
        assert_eq!(Dcep::parse(&bytes, 4), Err(DcepError::NameTooLong));
        for length in 0..bytes.len() {
            assert_eq!(Dcep::parse(&bytes[..length], 5), Err(DcepError::TooShort));
        }
    }

    #[test]
    fn every_type_of_channel_is_read_and_others_are_refused() {
        for channel_type in 0..=255 {
            let bytes = [3, channel_type, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0];
            match Dcep::parse(&bytes, 0) {
                Ok(Dcep::Open(options)) => {
                    assert!(matches!(channel_type & 0x7f, 0..3));
                    assert_eq!(options.ordered, channel_type < 0x80);
                }
                other => assert_eq!(other, Err(DcepError::UnknownChannelType(channel_type))),
            }
        }
    }

    #[test]
    fn what_is_neither_open_nor_ack_is_refused() {
        assert_eq!(Dcep::parse(&[2], 0), Ok(Dcep::Ack));
        assert_eq!(Dcep::parse(&[4], 0), Err(DcepError::UnknownMessage(4)));
        let bytes = [3, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0xff];
        assert_eq!(Dcep::parse(&bytes, 9), Err(DcepError::NotText));
    }
}
