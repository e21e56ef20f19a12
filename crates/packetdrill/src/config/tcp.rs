//! Settings of a TCP under test, by the system that a suite assumes.

use std::sync::Arc;

use base::Duration;
use recovery::RecoveryPolicy;
use recovery::policy::IdleRestart;
use tcp::{ConnectionOptions, EcnMode, EndpointOptions, KeepAlive};

/// Settings of the stack under test and of its socket interface.
#[derive(Clone, Debug)]
pub struct TcpConfig {
    /// Options of each connection, unless a call of the script changes them.
    pub connection: ConnectionOptions,
    /// Options of the endpoint, such as SYN cookies.
    pub endpoint: EndpointOptions,
    /// Whether assertions count windows in segments and number the states as Linux does.
    pub counts_segments: bool,
    /// Keep-alive times once it is switched on.
    pub keep_alive: KeepAlive,
    /// Whether receive buffers are rounded up to whole segments.
    pub whole_segments: bool,
    /// Whether ICMP may end a connection that is being opened.
    pub icmp_refusals: bool,
}

impl Default for TcpConfig {
    /// RFC 9293 with its companions only; Nagle on.
    fn default() -> Self {
        let connection = ConnectionOptions {
            policy: Arc::new(RecoveryPolicy::tcp_rfc()),
            receive_buffer: 65_535,
            send_buffer: 1 << 20,
            ecn: EcnMode::Off,
            ..ConnectionOptions::default()
        };
        TcpConfig {
            connection,
            endpoint: EndpointOptions::default(),
            counts_segments: false,
            keep_alive: KeepAlive::default(),
            whole_segments: false,
            icmp_refusals: true,
        }
    }
}

impl TcpConfig {
    /// FreeBSD, as its test suite sets it.
    pub fn freebsd() -> Self {
        let mut config = TcpConfig::default();
        let connection = &mut config.connection;
        connection.receive_buffer = 65_536;
        connection.send_buffer = 32_768;
        connection.window_shift = Some(6);
        connection.ecn = EcnMode::Passive;
        connection.ecn_syn_retries = 1;
        connection.syn_retries = 12;
        connection.syn_timeout_max = Duration::from_secs(64);
        connection.syn_time_limit = Some(Duration::from_secs(75));
        connection.policy = Arc::new(RecoveryPolicy::tcp_sack());
        config.keep_alive.probes = 8;
        config.whole_segments = true;
        config.edit_policy(|policy| {
            policy.acknowledgement.delay = Some(Duration::from_millis(100));
            policy.rto.min = Duration::from_millis(230);
            policy.congestion.limited_transmit = true;
        });
        config
    }

    /// Linux with its vendor's settings (`defaults.sh`): CUBIC, RACK and TLP, F-RTO, no ECN.
    pub fn linux() -> Self {
        let mut config = TcpConfig::default();
        let connection = &mut config.connection;
        connection.receive_buffer = 270_000;
        connection.receive_buffer_max = 0;
        connection.window_shift = Some(8);
        connection.send_buffer = 256 << 10;
        connection.policy = Arc::new(RecoveryPolicy::tcp_linux());
        config.counts_segments = true;
        config.edit_policy(|policy| policy.congestion.idle_restart = IdleRestart::Keep);
        config
    }

    /// Linux at the time of nplab's scripts: before RACK, with a smaller window.
    pub fn old_linux() -> Self {
        let mut config = TcpConfig::linux();
        config.connection.window_shift = Some(6);
        config.edit_policy(|policy| {
            policy.loss.rack = false;
            policy.loss.tail_probe = None;
        });
        config
    }

    /// Changes the recovery policy of all connections.
    pub(crate) fn edit_policy(&mut self, change: impl FnOnce(&mut RecoveryPolicy)) {
        change(Arc::make_mut(&mut self.connection.policy));
    }
}
