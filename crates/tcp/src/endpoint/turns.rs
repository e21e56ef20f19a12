//! Whose turn it is to send, among the connections that have something.

use super::ConnectionId;
use super::fifo::Fifo;

/// Segments that a connection may send in one turn: as many full ones of an Ethernet path as one packet for
/// segmentation offload holds, so that those which can be joined stay together.
const SEGMENTS: u32 = 44;

/// Bytes of them, at most: what an IP packet can tell of itself.
const BYTES: usize = 65_535;

/// Turns that those who came last may have one after the other while others wait for their next one.
const FRESH_TURNS: u32 = 16;

/// Connections that may have something to send, each once.
///
/// As in flow queueing (RFC 8290, section 4.2), a connection that has something new goes before those that
/// used up a turn and still have more: a thin stream waits for the rest of one turn at most, and not for its
/// neighbours' windows, however many there are. So that those get on in any case, one of them has its turn
/// after so many others.
#[derive(Debug, Default)]
pub(super) struct Turns {
    fresh: Fifo<ConnectionId>,
    /// Those that used up a turn.
    lasting: Fifo<ConnectionId>,
    turn: Option<Turn>,
    /// Fresh turns while others waited.
    fresh_turns: u32,
}

/// What is sent without a break.
#[derive(Clone, Copy, Debug)]
struct Turn {
    of: ConnectionId,
    segments: u32,
    bytes: usize,
}

impl Turns {
    /// A connection that is not there yet may have something to send.
    pub(super) fn add(&mut self, id: ConnectionId) {
        self.fresh.push_back(id);
    }

    /// Who is to send next.
    pub(super) fn current(&mut self) -> Option<ConnectionId> {
        if self.turn.is_none() {
            let of = self.choose()?;
            self.turn = Some(Turn { of, segments: 0, bytes: 0 });
        }
        self.turn.map(|turn| turn.of)
    }

    fn choose(&mut self) -> Option<ConnectionId> {
        let others_wait = !self.lasting.is_empty();
        if (self.fresh_turns < FRESH_TURNS || !others_wait)
            && let Some(id) = self.fresh.pop_front()
        {
            self.fresh_turns += u32::from(others_wait);
            return Some(id);
        }
        self.fresh_turns = 0;
        self.lasting.pop_front()
    }

    /// The one whose turn it is sent a segment of `bytes` bytes.
    pub(super) fn on_sent(&mut self, bytes: usize) {
        let Some(turn) = &mut self.turn else { return };
        turn.segments += 1;
        turn.bytes += bytes;
        if turn.segments >= SEGMENTS || turn.bytes + bytes > BYTES {
            self.lasting.push_back(turn.of);
            self.turn = None;
        }
    }

    /// The one whose turn it is has nothing more.
    pub(super) fn on_finished(&mut self) {
        self.turn = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who sends, when each of the connections 0, 1, ... has so many segments of `bytes` bytes: runs of them.
    fn order(segments: &mut [u32], bytes: usize) -> Vec<(usize, u32)> {
        let mut turns = Turns::default();
        (0..segments.len()).for_each(|row| turns.add(ConnectionId::of_row(row as u32)));
        let mut runs: Vec<(usize, u32)> = Vec::new();
        while let Some(id) = turns.current() {
            let row = id.row() as usize;
            if segments[row] == 0 {
                turns.on_finished();
                continue;
            }
            segments[row] -= 1;
            turns.on_sent(bytes);
            match runs.last_mut() {
                Some((last, count)) if *last == row => *count += 1,
                _ => runs.push((row, 1)),
            }
        }
        runs
    }

    #[test]
    fn those_with_much_to_send_take_turns_of_44_segments() {
        assert_eq!(order(&mut [100, 50, 0], 1480), [(0, 44), (1, 44), (0, 44), (1, 6), (0, 12)]);
    }

    #[test]
    fn a_turn_of_large_segments_is_what_one_packet_can_hold() {
        assert_eq!(order(&mut [9, 9], 8972), [(0, 7), (1, 7), (0, 2), (1, 2)]);
    }

    #[test]
    fn one_alone_sends_all_it_has() {
        assert_eq!(order(&mut [1000], 1480), [(0, 1000)]);
    }

    #[test]
    fn what_is_new_goes_before_what_lasts_but_not_for_ever() {
        let mut turns = Turns::default();
        let lasting = ConnectionId::of_row(0);
        turns.add(lasting);
        assert_eq!(turns.current(), Some(lasting));
        (0..SEGMENTS).for_each(|_| turns.on_sent(1480));
        let mut waited = 0;
        for row in 1.. {
            turns.add(ConnectionId::of_row(row));
            if turns.current() == Some(lasting) {
                break;
            }
            turns.on_sent(100);
            turns.on_finished();
            waited += 1;
        }
        assert_eq!(waited, FRESH_TURNS);
    }
}
