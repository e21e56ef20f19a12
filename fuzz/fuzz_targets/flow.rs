//! See `fuzz_harness::flow`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: fuzz_harness::flow::Input| {
    fuzz_harness::flow::run(input);
});
