//! Advice: requests to recovery by a policy outside of this crate, such as a researcher's.

use core::fmt;

use base::Duration;

use crate::path_id::PathId;
pub use crate::rto::MOST_DOUBLINGS;

/// Shortest time between a transmission and advice about it, and shortest timer: no peer answers a
/// packet sooner, and advice that answers its own effects comes to an end.
pub const LEAST_WAIT: Duration = Duration::from_millis(1);

/// Largest window, bytes: that of TCP with window scaling (RFC 7323, section 2.2).
pub const LARGEST_WINDOW: u64 = 1 << 30;

/// One action, applied by [`Recovery::advise`](crate::Recovery::advise).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Sets the number of doublings of a path's timeout, which later expiries raise further as the
    /// policy says. A running timer follows: it is due when it would have been with that
    /// number.
    Doublings {
        /// Path whose timeout is doubled.
        path: PathId,
        /// Number of doublings, 63 at most.
        doublings: u8,
    },
    /// Sets the running retransmission timer of a path, until the policy sets it again.
    Timer {
        /// Path on which the timed data was sent.
        path: PathId,
        /// Time from now until the timer is due: at least 1 ms, at most the policy's longest
        /// timeout.
        after: Duration,
    },
    /// Declares a unit in flight lost: it is retransmitted, and the window falls, as if
    /// acknowledgements had shown the loss.
    Lose {
        /// Number of the unit in the ledger.
        unit: u64,
    },
    /// Sends a unit in flight once more on its path, before any evidence of a loss.
    Copy {
        /// Number of the unit in the ledger, which was sent once so far.
        unit: u64,
    },
    /// Sets the congestion window of a path, from which its controller goes on.
    Window {
        /// Path to whose packets in flight the window applies.
        path: PathId,
        /// Window in bytes: a full packet at least, 1 GiB at most.
        bytes: u64,
    },
}

/// Reason why an advice was refused. Nothing is changed in that case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdviceError {
    /// The association or connection has ended, or sends by a transport without such recovery.
    Gone,
    /// There is no such path.
    UnknownPath(PathId),
    /// The given number of doublings exceeds [`MOST_DOUBLINGS`].
    TooManyDoublings(u8),
    /// No retransmission timer runs on the path.
    NoTimer(PathId),
    /// The timer would be too short or too long.
    Timer {
        /// The requested time until the timer is due.
        after: Duration,
        /// The longest timeout of the policy, `RtoPolicy::max`.
        most: Duration,
    },
    /// The unit is not in flight: unknown, acknowledged, abandoned, or about to be retransmitted.
    NotInFlight(u64),
    /// The unit left within [`LEAST_WAIT`].
    TooSoon(u64),
    /// The unit was sent more than once already.
    SentAgain(u64),
    /// The window would be too small or too large.
    Window {
        /// The requested window, in bytes.
        bytes: u64,
        /// Bytes of data in a full packet.
        least: u64,
    },
}

impl fmt::Display for AdviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdviceError::Gone => write!(f, "the association or connection has ended"),
            AdviceError::UnknownPath(path) => write!(f, "there is no path {}", path.number()),
            AdviceError::TooManyDoublings(doublings) => {
                write!(f, "{doublings} doublings are too many; give 0 to {MOST_DOUBLINGS}")
            }
            AdviceError::NoTimer(path) => {
                write!(f, "no retransmission timer runs on path {}", path.number())
            }
            AdviceError::Timer { after, most } => {
                write!(f, "a timer of {after} is none; give {LEAST_WAIT} to {most}")
            }
            AdviceError::NotInFlight(unit) => write!(
                f,
                "unit {unit} is not in flight: it never left, was acknowledged or abandoned, or waits to be sent again"
            ),
            AdviceError::TooSoon(unit) => {
                write!(f, "unit {unit} left less than {LEAST_WAIT} ago")
            }
            AdviceError::SentAgain(unit) => {
                write!(f, "unit {unit} was sent more than once already; only a loss sends it again")
            }
            AdviceError::Window { bytes, least } => {
                write!(f, "a window of {bytes} B is none; give {least} to {LARGEST_WINDOW} B")
            }
        }
    }
}

impl core::error::Error for AdviceError {}
