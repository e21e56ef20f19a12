//! Losses that are the same for every policy.
//!
//! A comparison of recovery policies is fair, and needs few messages, when all of them have to
//! recover from the same losses. So the fate of the *first* transmission of a message depends on
//! the seed, the flow and the message alone, not on what else the policy sends. Everything else
//! (retransmissions, acknowledgements, handshakes) differs between policies anyway and draws from a
//! separate stream, one per flow and direction.

use base::{Probability, Purpose, RandomStream};

use crate::hash::mix_all;

/// Keeps these draws apart from others that mix the same seed.
const FIRST_TRANSMISSION: u64 = u64::from_be_bytes(*b"first tx");

/// Whether the first transmission of message `message` of flow `flow` is lost: a pure function.
pub fn first_transmission_lost(
    seed: u64,
    flow: u32,
    message: u64,
    probability: Probability,
) -> bool {
    let hash = mix_all(&[FIRST_TRANSMISSION, seed, u64::from(flow), message]);
    probability.happens((hash >> 32) as u32)
}

/// Decides the fate of the packets of one flow in one direction. Constant memory.
#[derive(Clone, Debug)]
pub struct FlowFate {
    seed: u64,
    flow: u32,
    probability: Probability,
    /// Messages below this index have been transmitted before.
    next_message: u64,
    others: RandomStream,
}

impl FlowFate {
    /// Fate of the packets that carry the messages of `flow`, each lost with `probability`.
    pub fn forward(seed: u64, flow: u32, probability: Probability) -> FlowFate {
        FlowFate::new(seed, flow, probability, "fate forward")
    }

    /// Losses of the packets in the other direction (acknowledgements and answers).
    pub fn backward(seed: u64, flow: u32, probability: Probability) -> FlowFate {
        FlowFate::new(seed, flow, probability, "fate backward")
    }

    fn new(seed: u64, flow: u32, probability: Probability, stream: &str) -> FlowFate {
        let others = RandomStream::new(seed, Purpose(stream, u64::from(flow)));
        FlowFate { seed, flow, probability, next_message: 0, others }
    }

    /// Sets the probability for packets from now on. First transmissions that are lost at a lower
    /// probability are lost at a higher one, too.
    pub fn set_probability(&mut self, probability: Probability) {
        self.probability = probability;
    }

    /// Whether the next packet is lost, given the messages that it carries.
    ///
    /// A message is transmitted for the first time when no message of its index or above was seen
    /// before, which holds for senders that begin messages in order. Of several first transmissions
    /// in one packet the first decides, so that the loss rate of packets stays what it is.
    pub fn is_lost(&mut self, messages: impl IntoIterator<Item = u64>) -> bool {
        let mut first = None;
        for message in messages {
            if message >= self.next_message {
                first = first.or(Some(message));
                self.next_message = message.saturating_add(1);
            }
        }
        match first {
            Some(message) => {
                first_transmission_lost(self.seed, self.flow, message, self.probability)
            }
            None => self.others.happens(self.probability),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIVE: Probability = Probability::from_ratio(5, 100);

    fn lost(seed: u64, flow: u32, messages: u64) -> Vec<u64> {
        (0..messages)
            .filter(|message| first_transmission_lost(seed, flow, *message, FIVE))
            .collect()
    }

    #[test]
    fn five_percent_of_first_transmissions_are_lost_in_every_flow() {
        let counts: Vec<_> = (0..20).map(|flow| lost(1, flow, 10_000).len()).collect();
        assert!(counts.iter().all(|count| (400..600).contains(count)), "{counts:?}");
        let total: usize = counts.iter().sum();
        assert!((9_600..10_400).contains(&total), "{total}");
    }

    #[test]
    fn losses_of_neighbours_flows_and_seeds_are_independent() {
        let pairs = |a: &[u64], b: &[u64]| a.iter().filter(|message| b.contains(message)).count();
        let one = lost(1, 1, 20_000);
        let shifted: Vec<_> = one.iter().map(|message| message + 1).collect();
        // 0.05 squared of 20,000 is 50.
        for other in [shifted, lost(1, 2, 20_000), lost(2, 1, 20_000)] {
            let both = pairs(&one, &other);
            assert!((25..85).contains(&both), "{both}");
        }
    }

    #[test]
    fn certainty_and_impossibility_hold() {
        assert!((0..1000).all(|message| first_transmission_lost(1, 1, message, Probability::ONE)));
        assert!(!(0..1000).any(|message| first_transmission_lost(
            1,
            1,
            message,
            Probability::ZERO
        )));
    }

    #[test]
    fn retransmissions_do_not_shift_the_fate_of_later_messages() {
        let mut eager = FlowFate::forward(7, 3, FIVE);
        let mut plain = FlowFate::forward(7, 3, FIVE);
        for message in 0..1000 {
            let expected = plain.is_lost([message]);
            // The eager policy bundles an old message with each new one, and resends alone too.
            assert_eq!(eager.is_lost([message.saturating_sub(1), message]), expected);
            eager.is_lost([message]);
            eager.is_lost([]);
        }
    }

    #[test]
    fn a_higher_loss_takes_all_that_a_lower_one_does() {
        let mut raised = FlowFate::forward(1, 1, FIVE);
        raised.set_probability(Probability::from_ratio(20, 100));
        let taken: Vec<u64> = (0..1000).filter(|message| raised.is_lost([*message])).collect();
        let lower = lost(1, 1, 1000);
        assert!(lower.iter().all(|message| taken.contains(message)) && taken.len() > 150);
    }

    #[test]
    fn a_message_has_its_own_fate_only_once() {
        let mut fate = FlowFate::forward(1, 1, FIVE);
        let unlucky = lost(1, 1, 1000)[0];
        assert!(fate.is_lost([unlucky]));
        let repeated = (0..1000).filter(|_| fate.is_lost([unlucky])).count();
        assert!((20..90).contains(&repeated), "{repeated}");
    }

    #[test]
    fn the_first_of_two_new_messages_decides() {
        let unlucky = lost(1, 1, 1000);
        let message = *unlucky.iter().find(|one| !unlucky.contains(&(*one + 1))).unwrap();
        assert!(FlowFate::forward(1, 1, FIVE).is_lost([message, message + 1]));
        assert!(!FlowFate::forward(1, 1, FIVE).is_lost([message + 1, message + 2]));
    }

    #[test]
    fn directions_and_flows_draw_from_streams_of_their_own() {
        let draws = |mut fate: FlowFate| (0..500).map(|_| fate.is_lost([])).collect::<Vec<_>>();
        let half = Probability::from_ratio(1, 2);
        let forward = draws(FlowFate::forward(1, 1, half));
        assert_eq!(forward, draws(FlowFate::forward(1, 1, half)));
        assert_ne!(forward, draws(FlowFate::backward(1, 1, half)));
        assert_ne!(forward, draws(FlowFate::forward(1, 2, half)));
    }
}
