//! The gate before the links of a side, which every packet passes: it decides which are lost, and
//! keeps the lines of the flow shown.

use std::collections::BTreeMap;

use base::{Duration, Instant, Probability};
use lab::flow::{LogHandle, Numbering, for_each_span};
use lab::watch::Teller;
use lab::world::Ends;
use netsim::checker::{Checker, DropCause};
use netsim::{HostId, Packet};
use recovery::RecoveryPolicy;
use recovery::policy::Protocol;
use results::Role;

use crate::book::{Book, Transmission};
use crate::change::{Change, Side, What};
use crate::fates::{Dropped, Fates, Losses};
use crate::frame::{Line, SideFrame, Told};
use crate::why::Reasons;

/// Decides the fate of each packet of a side before a link takes it.
#[derive(Debug)]
pub(crate) struct Gate {
    side: Side,
    /// Time before which nothing is lost or shown.
    begin: Instant,
    /// Flow and end of each host, by its number.
    hosts: Vec<Option<(usize, u8)>>,
    flows: Vec<Flow>,
    losses: Losses,
    dropped: Dropped,
    shown: Shown,
}

#[derive(Debug)]
struct Flow {
    book: Book,
    fates: Fates,
    log: LogHandle,
}

/// The flow whose packets are shown.
#[derive(Debug)]
struct Shown {
    number: usize,
    teller: Teller,
    reasons: Reasons,
    one_way: Duration,
    next_line: u64,
    /// Number of the line by that of the packet, while its fate is open.
    open: BTreeMap<u64, u64>,
    lines: Vec<Line>,
    fates: Vec<(u64, Option<f64>)>,
    told: Vec<Told>,
}

/// Side of a gate, with its losses and the flow to show.
pub(crate) struct GateConfig<'a> {
    pub(crate) side: Side,
    pub(crate) begin: Instant,
    pub(crate) seed: u64,
    pub(crate) loss: Probability,
    pub(crate) one_way: Duration,
    pub(crate) shown: usize,
    pub(crate) numbering: Numbering,
    pub(crate) protocol: Protocol,
    pub(crate) policy: &'a RecoveryPolicy,
}

impl Gate {
    pub(crate) fn new(of: GateConfig<'_>, ends: &[Ends], books: Vec<Book>, losses: Losses) -> Gate {
        let mut hosts = Vec::new();
        let mut flows = Vec::new();
        for ((number, ends), book) in ends.iter().enumerate().zip(books) {
            for (end, host) in [(0, ends.sender), (1, ends.receiver)] {
                let place = host.0 as usize;
                hosts.resize(hosts.len().max(place + 1), None);
                hosts[place] = Some((number, end));
            }
            let fates = Fates::new(of.seed, number as u32, of.loss);
            flows.push(Flow { book, fates, log: ends.log.clone() });
        }
        let shown = Shown {
            number: of.shown,
            teller: Teller::new(of.numbering),
            reasons: Reasons::new(of.protocol, of.policy.clone()),
            one_way: of.one_way,
            next_line: 0,
            open: BTreeMap::new(),
            lines: Vec::new(),
            fates: Vec::new(),
            told: Vec::new(),
        };
        let dropped = Dropped::default();
        Gate { side: of.side, begin: of.begin, hosts, flows, losses, dropped, shown }
    }

    /// A change of the network, or a packet to lose.
    pub(crate) fn on_change(&mut self, change: &Change) {
        match change.what {
            What::Loss(loss) => self.flows.iter_mut().for_each(|flow| flow.fates.set_loss(loss)),
            What::RoundTrip(span) => self.shown.one_way = span / 2,
            What::Cut => self.losses.set_cut(true),
            What::Mend => self.losses.set_cut(false),
            what => self.dropped.add(self.side, what),
        }
    }

    /// Lines, fates and steps since the last call; marks are the side's.
    pub(crate) fn take(&mut self) -> SideFrame {
        self.hear();
        let Shown { lines, fates, told, .. } = &mut self.shown;
        SideFrame {
            lines: core::mem::take(lines),
            fates: core::mem::take(fates),
            told: core::mem::take(told),
            marks: Vec::new(),
        }
    }

    /// Hears what recovery of the flow shown did since the last call.
    fn hear(&mut self) {
        let Some(flow) = self.flows.get(self.shown.number) else { return };
        let mut log = flow.log.borrow_mut();
        for (at, event) in log.steps.iter_mut().flat_map(|steps| steps.drain(..)) {
            let told = self.shown.reasons.on_event(at, &event);
            if let Some(text) = told.filter(|_| at >= self.begin) {
                self.shown.told.push(Told { at_ms: millis(self.begin, at), text });
            }
        }
    }

    fn end_of(&self, host: HostId) -> Option<(usize, u8)> {
        self.hosts.get(host.0 as usize).copied().flatten()
    }

    fn settle(&mut self, number: u64, arrived: Option<Instant>) {
        if let Some(line) = self.shown.open.remove(&number) {
            self.shown.fates.push((line, arrived.map(|at| millis(self.begin, at))));
        }
    }
}

/// Time since `begin` in milliseconds.
pub(crate) fn millis(begin: Instant, at: Instant) -> f64 {
    at.since(begin).as_millis_f64()
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Data => "data",
        Role::Again => "again",
        Role::Along => "along",
        Role::Ack => "ack",
        Role::Other => "other",
    }
}

impl Flow {
    /// The messages of the sender's packet.
    fn transmissions(&mut self, packet: &Packet) -> Vec<Transmission> {
        let (numbering, first) = {
            let log = self.log.borrow();
            (log.numbering(), log.first_number())
        };
        let mut spans = Vec::new();
        let datagram = &packet.datagram;
        let near = self.book.sent_to();
        for_each_span((numbering, first), &datagram.payload, &datagram.tail, near, &mut |span| {
            spans.push(span);
        });
        self.book.transmissions(&spans)
    }
}

impl Shown {
    fn line(&mut self, packet: &Packet, end: u8, log: &LogHandle, begin: Instant) -> Option<Line> {
        let first = log.borrow().first_number();
        let (role, label) = self.teller.tell(end, first, &packet.datagram.payload);
        let why = match end {
            0 => self.reasons.of_data(role, packet.sent),
            _ => self.reasons.of_answer(role, packet.sent),
        };
        (packet.sent >= begin).then(|| {
            let id = self.next_line;
            self.next_line += 1;
            self.open.insert(packet.number, id);
            let sent_ms = millis(begin, packet.sent);
            Line {
                id,
                from: end,
                sent_ms,
                expected_ms: sent_ms + self.one_way.as_millis_f64(),
                role: role_name(role),
                messages: Vec::new(),
                label,
                drop: String::new(),
                why,
            }
        })
    }
}

impl Checker for Gate {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        let Some((number, end)) = self.end_of(packet.sender) else { return };
        let is_shown = number == self.shown.number;
        if is_shown {
            self.hear();
        }
        let nothing = Dropped::default();
        let Some(flow) = self.flows.get_mut(number) else { return };
        let dropped = if is_shown { &self.dropped } else { &nothing };
        let transmissions = if end == 0 { flow.transmissions(packet) } else { Vec::new() };
        let (lost, answer) = match end {
            _ if now < self.begin => (false, 0),
            0 => (flow.fates.loses_next(&transmissions, dropped), 0),
            _ => flow.fates.loses_answer(dropped),
        };
        if lost {
            self.losses.lose(packet.number);
        }
        if !is_shown {
            return;
        }
        if let Some(mut line) = self.shown.line(packet, end, &flow.log, self.begin) {
            line.messages = transmissions.iter().map(|one| (one.message, one.copy)).collect();
            line.drop = drop_text(self.side, line.role, &transmissions, end, answer);
            self.shown.lines.push(line);
        }
    }

    fn on_dropped(&mut self, _: Instant, packet: &Packet, _: DropCause) {
        self.settle(packet.number, None);
    }

    fn on_delivered(&mut self, now: Instant, packet: &Packet, receiver: HostId) {
        if let Some((number, 1)) = self.end_of(receiver)
            && number == self.shown.number
        {
            self.shown.reasons.on_arrival(now);
        }
        self.settle(packet.number, Some(now));
    }
}

/// The change that drops a packet; empty where none can.
fn drop_text(
    side: Side,
    role: &str,
    transmissions: &[Transmission],
    end: u8,
    answer: u64,
) -> String {
    let zero = Duration::ZERO;
    let what = match (end, role) {
        (1, _) => Some(What::DropAnswer { side, number: answer }),
        (_, "data" | "along") => {
            let first = transmissions.iter().find(|one| one.copy == 1).or(transmissions.last());
            first.map(|one| What::DropMessage(one.message))
        }
        _ => transmissions.first().map(|one| What::DropCopy {
            side,
            message: one.message,
            copy: one.copy,
        }),
    };
    what.map(|what| Change { at: zero, what }.to_string()).unwrap_or_default()
}
