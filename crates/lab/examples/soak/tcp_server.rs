//! A server: accepts hundreds of connections, and talks on any of them.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use base::{Instant, Purpose, RandomStream};
use tcp::{ConnectionId, Endpoint, Event, ListenOptions, ListenerId};

use super::model::End;
use super::shared::spread;
use super::tcp_node::{PORT, endpoint, options};
use super::tcp_talk::Talk;
use super::world::Place;

/// A server and its application.
pub(crate) struct Server {
    place: Place,
    pub(crate) endpoint: Endpoint,
    random: RandomStream,
    life: u32,
    talks: BTreeMap<ConnectionId, Talk>,
    ids: Vec<ConnectionId>,
    clients: u32,
    pub(crate) wake: Instant,
}

/// An endpoint in its `life`, which listens.
fn begin(place: &Place, life: u32) -> Endpoint {
    let mut endpoint = endpoint(place, place.index.into(), life);
    let local = SocketAddr::new(place.homes[0], PORT);
    // Of the accepting side's options, those that are negotiated follow what the client offers.
    let listen = ListenOptions { accepted: options(1), ..ListenOptions::default() };
    endpoint.listen(local, listen).expect("the only listener");
    endpoint
}

impl Server {
    pub(crate) fn new(place: Place, clients: u32) -> Server {
        Server {
            endpoint: begin(&place, 0),
            random: RandomStream::new(place.seed, Purpose("soak server", place.index.into())),
            place,
            life: 0,
            talks: BTreeMap::new(),
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
        self.endpoint = begin(&self.place, self.life);
    }

    fn over(&mut self, now: Instant, id: ConnectionId, end: End) {
        let Some(talk) = self.talks.remove(&id) else { return };
        if let Some(conversation) = talk.conversation {
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
            let shared = &self.place.shared;
            talk.send(now, &mut self.endpoint, id, false, &mut self.random, shared);
        }
    }

    pub(crate) fn on_event(&mut self, now: Instant, id: ConnectionId, event: Event) {
        match event {
            Event::Incoming { listener } => self.accept(now, listener),
            Event::Readable => self.read(now, id),
            Event::Writable => {
                if let Some(talk) = self.talks.get_mut(&id) {
                    talk.push(now, &mut self.endpoint, id);
                }
            }
            Event::Closed | Event::Failed(_) => {
                self.read(now, id);
                self.over(now, id, if event == Event::Closed { End::Closed } else { End::Failed });
                self.ids.retain(|other| *other != id);
                self.endpoint.release(now, id);
            }
            Event::Established | Event::Urgent | Event::SoftError(_) => {}
        }
    }

    fn accept(&mut self, now: Instant, listener: ListenerId) {
        while let Some(id) = self.endpoint.accept(listener) {
            self.ids.push(id);
            self.talks.insert(id, Talk::default());
            self.read(now, id);
        }
    }

    fn read(&mut self, now: Instant, id: ConnectionId) {
        let Some(talk) = self.talks.get_mut(&id) else { return };
        let verdict = talk.read(now, &mut self.endpoint, id, |conversation, header| {
            let expected = *conversation.get_or_insert(header.conversation);
            let right = header.from_client && header.conversation == expected;
            if right { Ok(()) } else { Err(format!("{expected:?} was told {header:?}")) }
        });
        if talk.peer_finished {
            talk.finish(now, &mut self.endpoint, id);
        }
        let what = |error| format!("server {}: {error}", self.place.index);
        self.place.shared.borrow_mut().judge(now, verdict.map_err(what));
    }
}
