//! Shared keys that authenticate user data, if the peer requires it (RFC 4895). A message may
//! select one (RFC 6458, section 5.3.8); all others use the active key.

use std::collections::BTreeMap;

use ::endpoint::footprint;

use crate::wire::KeyId;

type Named = BTreeMap<u64, KeyId>;

/// The key of each chunk of user data. A packet has one AUTH chunk, hence one key. Nothing is
/// allocated while user data needs no AUTH chunk.
#[derive(Debug, Default)]
pub(super) struct DataKeys(Option<Box<Keys>>);

#[derive(Debug)]
struct Keys {
    /// The key of messages that select none (RFC 6458, section 8.1.18).
    active: KeyId,
    /// Keys selected by messages, by the units of their outstanding chunks.
    named: Named,
}

impl DataKeys {
    /// Sets the active key; `None` if user data needs no AUTH chunk.
    pub(super) fn set_active(&mut self, active: Option<KeyId>) {
        match (active, &mut self.0) {
            (None, keys) => *keys = None,
            (Some(active), Some(keys)) => keys.active = active,
            (Some(active), keys) => *keys = Some(Box::new(Keys { active, named: Named::new() })),
        }
    }

    /// The key of user data that selects `key` or none.
    #[inline]
    pub(super) fn resolve(&self, key: Option<KeyId>) -> Option<KeyId> {
        self.0.as_ref().map(|keys| key.unwrap_or(keys.active))
    }

    /// The key of an outstanding chunk.
    #[inline]
    pub(super) fn of(&self, unit: u64) -> Option<KeyId> {
        self.0.as_ref().map(|keys| keys.named.get(&unit).copied().unwrap_or(keys.active))
    }

    /// A chunk of a message that selects a key becomes outstanding.
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

    /// Whether an outstanding chunk uses this key.
    pub(super) fn names(&self, key: KeyId) -> bool {
        self.0.as_ref().is_some_and(|keys| keys.named.values().any(|one| *one == key))
    }

    /// Allocated bytes.
    #[inline]
    pub(super) fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, |keys| {
            let named = footprint::of_tree(keys.named.len(), size_of::<(u64, KeyId)>());
            footprint::of_vec(1, size_of::<Keys>()) + named
        })
    }
}
