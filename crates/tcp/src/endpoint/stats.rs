//! Counters of an endpoint, apart from its connections.

/// Counters of what the endpoint dropped or answered without a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EndpointStats {
    /// Segments received, whether for a connection or not.
    pub segments: u64,
    /// Datagrams that are no segment: too short, wrong checksum, port 0, impossible addresses.
    pub malformed: u64,
    /// Segments with neither connection nor listener.
    pub no_connection: u64,
    /// RSTs sent in answer to segments without a connection.
    pub resets: u64,
    /// SYNs that arrived at listeners.
    pub syns: u64,
    /// SYNs dropped because the backlog or the queue of established connections was full.
    pub syns_dropped: u64,
    /// SYNs, and ACKs with cookies, dropped because of the memory limit.
    pub syns_without_memory: u64,
    /// Bytes received out of order and dropped because of the memory limit.
    pub pruned_bytes: u64,
    /// Connections closed by their application and reset because of the memory limit.
    pub orphans_reset: u64,
    /// Other connections reset because of the memory limit, since they held much memory without
    /// progress, or for newcomers since they held more than they ever moved.
    pub stalled_reset: u64,
    /// SYNs answered by a SYN cookie (RFC 4987, section 3.6).
    pub cookies_sent: u64,
    /// Connections created from a SYN cookie.
    pub cookies_accepted: u64,
    /// ACKs without a valid SYN cookie, where one was possible.
    pub cookies_refused: u64,
    /// Challenge ACKs not sent because of their limit (RFC 5961, section 7).
    pub challenge_acks_limited: u64,
    /// Answers without a connection that were dropped, since 8 MiB were queued.
    pub answers_dropped: u64,
    /// Segments for other endpoints that were dropped, since 1024 waited.
    pub strays_dropped: u64,
    /// Segments that TIME-WAIT answered or dropped.
    pub time_wait: u64,
    /// ICMP messages proved to be about a segment of a connection.
    pub icmp: u64,
    /// ICMP messages without that proof.
    pub icmp_ignored: u64,
}
