//! The ladder of a flow: its packets between two lifelines, and events at either side.

use core::ops::RangeInclusive;
use std::collections::VecDeque;
use std::rc::Rc;

use base::{Duration, Instant};
use netsim::checker::{Checker, DropCause};
use netsim::{HostId, Packet};
use recovery::{Cause, Event};
use results::{Arrow, Labels, Ladder, Note, Role};

use super::packet_text::Teller;
use crate::flow::{LogHandle, Numbering};
use crate::observed::Delivery;
use crate::world::Ends;

/// Largest number of packets in a ladder: more would not be legible.
pub const MOST_PACKETS: usize = 400;

/// Start of the packets that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// The packets from this time on.
    At(Instant),
    /// The first packet of the sender that is lost.
    Loss,
}

/// The part of a flow to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LadderWish {
    /// Beginning of the part that is shown.
    pub from: Beginning,
    /// Length of the part that is shown.
    pub span: Duration,
}

impl core::str::FromStr for Beginning {
    type Err = String;

    fn from_str(text: &str) -> Result<Beginning, String> {
        if text == "loss" {
            return Ok(Beginning::Loss);
        }
        let time: Duration = text
            .parse()
            .map_err(|_| format!("\"{text}\" is neither a time such as 2s nor loss"))?;
        Ok(Beginning::At(Instant::ZERO + time))
    }
}

/// The two hosts of a flow and their record.
#[derive(Clone, Debug)]
struct Watched {
    hosts: [HostId; 2],
    log: LogHandle,
}

impl Watched {
    /// Also keeps the events of the flow's recovery.
    fn new(ends: &Ends) -> Watched {
        ends.log.borrow_mut().keep_steps();
        Watched { hosts: [ends.sender, ends.receiver], log: Rc::clone(&ends.log) }
    }

    /// 0 for the sender, 1 for the receiver.
    fn side(&self, host: HostId) -> Option<u8> {
        (0..).zip(self.hosts).find(|(_, one)| *one == host).map(|(side, _)| side)
    }
}

/// Sees the packets of a flow.
#[derive(Debug)]
pub struct LadderWatch {
    watched: Watched,
    teller: Teller,
    span: Duration,
    begin: Option<Instant>,
    /// Packets by number; until the beginning is known, those that may have to be shown.
    trips: VecDeque<Trip>,
}

/// A packet on its way.
#[derive(Debug)]
struct Trip {
    number: u64,
    from: u8,
    sent: Instant,
    fate: Option<Fate>,
    role: Role,
    label: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Arrived(Instant),
    Lost,
}

impl LadderWatch {
    /// A watch of this flow, which has not begun.
    pub fn new(ends: &Ends, wish: LadderWish) -> LadderWatch {
        let numbering = ends.log.borrow().numbering();
        LadderWatch {
            watched: Watched::new(ends),
            teller: Teller::new(numbering),
            span: wish.span,
            begin: match wish.from {
                Beginning::At(begin) => Some(begin),
                Beginning::Loss => None,
            },
            trips: VecDeque::new(),
        }
    }

    /// Whether a packet that leaves now is shown, as far as is known now.
    fn shows(&self, now: Instant) -> bool {
        match self.begin {
            Some(begin) => {
                now >= begin && now < begin + self.span && self.trips.len() < MOST_PACKETS
            }
            None => true,
        }
    }

    fn settle(&mut self, number: u64, fate: Fate) {
        let Ok(place) = self.trips.binary_search_by_key(&number, |trip| trip.number) else {
            return;
        };
        let trip = &mut self.trips[place];
        trip.fate.get_or_insert(fate);
        if self.begin.is_some() {
            return;
        }
        if trip.fate == Some(Fate::Lost) && trip.from == 0 {
            self.begin = Some(trip.sent);
            self.trips.drain(..place);
            self.trips.truncate(MOST_PACKETS);
            return;
        }
        while self.trips.front().is_some_and(|trip| trip.fate.is_some()) {
            self.trips.pop_front();
        }
    }

    /// The packets as the ladder of `of`; `None` without any packet.
    pub fn ladder(&self, of: &str) -> Option<Ladder> {
        let begin = self.begin?;
        let millis = |at: Instant| at.since(begin).as_millis_f64();
        // The run ended before the fate of the others was known.
        let known = || self.trips.iter().filter_map(|trip| Some((trip, trip.fate?)));
        let arrow = |(trip, fate): (&Trip, Fate)| Arrow {
            from: trip.from,
            sent_ms: millis(trip.sent),
            arrived_ms: match fate {
                Fate::Arrived(at) => Some(millis(at)),
                Fate::Lost => None,
            },
            label: trip.label.clone(),
            role: trip.role,
        };
        let end = |(trip, fate): (&Trip, Fate)| match fate {
            Fate::Arrived(at) => at,
            Fate::Lost => trip.sent,
        };
        let last = known().map(|(trip, _)| trip.sent).max()?;
        let end = known().map(end).max()?;
        let log = self.watched.log.borrow();
        // Events after the last packet are not shown.
        let steps = log.steps.iter().flatten().filter(|(at, _)| (begin..=last).contains(at));
        let told = steps.filter_map(|(at, event)| Some((0, *at, label(event, log.numbering())?)));
        let deliveries = delivered(log.deliveries.iter().flatten(), begin..=end);
        let notes = told.chain(deliveries.map(|(at, label)| (1, at, label)));
        Some(Ladder {
            of: of.to_owned(),
            measure: "ladder".to_owned(),
            labels: Labels::new(),
            span_ms: millis(end),
            arrows: known().map(arrow).collect(),
            notes: notes.map(|(side, at, label)| Note { side, at_ms: millis(at), label }).collect(),
        })
    }
}

/// The label of an event of recovery.
fn label(event: &Event, numbering: Numbering) -> Option<String> {
    Some(match event {
        Event::Timeout { linear, .. } => {
            let timer = if numbering == Numbering::Sctp { "T3-rtx" } else { "timeout" };
            format!("{timer}{}", if *linear { ", not doubled" } else { "" })
        }
        Event::Lost { cause: Cause::Fast, .. } => "fast retransmit".to_owned(),
        Event::Lost { cause: Cause::Early, .. } => "early retransmit".to_owned(),
        Event::Probed { .. } => "probe".to_owned(),
        _ => return None,
    })
}

/// Notes when messages reached the application that were retransmitted, or waited for one that was.
fn delivered<'a>(
    all: impl Iterator<Item = &'a Delivery>,
    within: RangeInclusive<Instant>,
) -> impl Iterator<Item = (Instant, String)> {
    let told = |one: &&Delivery| {
        within.contains(&one.delivered) && (one.retransmissions > 0 || one.delivered > one.arrived)
    };
    let mut together: Vec<(Instant, u64, u64)> = Vec::new();
    for one in all.filter(told) {
        match together.last_mut() {
            Some((at, _, last)) if *at == one.delivered && *last + 1 == one.index => {
                *last = one.index;
            }
            _ => together.push((one.delivered, one.index, one.index)),
        }
    }
    together.into_iter().map(|(at, first, last)| match last - first {
        0 => (at, format!("message {first} delivered")),
        _ => (at, format!("messages {first}-{last} delivered")),
    })
}

impl Checker for LadderWatch {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        let Some(from) = self.watched.side(packet.sender) else { return };
        let first = self.watched.log.borrow().first_number();
        let (role, label) = self.teller.tell(from, first, &packet.datagram.payload);
        if self.shows(now) {
            let number = packet.number;
            self.trips.push_back(Trip { number, from, sent: now, fate: None, role, label });
        }
    }

    fn on_dropped(&mut self, _: Instant, packet: &Packet, _: DropCause) {
        self.settle(packet.number, Fate::Lost);
    }

    fn on_delivered(&mut self, now: Instant, packet: &Packet, _: HostId) {
        self.settle(packet.number, Fate::Arrived(now));
    }
}
