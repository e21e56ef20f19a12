//! dcsctp: a socket for each association and end, found by its index, which costs it nothing.

use std::time::Duration;

use ::dcsctp::api::{
    DcSctpSocket, Message, Options, PpId, SendOptions, SocketEvent, SocketTime, StreamId,
};
use bytes::Bytes;

use crate::{Deadlines, Nanos, PACKET, Stack};

pub struct DcSctp {
    now: Nanos,
    /// The client's and the server's, in turn.
    sockets: Vec<Box<dyn DcSctpSocket>>,
    deadlines: Deadlines,
    /// Datagrams on their way, and to whom.
    mail: Vec<(usize, Vec<u8>)>,
    received: (u64, u64),
}

impl DcSctp {
    fn time(&self) -> SocketTime {
        SocketTime::zero() + Duration::from_nanos(self.now)
    }

    fn drain(&mut self, index: usize) {
        let socket = &mut self.sockets[index];
        while socket.messages_ready_count() > 0 {
            let Some(message) = socket.get_next_message() else { break };
            self.received.0 += 1;
            self.received.1 += message.payload.len() as u64;
        }
        while let Some(event) = socket.poll_event() {
            match event {
                SocketEvent::SendPacket(packet) => self.mail.push((index ^ 1, packet)),
                SocketEvent::OnAborted(kind, why) => println!("dcsctp aborted: {kind:?} {why}"),
                _ => {}
            }
        }
        let due = socket.poll_timeout();
        let due = (due != SocketTime::infinite_future())
            .then(|| u64::try_from((due - SocketTime::zero()).as_nanos()).unwrap_or(u64::MAX));
        self.deadlines.set(index, due);
    }
}

impl Stack for DcSctp {
    const NAME: &'static str = "dcsctp";

    fn new(count: usize) -> Self {
        let options = Options {
            mtu: PACKET,
            max_send_buffer_size: usize::MAX,
            per_stream_send_queue_limit: usize::MAX,
            ..Options::default()
        };
        let mut stack = DcSctp {
            now: 0,
            sockets: (0..2 * count).map(|_| ::dcsctp::new_socket("", &options)).collect(),
            deadlines: Deadlines::default(),
            mail: Vec::new(),
            received: (0, 0),
        };
        for client in (0..2 * count).step_by(2) {
            let now = stack.time();
            stack.sockets[client].advance_time(now);
            stack.sockets[client].connect();
            stack.drain(client);
            stack.exchange();
            stack.advance(25_000);
        }
        stack
    }

    fn send(&mut self, association: usize, message: &Bytes) -> bool {
        let (index, now) = (2 * association, self.time());
        self.sockets[index].advance_time(now);
        let message = Message::new(StreamId(0), PpId(0), message.to_vec());
        let sent = self.sockets[index].send(message, &SendOptions::default()).is_ok();
        self.drain(index);
        sent
    }

    fn exchange(&mut self) {
        let now = self.time();
        while !self.mail.is_empty() {
            for (index, packet) in std::mem::take(&mut self.mail) {
                self.sockets[index].advance_time(now);
                self.sockets[index].handle_input(&packet);
                self.drain(index);
            }
        }
    }

    fn advance(&mut self, span: Nanos) {
        let until = self.now + span;
        while let Some((due, index)) = self.deadlines.pop(until) {
            self.now = self.now.max(due);
            let now = self.time();
            self.sockets[index].advance_time(now);
            self.drain(index);
            self.exchange();
        }
        self.now = until;
    }

    fn received(&self) -> (u64, u64) {
        self.received
    }
}
