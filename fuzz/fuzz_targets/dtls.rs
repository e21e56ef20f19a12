//! See `fuzz_harness::dtls`.

#![no_main]

use fuzz_harness::{Steps, dtls};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|steps: Steps<dtls::Step>| {
    let _ = dtls::run(&steps);
});
