//! Calls of the application: reading, queries and settings.

use bytes::Bytes;

use super::Receiver;
use crate::rx::arrival::ReceiverStats;
use crate::rx::urgent::Urgent;
use crate::rx::window::unscaled;

impl Receiver {
    /// Reads up to `limit` contiguous bytes; `None` if there are none. Never reads across the end
    /// of urgent data, so that the application sees where that is.
    pub fn read(&mut self, limit: u64) -> Option<Bytes> {
        self.skip_urgent_byte();
        let to_mark = self.to_mark().filter(|bytes| *bytes > 0).unwrap_or(u64::MAX);
        let bytes = self.queue.pop(limit.min(to_mark));
        self.forget_mark();
        bytes
    }

    /// Number of bytes that [`Receiver::read`] can return in total.
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

    /// Discards present and future data, since the application no longer reads. Both count as read,
    /// so that the window stays open.
    pub fn discard(&mut self) {
        self.discards = true;
        self.queue.clear();
    }

    /// The urgent byte, if it is out of band and has arrived; returned only once.
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

    /// Bytes before the last byte of urgent data; 0 if that is next (or, out of band, was here).
    /// `None` without urgent data ahead.
    pub fn to_mark(&self) -> Option<u64> {
        self.urgent.as_ref()?.mark.checked_sub(self.queue.start())
    }

    /// Counts of segments that did not continue the data in order.
    pub fn stats(&self) -> ReceiverStats {
        self.stats
    }

    /// Bytes received out of order.
    pub fn behind_holes(&self) -> u64 {
        self.behind.as_ref().map_or(0, |behind| behind.bytes())
    }

    /// Most bytes waiting for the application.
    pub fn buffer(&self) -> u64 {
        self.window.capacity()
    }

    /// Window field of this side's SYN, which is never scaled (RFC 7323, section 2.2).
    pub fn syn_window(&self) -> u16 {
        unscaled(self.buffer())
    }

    /// Changes the buffer's size. A smaller one does not shrink the advertised window; an unchanged
    /// one keeps the size to which the buffer has grown.
    pub fn set_buffer(&mut self, bytes: u64) {
        if self.autotune.as_deref_mut().is_none_or(|autotune| autotune.choose(bytes)) {
            self.window.set_capacity(bytes);
        }
    }

    /// Sets whether the urgent byte stays in the stream.
    pub fn set_urgent_inline(&mut self, inline: bool) {
        self.urgent_inline = inline;
    }

    /// Skips the byte at the mark, which is not part of the stream out of band.
    fn skip_urgent_byte(&mut self) {
        if self.urgent_inline || self.to_mark() != Some(0) {
            return;
        }
        if let (Some(urgent), Some(byte)) = (self.urgent.as_deref_mut(), self.queue.pop(1)) {
            urgent.byte = byte.first().copied();
            self.forget_mark();
        }
    }

    /// Forgets a mark that was passed, unless its byte waits to be read.
    fn forget_mark(&mut self) {
        let start = self.queue.start();
        let inline = self.urgent_inline;
        self.urgent.take_if(|urgent| urgent.mark < start && (inline || urgent.taken));
    }

    /// An urgent pointer arrived; returns whether it is new (RFC 9293, section 3.10.7.4, sixth
    /// check).
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
