//! See `fuzz_harness::segment`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|datagram: &[u8]| fuzz_harness::segment::run(datagram));
