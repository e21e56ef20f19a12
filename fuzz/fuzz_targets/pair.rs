//! See `fuzz_harness::pair`.

#![no_main]

use fuzz_harness::pair::{Input, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: Input| {
    let _ = run(input);
});
