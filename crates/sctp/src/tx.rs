//! The sending half of an association: messages in, DATA or I-DATA chunks out.
//!
//! A message waits in the [`send_queue`], where a [`scheduler`] chooses the next one; it leaves in
//! fragments when the [`packetizer`] has room in a packet and in the windows, and stays with the
//! [`sender`] until it is acknowledged or abandoned ([`giving_up`]).

pub(crate) mod acknowledged;
mod backlog;
mod data_keys;
mod expiry;
mod forward_tsn;
mod giving_up;
mod message;
mod outstanding;
pub(crate) mod packetizer;
pub(crate) mod partial_reliability;
pub(crate) mod scheduler;
pub(crate) mod send_options;
pub(crate) mod send_queue;
pub(crate) mod sender;
