//! Bytes asked of the allocator and kept by an association after traffic, side by side:
//! `cargo run --release --bin memory`.

use peers_cost::{DcSctp, SctpProto, Stack, Thinstream, thin_rounds};

const ASSOCIATIONS: usize = 10_000;
const SECOND: u64 = 1_000_000_000;

fn main() {
    println!("| | after 4 thin messages, KiB | and a message of 64 KiB, KiB |");
    println!("|---|---:|---:|");
    measure::<Thinstream>();
    measure::<DcSctp>();
    measure::<SctpProto>();
}

fn measure<S: Stack>() {
    let mut kept = None;
    let mut total = allocation_counter::measure(|| {
        let stack = kept.insert(S::new(ASSOCIATIONS));
        thin_rounds(stack, ASSOCIATIONS, 4);
        stack.advance(SECOND);
    });
    let thin = each(total.bytes_current);
    total += allocation_counter::measure(|| {
        let Some(stack) = &mut kept else { return };
        let message = bytes::Bytes::from(vec![7; 64 << 10]);
        for association in 0..ASSOCIATIONS {
            stack.send(association, &message);
            stack.exchange();
        }
        stack.advance(SECOND);
    });
    println!("| {} | {thin:.2} | {:.2} |", S::NAME, each(total.bytes_current));
}

fn each(bytes: i64) -> f64 {
    bytes as f64 / (2 * ASSOCIATIONS) as f64 / 1024.0
}
