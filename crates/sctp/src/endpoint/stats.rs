//! Counters of an endpoint, apart from its associations.

/// Counters of packets dropped, refused or answered without an association, and of associations
/// ended for lack of memory or places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EndpointStats {
    /// Datagrams handed to the endpoint, malformed ones included.
    pub datagrams: u64,
    /// Datagrams that are no SCTP packet: too short, wrong checksum, port 0.
    pub malformed: u64,
    /// Packets for no association of this endpoint.
    pub out_of_the_blue: u64,
    /// Packets whose verification tag was not that of their association.
    pub wrong_tag: u64,
    /// INITs answered by INIT ACK (RFC 9260, section 5.1).
    pub inits: u64,
    /// ICMP messages proved to be about a packet of an association.
    pub icmp: u64,
    /// ICMP messages without that proof.
    pub icmp_ignored: u64,
    /// Packets accepted without a checksum (RFC 9653).
    pub zero_checksums: u64,
    /// COOKIE ECHOs refused: malformed, forged, stale or late.
    pub cookies_refused: u64,
    /// Answers without an association that were dropped, since 8 MiB were queued.
    pub answers_dropped: u64,
    /// Associations refused because peers at the same host had the maximum number
    /// ([`EndpointOptions::max_per_peer`](crate::EndpointOptions::max_per_peer)).
    pub refused_per_peer: u64,
    /// Associations refused because the endpoint had the maximum number and none could make room
    /// ([`EndpointOptions::max_associations`](crate::EndpointOptions::max_associations)).
    pub refused_full: u64,
    /// Associations refused because the others held the maximum memory and none could make room
    /// ([`EndpointOptions::memory`](crate::EndpointOptions::memory)).
    pub refused_memory: u64,
    /// Associations that never carried user data and were aborted to make room for new ones.
    pub unused_evicted: u64,
    /// Associations that had carried user data and were aborted to make room for new ones, as
    /// those idle the longest.
    pub idle_evicted: u64,
    /// Associations aborted for lack of memory, since they held much without progress.
    pub stalled_aborted: u64,
    /// Associations aborted at once for lack of memory, since they held more than they had ever
    /// moved while there was no room for new ones.
    pub stuck_aborted: u64,
    /// Associations aborted for lack of memory that their applications had closed and that had
    /// much data left to send.
    pub closing_aborted: u64,
    /// Bytes received beyond missing TSNs and dropped for lack of memory (RFC 9260, section 6.2).
    pub pruned_bytes: u64,
}

impl core::ops::AddAssign for EndpointStats {
    /// Adds the counters of another endpoint.
    fn add_assign(&mut self, other: EndpointStats) {
        let EndpointStats {
            datagrams,
            malformed,
            out_of_the_blue,
            wrong_tag,
            inits,
            icmp,
            icmp_ignored,
            zero_checksums,
            cookies_refused,
            answers_dropped,
            refused_per_peer,
            refused_full,
            refused_memory,
            unused_evicted,
            idle_evicted,
            stalled_aborted,
            stuck_aborted,
            closing_aborted,
            pruned_bytes,
        } = other;
        self.datagrams += datagrams;
        self.malformed += malformed;
        self.out_of_the_blue += out_of_the_blue;
        self.wrong_tag += wrong_tag;
        self.inits += inits;
        self.icmp += icmp;
        self.icmp_ignored += icmp_ignored;
        self.zero_checksums += zero_checksums;
        self.cookies_refused += cookies_refused;
        self.answers_dropped += answers_dropped;
        self.refused_per_peer += refused_per_peer;
        self.refused_full += refused_full;
        self.refused_memory += refused_memory;
        self.unused_evicted += unused_evicted;
        self.idle_evicted += idle_evicted;
        self.stalled_aborted += stalled_aborted;
        self.stuck_aborted += stuck_aborted;
        self.closing_aborted += closing_aborted;
        self.pruned_bytes += pruned_bytes;
    }
}
