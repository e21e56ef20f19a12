//! Interface of the sending end of a flow to its transport.

use core::fmt::Debug;

use base::Instant;
use recovery::{Advice, AdviceError, PathId, PathView};

use super::config::PathHint;
use super::source::Pending;

/// Calls of a sending end to its transport.
pub trait SourceTransport: Debug {
    /// Names an association or a connection.
    type Id: Copy + Debug;

    /// Sets an association or a connection up; with it comes its first unit in recovery's events.
    fn open(&mut self, now: Instant, tell_recovery: bool) -> Option<(Self::Id, u64)>;

    /// Passes the rest of a message to the transport.
    fn send(&mut self, now: Instant, id: Self::Id, pending: &mut Pending) -> Sent;

    /// Fills the send buffer without regard to messages, where the transport can.
    fn pour(&mut self, now: Instant, id: Self::Id) -> Option<Sent>;

    /// The next event of the endpoint, if any.
    fn poll_notice(&mut self) -> Option<Notice>;

    /// The next event of recovery, if any.
    fn poll_recovery_event(&mut self, id: Self::Id) -> Option<(Instant, recovery::Event)>;

    /// Applies one advice; refused by transports without such recovery.
    ///
    /// # Errors
    /// [`AdviceError`] names the fault of the advice; `Gone` without such recovery.
    fn advise(&mut self, _: Instant, _: Self::Id, _: Advice) -> Result<(), AdviceError> {
        Err(AdviceError::Gone)
    }

    /// State of a path with at most this many units in flight, if there is such recovery.
    fn view(&self, _: Self::Id, _: PathId, _units: usize) -> Option<PathView> {
        None
    }

    /// Reads the endpoint's state ahead of a datagram, as in [`netsim::Host::warm`].
    fn warm(&self, _depth: usize) {}

    /// Passes knowledge about the first path to the transport.
    fn hint(&mut self, now: Instant, id: Self::Id, hint: PathHint);
}

/// Part of a message that the transport took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The transport accepted the whole message.
    All,
    /// A part: the buffer is full.
    Full,
    /// The association or connection is gone.
    Failed,
}

/// Events of an endpoint that matter to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The send buffer has room again.
    Writable,
    /// The association or connection ended.
    Ended,
    /// Data takes this path from now on.
    Path(u8),
    /// An event without effect on the sender.
    Other,
}
