//! The shared keys that authenticate user data, where the peer wants it authenticated (RFC 4895). A message may name one
//! (RFC 6458, section 5.3.8); all others take the active key.

use std::collections::BTreeMap;

use ::endpoint::footprint;

use crate::wire::KeyId;

type Named = BTreeMap<u64, KeyId>;

/// The key of each chunk of user data. A packet has one AUTH chunk, and so one key.
#[derive(Debug, Default)]
pub(super) struct DataKeys {
    /// The active key; none while user data needs no AUTH chunk.
    active: Option<KeyId>,
    /// Keys that messages named, by the units of their outstanding chunks.
    named: Option<Box<Named>>,
}

impl DataKeys {
    pub(super) fn set_active(&mut self, active: Option<KeyId>) {
        self.active = active;
    }

    /// The key of user data that names `key` or none.
    pub(super) fn resolve(&self, key: Option<KeyId>) -> Option<KeyId> {
        self.active.map(|active| key.unwrap_or(active))
    }

    /// The key of an outstanding chunk.
    #[inline]
    pub(super) fn of(&self, unit: u64) -> Option<KeyId> {
        let named = self.named.as_ref().and_then(|named| named.get(&unit));
        self.resolve(named.copied())
    }

    /// A chunk of a message that names a key becomes outstanding.
    pub(super) fn insert(&mut self, unit: u64, key: KeyId) {
        self.named.get_or_insert_default().insert(unit, key);
    }

    /// All chunks below `cumulative` arrived.
    #[inline]
    pub(super) fn forget_below(&mut self, cumulative: u64) {
        let Some(named) = &mut self.named else { return };
        while named.first_key_value().is_some_and(|(unit, _)| *unit < cumulative) {
            named.pop_first();
        }
        if named.is_empty() {
            self.named = None;
        }
    }

    /// Nothing is outstanding any more.
    pub(super) fn forget_all(&mut self) {
        self.named = None;
    }

    /// Whether an outstanding chunk names this key.
    pub(super) fn names(&self, key: KeyId) -> bool {
        self.named.as_ref().is_some_and(|named| named.values().any(|one| *one == key))
    }

    /// Bytes that it takes from the allocator.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        self.named.as_ref().map_or(0, |named| {
            size_of::<Named>() + footprint::of_tree(named.len(), size_of::<(u64, KeyId)>())
        })
    }
}
