//! The Rust code of the project's documents, which `cargo test --doc` compiles and runs.
//!
//! `interop/rules/tests/documents.rs` finds a document with Rust code that is missing here.

#[doc = include_str!("../../../README.md")]
struct Readme;

#[doc = include_str!("../../../docs/library.md")]
struct Library;

#[cfg(feature = "webrtc")]
#[doc = include_str!("../../../docs/webrtc.md")]
struct Webrtc;
