//! The shared keys that authenticate user data, where the peer wants it authenticated (RFC 4895). A message may name one
//! (RFC 6458, section 5.3.8); all others take the active key.

use std::collections::BTreeMap;

use ::endpoint::footprint;

use crate::wire::KeyId;

type Named = BTreeMap<u64, KeyId>;

/// The key of each chunk of user data. A packet has one AUTH chunk, and so one key. Nothing takes memory while user data
/// needs no AUTH chunk.
#[derive(Debug, Default)]
pub(super) struct DataKeys(Option<Box<Keys>>);

#[derive(Debug)]
struct Keys {
    /// The active key.
    active: KeyId,
    /// Keys that messages named, by the units of their outstanding chunks.
    named: Named,
}

impl DataKeys {
    /// User data that names no key is authenticated with this one; none if it needs no AUTH chunk.
    pub(super) fn set_active(&mut self, active: Option<KeyId>) {
        match (active, &mut self.0) {
            (None, keys) => *keys = None,
            (Some(active), Some(keys)) => keys.active = active,
            (Some(active), keys) => *keys = Some(Box::new(Keys { active, named: Named::new() })),
        }
    }

    /// The key of user data that names `key` or none.
    #[inline]
    pub(super) fn resolve(&self, key: Option<KeyId>) -> Option<KeyId> {
        self.0.as_ref().map(|keys| key.unwrap_or(keys.active))
    }

    /// The key of an outstanding chunk.
    #[inline]
    pub(super) fn of(&self, unit: u64) -> Option<KeyId> {
        self.0.as_ref().map(|keys| keys.named.get(&unit).copied().unwrap_or(keys.active))
    }

    /// A chunk of a message that names a key becomes outstanding.
    pub(super) fn insert(&mut self, unit: u64, key: KeyId) {
        if let Some(keys) = &mut self.0 {
            keys.named.insert(unit, key);
        }
    }

    /// All chunks below `cumulative` arrived.
    #[inline]
    pub(super) fn forget_below(&mut self, cumulative: u64) {
        let Some(keys) = &mut self.0 else { return };
        while keys.named.first_key_value().is_some_and(|(unit, _)| *unit < cumulative) {
            keys.named.pop_first();
        }
    }

    /// Nothing is outstanding any more.
    pub(super) fn forget_all(&mut self) {
        if let Some(keys) = &mut self.0 {
            keys.named.clear();
        }
    }

    /// Whether an outstanding chunk names this key.
    pub(super) fn names(&self, key: KeyId) -> bool {
        self.0.as_ref().is_some_and(|keys| keys.named.values().any(|one| *one == key))
    }

    /// Bytes that it takes from the allocator.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, |keys| {
            let named = footprint::of_tree(keys.named.len(), size_of::<(u64, KeyId)>());
            footprint::of_vec(1, size_of::<Keys>()) + named
        })
    }
}
