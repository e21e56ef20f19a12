//! Options of the sending side.

use base::Duration;

/// Options of the sending side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderOptions {
    /// Most bytes waiting to be sent or acknowledged.
    pub buffer: usize,
    /// Send small segments at once.
    pub no_delay: bool,
    /// The small segments that wait if `no_delay` is off.
    pub nagle: Nagle,
    /// Content of a window probe.
    pub window_probe: WindowProbe,
    /// Consecutive expiries of the retransmission timer, or unanswered probes, after which the
    /// connection fails (R2 of RFC 9293, section 3.8.3).
    pub retries: u8,
    /// Longest time for which data may stay unacknowledged; if set, `retries` has no effect.
    /// `None`: only `retries` limits it.
    pub user_timeout: Option<Duration>,
    /// Longest time for which data waits because more was announced (`more`), as with TCP_CORK in
    /// Linux.
    pub hold: Duration,
}

impl Default for SenderOptions {
    fn default() -> Self {
        SenderOptions {
            buffer: 1 << 20,
            no_delay: false,
            nagle: Nagle::Minshall,
            window_probe: WindowProbe::NextByte,
            retries: 15,
            user_timeout: None,
            hold: Duration::from_millis(200),
        }
    }
}

/// Condition under which a segment that is not full waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nagle {
    /// Any data is unacknowledged (RFC 9293, section 3.7.4).
    Rfc9293,
    /// Another small segment is unacknowledged (Minshall; Linux). The last segment of a longer
    /// message does not wait, which by the RFC's rule waits for the peer's delayed
    /// acknowledgement; there is still at most one small segment per round trip.
    Minshall,
}

/// Content of a probe of a closed window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowProbe {
    /// The next byte of data, or the FIN (RFC 9293, section 3.8.6.1).
    NextByte,
    /// A segment without data and with an old, unacceptable number, which the peer must answer
    /// (Linux).
    OldSequence,
}
