//! Which connection a segment belongs to, listeners, and what needs no state.
