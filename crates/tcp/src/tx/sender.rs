//! The sending side as a whole: its state, what is asked of it, and its timers.

use std::sync::Arc;

use base::{Duration, Instant};
use bytes::Bytes;
use recovery::{Load, Recovery, RecoveryPolicy, Silence};

use super::buffer::SendBuffer;
use super::options::SenderOptions;
use super::persist::Persist;

/// R2 of RFC 9293, section 3.8.3, is at least this long, unless the application wants fewer retransmissions than
/// take that long.
const LEAST_R2: Duration = Duration::from_secs(100);
/// The least timeout of deployed stacks, from which R2 is reckoned where timeouts are shorter.
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);

/// Bytes of the headers of IP and TCP, with their options, at most.
const MOST_HEADERS: u16 = 80;

/// Segments travel on one path.
pub(super) const PATH: recovery::PathIndex = 0;

/// Counters of the sending side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SenderCounters {
    /// Bytes of data sent for the first time.
    pub bytes_sent: u64,
    /// Bytes of data sent again, copies that rode along not included.
    pub bytes_retransmitted: u64,
    /// Bytes of data that the peer acknowledged.
    pub bytes_acked: u64,
}

/// Why a connection is to be given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// Data was sent again, or a closed window probed, as often as it may without an answer.
    Retries,
    /// Data stayed unacknowledged longer than the user timeout.
    UserTimeout,
}

/// What timers that were due led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TimeoutResult {
    /// The retransmission timer expired.
    pub retransmits: bool,
    /// Expiries of it in a row, this one included. From the third on (R1 of RFC 9293, section 3.8.3) the path
    /// may be to blame.
    pub timeouts: u8,
    /// Expiries since one at which something was missing that nearly every path carries: for large segments the
    /// path's MTU may be to blame.
    pub large_timeouts: u8,
    /// The connection is to be given up.
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
    /// Offset behind the last byte that the peer's window takes: SND.UNA + SND.WND.
    pub(super) window_end: u64,
    /// The window as the peer last advertised it (SND.WND), and the largest it ever did.
    pub(super) window: u64,
    pub(super) max_window: u64,
    /// Offsets of the segment that last updated the window (SND.WL1, SND.WL2).
    pub(super) wl1: u64,
    pub(super) wl2: u64,
    /// No more data will be written: FIN follows it.
    pub(super) finishing: bool,
    /// More was announced to follow what was written last.
    pub(super) more: bool,
    /// When what waits for more goes without it.
    pub(super) hold_until: Option<Instant>,
    /// Offset behind the last segment sent that was not full.
    pub(super) small_end: u64,
    /// Offset behind the last urgent byte (SND.UP), until that is acknowledged.
    pub(super) urgent_end: Option<u64>,
    pub(super) persist: Option<Box<Persist>>,
    /// Expiries of the retransmission timer in a row.
    pub(super) timeouts: u8,
    /// Expiries in a row since one at which a small segment was missing.
    pub(super) large_timeouts: u8,
    /// Timeouts in a row that count towards giving up, as the policy says.
    pub(super) errors: u8,
    /// Since when something has been outstanding without progress.
    pub(super) waiting_since: Option<Instant>,
    pub(super) counters: SenderCounters,
}

impl Sender {
    /// The sending side of a connection whose handshake is done: data begins at `first_offset`, a full
    /// segment carries `mss` bytes of it, and the peer's window takes `window`.
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

    // ---- the application's ---------------------------------------------------------------------

    /// Takes as much of `data` as the buffer has room for, and answers how much. `more`: what does not fill
    /// a segment may wait for what follows. `urgent`: the urgent pointer is to point behind its last byte.
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

    /// No more data follows: FIN goes behind it.
    pub fn finish(&mut self) {
        self.recovery.begin_burst();
        self.finishing = true;
        self.more = false;
    }

    /// Limits the bytes that wait to be sent to this connection's share of the endpoint's memory.
    pub(crate) fn set_share(&mut self, share: usize) {
        self.buffer.set_share(share);
    }

    /// Nothing will be sent any more: lets go of what was to be.
    pub(crate) fn discard(&mut self) {
        self.buffer.release(self.buffer.end());
    }

    /// Whether writing is worth trying again after less than all was taken; says so once.
    pub fn take_writable(&mut self) -> bool {
        self.buffer.take_writable()
    }

    /// Something was refused before there was a sender: room is to be told.
    pub(crate) fn note_refused(&mut self) {
        self.buffer.note_refused();
    }

    /// Replaces the options; what is buffered stays, even if it is more than the buffer has room for now.
    pub fn set_options(&mut self, options: SenderOptions) {
        self.recovery.begin_burst();
        self.buffer.set_capacity(options.buffer);
        self.options = options;
    }

    /// The options in force.
    pub fn options(&self) -> &SenderOptions {
        &self.options
    }

    /// Replaces the recovery policy.
    pub fn set_policy(&mut self, policy: Arc<RecoveryPolicy>) {
        self.recovery.set_policy(policy);
    }

    /// A full segment carries `mss` bytes of data from now on. What is outstanding is cut anew when it is
    /// sent again. `dropped`: segments larger than that were dropped on their way, and are sent again at
    /// once; that is no sign of congestion (RFC 1191, section 6.5).
    pub fn set_mss(&mut self, now: Instant, mss: u32, dropped: bool) {
        let before = core::mem::replace(&mut self.mss, mss.max(1));
        self.recovery.set_mss(PATH, u64::from(self.mss));
        if dropped && mss < before && self.largest_in_flight() > mss {
            self.recovery.abandon_flight(now, PATH, PATH);
            // All of it goes again at once, as far as the window lets it.
            self.recovery.begin_burst();
        }
    }

    /// The handshake took this long for its round trip.
    pub fn on_rtt_sample(&mut self, rtt: Duration) {
        self.recovery.on_rtt_sample(PATH, rtt);
    }

    /// A SYN or its answer was retransmitted `times` times; too many make the initial window one segment
    /// (RFC 5681, section 3.1). Without a round-trip time the first timeout is 3 s (RFC 6298, section 5.7).
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

    // ---- questions -----------------------------------------------------------------------------

    /// Time in which a peer that is only far away answers a probe: four round trips, each with four times its
    /// variation, or as many initial timeouts before one is measured.
    pub fn longest_answer(&self) -> Duration {
        let measured = self.recovery.srtt(PATH).zip(self.recovery.rttvar(PATH));
        let round_trip = measured.map(|(srtt, rttvar)| srtt + rttvar * 4);
        round_trip.unwrap_or(self.recovery.policy().rto.initial) * 4
    }

    /// Offset of the oldest byte not acknowledged (SND.UNA).
    pub fn snd_una(&self) -> u64 {
        self.recovery.ledger().cumulative()
    }

    /// Offset of what is sent next for the first time (SND.NXT): the sequence number of segments without
    /// data.
    pub fn snd_nxt(&self) -> u64 {
        self.recovery.ledger().next_unit()
    }

    /// The highest offset that an acknowledgement may name: SND.NXT, or behind the byte that probed a closed
    /// window.
    pub fn snd_max(&self) -> u64 {
        self.persist.as_ref().map_or(0, |persist| persist.probed_to()).max(self.snd_nxt())
    }

    /// The peer's window as it last advertised it (SND.WND).
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

    /// Whether FIN was sent.
    pub fn is_fin_sent(&self) -> bool {
        self.snd_nxt() > self.buffer.end()
    }

    /// Whether FIN was acknowledged, and with it all data.
    pub fn is_fin_acked(&self) -> bool {
        self.snd_una() > self.buffer.end()
    }

    /// Whether all that was written was acknowledged, FIN apart.
    pub fn is_settled(&self) -> bool {
        self.snd_una() >= self.buffer.end()
    }

    /// Bytes that wait to be sent for the first time.
    pub fn unsent_bytes(&self) -> u64 {
        self.buffer.end().saturating_sub(self.snd_nxt())
    }

    /// Packets that the waiting data would fill, as far as the peer's window lets it go.
    pub(super) fn unsent_packets(&self) -> u32 {
        let usable = self.window_end.saturating_sub(self.snd_nxt());
        let packets = self.unsent_bytes().min(usable).div_ceil(u64::from(self.mss));
        u32::try_from(packets).unwrap_or(u32::MAX)
    }

    /// The path over which everything goes, for reports.
    pub fn snapshot(&self) -> recovery::PathSnapshot {
        self.recovery.snapshot(PATH)
    }

    /// What the buffer holds, with what keeping it costs.
    pub(crate) fn held(&self) -> usize {
        self.buffer.held()
    }

    /// Whether the congestion window has room for a segment with `bytes` bytes of new data.
    pub(crate) fn has_room_for(&mut self, now: Instant, bytes: u32) -> bool {
        self.recovery.room(now, PATH, Load::New) >= u64::from(bytes)
    }

    /// Bytes that the buffer may hold now.
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

    /// Bytes of data in the oldest segment outstanding, or in the largest of the few after it: a path whose
    /// MTU shrank drops it whenever it is sent.
    pub fn largest_in_flight(&self) -> u32 {
        self.recovery.ledger().largest_weight(8)
    }

    /// Expiries of the retransmission timer since the last progress.
    pub fn timeouts(&self) -> u8 {
        self.timeouts
    }

    /// Probes of a closed window that were not answered.
    pub fn unanswered_probes(&self) -> u8 {
        self.persist.as_ref().map_or(0, |persist| persist.unanswered())
    }

    /// Counters since the beginning.
    pub fn counters(&self) -> &SenderCounters {
        &self.counters
    }

    /// The recovery, to ask.
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// The recovery, for what concerns its events.
    pub fn recovery_mut(&mut self) -> &mut Recovery {
        &mut self.recovery
    }

    // ---- time ----------------------------------------------------------------------------------

    /// When a timer is due next.
    pub fn next_timeout(&self) -> Option<Instant> {
        let persist = self.persist.as_ref().and_then(|persist| persist.due());
        let user = self.user_deadline();
        let recovery = self.recovery.next_timeout().filter(|_| !self.is_shut_out());
        Instant::earliest(&[recovery, persist, self.hold_until, user])
    }

    /// Whether the peer closed its window behind data that had been sent into it (RFC 9293, section 3.8.6). That
    /// data waits until the window opens; meanwhile the window is probed as any closed one (MUST-35), and no
    /// timeout counts against the connection while answers come (MUST-37, SHLD-17).
    pub(super) fn is_shut_out(&self) -> bool {
        self.window_end <= self.snd_una() && !self.recovery.ledger().is_empty()
    }

    /// The window is open or is not probed any more: what is known of its probes is of use only if a byte beyond
    /// `offset` probed it.
    pub(super) fn forget_probe_before(&mut self, offset: u64) {
        if self.persist.as_ref().is_some_and(|persist| persist.probed_to() <= offset) {
            self.persist = None;
        }
    }

    fn user_deadline(&self) -> Option<Instant> {
        Some(self.waiting_since? + self.options.user_timeout?)
    }

    /// Time has come to `now`; harmless when nothing is due.
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
        // What was sent into a window that closed is neither late nor lost: probes alone repeat it.
        let unsent = self.unsent_packets();
        let small = self.recovery.policy().path_mtu.base.saturating_sub(MOST_HEADERS);
        while !self.is_shut_out()
            && let Some(expiry) = self.recovery.on_timeout(now, false, unsent)
        {
            self.timeouts = self.timeouts.saturating_add(1);
            let large_timeouts = self.large_timeouts.saturating_add(1).min(self.timeouts);
            let missing = expiry.smallest_missing;
            let misses_small = missing.is_some_and(|packet| packet.bytes <= small.into());
            self.large_timeouts = if misses_small { 0 } else { large_timeouts };
            self.errors = self.errors.saturating_add(u8::from(expiry.counts_as_error));
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

    /// Whether the peer has had the time that as many retransmissions would take whose timeout is doubled from
    /// 200 ms on, or 100 s if that is less (R2 of RFC 9293, section 3.8.3): on a path with shorter timeouts, or
    /// with timeouts that are not doubled, their number alone would give a connection up after a few seconds.
    fn has_waited_for_r2(&self, now: Instant) -> bool {
        let doubled = 1u64.checked_shl(self.options.retries.into()).unwrap_or(u64::MAX);
        let least = (LEAST_TIMEOUT * doubled).min(LEAST_R2);
        self.waiting_since.is_none_or(|since| now.since(since) >= least)
    }
}

#[cfg(test)]
mod tests;
