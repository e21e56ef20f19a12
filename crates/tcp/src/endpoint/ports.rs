//! Ephemeral ports (RFC 6056, section 3.3.1, algorithm 1): a random one, or the next free one after
//! it.

use core::ops::RangeInclusive;

use base::RandomStream;

/// A free port of `range`, as judged by `is_free`; `None` if there is none.
pub(super) fn choose(
    range: &RangeInclusive<u16>,
    random: &mut RandomStream,
    is_free: impl Fn(u16) -> bool,
) -> Option<u16> {
    let first = u64::from(*range.start()).max(1);
    let count = (u64::from(*range.end()) + 1).checked_sub(first)?;
    let start = random.below(count);
    let port = |step| (first + (start + step) % count) as u16;
    (0..count).map(port).find(|port| is_free(*port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Purpose;

    #[test]
    fn every_port_of_the_range_is_found_and_no_other() {
        let mut random = RandomStream::new(3, Purpose("test", 0));
        let mut taken = Vec::new();
        for _ in 0..10 {
            let port = choose(&(65_526..=65_535), &mut random, |port| !taken.contains(&port));
            taken.push(port.unwrap());
        }
        assert_eq!(choose(&(65_526..=65_535), &mut random, |port| !taken.contains(&port)), None);
        assert_ne!(taken, (65_526..=65_535).collect::<Vec<_>>());
        taken.sort_unstable();
        assert_eq!(taken, (65_526..=65_535).collect::<Vec<_>>());
        assert_eq!(choose(&(0..=0), &mut random, |_| true), None);
    }
}
