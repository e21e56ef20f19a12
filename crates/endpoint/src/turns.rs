//! The order in which members that have data to send take turns.

use crate::fifo::Fifo;

/// Packets that a member may send in one turn: as many full ones of an Ethernet path as the kernel
/// takes in one call with segmentation offload, so that packets which can be joined stay together.
const PACKETS: u32 = 44;

/// Most bytes of a turn: the largest length that an IP header can state.
const BYTES: usize = 65_535;

/// Most consecutive turns of fresh members while members that used up a turn wait.
const FRESH_TURNS: u32 = 16;

/// Members that may have something to send, each of them once.
///
/// As in flow queueing (RFC 8290, section 4.2), a member with new data precedes those that used up
/// a turn and still have more: a thin stream waits at most for the rest of one turn, not for the
/// windows of any number of neighbours. No member starves: after 16 fresh turns in a row a waiting
/// member is served.
#[derive(Debug)]
pub struct Turns<Id> {
    fresh: Fifo<Id>,
    /// Members that used up a turn and may have more.
    lasting: Fifo<Id>,
    turn: Option<Turn<Id>>,
    /// Fresh turns in a row while lasting members waited.
    fresh_turns: u32,
}

/// A turn: packets that one member sends without interruption.
#[derive(Clone, Copy, Debug)]
struct Turn<Id> {
    of: Id,
    packets: u32,
    bytes: usize,
}

impl<Id> Default for Turns<Id> {
    fn default() -> Self {
        Turns { fresh: Fifo::default(), lasting: Fifo::default(), turn: None, fresh_turns: 0 }
    }
}

impl<Id: Copy> Turns<Id> {
    /// Adds a member that may have something to send; the caller ensures that no member is added
    /// twice before [`Turns::on_finished`].
    pub fn add(&mut self, id: Id) {
        self.fresh.push_back(id);
    }

    /// The member that sends next; none if no member has anything to send.
    #[inline]
    pub fn current(&mut self) -> Option<Id> {
        if self.turn.is_none() {
            let of = self.choose()?;
            self.turn = Some(Turn { of, packets: 0, bytes: 0 });
        }
        self.turn.map(|turn| turn.of)
    }

    fn choose(&mut self) -> Option<Id> {
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

    /// The current member sent a packet of `bytes` bytes.
    #[inline]
    pub fn on_sent(&mut self, bytes: usize) {
        let Some(turn) = &mut self.turn else { return };
        turn.packets += 1;
        turn.bytes += bytes;
        if turn.packets >= PACKETS || turn.bytes + bytes > BYTES {
            self.lasting.push_back(turn.of);
            self.turn = None;
        }
    }

    /// The current member has nothing more to send.
    #[inline]
    pub fn on_finished(&mut self) {
        self.turn = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order in which members 0, 1, ..., each with a number of packets of `bytes` bytes, send:
    /// runs of packets.
    fn order(packets: &mut [u32], bytes: usize) -> Vec<(usize, u32)> {
        let mut turns = Turns::default();
        (0..packets.len()).for_each(|row| turns.add(row));
        let mut runs: Vec<(usize, u32)> = Vec::new();
        while let Some(row) = turns.current() {
            if packets[row] == 0 {
                turns.on_finished();
                continue;
            }
            packets[row] -= 1;
            turns.on_sent(bytes);
            match runs.last_mut() {
                Some((last, count)) if *last == row => *count += 1,
                _ => runs.push((row, 1)),
            }
        }
        runs
    }

    #[test]
    fn members_with_much_to_send_take_turns_of_44_packets() {
        assert_eq!(order(&mut [100, 50, 0], 1480), [(0, 44), (1, 44), (0, 44), (1, 6), (0, 12)]);
    }

    #[test]
    fn a_turn_of_large_packets_is_what_one_ip_packet_can_hold() {
        assert_eq!(order(&mut [9, 9], 8972), [(0, 7), (1, 7), (0, 2), (1, 2)]);
    }

    #[test]
    fn a_single_member_sends_all_it_has() {
        assert_eq!(order(&mut [1000], 1480), [(0, 1000)]);
    }

    #[test]
    fn a_fresh_member_goes_before_a_lasting_one_but_not_for_ever() {
        let mut turns = Turns::default();
        let lasting = 0;
        turns.add(lasting);
        assert_eq!(turns.current(), Some(lasting));
        (0..PACKETS).for_each(|_| turns.on_sent(1480));
        let mut waited = 0;
        for row in 1.. {
            turns.add(row);
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
