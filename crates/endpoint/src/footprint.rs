//! Memory that containers take from the allocator, for an [account](crate::memory::Account):
//! estimates in constant time that are right on average.

/// Entries that a full node of a `BTreeMap` holds.
const NODE: usize = 11;

/// Bytes of an allocation beyond its contents: the allocator's own word, and the average cost of
/// rounding.
pub const ALLOCATION: usize = 16;

/// Bytes of a box, a vector or a ring with room for `capacity` entries of `entry` bytes; 0 for
/// none.
pub const fn of_vec(capacity: usize, entry: usize) -> usize {
    if capacity == 0 { 0 } else { capacity * entry + ALLOCATION }
}

/// Bytes of the nodes of a `BTreeMap` or a `BTreeSet` of `len` entries of `entry` bytes, key and
/// value together. A node is between half and completely full, and the first is allocated as a
/// whole.
pub const fn of_tree(len: usize, entry: usize) -> usize {
    if len == 0 {
        return 0;
    }
    let nodes = (len + NODE / 2) / (NODE * 2 / 3);
    let node = NODE * entry + 2 * ALLOCATION;
    if nodes == 0 { node } else { nodes * node }
}

/// Bytes that an entry of `entry` bytes, key and value together, takes in a large `BTreeMap` or
/// `BTreeSet`.
pub const fn of_tree_entry(entry: usize) -> usize {
    (NODE * entry + 2 * ALLOCATION) / (NODE * 2 / 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_takes_whole_nodes_of_which_two_thirds_are_used() {
        assert_eq!((of_tree(0, 8), of_vec(0, 8)), (0, 0));
        assert_eq!(of_tree(1, 8), of_tree(5, 8));
        let each = of_tree(70_000, 8) / 70_000;
        assert!((12..=18).contains(&each), "{each}");
        assert_eq!(of_vec(10, 8), 96);
    }
}
