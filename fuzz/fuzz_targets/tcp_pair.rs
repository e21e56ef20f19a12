//! See `fuzz_harness::tcp_pair`.

#![no_main]

use fuzz_harness::tcp_pair::{Input, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: Input| {
    let _ = run(input);
});
