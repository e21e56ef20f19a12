//! See `fuzz_harness::packet`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|packet: &[u8]| fuzz_harness::packet::run(packet));
