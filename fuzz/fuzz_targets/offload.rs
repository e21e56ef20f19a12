//! See `fuzz_harness::offload`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: fuzz_harness::offload::Input| {
    fuzz_harness::offload::run(input);
});
