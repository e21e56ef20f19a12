//! Shifts of the numbers of a script on the wire.

use base::{Purpose, RandomStream};

use crate::sockets::WRAPPING_SEED;

/// Shifts of the script's tags and TSNs: none without a seed, so that packets look like the script;
/// then one with which TSNs wrap during the script; then random ones.
pub(super) fn shifts(seed: u64) -> (u32, u32) {
    let mut random = RandomStream::new(seed, Purpose("packetdrill shifts", 0));
    match seed {
        0 => (0, 0),
        WRAPPING_SEED => (random.next_u32(), u32::MAX - 1),
        _ => (random.next_u32(), random.next_u32()),
    }
}
