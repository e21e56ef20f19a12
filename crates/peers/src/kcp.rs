//! KCP, as the crate `kcp` has it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::rc::Rc;

use ::kcp::Kcp;
use base::{Datagram, DatagramMeta, Duration, Icmp, Instant, Machine, Transmit, TransmitBuffer};
use bytes::Bytes;

use lab::peers::PeerEnd;

use crate::datagram::transmit;
use crate::ends::Side;

/// Conversation number, equal at both ends.
const CONVERSATION: u32 = 1;
/// Packets of the window: what KCP's page gives as an example.
const WINDOW: u16 = 256;

/// Queue into which KCP writes its datagrams.
#[derive(Clone, Default)]
struct Out(Rc<RefCell<VecDeque<Vec<u8>>>>);

impl Write for Out {
    fn write(&mut self, datagram: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().push_back(datagram.to_vec());
        Ok(datagram.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One end of a conversation. There is no set-up.
pub(crate) struct KcpEnd {
    kcp: Kcp<Out>,
    out: Out,
    side: Side,
    /// Whether everything is flushed at once, not at the next interval.
    flushes: bool,
    due: Instant,
}

impl KcpEnd {
    /// An end with the default configuration. With `tuned`: the turbo mode of KCP's page (no delay,
    /// 10 ms, resend at 2, no congestion control), and a flush after each message and each
    /// datagram.
    pub(crate) fn new(side: Side, tuned: bool) -> KcpEnd {
        let out = Out::default();
        let mut kcp = Kcp::new(CONVERSATION, out.clone());
        if tuned {
            kcp.set_nodelay(true, 10, 2, true);
            kcp.set_wndsize(WINDOW, WINDOW);
        }
        KcpEnd { kcp, out, side, flushes: tuned, due: Instant::ZERO }
    }

    fn update(&mut self, now: Instant, flush: bool) {
        let millis = to_millis(now);
        // Errors are those of a conversation that was never updated, or of writing: neither
        // happens.
        let _ = self.kcp.update(millis);
        if flush {
            let _ = self.kcp.flush();
        }
        self.due = now + Duration::from_millis(u64::from(self.kcp.check(millis)).max(1));
    }
}

fn to_millis(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

impl Machine for KcpEnd {
    fn handle_datagram(&mut self, now: Instant, _: DatagramMeta, datagram: Datagram) {
        // The clock is set first, since round trips are measured by it.
        self.update(now, false);
        let _ = self.kcp.input(&datagram.into_bytes());
        self.update(now, self.flushes);
    }

    fn handle_icmp(&mut self, _: Instant, _: Icmp<'_>) {}

    fn handle_timeout(&mut self, now: Instant) {
        if now >= self.due {
            self.update(now, false);
        }
    }

    fn poll_transmit(&mut self, _: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        let datagram = self.out.0.borrow_mut().pop_front()?;
        Some(transmit(self.side.remote, &datagram, buffer))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.due)
    }
}

impl PeerEnd for KcpEnd {
    fn connect(&mut self, now: Instant) {
        self.update(now, false);
    }

    fn send(&mut self, now: Instant, message: Bytes) {
        self.update(now, false);
        // KCP refuses empty messages and those of more fragments than its window; the laboratory
        // sends neither.
        let _ = self.kcp.send(&message);
        self.update(now, self.flushes);
    }

    fn receive(&mut self, _: Instant) -> Option<Bytes> {
        let size = self.kcp.peeksize().ok()?;
        let mut message = vec![0; size];
        let read = self.kcp.recv(&mut message).ok()?;
        message.truncate(read);
        Some(message.into())
    }
}
