//! The sending side as a whole: its state, queries, and timers.

use core::ops::Range;
use std::sync::Arc;

use base::{Duration, Instant};
use bytes::Bytes;
use recovery::{Load, PathId, Recovery, RecoveryPolicy, Silence};

use super::buffer::{Payload, SendBuffer};
use super::options::SenderOptions;
use super::persist::Persist;

/// Shortest R2 of RFC 9293, section 3.8.3, unless the application's number of retransmissions takes
/// less.
const LEAST_R2: Duration = Duration::from_secs(100);
/// Least timeout of deployed stacks, from which R2 is computed if timeouts are shorter.
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);

/// Maximum bytes of the headers of IP and TCP, with options.
const MOST_HEADERS: u16 = 80;

/// Segments travel on one path.
pub(super) const PATH: PathId = PathId::FIRST;

/// Counters of the sending side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SenderCounters {
    /// Bytes of data sent for the first time.
    pub bytes_sent: u64,
    /// Bytes of data retransmitted, copies that rode along not included.
    pub bytes_retransmitted: u64,
    /// Bytes of data that the peer acknowledged.
    pub bytes_acked: u64,
}

/// Reason for which a connection must be given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// The maximum number of retransmissions or window probes went unanswered.
    Retries,
    /// Data stayed unacknowledged longer than the user timeout.
    UserTimeout,
}

/// Result of running the timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TimeoutResult {
    /// Whether the retransmission timer expired.
    pub retransmits: bool,
    /// Consecutive expiries, this one included. From the third on (R1 of RFC 9293, section 3.8.3)
    /// the path is suspected.
    pub timeouts: u8,
    /// Expiries since one at which a segment was missing that nearly every path carries: for large
    /// segments the path MTU is suspected.
    pub large_timeouts: u8,
    /// Reason to give the connection up; `None` to continue.
    pub give_up: Option<GiveUp>,
}

/// The sending side of a connection.
#[derive(Debug)]
pub struct Sender {
    pub(super) buffer: SendBuffer,
    pub(super) recovery: Recovery,
    pub(super) options: SenderOptions,
    /// Bytes of data in a full segment.
    pub(super) mss: u32,
    /// Offset after the last byte in the peer's window: SND.UNA + SND.WND.
    pub(super) window_end: u64,
    /// The last window that the peer advertised (SND.WND), and the largest ever.
    pub(super) window: u64,
    pub(super) max_window: u64,
    /// Offsets of the segment that last updated the window (SND.WL1, SND.WL2).
    pub(super) wl1: u64,
    pub(super) wl2: u64,
    /// Whether no more data will be written, so that FIN follows.
    pub(super) finishing: bool,
    /// Whether more data was announced to follow the last write.
    pub(super) more: bool,
    /// Deadline of data that waits for more.
    pub(super) hold_until: Option<Instant>,
    /// Offset after the last segment sent that was not full.
    pub(super) small_end: u64,
    /// Offset after the last urgent byte (SND.UP), until that is acknowledged.
    pub(super) urgent_end: Option<u64>,
    pub(super) persist: Option<Box<Persist>>,
    /// Consecutive expiries of the retransmission timer.
    pub(super) timeouts: u8,
    /// Consecutive expiries since one at which a small segment was missing.
    pub(super) large_timeouts: u8,
    /// Consecutive timeouts that count as errors by the policy.
    pub(super) errors: u8,
    /// Beginning of the present period with outstanding data and no progress.
    pub(super) waiting_since: Option<Instant>,
    pub(super) counters: SenderCounters,
}

impl Sender {
    /// The sending side of an established connection: data begins at `first_offset`, a full segment
    /// carries `mss` bytes, and the peer's window is `window` bytes.
    pub fn new(
        options: SenderOptions,
        policy: Arc<RecoveryPolicy>,
        mss: u32,
        first_offset: u64,
        window: u64,
    ) -> Sender {
        let mss = mss.max(1);
        Sender {
            buffer: SendBuffer::new(first_offset, options.buffer),
            recovery: Recovery::new(policy, Silence::Nothing, u64::from(mss), first_offset),
            options,
            mss,
            window_end: first_offset + window,
            window,
            max_window: window,
            wl1: 0,
            wl2: 0,
            finishing: false,
            more: false,
            hold_until: None,
            small_end: 0,
            urgent_end: None,
            persist: None,
            timeouts: 0,
            large_timeouts: 0,
            errors: 0,
            waiting_since: None,
            counters: SenderCounters::default(),
        }
    }

    // ---- the application's calls ---------------------------------------------------------------

    /// Accepts the bytes of `data` that fit the buffer, and returns their number. `more`: a segment
    /// that is not full may wait for more data. `urgent`: the urgent pointer points after the
    /// last byte.
    pub fn write(&mut self, now: Instant, data: Bytes, more: bool, urgent: bool) -> usize {
        if self.finishing {
            return 0;
        }
        self.recovery.begin_burst();
        let length = data.len();
        let taken = self.buffer.push(data, self.snd_nxt());
        self.more = more && taken == length;
        if self.more && self.hold_until.is_none() {
            self.hold_until = Some(now + self.options.hold);
        }
        if urgent && taken > 0 && taken == length {
            self.urgent_end = Some(self.buffer.end());
        }
        taken
    }

    /// Finishes the direction: FIN follows the data.
    pub fn finish(&mut self) {
        self.recovery.begin_burst();
        self.finishing = true;
        self.more = false;
    }

    /// Limits the bytes waiting to be sent to this connection's share of the endpoint's memory.
    pub(crate) fn set_share(&mut self, share: usize) {
        self.buffer.set_share(share);
    }

    /// Drops all data to send, since nothing will be sent any more.
    pub(crate) fn discard(&mut self) {
        self.buffer.release(self.buffer.end());
    }

    /// Whether writing is worth trying again after data was refused; true once per refusal.
    pub fn take_writable(&mut self) -> bool {
        self.buffer.take_writable()
    }

    /// Records that data was refused before the sender existed, so that room must be reported.
    pub(crate) fn note_refused(&mut self) {
        self.buffer.note_refused();
    }

    /// Replaces the options; buffered data stays, even beyond a smaller buffer.
    pub fn set_options(&mut self, options: SenderOptions) {
        self.recovery.begin_burst();
        self.buffer.set_capacity(options.buffer);
        self.options = options;
    }

    /// Options in force: those at creation, with later changes.
    pub fn options(&self) -> &SenderOptions {
        &self.options
    }

    /// Replaces the recovery policy; running timers keep their deadlines.
    pub fn set_policy(&mut self, policy: Arc<RecoveryPolicy>) {
        self.recovery.set_policy(policy);
    }

    /// Sets the bytes of data in a full segment. Outstanding data is cut again when it is
    /// retransmitted. `dropped`: larger segments were dropped on their way and are
    /// retransmitted at once, which is not a sign of congestion (RFC 1191, section 6.5).
    pub fn set_mss(&mut self, now: Instant, mss: u32, dropped: bool) {
        let before = core::mem::replace(&mut self.mss, mss.max(1));
        self.recovery.set_mss(PATH, u64::from(self.mss));
        if dropped && mss < before && self.largest_in_flight() > mss {
            self.recovery.abandon_flight(now, PATH, PATH);
            // All of it is retransmitted at once, as far as the window allows.
            self.recovery.begin_burst();
        }
    }

    /// Takes the RTT sample of the handshake.
    pub fn on_rtt_sample(&mut self, rtt: Duration) {
        self.recovery.on_rtt_sample(PATH, rtt);
    }

    /// A SYN or SYN ACK was retransmitted `times` times; too many make the initial window one
    /// segment (RFC 5681, section 3.1). Without an RTT sample the first timeout is 3 s (RFC
    /// 6298, section 5.7).
    pub fn on_handshake_loss(&mut self, times: u8) {
        if times >= self.recovery.policy().congestion.handshake_losses {
            self.recovery.restart_window(PATH, u64::from(self.mss));
        }
        if self.recovery.srtt(PATH).is_none() {
            let mut rto = self.recovery.policy().rto.clone();
            rto.initial = rto.initial.max(Duration::from_secs(3));
            self.recovery.set_rto_policy(PATH, Some(rto));
        }
    }

    // ---- queries -------------------------------------------------------------------------------

    /// Time within which a distant but living peer answers a probe: four round trips, each with
    /// four times its variation, or four initial timeouts before the first RTT sample.
    pub fn longest_answer(&self) -> Duration {
        let measured = self.recovery.srtt(PATH).zip(self.recovery.rttvar(PATH));
        let round_trip = measured.map(|(srtt, rttvar)| srtt + rttvar * 4);
        round_trip.unwrap_or(self.recovery.policy().rto.initial) * 4
    }

    /// Data between two offsets that was not acknowledged yet.
    pub fn payload(&self, range: Range<u64>) -> Payload<'_> {
        self.buffer.payload(range)
    }

    /// Offset of the oldest unacknowledged byte (SND.UNA).
    pub fn snd_una(&self) -> u64 {
        self.recovery.ledger().cumulative()
    }

    /// Offset of the next new data (SND.NXT): the sequence number of segments without data.
    pub fn snd_nxt(&self) -> u64 {
        self.recovery.ledger().next_unit()
    }

    /// The highest offset that an acknowledgement may name: SND.NXT, or the offset after the byte
    /// that probed a closed window.
    pub fn snd_max(&self) -> u64 {
        self.persist.as_ref().map_or(0, |persist| persist.probed_to()).max(self.snd_nxt())
    }

    /// The last window that the peer advertised (SND.WND).
    pub fn snd_wnd(&self) -> u64 {
        self.window
    }

    /// The largest window that the peer ever advertised (MAX.SND.WND of RFC 5961, section 5.2).
    pub fn max_window(&self) -> u64 {
        self.max_window
    }

    /// Bytes of data in a full segment.
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// Whether FIN was sent at least once.
    pub fn is_fin_sent(&self) -> bool {
        self.snd_nxt() > self.buffer.end()
    }

    /// Whether FIN was acknowledged, and with it all data.
    pub fn is_fin_acked(&self) -> bool {
        self.snd_una() > self.buffer.end()
    }

    /// Whether all written data was acknowledged, apart from FIN.
    pub fn is_settled(&self) -> bool {
        self.snd_una() >= self.buffer.end()
    }

    /// Bytes that wait to be sent for the first time.
    pub fn unsent_bytes(&self) -> u64 {
        self.buffer.end().saturating_sub(self.snd_nxt())
    }

    /// Number of packets that unsent data would fill, as far as the peer's window allows.
    pub(super) fn unsent_packets(&self) -> u32 {
        let usable = self.window_end.saturating_sub(self.snd_nxt());
        let packets = self.unsent_bytes().min(usable).div_ceil(u64::from(self.mss));
        u32::try_from(packets).unwrap_or(u32::MAX)
    }

    /// State of the path, for reports.
    pub fn snapshot(&self) -> recovery::PathSnapshot {
        self.recovery.snapshot(PATH)
    }

    /// Bytes in the buffer, with overhead.
    pub(crate) fn held(&self) -> usize {
        self.buffer.held()
    }

    /// Whether the congestion window has room for a segment with `bytes` bytes of new data.
    pub(crate) fn has_room_for(&mut self, now: Instant, bytes: u32) -> bool {
        self.recovery.room(now, PATH, Load::New) >= u64::from(bytes)
    }

    /// Most bytes that the buffer may hold now.
    pub(crate) fn room(&self) -> usize {
        self.buffer.room()
    }

    /// Bytes sent and not acknowledged.
    pub fn unacked_bytes(&self) -> u64 {
        self.snd_nxt().min(self.buffer.end()).saturating_sub(self.snd_una())
    }

    /// Bytes that may be written now.
    pub fn writable_bytes(&self) -> usize {
        if self.finishing { 0 } else { self.buffer.free() }
    }

    /// Bytes of data in the oldest outstanding segment, or in the largest of the few after it: a
    /// path whose MTU shrank drops it at each transmission.
    pub fn largest_in_flight(&self) -> u32 {
        self.recovery.ledger().largest_weight(8)
    }

    /// Consecutive expiries of the retransmission timer without progress.
    pub fn timeouts(&self) -> u8 {
        self.timeouts
    }

    /// Number of unanswered window probes.
    pub fn unanswered_probes(&self) -> u8 {
        self.persist.as_ref().map_or(0, |persist| persist.unanswered())
    }

    /// Counters since the connection was created.
    pub fn counters(&self) -> &SenderCounters {
        &self.counters
    }

    /// Loss recovery of the connection, read only.
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// The recovery, for its events.
    pub fn recovery_mut(&mut self) -> &mut Recovery {
        &mut self.recovery
    }

    // ---- time ----------------------------------------------------------------------------------

    /// Earliest deadline of all timers.
    pub fn next_timeout(&self) -> Option<Instant> {
        let persist = self.persist.as_ref().and_then(|persist| persist.due());
        let user = self.user_deadline();
        let recovery = self.recovery.next_timeout().filter(|_| !self.is_shut_out());
        Instant::earliest(&[recovery, persist, self.hold_until, user])
    }

    /// Whether the peer closed its window behind data that had been sent into it (RFC 9293, section
    /// 3.8.6). That data waits until the window opens; meanwhile the window is probed like any
    /// closed one (MUST-35), and no timeout counts against the connection while answers arrive
    /// (MUST-37, SHLD-17).
    pub(super) fn is_shut_out(&self) -> bool {
        self.window_end <= self.snd_una() && !self.recovery.ledger().is_empty()
    }

    /// The window is open or is not probed any more: the state of its probes is kept only if a byte
    /// beyond `offset` probed it.
    pub(super) fn forget_probe_before(&mut self, offset: u64) {
        if self.persist.as_ref().is_some_and(|persist| persist.probed_to() <= offset) {
            self.persist = None;
        }
    }

    fn user_deadline(&self) -> Option<Instant> {
        Some(self.waiting_since? + self.options.user_timeout?)
    }

    /// Runs the timers due at `now`; has no effect if none is.
    pub fn on_timeout(&mut self, now: Instant) -> TimeoutResult {
        let mut result = TimeoutResult::default();
        if self.user_deadline().is_some_and(|deadline| deadline <= now) {
            result.give_up = Some(GiveUp::UserTimeout);
            return result;
        }
        if self.hold_until.is_some_and(|due| due <= now) {
            self.hold_until = None;
            self.more = false;
        }
        self.recovery.begin_burst();
        // Data sent into a window that closed is neither late nor lost: only probes repeat it.
        let unsent = self.unsent_packets();
        let small = self.recovery.policy().path_mtu.base.saturating_sub(MOST_HEADERS);
        while !self.is_shut_out()
            && let Some(expiry) = self.recovery.on_timeout(now, false, unsent)
        {
            self.timeouts = self.timeouts.saturating_add(1);
            // Linear timeouts of a round trip follow each other within one burst of losses.
            let counts = u8::from(expiry.counts_as_error);
            let large_timeouts = self.large_timeouts.saturating_add(counts).min(self.timeouts);
            let missing = expiry.smallest_missing;
            let misses_small = missing.is_some_and(|packet| packet.bytes <= small.into());
            self.large_timeouts = if misses_small { 0 } else { large_timeouts };
            self.errors = self.errors.saturating_add(counts);
            result.retransmits = true;
        }
        let max = self.recovery.policy().rto.max;
        let probes = self.persist.as_mut().map_or(0, |persist| persist.on_timer(now, max));
        (result.timeouts, result.large_timeouts) = (self.timeouts, self.large_timeouts);
        let exhausted =
            self.errors.max(probes) > self.options.retries && self.has_waited_for_r2(now);
        if exhausted && self.options.user_timeout.is_none() {
            result.give_up = Some(GiveUp::Retries);
        }
        result
    }

    /// Whether the peer had as much time as that number of retransmissions takes with timeouts that
    /// double from 200 ms on, or 100 s if that is less (R2 of RFC 9293, section 3.8.3): with
    /// shorter timeouts, or timeouts that do not double, their number alone would end a
    /// connection after a few seconds.
    fn has_waited_for_r2(&self, now: Instant) -> bool {
        let doubled = 1u64.checked_shl(self.options.retries.into()).unwrap_or(u64::MAX);
        let least = (LEAST_TIMEOUT * doubled).min(LEAST_R2);
        self.waiting_since.is_none_or(|since| now.since(since) >= least)
    }
}

#[cfg(test)]
mod tests;
