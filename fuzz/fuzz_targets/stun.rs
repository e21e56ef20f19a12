//! See `fuzz_harness::stun`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = fuzz_harness::stun::run(bytes);
});
