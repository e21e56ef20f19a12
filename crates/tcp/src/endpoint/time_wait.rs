//! TIME-WAIT (RFC 9293, section 3.10.7.4, eighth; RFC 6191): what is left of connections whose sides have
//! both finished, in a few words each.

use core::net::SocketAddr;

use base::{Deadlines, Duration, HashKey, Instant};
use hashbrown::HashTable;

use super::ConnectionId;
use crate::connection::clock::timestamp;
use crate::connection::throttle::Throttle;
use crate::wire::{Flags, Segment, SeqNumber, Timestamps};

/// Acknowledgements a second to what holds no data.
const ANSWERS: u8 = 5;

/// How long this side keeps quiet before it opens a connection anew between the same addresses: so much later are its
/// timestamps then, and what the peer sent before has arrived.
const REST: Duration = Duration::from_secs(1);

/// What is kept of a connection in TIME-WAIT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimeWait {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) snd_nxt: SeqNumber,
    pub(crate) rcv_nxt: SeqNumber,
    /// The window field of acknowledgements.
    pub(crate) window: u16,
    /// TS.Recent and this side's offset, if timestamps are used.
    pub(crate) timestamps: Option<(u32, u32)>,
    /// How long it lasts, each time that it begins.
    pub(crate) lasts: Duration,
}

/// What a segment means to a connection in TIME-WAIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    Nothing,
    /// It is to be acknowledged.
    Acknowledge,
    /// The peer's FIN again: to be acknowledged, and TIME-WAIT begins anew.
    Restart,
    /// A new connection that cannot be mistaken for the old one. Its own sequence numbers must begin after
    /// these.
    NewConnection {
        /// SND.NXT of the old one.
        after: SeqNumber,
    },
}

impl TimeWait {
    /// What to do with `segment`; `listens`: whether a new connection is wanted. Resets do nothing: an old one, or a
    /// stranger's, must not end the state that keeps old segments away (RFC 1337, section 3, fix F1).
    fn judge(&self, segment: &Segment, listens: bool) -> Verdict {
        let flags = segment.flags;
        if flags.rst() {
            return Verdict::Nothing;
        }
        if listens && flags.syn() && !flags.ack() && self.is_newer(segment) {
            return Verdict::NewConnection { after: self.snd_nxt };
        }
        // Fifth check: what does not acknowledge is dropped.
        if !flags.ack() && !flags.syn() {
            return Verdict::Nothing;
        }
        if flags.fin() && segment.seq.advance(segment.length()) == self.rcv_nxt {
            return Verdict::Restart;
        }
        if segment.length() == 0 && segment.seq == self.rcv_nxt {
            return Verdict::Nothing;
        }
        Verdict::Acknowledge
    }

    /// Whether a SYN is later than all of the old connection (RFC 6191, section 2): by its timestamp, or
    /// else by its sequence number.
    fn is_newer(&self, syn: &Segment) -> bool {
        let by_number = syn.seq.is_after(self.rcv_nxt);
        match (self.timestamps, syn.options.timestamps) {
            (Some((recent, _)), Some(new)) => {
                let step = new.value.wrapping_sub(recent) as i32;
                step > 0 || (step == 0 && by_number)
            }
            _ => by_number,
        }
    }

    fn acknowledgement(&self, now: Instant) -> Segment {
        let mut ack = Segment::new(self.local.port(), self.remote.port());
        ack.seq = self.snd_nxt;
        ack.ack = self.rcv_nxt;
        ack.flags = Flags::ACK;
        ack.window = self.window;
        ack.options.timestamps = self
            .timestamps
            .map(|(recent, offset)| Timestamps { value: timestamp(now, offset), echo: recent });
        ack
    }
}

#[derive(Debug)]
struct Row {
    state: TimeWait,
    /// The connection, if the application has not let go of it.
    id: Option<ConnectionId>,
    hash: u64,
    throttle: Throttle,
    /// When it last may have said something with a timestamp.
    answered_at: Instant,
}

/// Connections in TIME-WAIT. Opening, ending and asking for one costs no more with many of them.
#[derive(Debug)]
pub(super) struct TimeWaits {
    rows: Vec<Option<Box<Row>>>,
    free: Vec<u32>,
    by_addresses: HashTable<(u64, u32)>,
    deadlines: Deadlines,
    key: HashKey,
}

impl TimeWaits {
    pub(super) fn new(key: HashKey) -> TimeWaits {
        TimeWaits {
            rows: Vec::new(),
            free: Vec::new(),
            by_addresses: HashTable::new(),
            deadlines: Deadlines::default(),
            key,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len() - self.free.len()
    }

    pub(super) fn contains(&self, local: SocketAddr, remote: SocketAddr) -> bool {
        self.find(local, remote).is_some()
    }

    /// A connection enters TIME-WAIT; `id` if somebody still holds it. If there are `max` already, the one
    /// that would end first ends now.
    pub(super) fn insert(
        &mut self,
        now: Instant,
        state: TimeWait,
        id: Option<ConnectionId>,
        max: usize,
    ) -> Option<ConnectionId> {
        let ended = if self.len() >= max { self.end_first(Instant::FAR_FUTURE) } else { None };
        let hash = self.key.hash_addresses(state.local, state.remote, 1);
        let due = now + state.lasts;
        let new = Some(Box::new(Row {
            state,
            id,
            hash,
            throttle: Throttle::default(),
            answered_at: now,
        }));
        let row = match self.free.pop() {
            Some(row) => {
                self.rows[row as usize] = new;
                row
            }
            None => {
                self.rows.push(new);
                (self.rows.len() - 1) as u32
            }
        };
        self.by_addresses.insert_unique(hash, (hash, row), |(hash, _)| *hash);
        self.deadlines.set(row, Some(due));
        ended.flatten()
    }

    /// When the next one ends.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.deadlines.next()
    }

    /// Ends the next one that is due; answers whose it was if somebody still holds it, and none if none is
    /// due.
    pub(super) fn end_first(&mut self, now: Instant) -> Option<Option<ConnectionId>> {
        let row = self.deadlines.pop(now)?;
        Some(self.remove(row).and_then(|row| row.id))
    }

    /// Ends the one between these addresses; answers whose it was if somebody still holds it.
    pub(super) fn take(&mut self, local: SocketAddr, remote: SocketAddr) -> Option<ConnectionId> {
        let row = self.find(local, remote)?;
        self.remove(row)?.id
    }

    /// Where the numbers of a connection between these addresses ended, if this side may open one anew now: its
    /// timestamps must be later than all of the old one's, as those of the peer then are (RFC 6191, section 2, has the
    /// same for a side that is asked; RFC 7323, appendix B.2).
    pub(super) fn reusable(
        &self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Option<SeqNumber> {
        let row = self.rows.get(self.find(local, remote)? as usize)?.as_deref()?;
        let rested = now.since(row.answered_at) >= REST;
        (rested && row.state.timestamps.is_some()).then_some(row.state.snd_nxt)
    }

    /// What to do with a segment between these addresses, and the acknowledgement if that is to be sent;
    /// none if there is none in TIME-WAIT. `listens`: whether somebody listens for new connections.
    pub(super) fn on_segment(
        &mut self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
        segment: &Segment,
        listens: bool,
    ) -> Option<(Verdict, Option<Segment>)> {
        let row = self.find(local, remote)?;
        let Row { state, throttle, answered_at, .. } =
            self.rows.get_mut(row as usize)?.as_deref_mut()?;
        let verdict = state.judge(segment, listens);
        if verdict == Verdict::Restart {
            self.deadlines.set(row, Some(now + state.lasts));
        }
        // What holds no data might itself answer such an acknowledgement: so often only, or two sides that
        // disagree would go on for ever.
        let answers = match verdict {
            Verdict::Restart => true,
            Verdict::Acknowledge => {
                !segment.payload.is_empty() || throttle.take(now, ANSWERS, Duration::from_secs(1))
            }
            _ => false,
        };
        if answers {
            *answered_at = now;
        }
        Some((verdict, answers.then(|| state.acknowledgement(now))))
    }

    /// Nobody holds the connection any more.
    pub(super) fn on_released(&mut self, local: SocketAddr, remote: SocketAddr) {
        let row = self.find(local, remote);
        let row = row.and_then(|row| self.rows.get_mut(row as usize)?.as_mut());
        if let Some(row) = row {
            row.id = None;
        }
    }

    fn find(&self, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
        let is_it = |(_, row): &(u64, u32)| {
            let row = self.rows.get(*row as usize).and_then(Option::as_deref);
            row.is_some_and(|row| row.state.local == local && row.state.remote == remote)
        };
        let hash = self.key.hash_addresses(local, remote, 1);
        self.by_addresses.find(hash, is_it).map(|(_, row)| *row)
    }

    fn remove(&mut self, number: u32) -> Option<Box<Row>> {
        let row = self.rows.get_mut(number as usize)?.take()?;
        if let Ok(found) = self.by_addresses.find_entry(row.hash, |(_, other)| *other == number) {
            found.remove();
        }
        self.deadlines.set(number, None);
        self.free.push(number);
        Some(row)
    }
}

#[cfg(test)]
mod tests;
