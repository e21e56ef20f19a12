//! A server: accepts hundreds of associations, and talks on any of them.

use std::collections::BTreeMap;

use base::{Instant, Purpose, RandomStream};

use super::model::End;
use super::protocol::{Line, Place, Protocol, Reader, Talk, Told};
use super::shared::spread;

/// A server and its application.
pub(crate) struct Server<P: Protocol> {
    place: Place,
    pub(crate) endpoint: P::Endpoint,
    random: RandomStream,
    /// Number of endpoints that this host has had.
    life: u32,
    talks: BTreeMap<P::Id, P::Talk>,
    /// The latest ended life of each client.
    ended: BTreeMap<u32, u32>,
    ids: Vec<P::Id>,
    clients: u32,
    pub(crate) wake: Instant,
}

impl<P: Protocol> Server<P> {
    /// A server that this many clients use.
    pub(crate) fn new(place: Place, clients: u32) -> Server<P> {
        Server {
            endpoint: P::server(&place, 0),
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
        self.endpoint = P::server(&self.place, self.life);
    }

    fn over(&mut self, now: Instant, id: P::Id, end: End) {
        let Some(talk) = self.talks.remove(&id) else { return };
        if let Some(conversation) = talk.judged() {
            let latest = self.ended.entry(conversation.client).or_default();
            *latest = conversation.life.max(*latest);
            let mut shared = self.place.shared.borrow_mut();
            let verdict = shared.ledger.enter(conversation, false, talk.account(end));
            shared.judge(now, verdict);
        }
    }

    pub(crate) fn on_wake(&mut self, now: Instant) {
        let (finished, interval) = {
            let shared = self.place.shared.borrow();
            (shared.finished, shared.interval)
        };
        // As many messages as its clients send, to any of them.
        self.wake = now + spread(&mut self.random, interval / u64::from(self.clients.max(1)));
        if finished || self.ids.is_empty() {
            return;
        }
        let id = self.ids[self.random.below(self.ids.len() as u64) as usize];
        if let Some(talk) = self.talks.get_mut(&id) {
            let line = &mut Line { now, endpoint: &mut self.endpoint, id };
            talk.send(line, false, &mut self.random, &self.place.shared);
        }
    }

    pub(crate) fn on_event(&mut self, now: Instant, id: P::Id, event: &P::Event) {
        for id in P::accept(&mut self.endpoint, id, event) {
            self.begin(now, id);
        }
        match P::told(event) {
            Told::Established => {}
            Told::Readable => self.read(now, id),
            Told::Restarted => {
                // Messages under way are lost, which this event reports to the application.
                self.over(now, id, End::Failed);
                self.begin(now, id);
            }
            Told::Over(end) => {
                self.read(now, id);
                self.over(now, id, end);
                self.ids.retain(|other| *other != id);
                P::release(&mut self.endpoint, now, id);
            }
            Told::Reset => self.place.shared.borrow_mut().resets += 1,
            Told::Other => {
                if let Some(talk) = self.talks.get_mut(&id) {
                    let line = &mut Line { now, endpoint: &mut self.endpoint, id };
                    let verdict = talk.on_event(line, event);
                    self.place.shared.borrow_mut().judge(now, verdict);
                }
            }
        }
    }

    fn begin(&mut self, now: Instant, id: P::Id) {
        self.talks.insert(id, P::Talk::default());
        if !self.ids.contains(&id) {
            self.ids.push(id);
        }
        self.read(now, id);
    }

    fn read(&mut self, now: Instant, id: P::Id) {
        let Some(talk) = self.talks.get_mut(&id) else { return };
        let line = &mut Line { now, endpoint: &mut self.endpoint, id };
        let verdict = talk.read(line, Reader::Server(&self.ended));
        let what = |error| format!("server {}: {error}", self.place.index);
        self.place.shared.borrow_mut().judge(now, verdict.map_err(what));
    }
}
