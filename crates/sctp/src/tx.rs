//! The sending half of an association: messages in, DATA chunks out.
//!
//! A message waits in the [`send_queue`], leaves it in fragments when [`transmission`] has room in a
//! packet and in the windows, and stays with transmission until it is acknowledged.

pub(crate) mod send_queue;
pub(crate) mod transmission;
