//! Programs of real peers: [`build`] makes those whose sources are in `interop/peers`, once per
//! change, and [`missing`] says why one cannot be used on this machine.

pub mod build;
pub mod missing;
