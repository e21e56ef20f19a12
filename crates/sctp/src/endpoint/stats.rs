//! What an endpoint counts besides its associations.

/// Counters of what the endpoint dropped, refused or answered without an association, and of what it took back for want of
/// memory or of places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EndpointStats {
    /// Datagrams received.
    pub datagrams: u64,
    /// Datagrams that were no SCTP packet: too short, wrong checksum, port 0.
    pub malformed: u64,
    /// Packets for no association of this endpoint.
    pub out_of_the_blue: u64,
    /// Packets whose verification tag was not that of their association.
    pub wrong_tag: u64,
    /// INITs answered.
    pub inits: u64,
    /// ICMP messages that proved to be about a packet of an association.
    pub icmp: u64,
    /// ICMP messages that did not.
    pub icmp_ignored: u64,
    /// Packets taken without a checksum (RFC 9653).
    pub zero_checksums: u64,
    /// COOKIE ECHOs refused: malformed, forged, stale or late.
    pub cookies_refused: u64,
    /// Answers without an association that were not sent, since 8 MiB of them waited already.
    pub answers_dropped: u64,
    /// Associations refused because peers at the same host had as many as they may
    /// ([`EndpointOptions::max_per_peer`](crate::EndpointOptions::max_per_peer)).
    pub refused_per_peer: u64,
    /// Associations refused because there were as many as there may be, and none to make room
    /// ([`EndpointOptions::max_associations`](crate::EndpointOptions::max_associations)).
    pub refused_full: u64,
    /// Associations refused because the others held more memory than they may, and none made room
    /// ([`EndpointOptions::memory`](crate::EndpointOptions::memory)).
    pub refused_memory: u64,
    /// Associations that never carried user data and were aborted to make room for new ones.
    pub unused_evicted: u64,
    /// Associations that carried some and were aborted to make room for new ones, as they had been idle the longest.
    pub idle_evicted: u64,
    /// Associations aborted for want of memory, as they held much and made no progress.
    pub stalled_aborted: u64,
    /// Associations aborted at once for want of memory, as they held more than they had ever moved while there was no room
    /// for new ones any more.
    pub stuck_aborted: u64,
    /// Associations aborted for want of memory that their applications had closed and that had much left to send.
    pub closing_aborted: u64,
    /// Bytes that had come beyond missing ones and were given up for want of memory (RFC 9260, section 6.2).
    pub pruned_bytes: u64,
}
