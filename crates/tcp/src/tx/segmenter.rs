//! Choice of the next segment and of its size.

use core::ops::Range;

use base::Instant;
use recovery::{Cause, Load, Ride, Space};

use super::options::Nagle;
use super::sender::{PATH, Sender};

/// A segment to be sent, without the connection's own fields: acknowledgement, window, options.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Outgoing {
    /// Offset of its first byte, or of FIN.
    pub start: u64,
    /// Bytes of data from there on, without SYN and FIN; may be 0.
    pub bytes: usize,
    /// Whether FIN follows the payload.
    pub fin: bool,
    /// PSH: whether no data is queued behind it.
    pub push: bool,
    /// Offset after the last urgent byte, if that lies ahead of `start`: URG and the urgent
    /// pointer.
    pub urgent: Option<u64>,
    /// CWR (RFC 3168, section 6.1.2): whether to confirm that the window was reduced.
    pub cwr: bool,
    /// Whether it contains retransmitted data: not to be sent as ECN-capable (RFC 3168, section
    /// 6.1.5).
    pub retransmission: bool,
    /// Whether it probes a closed window: not to be sent as ECN-capable (RFC 3168, section 6.1.6).
    pub window_probe: bool,
}

impl Outgoing {
    /// Offsets of its data in the stream.
    pub fn range(&self) -> Range<u64> {
        self.start..self.start + self.bytes as u64
    }
}

/// Room for copies in a segment, which is one run of bytes.
fn space(room: u32) -> Space<impl Fn(u32) -> u32> {
    Space { room, ride: Ride::Joined, cost: |length| length }
}

impl Sender {
    /// The next segment other than a window probe: a retransmission, new data, or a retransmission
    /// without evidence of loss.
    pub(super) fn poll_segment(&mut self, now: Instant) -> Option<Outgoing> {
        let next = self
            .poll_again(now)
            .or_else(|| self.poll_new(now))
            .or_else(|| self.poll_rescue(now))?;
        self.waiting_since.get_or_insert(now);
        debug_assert!(next.fin || next.bytes > 0, "a segment that says something");
        Some(next)
    }

    /// The next retransmission, as far as the peer's window allows: beyond a window that shrank it
    /// waits until that opens (RFC 9293, section 3.8.6, SHLD-16).
    fn poll_again(&mut self, now: Instant) -> Option<Outgoing> {
        let (start, weight) = self.recovery.next_again(PATH, 0)?;
        let usable = self.window_end.saturating_sub(start);
        // A FIN alone takes no room in the buffer that the window stands for.
        let fits = usable > 0 || (weight == 0 && !self.is_shut_out());
        fits.then(|| self.poll_lost(now, usable))?
    }

    /// The lowest lost data, as much as is contiguous and fits a segment and `usable` bytes.
    pub(super) fn poll_lost(&mut self, now: Instant, usable: u64) -> Option<Outgoing> {
        let (start, weight) = self.recovery.next_again(PATH, 0)?;
        let room = self.recovery.room(now, PATH, Load::Again);
        let idle = self.recovery.ledger().flight(PATH).packets == 0;
        if room < u64::from(weight.min(self.mss).max(1)) && !idle {
            return None;
        }
        let mut end = start;
        let most = u32::try_from(usable).unwrap_or(u32::MAX).min(self.mss);
        let mut left = most;
        while left > 0
            && let Some((unit, mut weight)) = self.recovery.next_again(PATH, end)
        {
            // A unit that fits a segment is not cut to fill one; a larger unit is always cut.
            if unit != end || (weight > left && end > start && weight <= most) {
                break;
            }
            if weight > left {
                self.recovery.cut_lost(unit, left);
                weight = left;
            }
            self.recovery.draft_again(now, PATH, unit, weight);
            end += u64::from(weight.max(1));
            left -= weight;
        }
        self.counters.bytes_retransmitted += end.min(self.buffer.end()) - start;
        let bundle = self.recovery.bundle_behind(PATH, end, most - left, space(left));
        for (unit, weight) in bundle {
            if self.recovery.draft_along(PATH, unit) {
                end += u64::from(weight);
            }
        }
        self.recovery.on_sent(now, PATH);
        Some(self.segment(start, end, true))
    }

    /// The next new data, with FIN after the last of it.
    fn poll_new(&mut self, now: Instant) -> Option<Outgoing> {
        let next = self.snd_nxt();
        let unsent = self.unsent_bytes();
        let fin_waits = self.finishing && !self.is_fin_sent();
        let nothing = unsent == 0 && !fin_waits;
        let waits = self.recovery.next_again(PATH, 0).is_some();
        // Except for what asks in an outage whether it is over: where acknowledgements alone are
        // lost, it arrives.
        if nothing || (waits && !self.recovery.asks_by_data(now, PATH)) {
            return None;
        }
        let usable = self.window_end.saturating_sub(next);
        let len = unsent.min(usable).min(u64::from(self.mss));
        let with_fin = fin_waits && len == unsent && usable > len;
        if !(self.is_worth_sending(len, unsent) || with_fin) || usable == 0 {
            return None;
        }
        let room = self.recovery.room(now, PATH, Load::New);
        let idle = self.recovery.ledger().flight(PATH).packets == 0;
        let len = if idle && room > 0 { len.min(room) } else { len };
        // The window counts bytes of data, and a FIN alone has none (RFC 5681, section 2).
        if room < len {
            return None;
        }
        let with_fin = with_fin && len == unsent;
        let start = self.bundle_before(now, next, len as u32);
        if len > 0 {
            self.recovery.draft_new(PATH, len as u32, len as u32);
        }
        if with_fin {
            self.recovery.draft_new(PATH, 1, 0);
        }
        self.recovery.on_sent(now, PATH);
        self.counters.bytes_sent += len;
        if len < u64::from(self.mss) {
            self.small_end = next + len;
        }
        if len == unsent {
            self.hold_until = None;
        }
        // The window is open, or is used as it is.
        self.persist = None;
        let mut segment = self.segment(start, next + len + u64::from(with_fin), start < next);
        // RFC 3168, section 6.1.2: whatever reduced the window, the peer can stop its echo.
        segment.cwr = self.recovery.take_reduced();
        Some(segment)
    }

    /// Adds copies of data in flight before `len` bytes of new data, by the policy, and returns the
    /// segment's new start: whole earlier segments without a hole, down to the oldest that
    /// fits.
    fn bundle_before(&mut self, now: Instant, next: u64, len: u32) -> u64 {
        if len == 0 {
            return next;
        }
        let room = self.mss.saturating_sub(len);
        let bundle = self.recovery.bundle_before(now, PATH, next, len, space(room));
        let mut start = next;
        for (unit, _) in bundle {
            if !self.recovery.draft_along(PATH, unit) {
                break;
            }
            start = unit;
        }
        start
    }

    /// Sender's silly window avoidance (RFC 9293, section 3.8.6.2.1) with Nagle's rule: sends a
    /// full segment; all data, unless it should wait; half of the largest window ever
    /// advertised; any amount after the override timer.
    fn is_worth_sending(&self, len: u64, unsent: u64) -> bool {
        if len == 0 {
            return false;
        }
        let all = len == unsent;
        len >= u64::from(self.mss)
            || (all && !self.should_wait())
            || (!all && len >= self.max_window / 2 && !self.should_wait())
            || self.overrides()
    }

    /// Whether data that fits a small window is sent nevertheless (the override timeout of silly
    /// window avoidance).
    fn overrides(&self) -> bool {
        self.persist.as_ref().is_some_and(|persist| persist.is_expired())
    }

    /// Whether data that does not fill a segment waits for more.
    fn should_wait(&self) -> bool {
        if self.more {
            return true;
        }
        if self.options.no_delay || self.finishing {
            return false;
        }
        match self.options.nagle {
            Nagle::Rfc9293 => !self.recovery.ledger().is_empty(),
            Nagle::Minshall => self.small_end > self.snd_una(),
        }
    }

    /// The next retransmission without evidence of a loss, if there is nothing else to send.
    fn poll_rescue(&mut self, now: Instant) -> Option<Outgoing> {
        if self.recovery.next_again(PATH, 0).is_some() {
            return None;
        }
        let (unit, weight) = self.recovery.next_rescue(PATH)?;
        if self.recovery.room(now, PATH, Load::Again) < u64::from(weight.max(1))
            || weight > self.mss
            || unit + u64::from(weight.max(1)) > self.window_end
        {
            return None;
        }
        self.recovery.draft_double(now, PATH, unit, weight, Cause::Fast);
        self.recovery.on_sent(now, PATH);
        let segment = self.segment(unit, unit + u64::from(weight.max(1)), true);
        self.counters.bytes_retransmitted += segment.bytes as u64;
        Some(segment)
    }

    /// The segment from `start` to `end`; an end after the data includes FIN.
    fn segment(&self, start: u64, end: u64, retransmission: bool) -> Outgoing {
        let data_end = end.min(self.buffer.end());
        let len = data_end.saturating_sub(start) as usize;
        Outgoing {
            start,
            bytes: len,
            fin: end > data_end,
            push: len > 0 && data_end == self.buffer.end(),
            urgent: self.urgent_end.filter(|urgent| *urgent > start),
            cwr: false,
            retransmission,
            window_probe: false,
        }
    }
}
