//! The client's end of a connection, whatever carries it.

use crate::{MESSAGE, Result};

/// Sends a message on a connection, at once.
pub type Sender = Box<dyn FnMut(&[u8; MESSAGE]) -> Result<()>>;
