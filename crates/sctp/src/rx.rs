//! The receiving half of an association: DATA chunks in, messages and acknowledgements out.
//!
//! A DATA chunk passes through [`receiver::Receiver`] in one direction: the [`tracker`] decides
//! whether its TSN is new, the receive buffer whether there is room, [`reassembly`] joins it to its
//! message, [`stream`] decides whether the message is next, and the [`inbox`] keeps it for the
//! application. [`acknowledgement`] decides when to send a SACK.

pub(crate) mod acknowledgement;
pub(crate) mod data;
pub(crate) mod inbox;
pub(crate) mod message;
pub(crate) mod reassembly;
pub(crate) mod receiver;
pub(crate) mod stream;
pub(crate) mod tracker;
