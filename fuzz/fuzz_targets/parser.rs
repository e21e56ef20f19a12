//! See `fuzz_harness::parser`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|datagram: &[u8]| fuzz_harness::parser::run(datagram));
