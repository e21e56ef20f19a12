//! Differences of ascending ranges, as reports of arrived units need them.

use core::ops::Range;

/// Calls `each` with the parts of `from` that are not in `minus`; both ascend without overlap.
/// Takes one pass over both.
pub(super) fn subtract(
    from: impl IntoIterator<Item = Range<u64>>,
    minus: impl IntoIterator<Item = Range<u64>>,
    mut each: impl FnMut(Range<u64>),
) {
    let mut minus = minus.into_iter().peekable();
    for range in from {
        let mut start = range.start;
        while let Some(cut) = minus.peek() {
            if cut.start >= range.end {
                break;
            }
            if start < cut.start {
                each(start..cut.start);
            }
            start = start.max(cut.end);
            if cut.end > range.end {
                break;
            }
            minus.next();
        }
        if start < range.end {
            each(start..range.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranges() -> impl Strategy<Value = Vec<Range<u64>>> {
        prop::collection::vec((1u64..5, 1u64..5), 0..8).prop_map(|steps| {
            let mut at = 0;
            let step = |(gap, len): (u64, u64)| {
                let range = at + gap..at + gap + len;
                at = range.end;
                range
            };
            steps.into_iter().map(step).collect()
        })
    }

    proptest! {
        #[test]
        fn the_difference_holds_what_one_has_and_the_other_has_not(a in ranges(), b in ranges()) {
            let mut found = Vec::new();
            let mut empty = 0;
            subtract(a.clone(), b.clone(), |range| {
                empty += usize::from(range.is_empty());
                found.extend(range);
            });
            prop_assert_eq!(empty, 0);
            let inside = |ranges: &[Range<u64>], n| ranges.iter().any(|range| range.contains(&n));
            let expected: Vec<u64> = (0..80).filter(|n| inside(&a, *n) && !inside(&b, *n)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
