//! The rules of the house that a machine can check are tests; this crate has nothing else.
