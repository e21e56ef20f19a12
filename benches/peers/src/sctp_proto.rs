//! sctp-proto: two endpoints, and the associations that their driver keeps for them.

use std::net::{Ipv4Addr, SocketAddr};

use ::sctp_proto::{AssociationHandle, TransportConfig};
use base::Instant;
use bytes::Bytes;
use virtual_peers::{Outgoing, PACKET, Reliability, SctpProto as End, Stack as _, StackEvent};

use crate::{Deadlines, Nanos, Stack};

pub struct SctpProto {
    now: Nanos,
    ends: [End; 2],
    handles: Vec<AssociationHandle>,
    deadlines: Deadlines,
    mail: Vec<(usize, SocketAddr, Bytes)>,
    received: (u64, u64),
}

fn address(association: usize) -> SocketAddr {
    let [_, b, c, d] = (association as u32).to_be_bytes();
    SocketAddr::new(Ipv4Addr::new(10, b, c, d).into(), 9899)
}

impl SctpProto {
    fn time(&self) -> Instant {
        Instant::from_nanos(self.now)
    }

    fn drain(&mut self, end: usize, handle: AssociationHandle) {
        let own = &mut self.ends[end];
        while let Some((_, message)) = own.receive_message() {
            self.received.0 += 1;
            self.received.1 += message.len() as u64;
        }
        while let Some(event) = own.poll_event() {
            if let StackEvent::Ended(why) = event {
                println!("sctp-proto ended: {why:?}");
            }
        }
        while let Some((remote, packet)) = own.poll_packet() {
            self.mail.push((end ^ 1, remote, packet));
        }
        let due = own.timeout_of(handle).map(Instant::as_nanos);
        self.deadlines.set(2 * handle.0 + end, due);
    }
}

impl Stack for SctpProto {
    const NAME: &'static str = "sctp-proto";

    fn new(count: usize) -> Self {
        let transport = || TransportConfig::default().with_max_receive_buffer_size(5 << 20);
        let end = |server| End::new(transport(), server, PACKET as u32);
        let mut stack = SctpProto {
            now: 0,
            ends: [end(false), end(true)],
            handles: Vec::new(),
            deadlines: Deadlines::default(),
            mail: Vec::new(),
            received: (0, 0),
        };
        for index in 0..count {
            let now = stack.time();
            let handle = stack.ends[0].open(now, address(index)).expect("a free association");
            stack.handles.push(handle);
            stack.drain(0, handle);
            stack.exchange();
            stack.advance(25_000);
        }
        stack
    }

    fn send(&mut self, association: usize, message: &Bytes) -> bool {
        let (handle, now) = (self.handles[association], self.time());
        let (payload, reliability) = (message.clone(), Reliability::Full);
        let message = Outgoing { stream: 0, payload, unordered: false, reliability };
        let sent = self.ends[0].send_on(now, handle, &message).is_ok();
        self.drain(0, handle);
        sent
    }

    fn exchange(&mut self) {
        let now = self.time();
        while !self.mail.is_empty() {
            for (end, remote, packet) in std::mem::take(&mut self.mail) {
                if let Some(handle) = self.ends[end].handle_packet(now, remote, packet) {
                    self.drain(end, handle);
                }
            }
        }
    }

    fn advance(&mut self, span: Nanos) {
        let until = self.now + span;
        while let Some((due, row)) = self.deadlines.pop(until) {
            self.now = self.now.max(due);
            let (end, handle, now) = (row % 2, AssociationHandle(row / 2), self.time());
            self.ends[end].handle_timeout_of(now, handle);
            self.drain(end, handle);
            self.exchange();
        }
        self.now = until;
    }

    fn received(&self) -> (u64, u64) {
        self.received
    }
}
