//! Stands for the sending side until it is there: sends each byte once, and keeps it for nobody.

#![expect(dead_code, reason = "stands for something that will look at it")]

use std::collections::VecDeque;

use base::{Duration, Instant};
use bytes::Bytes;

#[derive(Debug)]
pub(crate) struct Sender {
    queue: VecDeque<Bytes>,
    una: u64,
    nxt: u64,
    written: u64,
    window: u64,
    max_window: u64,
    mss: u32,
    finish: bool,
    fin_sent: bool,
    limit: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    pub(crate) start: u64,
    pub(crate) pieces: Vec<Bytes>,
    pub(crate) fin: bool,
    pub(crate) push: bool,
    pub(crate) cwr: bool,
    pub(crate) retransmission: bool,
    pub(crate) urgent: Option<u16>,
}

#[derive(Debug, Default)]
pub(crate) struct Acknowledgement {
    pub(crate) ack: u64,
    pub(crate) window: u64,
    pub(crate) rtt: Option<Duration>,
    pub(crate) ece: bool,
}

impl Sender {
    pub(crate) fn new(mss: u32, window: u64, limit: usize) -> Sender {
        Sender {
            queue: VecDeque::new(),
            una: 1,
            nxt: 1,
            written: 1,
            window,
            max_window: window,
            mss,
            finish: false,
            fin_sent: false,
            limit,
        }
    }
    pub(crate) fn free(&self) -> usize {
        self.limit.saturating_sub((self.written.saturating_sub(self.una)) as usize)
    }
    pub(crate) fn write(&mut self, mut data: Bytes) -> usize {
        data.truncate(self.free());
        let len = data.len();
        self.written += len as u64;
        if len > 0 {
            self.queue.push_back(data);
        }
        len
    }
    pub(crate) fn finish(&mut self) {
        self.finish = true;
    }
    pub(crate) fn snd_una(&self) -> u64 {
        self.una
    }
    pub(crate) fn snd_nxt(&self) -> u64 {
        self.nxt
    }
    pub(crate) fn max_window(&self) -> u64 {
        self.max_window
    }
    pub(crate) fn is_fin_acked(&self) -> bool {
        self.fin_sent && self.una == self.nxt
    }
    pub(crate) fn has_outstanding(&self) -> bool {
        self.una < self.nxt
    }
    pub(crate) fn on_ack(&mut self, _now: Instant, ack: &Acknowledgement) -> u64 {
        let acked = ack.ack.saturating_sub(self.una);
        self.una = self.una.max(ack.ack);
        self.window = ack.window;
        self.max_window = self.max_window.max(ack.window);
        acked
    }
    pub(crate) fn poll(&mut self, _now: Instant) -> Option<Outgoing> {
        let edge = self.una + self.window;
        let room = (edge.saturating_sub(self.nxt)).min(u64::from(self.mss)) as usize;
        let mut out = Outgoing { start: self.nxt, ..Outgoing::default() };
        let mut taken = 0;
        while taken < room
            && let Some(piece) = self.queue.front_mut()
        {
            let part = piece.split_to((room - taken).min(piece.len()));
            taken += part.len();
            out.pieces.push(part);
            if piece.is_empty() {
                self.queue.pop_front();
            }
        }
        self.nxt += taken as u64;
        if self.queue.is_empty() && self.finish && !self.fin_sent {
            self.fin_sent = true;
            out.fin = true;
            self.nxt += 1;
        }
        out.push = taken > 0 && self.queue.is_empty();
        (taken > 0 || out.fin).then_some(out)
    }
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        None
    }
    pub(crate) fn unsent(&self) -> u64 {
        self.queue.iter().map(|piece| piece.len() as u64).sum()
    }
}
