//! Losses of packets: the same first transmissions on both sides, and those that a visitor drops.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use base::Probability;
use lab::FlowFate;
use netsim::Packet;
use netsim::link::LossOracle;

use crate::book::Transmission;
use crate::change::{Side, What};

/// Losses on the links of a side, reported by the gate, which each packet passes before a link.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses(Arc<Mutex<Lost>>);

#[derive(Debug, Default)]
struct Lost {
    packets: BTreeSet<u64>,
    is_cut: bool,
}

impl Losses {
    fn with<R>(&self, act: impl FnOnce(&mut Lost) -> R) -> R {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The packet of this number is lost at its next link.
    pub(crate) fn lose(&self, number: u64) {
        self.with(|lost| lost.packets.insert(number));
    }

    /// Whether the first path is cut.
    pub(crate) fn set_cut(&self, is_cut: bool) {
        self.with(|lost| lost.is_cut = is_cut);
    }

    /// The losses of a link of the first path, or of another one.
    pub(crate) fn oracle(&self, is_first: bool) -> LossOracle<Packet> {
        let losses = self.clone();
        Box::new(move |_, packet| {
            losses.with(|lost| lost.packets.remove(&packet.number) || (is_first && lost.is_cut))
        })
    }
}

/// The fate of the packets of one flow of a side.
#[derive(Debug)]
pub(crate) struct Fates {
    there: FlowFate,
    back: FlowFate,
    /// Packets of the receiver so far.
    answers: u64,
}

impl Fates {
    pub(crate) fn new(seed: u64, flow: u32, loss: Probability) -> Fates {
        Fates {
            there: FlowFate::forward(seed, flow, loss),
            back: FlowFate::backward(seed, flow, loss),
            answers: 0,
        }
    }

    pub(crate) fn set_loss(&mut self, loss: Probability) {
        self.there.set_probability(loss);
        self.back.set_probability(loss);
    }

    /// Whether the sender's next packet is lost, by chance or since a visitor dropped it.
    pub(crate) fn loses_next(&mut self, messages: &[Transmission], dropped: &Dropped) -> bool {
        // The last new message decides, as in plans: those before it in the packet differ between
        // policies.
        let newest = messages.iter().rfind(|one| one.copy == 1).map(|one| one.message);
        let lost = self.there.is_lost(newest);
        lost || messages.iter().any(|one| dropped.has(one))
    }

    /// Whether the receiver's next packet is lost, and its number; the first is 1.
    pub(crate) fn loses_answer(&mut self, dropped: &Dropped) -> (bool, u64) {
        self.answers += 1;
        let lost = self.back.is_lost([]);
        (lost || dropped.answers.contains(&self.answers), self.answers)
    }
}

/// Packets of the flow shown that a visitor drops, on one side.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dropped {
    copies: BTreeSet<(u64, u32)>,
    answers: BTreeSet<u64>,
}

impl Dropped {
    /// Takes a change of this side into account.
    pub(crate) fn add(&mut self, own: Side, what: What) {
        match what {
            What::DropMessage(message) => drop(self.copies.insert((message, 1))),
            What::DropCopy { side, message, copy } if side == own => {
                self.copies.insert((message, copy));
            }
            What::DropAnswer { side, number } if side == own => drop(self.answers.insert(number)),
            _ => {}
        }
    }

    fn has(&self, transmission: &Transmission) -> bool {
        self.copies.contains(&(transmission.message, transmission.copy))
    }
}
