//! What can be chosen for the sending side.

use base::Duration;

/// Options of the sending side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderOptions {
    /// Bytes that may wait to be sent or acknowledged.
    pub buffer: usize,
    /// Send small segments at once.
    pub no_delay: bool,
    /// Which small segments wait if not.
    pub nagle: Nagle,
    /// What probes a closed window.
    pub window_probe: WindowProbe,
    /// Expiries of the retransmission timer, or probes without an answer, in a row after which the
    /// connection is to be given up (R2 of RFC 9293, section 3.8.3).
    pub retries: u8,
    /// How long data may stay unacknowledged before that; none: `retries` decides alone. If it is given,
    /// it alone decides.
    pub user_timeout: Option<Duration>,
    /// Longest time that data waits because more was announced (`more`): as Linux has it for TCP_CORK.
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

/// Which segment that is not full waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nagle {
    /// One that finds anything unacknowledged (RFC 9293, section 3.7.4).
    Rfc9293,
    /// One that finds another small segment unacknowledged (Minshall; Linux). A message of several segments
    /// does not wait with its last one, which the RFC's rule makes wait for the peer's delayed
    /// acknowledgement; there is still one small segment a round trip at most.
    Minshall,
}

/// What probes a window that is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowProbe {
    /// The next byte of data, or the FIN (RFC 9293, section 3.8.6.1).
    NextByte,
    /// A segment without data that is too old to be acceptable, so that it must be answered (Linux).
    OldSequence,
}
