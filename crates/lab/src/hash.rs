//! A fast mixing function for values that must be reproducible but keep no secret.

/// A bijection of 64 bits that spreads every input bit over all output bits: two rounds of
/// multiplication and shifting (the output function of SplitMix64; Steele, Lea and Flood, 2014).
pub(crate) const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// One value from several, depending on each and on their order.
pub(crate) fn mix_all(values: &[u64]) -> u64 {
    values.iter().fold(0, |hash, value| mix(hash ^ *value))
}
