//! A client: opens associations, one after the other.

use std::net::SocketAddr;

use base::{Duration, Instant, Purpose, RandomStream};
use sctp::{AssociationId, Endpoint, Event};

use super::model::{Conversation, End, may_give_up, read};
use super::sctp_node::{PORT, Talk, endpoint, options};
use super::shared::spread;
use super::world::Place;

/// A client and its application.
pub(crate) struct Client {
    place: Place,
    server: SocketAddr,
    pub(crate) endpoint: Endpoint,
    random: RandomStream,
    /// Counts the endpoints and the associations.
    life: u32,
    id: Option<AssociationId>,
    talk: Talk,
    pub(crate) wake: Instant,
    closes: Instant,
}

/// An endpoint in its `life`. Several addresses are named; one alone is not, so that a NAT may change it.
fn begin(place: &Place, life: u32) -> Endpoint {
    let homes = if place.homes.len() > 1 { &place.homes[..] } else { &[] };
    endpoint(place, u64::from(place.index) + 1_000_000, life, false, homes)
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

    /// The process dies and begins anew, with nothing in its memory.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.life += 1;
        self.over(now, End::Failed);
        self.endpoint = begin(&self.place, self.life);
        self.wake = now + Duration::from_millis(self.random.below(5_000));
    }

    pub(crate) fn shut_down(&mut self, now: Instant) {
        if let Some(id) = self.id {
            self.endpoint.shutdown(now, id);
        }
    }

    fn over(&mut self, now: Instant, end: End) {
        if self.id.take().is_none() {
            return;
        }
        let mut talk = std::mem::take(&mut self.talk);
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
            let opened = self.endpoint.connect(now, self.server, PORT, options(self.place.index));
            self.id = opened.ok();
            self.closes = now + spread(&mut self.random, life);
            return;
        };
        if now >= self.closes {
            return self.endpoint.shutdown(now, id);
        }
        let shared = &self.place.shared;
        self.talk.send(now, &mut self.endpoint, id, true, &mut self.random, shared);
    }

    pub(crate) fn on_event(&mut self, now: Instant, id: AssociationId, event: &Event) {
        if self.id != Some(id) {
            return;
        }
        match event {
            Event::Established => {
                let conversation = Conversation { client: self.place.index, life: self.life };
                self.talk.conversation = Some(conversation);
            }
            Event::Readable => self.read(now, id),
            Event::Closed | Event::Failed(_) | Event::Restarted => {
                self.read(now, id);
                let end = if *event == Event::Closed { End::Closed } else { End::Failed };
                self.over(now, end);
                self.endpoint.release(id);
                // The same port and address again, soon.
                self.wake = now + Duration::from_millis(self.random.below(3_000));
            }
            Event::StreamsReset { .. } | Event::AssociationReset { .. } => {
                self.place.shared.borrow_mut().resets += 1;
            }
            event => {
                let verdict = self.talk.on_abandoned(event);
                self.place.shared.borrow_mut().judge(now, verdict);
            }
        }
    }

    fn read(&mut self, now: Instant, id: AssociationId) {
        while let Some(message) = self.endpoint.receive(now, id) {
            let payload = message.payload.into_bytes();
            let verdict = read(&payload).and_then(|header| {
                let own = (self.place.index, self.life, false, message.stream.0);
                let of = header.conversation;
                let told = (of.client, of.life, header.from_client, u16::from(header.stream));
                if own != told {
                    return Err(format!("client {own:?} was told {told:?}"));
                }
                self.talk.received.take(header, may_give_up(of.client))
            });
            let what = |error| format!("client {} life {}: {error}", self.place.index, self.life);
            self.place.shared.borrow_mut().judge(now, verdict.map_err(what));
        }
    }
}
