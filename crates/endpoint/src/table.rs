//! The members of an endpoint by row, and names of members that are never reused.

use smallvec::SmallVec;

/// The name of a member: its row, and its generation in this row. Each protocol wraps it in its own
/// type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    row: u32,
    generation: u32,
}

impl Name {
    /// The lowest name: the first member of the first row.
    pub const FIRST: Name = Name { row: 0, generation: 0 };

    /// The row in the table: a small number, reused once the member is removed.
    #[inline]
    pub fn row(self) -> u32 {
        self.row
    }
}

/// Members, each in a row that it keeps while it exists.
#[derive(Debug)]
pub struct Table<T> {
    /// Stored inline for an endpoint with one member, such as each host of a virtual network.
    rows: SmallVec<[Row<T>; 1]>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Row<T> {
    generation: u32,
    member: Option<Box<T>>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { rows: SmallVec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    /// Number of members in the table; free rows are not counted.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len() - self.free.len()
    }

    /// Whether every row is free.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of rows, with or without a member: all members are in lower rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Puts a member into a free row, or into a new one, and returns its name, which no other
    /// member ever had.
    pub fn insert(&mut self, member: T) -> Name {
        let member = Some(Box::new(member));
        if let Some(row) = self.free.pop() {
            let entry = &mut self.rows[row as usize];
            entry.member = member;
            return Name { row, generation: entry.generation };
        }
        self.rows.push(Row { generation: 0, member });
        Name { row: (self.rows.len() - 1) as u32, generation: 0 }
    }

    /// Removes and returns a member; its name is never used again.
    pub fn remove(&mut self, name: Name) -> Option<Box<T>> {
        let entry = self.rows.get_mut(name.row as usize)?;
        if entry.generation != name.generation {
            return None;
        }
        let member = entry.member.take()?;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(name.row);
        Some(member)
    }

    /// The member with this name; none once it is removed.
    #[inline]
    pub fn get(&self, name: Name) -> Option<&T> {
        let entry = self.rows.get(name.row as usize)?;
        entry.member.as_deref().filter(|_| entry.generation == name.generation)
    }

    /// The member with this name, to change it; none once it is removed.
    #[inline]
    pub fn get_mut(&mut self, name: Name) -> Option<&mut T> {
        let entry = self.rows.get_mut(name.row as usize)?;
        entry.member.as_deref_mut().filter(|_| entry.generation == name.generation)
    }

    /// The name of the member in a row.
    #[inline]
    pub fn name(&self, row: u32) -> Option<Name> {
        let entry = self.rows.get(row as usize)?;
        entry.member.as_ref().map(|_| Name { row, generation: entry.generation })
    }

    /// All members, in the order of their rows.
    pub fn iter(&self) -> impl Iterator<Item = (Name, &T)> {
        self.rows.iter().enumerate().filter_map(|(row, entry)| {
            let name = Name { row: row as u32, generation: entry.generation };
            entry.member.as_deref().map(|member| (name, member))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_row_is_used_again_and_a_name_is_not() {
        let mut table = Table::default();
        let (first, second) = (table.insert('a'), table.insert('b'));
        assert_eq!(table.remove(first).as_deref(), Some(&'a'));
        assert_eq!(table.remove(first), None);
        assert!(table.get(first).is_none() && table.get_mut(first).is_none());
        assert_eq!((table.name(first.row()), table.len(), table.rows()), (None, 1, 2));
        let third = table.insert('c');
        assert_eq!((third.row(), third == first), (first.row(), false));
        assert!(table.get(first).is_none() && table.get_mut(first).is_none());
        assert_eq!(table.remove(first), None);
        assert_eq!(table.iter().collect::<Vec<_>>(), [(third, &'c'), (second, &'b')]);
    }

    #[test]
    fn a_row_takes_a_pointer_and_a_word() {
        assert!(size_of::<Row<u64>>() <= 2 * size_of::<usize>());
    }

    proptest! {
        #[test]
        fn a_table_is_a_map_by_names(operations in prop::collection::vec((any::<bool>(), 0usize..20), 0..200)) {
            let (mut table, mut model, mut names) = (Table::default(), BTreeMap::new(), Vec::new());
            for (number, (inserts, index)) in operations.into_iter().enumerate() {
                if inserts {
                    let name = table.insert(number);
                    prop_assert_eq!(model.insert(name, number), None);
                    names.push(name);
                } else if let Some(name) = names.get(index) {
                    prop_assert_eq!(table.remove(*name).map(|member| *member), model.remove(name));
                }
                for name in &names {
                    prop_assert_eq!(table.get(*name), model.get(name));
                    prop_assert_eq!(table.name(name.row()) == Some(*name), model.contains_key(name));
                }
                prop_assert_eq!(table.len(), model.len());
                prop_assert!(table.iter().map(|(name, member)| (name, *member)).eq(model.clone()));
            }
        }
    }
}
