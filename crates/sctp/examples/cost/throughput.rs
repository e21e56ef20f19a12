//! Throughput from one application to the other, in bytes per second of processor time.

use base::Duration;
use bytes::Bytes;
use cpu_time::ProcessTime;
use sctp::AssociationOptions;

use super::pair::Pair;

/// Bytes that the application keeps in the send buffer, acknowledged or not.
const OUTSTANDING: usize = 2 << 20;

/// Transfers `total` bytes in messages of `size` bytes. Returns MB (10⁶ bytes) per CPU second, both
/// ends together, and the packets that it took.
pub(crate) fn measure(options: &AssociationOptions, size: usize, total: u64) -> (f64, u64) {
    let options = AssociationOptions {
        send_buffer: OUTSTANDING,
        receive_buffer: 2 * OUTSTANDING as u32,
        ..options.clone()
    };
    let mut pair = Pair::new(&options, 1);
    let association = pair.associations[0];
    let message = Bytes::from(vec![7; size]);
    // Grow the congestion window first.
    transfer(&mut pair, association, &message, total / 8);
    let (packets, start) = (pair.packets(), ProcessTime::now());
    transfer(&mut pair, association, &message, total);
    let seconds = start.elapsed().as_secs_f64();
    (total as f64 / 1e6 / seconds, pair.packets() - packets)
}

fn transfer(pair: &mut Pair, association: sctp::AssociationId, message: &Bytes, total: u64) {
    let target = pair.received().1 + total;
    let mut sent = 0;
    while pair.received().1 < target {
        while sent < total && pair.send(association, message.clone()) {
            sent += message.len() as u64;
        }
        pair.exchange();
        pair.advance(Duration::from_millis(1));
    }
}
