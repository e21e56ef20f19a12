//! See `fuzz_harness::tcp_connection`.

#![no_main]

use fuzz_harness::tcp_connection::{Input, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: Input| {
    let _ = run(input);
});
