//! Bad packets at every state, and whole transfers over a hostile network under every preset.

#[path = "../support/mod.rs"]
mod support;

mod network;
mod packets;
mod windows;
