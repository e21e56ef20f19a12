//! A server: accepts hundreds of associations, and talks on any of them.

use std::collections::BTreeMap;

use base::{Instant, Purpose, RandomStream};
use bytes::Bytes;
use sctp::{AssociationId, Endpoint, Event};

use super::model::{End, may_give_up, read};
use super::sctp_node::{Talk, endpoint};
use super::shared::spread;
use super::world::Place;

/// A server and its application.
pub(crate) struct Server {
    place: Place,
    pub(crate) endpoint: Endpoint,
    random: RandomStream,
    /// Counts the endpoints and the lives of associations.
    life: u32,
    talks: BTreeMap<AssociationId, Talk>,
    /// The latest life of each client that is over, by client.
    ended: BTreeMap<u32, u32>,
    ids: Vec<AssociationId>,
    clients: u32,
    pub(crate) wake: Instant,
}

impl Server {
    pub(crate) fn new(place: Place, clients: u32) -> Server {
        Server {
            endpoint: endpoint(&place, place.index.into(), 0, true, &place.homes),
            random: RandomStream::new(place.seed, Purpose("soak server", place.index.into())),
            place,
            life: 0,
            talks: BTreeMap::new(),
            ended: BTreeMap::new(),
            ids: Vec::new(),
            clients,
            wake: Instant::from_millis(1),
        }
    }

    pub(crate) fn restart(&mut self, now: Instant) {
        self.life += 1;
        for id in std::mem::take(&mut self.ids) {
            self.over(now, id, End::Failed);
        }
        self.talks.clear();
        let place = &self.place;
        self.endpoint = endpoint(place, place.index.into(), self.life, true, &place.homes);
    }

    fn over(&mut self, now: Instant, id: AssociationId, end: End) {
        let Some(mut talk) = self.talks.remove(&id) else { return };
        if let (Some(conversation), false) = (talk.conversation, talk.phantom) {
            let latest = self.ended.entry(conversation.client).or_default();
            *latest = conversation.life.max(*latest);
            let mut shared = self.place.shared.borrow_mut();
            let verdict = shared.ledger.enter(conversation, false, talk.account(end));
            shared.judge(now, verdict);
        }
    }

    pub(crate) fn on_wake(&mut self, now: Instant) {
        let (quiet, interval) = {
            let shared = self.place.shared.borrow();
            (shared.quiet, shared.interval)
        };
        // As many messages as its clients send, to any of them.
        self.wake = now + spread(&mut self.random, interval / u64::from(self.clients.max(1)));
        if quiet || self.ids.is_empty() {
            return;
        }
        let id = self.ids[self.random.below(self.ids.len() as u64) as usize];
        if let Some(talk) = self.talks.get_mut(&id) {
            talk.send(now, &mut self.endpoint, id, false, &mut self.random, &self.place.shared);
        }
    }

    pub(crate) fn on_event(&mut self, now: Instant, id: AssociationId, event: &Event) {
        match event {
            Event::Established => {
                self.ids.push(id);
                self.talks.insert(id, Talk::default());
            }
            Event::Readable => self.read(now, id),
            Event::Restarted => {
                // What was under way is lost, and the application is told: by this event.
                self.over(now, id, End::Failed);
                self.talks.insert(id, Talk::default());
                if !self.ids.contains(&id) {
                    self.ids.push(id);
                }
                self.read(now, id);
            }
            Event::Closed | Event::Failed(_) => {
                self.read(now, id);
                let end = if *event == Event::Closed { End::Closed } else { End::Failed };
                self.over(now, id, end);
                self.ids.retain(|other| *other != id);
                self.endpoint.release(id);
            }
            Event::StreamsReset { .. } | Event::AssociationReset { .. } => {
                self.place.shared.borrow_mut().resets += 1;
            }
            event => {
                if let Some(talk) = self.talks.get_mut(&id) {
                    let verdict = talk.on_abandoned(event);
                    self.place.shared.borrow_mut().judge(now, verdict);
                }
            }
        }
    }

    fn read(&mut self, now: Instant, id: AssociationId) {
        while let Some(message) = self.endpoint.receive(now, id) {
            let Some(talk) = self.talks.get_mut(&id) else { continue };
            let payload: Bytes = message.payload.into_bytes();
            let verdict = read(&payload).and_then(|header| {
                let told = header.conversation;
                if talk.conversation.is_none() {
                    let latest = self.ended.get(&told.client);
                    talk.phantom = latest.is_some_and(|latest| *latest >= told.life);
                }
                let expected = *talk.conversation.get_or_insert(told);
                if expected != told || !header.from_client {
                    return Err(format!("{expected:?} was told {header:?}"));
                }
                if talk.phantom {
                    return Ok(());
                }
                talk.received.take(header, may_give_up(told.client))
            });
            let what = |error| format!("server {}: {error}", self.place.index);
            self.place.shared.borrow_mut().judge(now, verdict.map_err(what));
        }
    }
}
