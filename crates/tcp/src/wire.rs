//! Segments on the wire.
