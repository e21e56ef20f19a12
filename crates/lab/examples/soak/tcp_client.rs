//! A client: opens connections, one after the other, and closes, aborts or loses them.

use std::net::SocketAddr;

use base::{Duration, Instant, Purpose, RandomStream};
use tcp::{ConnectionId, Endpoint, Event};

use super::model::{Conversation, End};
use super::shared::spread;
use super::tcp_node::{endpoint, options};
use super::tcp_talk::Talk;
use super::world::Place;

/// A client and its application.
pub(crate) struct Client {
    place: Place,
    server: SocketAddr,
    pub(crate) endpoint: Endpoint,
    random: RandomStream,
    /// Counts the endpoints and the connections.
    life: u32,
    id: Option<ConnectionId>,
    talk: Talk,
    pub(crate) wake: Instant,
    closes: Instant,
}

fn begin(place: &Place, life: u32) -> Endpoint {
    endpoint(place, u64::from(place.index) + 1_000_000, life)
}

impl Client {
    pub(crate) fn new(place: Place, server: SocketAddr) -> Client {
        let index = place.index;
        let mut random = RandomStream::new(place.seed, Purpose("soak client", index.into()));
        // Not all in the first instant.
        let wake = Instant::ZERO + Duration::from_millis(random.below(60_000));
        Client {
            endpoint: begin(&place, 0),
            place,
            server,
            random,
            life: 0,
            id: None,
            talk: Talk::default(),
            wake,
            closes: Instant::FAR_FUTURE,
        }
    }

    pub(crate) fn restart(&mut self, now: Instant) {
        self.life += 1;
        self.over(now, End::Failed);
        self.endpoint = begin(&self.place, self.life);
        self.wake = now + Duration::from_millis(self.random.below(5_000));
    }

    pub(crate) fn shut_down(&mut self, now: Instant) {
        if let Some(id) = self.id {
            self.talk.finish(now, &mut self.endpoint, id);
        }
    }

    fn over(&mut self, now: Instant, end: End) {
        if self.id.take().is_none() {
            return;
        }
        let talk = std::mem::take(&mut self.talk);
        if let Some(conversation) = talk.conversation {
            let mut shared = self.place.shared.borrow_mut();
            let verdict = shared.ledger.enter(conversation, true, talk.account(end));
            shared.judge(now, verdict);
        }
    }

    pub(crate) fn on_wake(&mut self, now: Instant) {
        let (quiet, interval, life) = {
            let shared = self.place.shared.borrow();
            (shared.quiet, shared.interval, shared.life)
        };
        self.wake = now + spread(&mut self.random, interval);
        if quiet {
            return;
        }
        let Some(id) = self.id else {
            self.life += 1;
            let local = SocketAddr::new(self.place.homes[0], 0);
            let options = options(self.place.index);
            self.id = self.endpoint.connect(now, local, self.server, options).ok();
            self.closes = now + spread(&mut self.random, life);
            return;
        };
        if now < self.closes {
            let shared = &self.place.shared;
            self.talk.send(now, &mut self.endpoint, id, true, &mut self.random, shared);
        } else if self.random.below(8) == 0 {
            self.endpoint.abort(now, id);
        } else {
            self.talk.finish(now, &mut self.endpoint, id);
        }
    }

    pub(crate) fn on_event(&mut self, now: Instant, id: ConnectionId, event: Event) {
        if self.id != Some(id) {
            return;
        }
        match event {
            Event::Established => {
                let conversation = Conversation { client: self.place.index, life: self.life };
                self.talk.conversation = Some(conversation);
            }
            Event::Readable => self.read(now, id),
            Event::Writable => self.talk.push(now, &mut self.endpoint, id),
            Event::Closed | Event::Failed(_) => {
                self.read(now, id);
                if event != Event::Closed {
                    self.place.shared.borrow_mut().resets += 1;
                }
                self.over(now, if event == Event::Closed { End::Closed } else { End::Failed });
                self.endpoint.release(now, id);
                self.wake = now + Duration::from_millis(self.random.below(3_000));
            }
            Event::Incoming { .. } | Event::Urgent | Event::SoftError(_) => {}
        }
    }

    fn read(&mut self, now: Instant, id: ConnectionId) {
        let own = Conversation { client: self.place.index, life: self.life };
        let verdict = self.talk.read(now, &mut self.endpoint, id, |_, header| {
            let right = header.conversation == own && !header.from_client;
            if right { Ok(()) } else { Err(format!("{own:?} was told {header:?}")) }
        });
        let what = |error| format!("client {} life {}: {error}", self.place.index, self.life);
        self.place.shared.borrow_mut().judge(now, verdict.map_err(what));
        if self.talk.peer_finished {
            self.talk.finish(now, &mut self.endpoint, id);
        }
    }
}
