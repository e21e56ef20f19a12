//! See `fuzz_harness::signalling`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: fuzz_harness::signalling::Input| {
    let _ = fuzz_harness::signalling::run(&input);
});
