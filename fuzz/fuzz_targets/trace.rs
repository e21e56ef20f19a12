//! See `fuzz_harness::trace`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| fuzz_harness::trace::run(bytes));
