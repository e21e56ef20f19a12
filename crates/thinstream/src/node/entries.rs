//! The entries of a node's associations: by their tickets, and by the machine's names.

use sctp::AssociationId;

use super::entry::{Entry, Ticket};

/// Entries, each at a place of its own, which is used again once the entry is gone.
#[derive(Debug, Default)]
pub(super) struct Entries {
    places: Vec<Option<Entry>>,
    free: Vec<u32>,
    /// The place of the entry, by the association's row in the machine.
    rows: Vec<u32>,
    /// Number of entries ever made, which tells an entry from later ones at its place.
    lives: u32,
}

/// Row of an association without an entry.
const NOWHERE: u32 = u32::MAX;

impl Entries {
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Adds an entry, which takes the association's name from any other.
    pub(super) fn insert(&mut self, mut entry: Entry) -> Ticket {
        self.lives = self.lives.wrapping_add(1);
        entry.life = self.lives;
        let (id, life, row) = (entry.id, entry.life, entry.id.row() as usize);
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.places.push(None);
                (self.places.len() - 1) as u32
            }
        };
        self.places[place as usize] = Some(entry);
        if row >= self.rows.len() {
            self.rows.resize(row + 1, NOWHERE);
        }
        self.rows[row] = place;
        Ticket { id, place, life }
    }

    /// The entry of a handle, unless it is gone.
    #[inline]
    pub(super) fn get(&self, ticket: Ticket) -> Option<&Entry> {
        let entry = self.places.get(ticket.place as usize)?.as_ref()?;
        Some(entry).filter(|entry| entry.life == ticket.life)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, ticket: Ticket) -> Option<&mut Entry> {
        let entry = self.places.get_mut(ticket.place as usize)?.as_mut()?;
        Some(entry).filter(|entry| entry.life == ticket.life)
    }

    /// The ticket of the entry of one of the machine's associations.
    pub(super) fn ticket(&self, id: AssociationId) -> Option<Ticket> {
        let place = *self.rows.get(id.row() as usize)?;
        let entry = self.places.get(place as usize)?.as_ref()?;
        (entry.id == id).then_some(Ticket { id, place, life: entry.life })
    }

    /// The entry of one of the machine's associations.
    #[inline]
    pub(super) fn of(&mut self, id: AssociationId) -> Option<&mut Entry> {
        let place = *self.rows.get(id.row() as usize)?;
        let entry = self.places.get_mut(place as usize)?.as_mut()?;
        Some(entry).filter(|entry| entry.id == id)
    }

    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<Entry> {
        self.get(ticket)?;
        let entry = self.places[ticket.place as usize].take()?;
        self.free.push(ticket.place);
        let row = self.rows.get_mut(ticket.id.row() as usize);
        if let Some(row) = row.filter(|row| **row == ticket.place) {
            *row = NOWHERE;
        }
        Some(entry)
    }

    /// Entries in the order of their places, for changes that concern every association.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.places.iter_mut().flatten()
    }
}
