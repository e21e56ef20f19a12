//! Translation between the script's numbers and the stack's.
//!
//! Sequence numbers and timestamps of a script are symbolic. The stack's are bound by its SYN;
//! those of the script's own side are shifted by a seed, so that a script can run with numbers that
//! wrap. Differences between numbers are preserved.

use std::collections::BTreeMap;

/// The translation in one run of a script.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    /// The stack's sequence numbers minus the script's for them, once its SYN was seen.
    stack: Option<u32>,
    /// The stack's first sequence number on the wire.
    stack_initial: u32,
    /// The script's sequence numbers on the wire minus those in the script.
    script: u32,
    /// Sequence number of the script's own SYN in the script.
    script_initial: u32,
    /// The stack's clock minus the script's for it.
    stack_clock: Option<u32>,
    /// Timestamps of the stack, by their values in the script.
    seen: BTreeMap<u32, u32>,
    /// The script's clock on the wire minus the one in the script.
    script_clock: u32,
    /// Whether a new connection may have begun, so that the stack's next SYN counts.
    unbound: bool,
}

impl Numbers {
    /// A translation that shifts the script's numbers, before the stack's are known.
    pub(super) fn new(script: u32, script_clock: u32) -> Self {
        Numbers {
            stack: None,
            stack_initial: 0,
            script,
            script_initial: 0,
            stack_clock: None,
            seen: BTreeMap::new(),
            script_clock,
            unbound: true,
        }
    }

    /// The script opens a connection, or lets the stack open one.
    pub(super) fn expect_another(&mut self) {
        self.unbound = true;
    }

    /// The script's own SYN has this number.
    pub(super) fn script_begins(&mut self, sequence: u32) {
        self.script_initial = sequence;
        self.unbound = true;
    }

    /// The stack's SYN: `script` in the script is `live` on the wire. A retransmitted SYN has no
    /// effect.
    pub(super) fn stack_begins(&mut self, script: u32, live: u32) {
        if self.unbound {
            self.stack = Some(live.wrapping_sub(script));
            self.stack_initial = live;
            self.stack_clock = None;
            self.unbound = false;
        }
    }

    /// Translates a sequence number of the stack to the wire. Before any SYN, numbers are equal.
    pub(super) fn live_of_stack(&self, script: u32) -> u32 {
        script.wrapping_add(self.stack.unwrap_or(0))
    }

    /// Translates a sequence number of the stack to the script.
    pub(super) fn stack_in_script(&self, live: u32) -> u32 {
        live.wrapping_sub(self.stack.unwrap_or(0))
    }

    /// Translates a sequence number of the script's side to the wire.
    pub(super) fn live_of_script(&self, script: u32) -> u32 {
        script.wrapping_add(self.script)
    }

    /// Translates a sequence number of the script's side to the script.
    pub(super) fn script_in_script(&self, live: u32) -> u32 {
        live.wrapping_sub(self.script)
    }

    /// Offset of a byte of the stack from its SYN.
    pub(super) fn offset_of_stack(&self, live: u32) -> u32 {
        live.wrapping_sub(self.stack_initial)
    }

    /// Offset of a byte of the script's side from its SYN.
    pub(super) fn offset_of_script(&self, script: u32) -> u32 {
        script.wrapping_sub(self.script_initial)
    }

    /// Translates a timestamp of the script to the wire. 0 in an echo means none and stays 0.
    pub(super) fn live_clock(&self, script: u32) -> u32 {
        script.wrapping_add(self.script_clock)
    }

    /// Translates an echo of the script's timestamp to the script.
    pub(super) fn echo_in_script(&self, live: u32) -> u32 {
        if live == 0 { 0 } else { live.wrapping_sub(self.script_clock) }
    }

    /// The stack's timestamp that the script echoes.
    pub(super) fn live_echo(&self, script: u32) -> u32 {
        let shifted = || script.wrapping_add(self.stack_clock.unwrap_or(0));
        self.seen.get(&script).copied().unwrap_or_else(shifted)
    }

    /// Records a timestamp of the stack, for which the script has `script`. Returns the script's
    /// value if its clock had run as fast as the stack's since the first.
    pub(super) fn note_clock(&mut self, script: u32, live: u32) -> u32 {
        let shift = *self.stack_clock.get_or_insert(live.wrapping_sub(script));
        self.seen.insert(script, live);
        live.wrapping_sub(shift)
    }

    /// Translates a timestamp of the stack to the script.
    pub(super) fn clock_in_script(&self, live: u32) -> u32 {
        live.wrapping_sub(self.stack_clock.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_back_and_forth_and_keep_their_differences() {
        let mut numbers = Numbers::new(u32::MAX, 5);
        numbers.stack_begins(0, 5000);
        assert_eq!(numbers.live_of_script(1), 0, "wraps");
        assert_eq!(numbers.script_in_script(numbers.live_of_script(42)), 42);
        assert_eq!(numbers.live_of_stack(u32::MAX), 4999, "one before stays one before");
        assert_eq!(numbers.stack_in_script(5001), 1);
        assert_eq!(numbers.echo_in_script(numbers.live_clock(100)), 100);
        assert_eq!(numbers.echo_in_script(0), 0);
    }

    #[test]
    fn a_syn_counts_once_for_each_connection() {
        let mut numbers = Numbers::new(0, 0);
        assert_eq!(numbers.live_of_stack(7), 7, "before any SYN");
        numbers.stack_begins(0, 5000);
        numbers.stack_begins(0, 6000);
        assert_eq!(
            numbers.live_of_stack(1),
            5001,
            "the second was the first, sent again and changed"
        );
        numbers.script_begins(9);
        numbers.stack_begins(0, 6000);
        assert_eq!(numbers.live_of_stack(1), 6001);
        assert_eq!((numbers.offset_of_script(10), numbers.offset_of_stack(6001)), (1, 1));
    }

    #[test]
    fn timestamps_are_echoed_as_they_came() {
        let mut numbers = Numbers::new(0, 0);
        assert_eq!(numbers.note_clock(100, 7000), 100);
        assert_eq!(numbers.note_clock(200, 7090), 190, "ten ticks slower than the script says");
        assert_eq!(numbers.live_echo(200), 7090);
        assert_eq!(numbers.live_echo(150), 7050, "never seen");
    }
}
