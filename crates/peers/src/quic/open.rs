//! Stand-in for TLS: a handshake that agrees on nothing, and packets that every host on the path
//! can read.
//!
//! The handshake has the messages of TLS 1.3 in their packets, the keys have a tag of 16 bytes, as
//! AES-GCM has, so that packets are as many and as long as they would be; what a message is lost in
//! can be seen.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey,
    HmacKey, KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};

/// Bytes of an AEAD's tag, which are sent and mean nothing.
const TAG: usize = 16;
/// Types of handshake messages, each followed by its length in two bytes.
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const EXTENSIONS: u8 = 8;
const FINISHED: u8 = 20;
/// About what a server's certificate and its proof take.
const CERTIFICATE: usize = 900;

/// Key that protects nothing: packets stay readable.
#[derive(Debug)]
pub(super) struct Open;

fn keys() -> Keys {
    let header = || -> Box<dyn HeaderKey> { Box::new(Open) };
    Keys { header: KeyPair { local: header(), remote: header() }, packet: packet_keys() }
}

fn packet_keys() -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: Box::new(Open), remote: Box::new(Open) }
}

impl PacketKey for Open {
    fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}

    fn decrypt(&self, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        payload.truncate(payload.len().checked_sub(TAG).ok_or(CryptoError)?);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Open {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}
    fn encrypt(&self, _: usize, _: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        16
    }
}

impl HmacKey for Open {
    /// A hash of what is signed (FNV-1a), each eight bytes from another beginning: no reset token
    /// is like another, nor like the end of a packet.
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        for (piece, start) in signature_out.chunks_mut(8).zip(0xcbf2_9ce4_8422_2325_u64..) {
            let step =
                |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
            let hash = data.iter().fold(start, step).to_le_bytes();
            piece.copy_from_slice(&hash[..piece.len()]);
        }
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

impl HandshakeTokenKey for Open {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Open)
    }
}

impl AeadKey for Open {
    fn seal(&self, _: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Ok(data)
    }
}

impl ClientConfig for Open {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(OpenSession::new(Side::Client, params)))
    }
}

impl ServerConfig for Open {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(OpenSession::new(Side::Server, params))
    }
}

/// Next item to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Nothing,
    ClientHello,
    ServerHello,
    Extensions,
    /// The client has heard the server's first message: keys, and nothing to write.
    HandshakeKeys,
    Finished,
}

/// One side of the handshake.
struct OpenSession {
    side: Side,
    own: Vec<u8>,
    peer: Option<TransportParameters>,
    next: Next,
    /// Bytes read of an incomplete message.
    partial: Vec<u8>,
    established: bool,
}

impl OpenSession {
    fn new(side: Side, params: &TransportParameters) -> OpenSession {
        let mut own = Vec::new();
        params.write(&mut own);
        let next = if side.is_client() { Next::ClientHello } else { Next::Nothing };
        OpenSession { side, own, peer: None, next, partial: Vec::new(), established: false }
    }

    fn take(&mut self, kind: u8, body: &[u8]) -> Result<(), TransportError> {
        let parse = |mut body| TransportParameters::read(self.side, &mut body).ok();
        self.next = match (self.side, kind) {
            (Side::Server, CLIENT_HELLO) => {
                self.peer = parse(body);
                Next::ServerHello
            }
            (Side::Client, SERVER_HELLO) => Next::HandshakeKeys,
            (Side::Client, EXTENSIONS) => {
                self.peer = parse(body.get(CERTIFICATE..).unwrap_or_default());
                Next::Finished
            }
            (Side::Server, FINISHED) => {
                self.established = true;
                Next::Nothing
            }
            _ => return Err(TransportErrorCode::PROTOCOL_VIOLATION.into()),
        };
        Ok(())
    }
}

fn write(buf: &mut Vec<u8>, kind: u8, padding: usize, body: &[u8]) {
    buf.push(kind);
    buf.extend_from_slice(&((padding + body.len()) as u16).to_be_bytes());
    buf.resize(buf.len() + padding, 0);
    buf.extend_from_slice(body);
}

impl Session for OpenSession {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        !self.established
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.partial.extend_from_slice(buf);
        while let [kind, high, low, ..] = self.partial[..] {
            let end = 3 + usize::from(u16::from_be_bytes([high, low]));
            if self.partial.len() < end {
                break;
            }
            let message: Vec<u8> = self.partial.drain(..end).collect();
            self.take(kind, &message[3..])?;
        }
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let next = std::mem::replace(&mut self.next, Next::Nothing);
        match next {
            Next::Nothing => None,
            Next::ClientHello => {
                write(buf, CLIENT_HELLO, 0, &self.own);
                None
            }
            Next::ServerHello => {
                write(buf, SERVER_HELLO, 90, &[]);
                self.next = Next::Extensions;
                Some(keys())
            }
            Next::Extensions => {
                write(buf, EXTENSIONS, CERTIFICATE, &self.own);
                Some(keys())
            }
            Next::HandshakeKeys => Some(keys()),
            Next::Finished => {
                write(buf, FINISHED, 36, &[]);
                self.established = true;
                Some(keys())
            }
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(packet_keys())
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        false
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        output.fill(0);
        Ok(())
    }
}
