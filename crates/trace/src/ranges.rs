//! Sets of numbers that come in long runs: bytes of a stream, TSNs.

use std::collections::BTreeMap;

/// Runs that a set holds; beyond them the lowest are given up. What follows an honest sender's
/// packets never has as many holes.
const MOST_RUNS: usize = 1 << 16;

/// Half-open runs, disjoint and apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds `start..end`; calls `fresh` with the parts that were not in the set.
    pub(crate) fn insert(&mut self, start: u64, end: u64, mut fresh: impl FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        let (mut from, mut to, mut cursor) = (start, end, start);
        if let Some((&run, &run_end)) = self.0.range(..=start).next_back()
            && run_end >= start
        {
            if run_end >= end {
                return;
            }
            (from, cursor) = (run, run_end);
        }
        while cursor <= end
            && let Some((&run, &run_end)) = self.0.range(cursor.max(from + 1)..=end).next()
        {
            if run > cursor {
                fresh(cursor, run.min(end));
            }
            cursor = run_end;
            to = to.max(run_end);
            self.0.remove(&run);
        }
        if cursor < end {
            fresh(cursor, end);
        }
        self.0.insert(from, to);
        if self.0.len() > MOST_RUNS {
            self.0.pop_first();
        }
    }

    /// Forgets what lies below `bound`, and cuts a range that contains it.
    pub(crate) fn forget_below(&mut self, bound: u64) {
        while let Some((&start, &end)) = self.0.first_key_value() {
            if start >= bound {
                break;
            }
            self.0.pop_first();
            if end > bound {
                self.0.insert(bound, end);
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_set_of_runs_is_a_set_of_numbers(
            inserted in proptest::collection::vec((0u64..60, 0u64..12, 0u64..40), 1..30),
        ) {
            let (mut runs, mut model) = (Ranges::default(), BTreeSet::new());
            for (start, length, bound) in inserted {
                let mut fresh = Vec::new();
                runs.insert(start, start + length, |from, to| fresh.extend(from..to));
                let expected: Vec<u64> =
                    (start..start + length).filter(|number| !model.contains(number)).collect();
                prop_assert_eq!(fresh, expected);
                model.extend(start..start + length);
                if bound < 5 {
                    runs.forget_below(bound);
                    model.retain(|number| *number >= bound);
                }
                let held: Vec<u64> = runs.0.iter().flat_map(|(from, to)| *from..*to).collect();
                prop_assert_eq!(held, model.iter().copied().collect::<Vec<_>>());
                let ends: Vec<_> = runs.0.iter().collect();
                prop_assert!(ends.windows(2).all(|two| two[0].1 < two[1].0), "apart");
            }
        }
    }
}
