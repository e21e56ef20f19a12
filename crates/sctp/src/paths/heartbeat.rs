//! Heartbeats: is an idle path alive, how long is its round trip (RFC 9260, section 8.3), is the peer at
//! this address at all (section 5.4), does a path work again (RFC 7829)?

use base::{Duration, Instant, RandomStream};

use crate::association::{Association, Control, State};
use crate::options::PathHeartbeats;
use crate::paths::path::PathState;
use crate::paths::switchover::PathHint;
use crate::shutdown::backed_off;

/// Path index and nonce: all that a HEARTBEAT needs to carry, since the sender remembers the rest.
const INFO: usize = 9;

/// The heartbeat information of a HEARTBEAT on `path`.
pub(crate) fn info(path: u8, nonce: u64) -> [u8; INFO] {
    let mut info = [path; INFO];
    info[1..].copy_from_slice(&nonce.to_be_bytes());
    info
}

impl Association {
    /// Heartbeats begin when the association is set up. Paths other than the primary are asked at once:
    /// nothing is known of them.
    pub(crate) fn start_heartbeats(&mut self, now: Instant, random: &mut RandomStream) {
        self.start_path_mtu_discovery(now);
        self.start_listening(now);
        for path in 0..self.paths.len() {
            self.arm_heartbeat(now, path, random);
            let state = &mut self.paths[path];
            let wanted = state.heartbeat.due.get().is_some() || !state.confirmed;
            if path != usize::from(self.primary) && wanted {
                state.heartbeat.due.set(now);
            }
        }
        self.handle_heartbeat_timers(now, random);
    }

    /// Asks the paths to `remote` at once whether they are alive (REQUESTHEARTBEAT of RFC 9260, section
    /// 11.1.8). False if there are none.
    pub(crate) fn request_heartbeat(
        &mut self,
        now: Instant,
        remote: core::net::SocketAddr,
        random: &mut RandomStream,
    ) -> bool {
        let mut any = false;
        for path in 0..self.paths.len() {
            if self.paths[path].leads_to(remote.ip()) && self.is_set_up() {
                any = true;
                self.send_heartbeat(now, path, random);
            }
        }
        any
    }

    fn is_set_up(&self) -> bool {
        !matches!(self.state, State::CookieWait | State::CookieEchoed { .. } | State::Closed)
    }

    /// Time between heartbeats of an idle path; none sends none.
    fn heartbeat_interval(&self, path: usize) -> Option<Duration> {
        match self.paths[path].options.as_ref().map(|options| options.heartbeats) {
            None | Some(PathHeartbeats::AsAssociation) => self.options.heartbeat_interval,
            Some(PathHeartbeats::Off) => None,
            Some(PathHeartbeats::Every(interval)) => Some(interval),
        }
    }

    fn arm_heartbeat(&mut self, now: Instant, path: usize, random: &mut RandomStream) {
        let Some(interval) = self.heartbeat_interval(path) else { return };
        let rto = self.heartbeat_rto(path);
        self.paths[path].heartbeat.arm(now, interval, rto, random.next_u32());
    }

    /// The path's timeout, doubled for each heartbeat in a row that was not answered.
    fn heartbeat_rto(&self, path: usize) -> Duration {
        let unanswered = self.paths[path].heartbeat.unanswered;
        backed_off(self.tx.recovery.rto(path as u8), unanswered, self.options.policy.rto.max)
    }

    pub(crate) fn handle_heartbeat_timers(&mut self, now: Instant, random: &mut RandomStream) {
        for path in 0..self.paths.len() {
            if self.paths[path].heartbeat.evidence_at.has_come(now) {
                self.paths[path].heartbeat.evidence_at.take();
                self.on_silence(now, path as u8);
            }
            if self.paths[path].heartbeat.lost_at.has_come(now) {
                self.on_heartbeat_lost(now, path);
            }
            if self.paths[path].heartbeat.due.has_come(now) {
                self.on_heartbeat_due(now, path, random);
            }
        }
    }

    fn on_heartbeat_lost(&mut self, now: Instant, path: usize) {
        let heartbeat = &mut self.paths[path].heartbeat;
        // What it carried is kept until the next one leaves: a late answer is an answer.
        heartbeat.lost_at.take();
        heartbeat.unanswered = heartbeat.unanswered.saturating_add(1);
        // Section 8.1: a path that carries no data is none that the association cannot do without.
        let of_association = path == usize::from(self.data_path);
        self.on_path_error(now, path as u8, of_association);
        self.count_strike(now, path as u8);
    }

    /// Whether the path is asked once per RTO: while its address is unconfirmed (section 5.4), as long as
    /// it has not failed, while it is potentially failed (RFC 7829, section 3.2), and while its round-trip
    /// time rises.
    fn is_asked_often(&self, path: usize) -> bool {
        let path = &self.paths[path];
        match path.state {
            PathState::PotentiallyFailed => true,
            PathState::Active => !path.confirmed || path.rising().is_some(),
            PathState::Inactive => false,
        }
    }

    /// Only an idle path needs one: not if data left within the last interval.
    fn on_heartbeat_due(&mut self, now: Instant, path: usize, random: &mut RandomStream) {
        self.paths[path].heartbeat.due.take();
        if self.state == State::Closed {
            return;
        }
        let often = self.is_asked_often(path);
        if !self.paths[path].confirmed {
            // Section 5.4: one address per RTO is asked whether the peer is there (HB.Max.Burst).
            let later = now + self.tx.recovery.rto(path as u8);
            let others = self.paths.iter_mut().filter(|other| !other.confirmed);
            for other in others.filter(|other| other.heartbeat.due.has_come(later)) {
                other.heartbeat.due.set(later);
            }
        }
        let interval = self.heartbeat_interval(path);
        let state = &self.paths[path];
        let first = state.counters.heartbeats_sent == 0 && path != usize::from(self.primary);
        let idle = interval.is_some_and(|span| now.since(state.heartbeat.data_sent_at) >= span);
        if (idle || often || first || !state.confirmed || self.is_redundant())
            && state.heartbeat.lost_at.get().is_none()
        {
            self.send_heartbeat(now, path, random);
        }
        match self.paths[path].heartbeat.lost_at.get() {
            Some(lost_at) if often => self.paths[path].heartbeat.due.set(lost_at),
            _ => self.arm_heartbeat(now, path, random),
        }
    }

    pub(crate) fn send_heartbeat(&mut self, now: Instant, path: usize, random: &mut RandomStream) {
        let nonce = random.next_u64();
        let rto = self.heartbeat_rto(path);
        self.push_control(Control::Heartbeat { path: path as u8, nonce });
        let state = &mut self.paths[path];
        state.counters.heartbeats_sent = state.counters.heartbeats_sent.saturating_add(1);
        state.heartbeat.nonce = nonce;
        state.heartbeat.sent_at.set(now);
        state.heartbeat.lost_at.set(now + rto);
    }

    /// Whether an answer is that to a HEARTBEAT that asked for a sign of life.
    fn answers_silence(&mut self, now: Instant, answer: &[u8]) -> bool {
        let Some((path, nonce)) = answer.split_first() else { return false };
        let nonce = nonce.try_into().map(u64::from_be_bytes);
        usize::from(*path) < self.paths.len()
            && nonce.is_ok_and(|nonce| self.on_life_proven(now, *path, nonce))
    }

    /// A HEARTBEAT came back: the path is alive, and its round trip is measured.
    pub(crate) fn on_heartbeat_ack(
        &mut self,
        now: Instant,
        answer: &[u8],
        random: &mut RandomStream,
    ) {
        if self.on_probe_acked(now, answer) {
            return;
        }
        let position = self.paths.iter().enumerate().position(|(index, path)| {
            let heartbeat = &path.heartbeat;
            heartbeat.sent_at.get().is_some() && *answer == info(index as u8, heartbeat.nonce)
        });
        let Some(index) = position else {
            if !self.answers_silence(now, answer) {
                self.counters.chunks_dropped += 1;
            }
            return;
        };
        let path = &mut self.paths[index];
        let sent_at = path.heartbeat.sent_at.take().unwrap_or(now);
        path.heartbeat.lost_at.take();
        path.heartbeat.evidence_at.take();
        path.heartbeat.unanswered = 0;
        if path.hint == Some(PathHint::Down) {
            path.hint = None;
        }
        path.counters.heartbeats_acked = path.counters.heartbeats_acked.saturating_add(1);
        let confirmed = path.confirmed;
        self.tx.recovery.on_rtt_sample(index as u8, now.since(sent_at));
        if !confirmed {
            self.confirm_path(now, index);
            self.start_path_mtu_discovery(now);
        }
        self.on_path_alive(now, index as u8);
        self.on_round_trip(now, index as u8);
        if index == usize::from(self.data_path) {
            self.error_count = 0;
        }
        if self.is_asked_often(index) {
            let rto = self.heartbeat_rto(index);
            self.paths[index].heartbeat.due.set(now + rto);
        } else {
            self.arm_heartbeat(now, index, random);
        }
    }
}
