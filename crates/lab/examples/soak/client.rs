//! A client: opens associations, one after the other, and closes or loses them.

use std::net::IpAddr;

use base::{Duration, Instant, Purpose, RandomStream};

use super::model::{Conversation, End};
use super::protocol::{Line, Place, Protocol, Reader, Talk, Told};
use super::shared::spread;

/// A client and its application.
pub(crate) struct Client<P: Protocol> {
    place: Place,
    server: IpAddr,
    pub(crate) endpoint: P::Endpoint,
    random: RandomStream,
    /// Counts the endpoints and the associations.
    life: u32,
    id: Option<P::Id>,
    talk: P::Talk,
    pub(crate) wake: Instant,
    closes: Instant,
}

impl<P: Protocol> Client<P> {
    pub(crate) fn new(place: Place, server: IpAddr) -> Client<P> {
        let index = place.index;
        let mut random = RandomStream::new(place.seed, Purpose("soak client", index.into()));
        // Not all in the first instant.
        let wake = Instant::ZERO + Duration::from_millis(random.below(60_000));
        Client {
            endpoint: P::client(&place, 0),
            place,
            server,
            random,
            life: 0,
            id: None,
            talk: P::Talk::default(),
            wake,
            closes: Instant::FAR_FUTURE,
        }
    }

    pub(crate) fn restart(&mut self, now: Instant) {
        self.life += 1;
        self.over(now, End::Failed);
        self.endpoint = P::client(&self.place, self.life);
        self.wake = now + Duration::from_millis(self.random.below(5_000));
    }

    pub(crate) fn shut_down(&mut self, now: Instant) {
        if let Some(id) = self.id {
            self.talk.finish(&mut Line { now, endpoint: &mut self.endpoint, id });
        }
    }

    fn over(&mut self, now: Instant, end: End) {
        if self.id.take().is_none() {
            return;
        }
        let talk = std::mem::take(&mut self.talk);
        if let Some(conversation) = talk.judged() {
            let mut shared = self.place.shared.borrow_mut();
            let verdict = shared.ledger.enter(conversation, true, talk.account(end));
            shared.judge(now, verdict);
        }
    }

    pub(crate) fn on_wake(&mut self, now: Instant) {
        let (finished, interval, life) = {
            let shared = self.place.shared.borrow();
            (shared.finished, shared.interval, shared.life)
        };
        self.wake = now + spread(&mut self.random, interval);
        if finished {
            return;
        }
        let Some(id) = self.id else {
            self.life += 1;
            self.id = P::connect(&mut self.endpoint, now, &self.place, self.server);
            self.closes = now + spread(&mut self.random, life);
            return;
        };
        let line = &mut Line { now, endpoint: &mut self.endpoint, id };
        if now < self.closes {
            self.talk.send(line, true, &mut self.random, &self.place.shared);
        } else {
            self.talk.leave(line, &mut self.random);
        }
    }

    fn conversation(&self) -> Conversation {
        Conversation { client: self.place.index, life: self.life }
    }

    pub(crate) fn on_event(&mut self, now: Instant, id: P::Id, event: &P::Event) {
        if self.id != Some(id) {
            return;
        }
        match P::told(event) {
            Told::Established => self.talk.begin(self.conversation()),
            Told::Readable => self.read(now, id),
            Told::Over(end) => self.on_over(now, id, end),
            Told::Restarted => self.on_over(now, id, End::Failed),
            Told::Reset => self.place.shared.borrow_mut().resets += 1,
            Told::Other => {
                let line = &mut Line { now, endpoint: &mut self.endpoint, id };
                let verdict = self.talk.on_event(line, event);
                self.place.shared.borrow_mut().judge(now, verdict);
            }
        }
    }

    fn on_over(&mut self, now: Instant, id: P::Id, end: End) {
        self.read(now, id);
        if P::FAILURES_ARE_RESETS && end == End::Failed {
            self.place.shared.borrow_mut().resets += 1;
        }
        self.over(now, end);
        P::release(&mut self.endpoint, now, id);
        // The same port and address again, soon.
        self.wake = now + Duration::from_millis(self.random.below(3_000));
    }

    fn read(&mut self, now: Instant, id: P::Id) {
        let reader = Reader::Client(self.conversation());
        let verdict = self.talk.read(&mut Line { now, endpoint: &mut self.endpoint, id }, reader);
        let what = |error| format!("client {} life {}: {error}", self.place.index, self.life);
        self.place.shared.borrow_mut().judge(now, verdict.map_err(what));
    }
}
