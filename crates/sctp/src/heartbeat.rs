//! Heartbeats: is an idle path alive, and how long is its round trip? (RFC 9260, section 8.3)

use base::{Duration, Instant, RandomStream};

use crate::association::{Association, Control, State};
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
    /// Heartbeats begin when the association is set up.
    pub(crate) fn start_heartbeats(&mut self, now: Instant, random: &mut RandomStream) {
        for path in 0..self.paths.len() {
            self.arm_heartbeat(now, path, random);
        }
    }

    fn arm_heartbeat(&mut self, now: Instant, path: usize, random: &mut RandomStream) {
        let Some(interval) = self.options.heartbeat_interval else { return };
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
            if self.paths[path].heartbeat.lost_at.is_some_and(|at| at <= now) {
                let heartbeat = &mut self.paths[path].heartbeat;
                heartbeat.lost_at = None;
                heartbeat.pending = None;
                heartbeat.unanswered = heartbeat.unanswered.saturating_add(1);
                self.on_path_error(path as u8);
            }
            if self.paths[path].heartbeat.due.is_some_and(|at| at <= now) {
                self.on_heartbeat_due(now, path, random);
            }
        }
    }

    /// Only an idle path needs one: not if data left within the last interval.
    fn on_heartbeat_due(&mut self, now: Instant, path: usize, random: &mut RandomStream) {
        self.paths[path].heartbeat.due = None;
        let Some(interval) =
            self.options.heartbeat_interval.filter(|_| self.state != State::Closed)
        else {
            return;
        };
        let heartbeat = &self.paths[path].heartbeat;
        let idle = now.since(heartbeat.data_sent_at) >= interval;
        if idle && heartbeat.pending.is_none() {
            let nonce = random.next_u64();
            let rto = self.heartbeat_rto(path);
            self.push_control(Control::Heartbeat { path: path as u8, nonce });
            let heartbeat = &mut self.paths[path].heartbeat;
            heartbeat.pending = Some((nonce, now));
            heartbeat.lost_at = Some(now + rto);
        }
        self.arm_heartbeat(now, path, random);
    }

    /// A HEARTBEAT came back: the path is alive, and its round trip is measured.
    pub(crate) fn on_heartbeat_ack(
        &mut self,
        now: Instant,
        answer: &[u8],
        random: &mut RandomStream,
    ) {
        let position = self.paths.iter().enumerate().position(|(index, path)| {
            path.heartbeat.pending.is_some_and(|(nonce, _)| *answer == info(index as u8, nonce))
        });
        let Some(index) = position else {
            self.counters.chunks_dropped += 1;
            return;
        };
        let path = &mut self.paths[index];
        let sent_at = path.heartbeat.pending.take().map_or(now, |(_, sent_at)| sent_at);
        path.heartbeat.lost_at = None;
        path.heartbeat.unanswered = 0;
        path.on_alive();
        self.error_count = 0;
        self.tx.recovery.on_rtt_sample(index as u8, now.since(sent_at));
        self.arm_heartbeat(now, index, random);
    }
}
