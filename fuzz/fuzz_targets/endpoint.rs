//! See `fuzz_harness::endpoint`.

#![no_main]

use fuzz_harness::endpoint::{Input, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: Input| {
    let _ = run(input);
});
