//! See `fuzz_harness::association`.

#![no_main]

use fuzz_harness::association::{Input, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: Input| {
    let _ = run(input);
});
