//! Options of a connection's two directions, derived from those of the connection.

use std::sync::Arc;

use base::Duration;

use super::headers;
use crate::options::ConnectionOptions;
use crate::rx::{ReceiverOptions, ack_timing};
use crate::tx::{Sender, SenderOptions};
use crate::wire::MAX_WINDOW_SCALE;

/// Bytes of data, without options, in an IP packet of `mtu` bytes.
pub(crate) fn mss_of(options: &ConnectionOptions, mtu: u16, is_ipv6: bool) -> u16 {
    mtu.saturating_sub(headers(is_ipv6)).min(options.max_segment.unwrap_or(u16::MAX)).max(1)
}

/// Options of the receiving side.
pub(crate) fn receiver_options(options: &ConnectionOptions, is_ipv6: bool) -> ReceiverOptions {
    ReceiverOptions {
        buffer: options.receive_buffer as u64,
        buffer_limit: options.receive_buffer_max as u64,
        mss: mss_of(options, options.path_mtu, is_ipv6).into(),
        acknowledgement: ack_timing(&options.policy.acknowledgement),
        duplicate_sack: true,
        urgent_inline: options.urgent_inline,
    }
}

/// Whole seconds, in four bytes of memory.
pub(super) type Seconds = core::num::NonZeroU32;

fn seconds(span: Seconds) -> Duration {
    Duration::from_secs(u64::from(span.get()))
}

/// Options of the sending side.
pub(super) fn sender_options(
    options: &ConnectionOptions,
    peer_user_timeout: Option<Seconds>,
) -> SenderOptions {
    SenderOptions {
        buffer: options.send_buffer,
        no_delay: options.no_delay,
        nagle: options.nagle,
        window_probe: options.window_probe,
        retries: options.retries,
        user_timeout: options.user_timeout.or(peer_user_timeout.map(seconds)),
        hold: options.hold,
    }
}

/// Initial state of the sending side.
pub(super) fn new_sender(
    options: &ConnectionOptions,
    peer_user_timeout: Option<Seconds>,
    mss: u32,
    window: u64,
) -> Sender {
    Sender::new(
        sender_options(options, peer_user_timeout),
        Arc::clone(&options.policy),
        mss,
        1,
        window,
    )
}

/// Window shift that this side's SYN offers.
pub(crate) fn window_shift(options: &ConnectionOptions, is_ipv6: bool) -> u8 {
    let shift = options.window_shift.map(|shift| shift.min(MAX_WINDOW_SCALE));
    shift.unwrap_or_else(|| receiver_options(options, is_ipv6).window_scale())
}
