//! Memory of an association after traffic, and allocations of a packet:
//! `cargo run --release -p thinstream-sctp --example memory`.
//!
//! Bytes are those asked of the allocator, the endpoint's tables included. Kept apart from the
//! measurements of CPU time, which counting would falsify.

#![allow(dead_code, reason = "uses a part of the shared harness")]

#[path = "../cost/pair.rs"]
mod pair;
#[path = "../cost/thin.rs"]
mod thin;
#[path = "../cost/throughput.rs"]
mod throughput;

use allocation_counter::{AllocationInfo, measure};
use base::Duration;
use bytes::Bytes;

use self::pair::Pair;

const ASSOCIATIONS: u32 = 10_000;

fn main() -> Result<(), String> {
    let options = thin::options("rfc")?;
    let mut kept = None;
    let mut total = measure(|| kept = Some(Pair::new(&options, ASSOCIATIONS)));
    let Some(pair) = kept.as_mut() else { return Ok(()) };
    print("after set-up", &total);
    total += measure(|| {
        thin::send_rounds(pair, 4);
        pair.advance(Duration::from_secs(1));
    });
    print("after 4 thin messages", &total);
    total += measure(|| {
        let message = Bytes::from(vec![7; 64 << 10]);
        for index in 0..pair.associations.len() {
            pair.send(pair.associations[index], message.clone());
            pair.exchange();
        }
        pair.advance(Duration::from_secs(1));
    });
    print("after 64 KiB more", &total);

    let (messages, _) = pair.received();
    let thin = measure(|| thin::send_rounds(pair, 4));
    let messages = pair.received().0 - messages;
    let each = thin.count_total as f64 / messages as f64;
    println!("allocations a thin message, both ends: {each:.2}");
    let options = sctp::AssociationOptions::default();
    for size in [1 << 10, 64 << 10] {
        let mut packets = 0;
        let bulk = measure(|| packets = throughput::measure(&options, size, 64 << 20).1);
        let each = bulk.count_total as f64 / packets as f64;
        println!("allocations a packet, messages of {size} B: {each:.3}");
    }
    Ok(())
}

fn print(when: &str, memory: &AllocationInfo) {
    let each = memory.bytes_current / (2 * i64::from(ASSOCIATIONS));
    println!("{when:>22}: {each:>6} bytes an association and end");
}
