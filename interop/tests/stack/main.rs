//! Our stack against real peers: usrsctp and the Linux kernel, each as client and as server, over
//! UDP encapsulation and raw IP, with and without loss, through a NAT that changes its mind, and
//! with ends that are not peaceful.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod attacks;
mod ends;
mod matrix;
mod moving;
mod nat;
mod ours;
mod restart;
