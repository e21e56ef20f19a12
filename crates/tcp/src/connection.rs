//! One connection and its states.
