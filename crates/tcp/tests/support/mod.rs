//! Helpers of TCP's tests: one endpoint fed by hand ([`Bench`]), two over the virtual network
//! ([`Pair`]).
#![allow(dead_code, reason = "each test file uses a part")]

mod bench;
pub(crate) mod notation;
mod pair;
mod trace;

#[allow(unused_imports, reason = "each test file uses a part")]
pub(crate) use self::bench::{Bench, LOCAL, REMOTE, address};
#[allow(unused_imports, reason = "each test file uses a part")]
pub(crate) use self::pair::{CLIENT, Pair, Peer, SERVER, half};
#[allow(unused_imports, reason = "each test file uses a part")]
pub(crate) use self::trace::{Sent, Trace};
