//! Segments expected from the stack.

use base::{Duration, Instant};

use super::super::state::Runner;
use super::super::times::{Due, ENDLESS, PATIENCE};
use super::Tcp;
use super::matching::{Pattern, show_pattern};
use super::wire::{self, WireSegment};
use crate::leniency::Leniency;
use crate::script::{Content, Packet, Segment};
use crate::sockets::Emitted;
use crate::stop::Stop;

/// Shortest delay of acknowledgements in Linux while data flows both ways.
const ACK_DELAY_MAX: Duration = Duration::from_millis(40);

impl Runner<'_, Tcp> {
    /// Compares the next segment of the stack with a pattern.
    pub(super) fn expect(&mut self, packet: &Packet, due: Option<Due>) -> Result<(), Stop> {
        let Content::Tcp(pattern) = &packet.content else { return Ok(()) };
        let first = self.next_segment(pattern, due)?;
        let mut found = self.read(packet, &first)?;
        self.bind(pattern, &found);
        if !self.party.strict_segments {
            self.gather(packet, &mut found, due)?;
        }
        let pattern = Pattern { segment: pattern, ecn: packet.ecn.as_deref() };
        let needed = self.match_segment(&pattern, &found, (first.ecn, first.room));
        let needed = needed.map_err(|why| {
            let (expected, found) = (show_pattern(&pattern), self.party.show_segment(&found));
            Stop::Fail(format!("{why}\n  expected: {expected}\n  found:    {found}"))
        })?;
        needed.into_iter().for_each(|leniency| self.used(leniency));
        self.party.note(&found);
        match due {
            Some(due) if self.is_prompt(&found, first.at, due) => {
                self.used(Leniency::PromptAck);
                Ok(())
            }
            Some(due) => self.check_time("segment", first.at, due),
            None => Ok(()),
        }
    }

    /// Whether the segment is a bare acknowledgement earlier than in the script, but within the
    /// permissible delay.
    fn is_prompt(&self, found: &WireSegment, at: Instant, due: Due) -> bool {
        found.flags == wire::ACK
            && found.payload.is_empty()
            && self.config.overlooks(Leniency::PromptAck)
            && at + due.tolerance < due.from
            && due.from.since(at) <= ACK_DELAY_MAX
    }

    /// The next packet of the stack, awaited for a limited time.
    fn next_segment(&mut self, wanted: &Segment, due: Option<Due>) -> Result<Emitted, Stop> {
        let limit = due.map_or(self.now + ENDLESS, |due| due.to + due.tolerance + PATIENCE);
        while self.emitted.is_empty() {
            if !self.step(limit)? {
                let wanted = show_pattern(&Pattern { segment: wanted, ecn: None });
                return Err(Stop::Fail(format!("expected {wanted}, but no segment came")));
            }
        }
        self.emitted.pop_front().ok_or_else(|| Stop::fail("no segment came"))
    }

    /// Parses a packet; addresses, ports and checksum must be correct, and the bytes those that the
    /// application wrote.
    fn read(&self, pattern: &Packet, found: &Emitted) -> Result<WireSegment, Stop> {
        let hosts = self.party.sockets.hosts;
        let (local, remote) = pattern.addresses.unwrap_or((hosts.local, hosts.remote));
        if (found.local, found.remote) != (local, remote) {
            let way = format!("{} > {}", found.local, found.remote);
            return Err(Stop::fail(format!("expected {local} > {remote}, found {way}")));
        }
        let segment = WireSegment::parse(&found.bytes, (found.local, found.remote))
            .map_err(|why| Stop::fail(format!("a segment {why}")))?;
        let (source, destination) = (segment.source, segment.destination);
        if (source, destination) != self.party.sockets.ports() {
            let ports = format!("from port {source} to {destination}");
            let shown = self.party.show_segment(&segment);
            return Err(Stop::fail(format!("a segment goes {ports}: {shown}")));
        }
        Ok(segment)
    }

    /// Binds the stack's first sequence number by its SYN.
    fn bind(&mut self, pattern: &Segment, found: &WireSegment) {
        if found.flags & wire::SYN != 0 && wire::flags(&pattern.flags) & wire::SYN != 0 {
            self.party.numbers.stack_begins(pattern.sequence.unwrap_or(0), found.sequence);
        }
    }

    /// Merges consecutive segments until they are as long as the pattern: scripts from systems
    /// whose network card cuts large segments show what the card was given.
    fn gather(
        &mut self,
        pattern: &Packet,
        found: &mut WireSegment,
        due: Option<Due>,
    ) -> Result<(), Stop> {
        let Content::Tcp(wanted) = &pattern.content else { return Ok(()) };
        let (length, size) = (wanted.length as usize, found.payload.len());
        let mut last = size;
        while !found.payload.is_empty() && found.payload.len() < length && last == size {
            let Some(next) = self.emitted.front() else { return Ok(()) };
            let next = self.party.follows(found, next);
            let Some(next) = next.filter(|next| found.payload.len() + next.payload.len() <= length)
            else {
                return Ok(());
            };
            let Some(packet) = self.emitted.pop_front() else { return Ok(()) };
            if let Some(due) = due {
                self.check_time("segment", packet.at, due)?;
            }
            last = next.payload.len();
            found.payload.extend(next.payload);
            found.flags |= next.flags;
            self.used(Leniency::SuperSegment);
        }
        Ok(())
    }
}

impl Tcp {
    /// Stores values with which later segments are compared.
    fn note(&mut self, found: &WireSegment) {
        if found.flags & wire::FIN != 0 {
            self.fin_sent = Some(found.sequence.wrapping_add(found.payload.len() as u32));
        }
        if found.flags & wire::ACK != 0 {
            self.last_ack = Some((found.ack, found.window));
        }
        self.promise.note(found);
    }

    /// Parses a packet as a segment that continues `before` with the same header fields.
    fn follows(&self, before: &WireSegment, packet: &Emitted) -> Option<WireSegment> {
        let next = WireSegment::parse(&packet.bytes, (packet.local, packet.remote)).ok()?;
        let same = (next.source, next.destination) == (before.source, before.destination)
            && (next.ack, next.window) == (before.ack, before.window)
            && next.options == before.options
            && (next.flags ^ before.flags) & !(wire::PSH | wire::FIN) == 0
            && before.flags & wire::FIN == 0;
        let end = before.sequence.wrapping_add(before.payload.len() as u32);
        (same && !next.payload.is_empty() && next.sequence == end).then_some(next)
    }
}
