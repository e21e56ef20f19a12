//! Options of the two ends, as the fuzzer's bytes choose them.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::Duration;
use bytes::Bytes;
use recovery::{PRESETS, RecoveryPolicy};
use sctp::wire::ChunkType;
use sctp::{
    AssociationOptions, AuthenticationOptions, ErrorDetection, Extensions, KeyId,
    ReconfigurationPolicy,
};

use super::input::End;

/// Chunks that an end may want authenticated, by groups. Not ABORT: an end without an association
/// could not tell the other.
const GROUPS: [&[ChunkType]; 5] = [
    &[ChunkType::DATA, ChunkType::I_DATA],
    &[ChunkType::SACK],
    &[ChunkType::HEARTBEAT, ChunkType::HEARTBEAT_ACK, ChunkType::PAD],
    &[ChunkType::FORWARD_TSN, ChunkType::I_FORWARD_TSN, ChunkType::RE_CONFIG],
    &[
        ChunkType::COOKIE_ECHO,
        ChunkType::COOKIE_ACK,
        ChunkType::SHUTDOWN,
        ChunkType::SHUTDOWN_ACK,
        ChunkType::ERROR,
    ],
];

/// A key that only one of the ends knows.
const STRANGE: KeyId = KeyId(3);

/// The key that a byte chooses: mostly one that both ends know, since nothing is understood behind
/// another.
pub(super) fn shared_key(key: u8) -> KeyId {
    match key {
        u8::MAX => STRANGE,
        other => KeyId(u16::from(other % 3)),
    }
}

/// Whether an end finds the path MTU out.
pub(super) fn discovers(end: &End) -> bool {
    end.security & 0x20 != 0
}

/// Whether an end takes packets without a checksum.
pub(super) fn is_protected(end: &End) -> bool {
    end.security & 0x40 != 0
}

fn authentication(end: &End) -> AuthenticationOptions {
    let groups = GROUPS.iter().enumerate().filter(|(index, _)| end.security & 1 << index != 0);
    // What the other end has for the strange key is another secret, since its options differ.
    let strange = Bytes::copy_from_slice(&[end.preset, end.buffer, end.mtu, end.security, end.key]);
    let secrets = [Bytes::new(), Bytes::from_static(b"one"), Bytes::from_static(b"two"), strange];
    let keys: BTreeMap<KeyId, Bytes> = (0..).map(KeyId).zip(secrets).collect();
    AuthenticationOptions {
        chunks: groups.flat_map(|(_, group)| group.iter().copied()).collect(),
        keys,
        active_key: shared_key(end.key),
    }
}

pub(super) fn policy(preset: u8) -> Arc<RecoveryPolicy> {
    let (name, _) = PRESETS[usize::from(preset) % PRESETS.len()];
    RecoveryPolicy::preset(name).unwrap_or_default().into()
}

pub(super) fn mtu(steps: u8) -> u16 {
    576 + 3 * u16::from(steps)
}

fn extensions(bits: u8) -> Extensions {
    let all = [
        Extensions::PARTIAL_RELIABILITY,
        Extensions::INTERLEAVING,
        Extensions::STREAM_RECONFIGURATION,
        Extensions::PADDING,
        Extensions::ADDRESS_RECONFIGURATION,
    ];
    let offered = all.into_iter().enumerate().filter(|(index, _)| bits & 1 << index != 0);
    offered.fold(Extensions::NONE, |sum, (_, extension)| sum | extension)
}

pub(super) fn options(end: &End) -> AssociationOptions {
    let all = end.extensions & 0x20 != 0;
    let outbound_streams = if end.extensions & 0x40 != 0 { 2 } else { 16 };
    let authenticates = end.security & 0x1f != 0;
    let keys = if authenticates { Extensions::AUTHENTICATION } else { Extensions::NONE };
    AssociationOptions {
        extensions: extensions(end.extensions) | keys,
        authentication: Some(Arc::new(authentication(end))),
        path_mtu_discovery: discovers(end),
        zero_checksum: is_protected(end).then_some(ErrorDetection::Dtls),
        reconfiguration: ReconfigurationPolicy {
            reset_streams: true,
            reset_association: all,
            add_streams: all,
        },
        outbound_streams,
        policy: policy(end.preset),
        receive_buffer: 4_000 * (1 + u32::from(end.buffer)),
        path_mtu: mtu(end.mtu),
        no_delay: !end.nagle,
        heartbeat_interval: end.heartbeats.then_some(Duration::from_secs(30)),
        ..AssociationOptions::default()
    }
}
