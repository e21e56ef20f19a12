//! What an endpoint counts besides its connections.

/// Counters of what the endpoint dropped or answered without a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EndpointStats {
    /// Segments received.
    pub segments: u64,
    /// Datagrams that were no segment: too short, wrong checksum, port 0, impossible addresses.
    pub malformed: u64,
    /// Segments for which there was neither connection nor listener.
    pub no_connection: u64,
    /// Resets sent for them.
    pub resets: u64,
    /// SYNs for listeners.
    pub syns: u64,
    /// SYNs dropped because the backlog or the queue of established connections was full.
    pub syns_dropped: u64,
    /// SYNs, and ACKs with cookies, dropped because connections held more memory than they may.
    pub syns_without_memory: u64,
    /// Bytes that had come out of order and were given up for want of memory.
    pub pruned_bytes: u64,
    /// Connections that their applications had closed and that were reset for want of memory.
    pub orphans_reset: u64,
    /// Others that were reset for want of memory, as they held much and made no progress.
    pub stalled_reset: u64,
    /// SYN cookies sent.
    pub cookies_sent: u64,
    /// Connections that came of a SYN cookie.
    pub cookies_accepted: u64,
    /// ACKs that might have carried a SYN cookie and did not.
    pub cookies_refused: u64,
    /// Challenge ACKs not sent because of their limit (RFC 5961, section 7).
    pub challenge_acks_limited: u64,
    /// Answers without a connection that were not sent, since 256 waited already.
    pub answers_dropped: u64,
    /// Segments that TIME-WAIT answered or swallowed.
    pub time_wait: u64,
    /// ICMP messages that proved to be about a segment of a connection.
    pub icmp: u64,
    /// ICMP messages that did not.
    pub icmp_ignored: u64,
}
