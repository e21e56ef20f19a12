//! Loss recovery shared by SCTP and TCP. It knows neither chunk nor segment, only packets, the
//! units of data in them, and acknowledgements as one [`Feedback`].
//!
//! - [`policy`]: every mechanism as a value, and the named presets.
//! - [`path_id`]: identifiers of paths, sets of them, and tables by path.
//! - [`ledger`]: what was sent when in which packet, what was acknowledged, what is missing.
//! - [`Feedback`]: the content of an acknowledgement, whatever the protocol.
//! - [`advice`]: actions that a policy outside asks for.
//! - [`DelayedAck`]: delayed acknowledgements of the receiving side.
//! - `episode`: the repair in progress on a path, with one entry and one exit.
//! - [`rtt`], [`rto`], [`thin_stream`], [`loss`], [`congestion`]: pure decisions.
//! - [`recovery`]: applies the policy to the ledger.
//!
//! Sources: RFC 9260, 6298, 5827, 3042, 7765; 5681, 6582, 6675, 8985, 5682, 3708, 3522, 4015, 9438,
//! 9406, 9937, 3465, 6928; Petlund et al. 2009 and 2010; Brakmo and Peterson 1995; Yin et al.
//!
//! ```
//! use base::{Duration, Probability};
//! use recovery::RecoveryPolicy;
//! use recovery::policy::ThinDetector;
//!
//! // A fast retransmission needs three duplicate acknowledgements. A stream with fewer than four packets in flight is thin.
//! let is_thin = |in_flight| {
//!     recovery::thin_stream::detect(ThinDetector::FewerThanFour, in_flight, Probability::ZERO, None)
//! };
//! assert!(is_thin(3) && !is_thin(4));
//! // A policy is one value, with every mechanism as a field.
//! let mut policy = RecoveryPolicy::sctp_thin();
//! policy.rto.min_while_thin = Some(Duration::from_millis(100));
//! assert_ne!(policy, RecoveryPolicy::sctp_thin());
//! ```

mod ack_delay;
mod ack_request;
pub mod advice;
pub mod congestion;
mod delayed_ack;
mod episode;
pub mod event;
mod feedback;
pub mod ledger;
pub mod loss;
pub mod margin;
mod path;
pub mod path_id;
pub mod path_mtu;
pub mod policy;
pub mod recovery;
pub mod rto;
pub mod rtt;
pub mod stats;
pub mod thin_stream;

pub use advice::{Advice, AdviceError};
pub use delayed_ack::{AckTiming, DelayedAck};
pub use event::{Event, TimedEvent};
pub use feedback::{Feedback, Silence};
pub use ledger::{Flight, GapRanges, Missing, PacketNumber, UnitInFlight};
pub use path::Routes;
pub use path_id::{PATHS_MAX, PathId, PathSet, PathTable};
pub use policy::{PRESETS, RecoveryPolicy, TCP_PRESETS};
pub use recovery::{
    AckOutcome, Bundle, Load, PathSnapshot, PathView, Recovery, Ride, Space, TimeoutOutcome,
};
pub use stats::{Cause, RecoveryStats, RetransmissionCounts};
