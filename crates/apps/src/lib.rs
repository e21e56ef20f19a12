//! placeholder

pub mod emulate;
