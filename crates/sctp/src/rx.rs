//! The receiving half of an association: DATA chunks in, messages and acknowledgements out.
//!
//! A DATA chunk goes through [`receiver::Receiver`] in one direction: the [`tracker`] says whether
//! its TSN is new, the receive buffer whether there is room, [`reassembly`] joins it to its message,
//! [`stream`] says whether the message's turn has come, and the [`inbox`] keeps it for the application. [`acknowledgement`] decides when to
//! answer with a SACK.

pub(crate) mod acknowledgement;
pub(crate) mod data;
pub(crate) mod inbox;
pub(crate) mod message;
pub(crate) mod reassembly;
pub(crate) mod receiver;
pub(crate) mod stream;
pub(crate) mod tracker;
