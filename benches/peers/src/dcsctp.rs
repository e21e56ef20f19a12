//! dcsctp: a socket for each association and end, found by its index, which costs it nothing.

use base::{Instant, Machine};
use bytes::Bytes;
use virtual_peers::{DcSctp as End, Outgoing, Reliability, Stack as _};

use crate::{Deadlines, Nanos, Stack};

pub struct DcSctp {
    now: Nanos,
    /// The client's and the server's, in turn.
    ends: Vec<End>,
    deadlines: Deadlines,
    /// Datagrams on their way, and to whom.
    mail: Vec<(usize, Vec<u8>)>,
    received: (u64, u64),
}

impl DcSctp {
    fn time(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    fn drain(&mut self, index: usize) {
        let end = &mut self.ends[index];
        while let Some(message) = end.receive_message() {
            self.received.0 += 1;
            self.received.1 += message.payload.len() as u64;
        }
        while let Some(event) = end.poll_event() {
            if let virtual_peers::StackEvent::Ended(why) = event {
                println!("dcsctp ended: {why:?}");
            }
        }
        while let Some(packet) = end.poll_packet() {
            self.mail.push((index ^ 1, packet));
        }
        self.deadlines.set(index, end.poll_timeout().map(Instant::as_nanos));
    }
}

impl Stack for DcSctp {
    const NAME: &'static str = "dcsctp";

    fn new(count: usize) -> Self {
        let options = End::options();
        // Sockets know no addresses: the harness carries their packets.
        let nowhere = std::net::SocketAddr::from(([0; 4], 0));
        let mut stack = DcSctp {
            now: 0,
            ends: (0..2 * count).map(|_| End::new(&options, nowhere)).collect(),
            deadlines: Deadlines::default(),
            mail: Vec::new(),
            received: (0, 0),
        };
        for client in (0..2 * count).step_by(2) {
            let now = stack.time();
            stack.ends[client].connect(now);
            stack.drain(client);
            stack.exchange();
            stack.advance(25_000);
        }
        stack
    }

    fn send(&mut self, association: usize, message: &Bytes) -> bool {
        let (index, now) = (2 * association, self.time());
        let (payload, reliability) = (message.clone(), Reliability::Full);
        let message = Outgoing { stream: 0, payload, unordered: false, reliability };
        let sent = self.ends[index].send(now, &message).is_ok();
        self.drain(index);
        sent
    }

    fn exchange(&mut self) {
        let now = self.time();
        while !self.mail.is_empty() {
            for (index, packet) in std::mem::take(&mut self.mail) {
                self.ends[index].handle_packet(now, &packet);
                self.drain(index);
            }
        }
    }

    fn advance(&mut self, span: Nanos) {
        let until = self.now + span;
        while let Some((due, index)) = self.deadlines.pop(until) {
            self.now = self.now.max(due);
            let now = self.time();
            self.ends[index].handle_timeout(now);
            self.drain(index);
            self.exchange();
        }
        self.now = until;
    }

    fn received(&self) -> (u64, u64) {
        self.received
    }
}
