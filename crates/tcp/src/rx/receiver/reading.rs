//! What the application reads, and what it may ask or choose.

use bytes::Bytes;

use super::Receiver;
use crate::rx::arrival::ReceiverStats;
use crate::rx::urgent::Urgent;
use crate::rx::window::unscaled;

impl Receiver {
    /// Takes up to `limit` bytes that lie together in memory; none when none wait. Never reads across the
    /// end of urgent data, so that the application sees where it is.
    pub fn read(&mut self, limit: u64) -> Option<Bytes> {
        self.skip_urgent_byte();
        let to_mark = self.to_mark().filter(|bytes| *bytes > 0).unwrap_or(u64::MAX);
        let bytes = self.queue.pop(limit.min(to_mark));
        self.forget_mark();
        bytes
    }

    /// Bytes that [`Receiver::read`] can take, in all.
    pub fn readable(&self) -> u64 {
        let skipped = self.urgent.as_ref().is_some_and(|urgent| {
            let waits = self.queue.start()..self.queue.end();
            !self.urgent_inline && waits.contains(&urgent.mark)
        });
        self.queue.len() - u64::from(skipped)
    }

    /// Whether the peer's FIN has been reached and everything before it has been read.
    pub fn is_finished(&self) -> bool {
        self.finished && self.readable() == 0
    }

    /// Discards waiting and future data: the application no longer reads. Both count as read, so that the
    /// window stays open.
    pub fn discard(&mut self) {
        self.discards = true;
        self.queue.clear();
    }

    /// The urgent byte, where it is out of band and has come; only once.
    pub fn read_urgent(&mut self) -> Option<u8> {
        let urgent = self.urgent.as_deref_mut().filter(|urgent| !urgent.taken)?;
        if self.urgent_inline {
            return None;
        }
        let byte = urgent.byte.or_else(|| self.queue.byte(urgent.mark))?;
        urgent.taken = true;
        if urgent.mark < self.queue.start() {
            self.urgent = None;
        }
        Some(byte)
    }

    /// Bytes to read before the last byte of urgent data; 0: it is the next (or, out of band, stands
    /// here). None: no urgent data is ahead.
    pub fn to_mark(&self) -> Option<u64> {
        self.urgent.as_ref()?.mark.checked_sub(self.queue.start())
    }

    /// Counts of segments that did not simply continue what had come.
    pub fn stats(&self) -> ReceiverStats {
        self.stats
    }

    /// Bytes that arrived behind a hole.
    pub fn behind_holes(&self) -> u64 {
        self.behind.as_ref().map_or(0, |behind| behind.bytes())
    }

    /// Bytes that may wait for the application.
    pub fn buffer(&self) -> u64 {
        self.window.capacity()
    }

    /// The window field of our SYN, which is never scaled (RFC 7323, section 2.2).
    pub fn syn_window(&self) -> u16 {
        unscaled(self.buffer())
    }

    /// Changes the buffer. A smaller one takes back nothing of the window that the peer was given; the same
    /// as before takes back nothing of what it has grown to.
    pub fn set_buffer(&mut self, bytes: u64) {
        if self.autotune.as_deref_mut().is_none_or(|autotune| autotune.choose(bytes)) {
            self.window.set_capacity(bytes);
        }
    }

    /// Whether the urgent byte stays in the stream, from now on.
    pub fn set_urgent_inline(&mut self, inline: bool) {
        self.urgent_inline = inline;
    }

    /// Out of band, the byte at the mark is not part of the stream.
    fn skip_urgent_byte(&mut self) {
        if self.urgent_inline || self.to_mark() != Some(0) {
            return;
        }
        if let (Some(urgent), Some(byte)) = (self.urgent.as_deref_mut(), self.queue.pop(1)) {
            urgent.byte = byte.first().copied();
            self.forget_mark();
        }
    }

    /// A mark that has been passed says nothing any more, unless its byte waits to be asked for.
    fn forget_mark(&mut self) {
        let start = self.queue.start();
        let inline = self.urgent_inline;
        self.urgent.take_if(|urgent| urgent.mark < start && (inline || urgent.taken));
    }

    /// An urgent pointer came; answers whether it is news (RFC 9293, section 3.10.7.4, sixth check).
    pub(super) fn on_urgent(&mut self, start: u64, pointer: u16) -> bool {
        let Some(mark) = Urgent::mark(start, pointer) else { return false };
        let known = self.urgent.as_ref().map(|urgent| urgent.mark);
        if self.finished || mark < self.queue.start() || known.is_some_and(|known| known >= mark) {
            return false;
        }
        self.urgent = Some(Box::new(Urgent::new(mark)));
        true
    }
}
