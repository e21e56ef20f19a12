//! The time-sequence diagram of one loss: the flow is simulated once more, up to the delivery of the
//! message, and its packets are written down from when the message was due.

use base::{Duration, Instant};
use bytes::Bytes;
use netsim::{HostId, Packet};
use recovery::{Cause, Event, RecoveryPolicy, TimedEvent};
use sctp::wire::{self, Chunk, Tsn};

use super::{FlowSetup, Loss, Observer, ScenarioError, simulate};
use crate::probe::Probe;
use crate::report::{Ladder, LadderEvent, MarkKind, PacketKind, Side};
use crate::watch::words::{data_label, sack_label};

/// What happened around the loss in the flow that `setup` describes. TSNs are counted from 0, so that
/// they are the numbers of the messages.
///
/// # Errors
/// See [`ScenarioError`].
pub fn draw_ladder(setup: &FlowSetup, loss: Loss) -> Result<Option<Ladder>, ScenarioError> {
    let recorder = LadderRecorder::new(loss.message, &setup.policy);
    let (_, recorder) = simulate(setup, recorder)?;
    Ok(recorder.into_ladder())
}

/// Writes down what happens from the first transmission of a message to its delivery. In virtual time it
/// observes the simulation; whoever saw a flow in real time tells it by its own methods, in order.
pub struct LadderRecorder {
    message: u64,
    early_timer: bool,
    first_tsn: u32,
    /// One past the highest TSN sent, counted from 0.
    next_tsn: u32,
    /// Numbers of packets without a known fate, and where their events stand.
    on_the_way: Vec<(u64, usize)>,
    due: Option<Instant>,
    delivered: Option<Instant>,
    events: Vec<LadderEvent>,
}

/// How long after the delivery the diagram goes on: the SACK that it causes leaves within this, if nothing holds
/// it back.
const AFTER: Duration = Duration::from_millis(20);

/// What a packet is in the diagram.
struct Described {
    kind: PacketKind,
    label: String,
}

impl LadderRecorder {
    /// A recorder for message number `message` of a flow under `policy`.
    pub fn new(message: u64, policy: &RecoveryPolicy) -> LadderRecorder {
        LadderRecorder {
            message,
            early_timer: policy.loss.early_timer.is_some(),
            first_tsn: 0,
            next_tsn: 0,
            on_the_way: Vec::new(),
            due: None,
            delivered: None,
            events: Vec::new(),
        }
    }

    /// Packet number `number` left `from` with this SCTP packet in it.
    pub fn on_packet_sent(&mut self, now: Instant, number: u64, from: Side, datagram: &Bytes) {
        let Ok(parsed) = wire::Packet::parse(datagram.clone()) else { return };
        let Some(Described { kind, label }) = self.describe(&parsed) else { return };
        if self.due.is_none() || self.delivered.is_some_and(|end| now > end + AFTER) {
            return;
        }
        self.on_the_way.push((number, self.events.len()));
        self.events.push(LadderEvent::Packet { from, sent: now, arrived: None, kind, label });
    }

    /// The packet arrived at `at`, or was lost.
    pub fn on_packet_fate(&mut self, number: u64, at: Option<Instant>) {
        let Some(row) = self.on_the_way.iter().position(|(sent, _)| *sent == number) else {
            return;
        };
        let (_, event) = self.on_the_way.swap_remove(row);
        if let Some(LadderEvent::Packet { arrived, .. }) = self.events.get_mut(event) {
            *arrived = at;
        }
    }

    /// The diagram, which ends a little after the delivery: what comes later belongs to other messages. None if
    /// the message was never sent.
    pub fn into_ladder(mut self) -> Option<Ladder> {
        self.events.sort_by_key(place);
        let LadderRecorder { due, delivered, mut events, .. } = self;
        if let Some(end) = delivered {
            events.retain(|event| match event {
                LadderEvent::Packet { sent, .. } => *sent <= end + AFTER,
                LadderEvent::Mark { at, .. } => *at <= end,
            });
        }
        due.map(|due| Ladder { due, delivered, events })
    }

    fn mark(&mut self, side: Side, at: Instant, kind: MarkKind, label: &str) {
        if self.due.is_some() {
            self.events.push(LadderEvent::Mark { side, at, kind, label: label.to_owned() });
        }
    }

    fn number(&self, tsn: Tsn) -> u32 {
        tsn.0.wrapping_sub(self.first_tsn)
    }

    fn describe(&mut self, packet: &wire::Packet) -> Option<Described> {
        let mut tsns: Vec<u32> = Vec::new();
        let mut sack = None;
        for chunk in packet.chunks() {
            match chunk {
                Ok(Chunk::Data(data)) => {
                    tsns.push(self.number(data.tsn));
                    self.notice_due(&data.payload);
                }
                Ok(Chunk::Sack(one)) => {
                    sack = Some(sack_label(&one, Tsn(self.first_tsn)));
                }
                _ => {}
            }
        }
        if let (Some(first), Some(last)) = (tsns.first(), tsns.last()) {
            let again = *first < self.next_tsn;
            let units: Vec<u64> = tsns.iter().map(|tsn| u64::from(*tsn)).collect();
            self.next_tsn = self.next_tsn.max(last.wrapping_add(1));
            let kind = if again { PacketKind::Retransmission } else { PacketKind::Data };
            return Some(Described { kind, label: data_label(&units) });
        }
        Some(Described { kind: PacketKind::Acknowledgement, label: sack? })
    }

    /// The diagram begins with the first transmission of the message.
    fn notice_due(&mut self, payload: &[u8]) {
        if self.due.is_none()
            && let Ok(probe) = Probe::peek(payload)
            && probe.index == self.message
        {
            self.due = Some(probe.due);
        }
    }
}

/// In order of time; at the same time a timer comes before what it causes.
fn place(event: &LadderEvent) -> (Instant, bool) {
    match event {
        LadderEvent::Packet { sent, .. } => (*sent, true),
        LadderEvent::Mark { at, kind, .. } => (*at, *kind != MarkKind::Timer),
    }
}

impl Observer for LadderRecorder {
    fn on_start(&mut self, first_unit: u64) {
        self.first_tsn = first_unit as u32;
    }

    fn on_recovery_event(&mut self, (at, event): &TimedEvent) {
        match event {
            Event::Timeout { .. } => self.mark(Side::Sender, *at, MarkKind::Timer, "T3-rtx"),
            Event::Lost { cause: Cause::Early, .. } if self.early_timer => {
                self.mark(Side::Sender, *at, MarkKind::Timer, "early timer");
            }
            _ => {}
        }
    }

    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        let from = if packet.sender == HostId(0) { Side::Sender } else { Side::Receiver };
        self.on_packet_sent(now, packet.number, from, &packet.datagram.payload);
    }

    fn on_dropped(&mut self, _: Instant, packet: &Packet) {
        self.on_packet_fate(packet.number, None);
    }

    fn on_arrived(&mut self, now: Instant, packet: &Packet, _: HostId) {
        self.on_packet_fate(packet.number, Some(now));
    }

    fn on_delivered(&mut self, now: Instant, probe: &Probe) {
        if probe.index == self.message {
            self.delivered = Some(now);
            self.mark(Side::Receiver, now, MarkKind::Delivered, "delivered");
        }
    }

    /// The last acknowledgement is on its way when the message is delivered.
    fn is_satisfied(&self) -> bool {
        self.delivered.is_some() && self.on_the_way.is_empty() && !self.events.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_diagram_ends_a_little_after_the_delivery_whenever_it_was_told() {
        let policy = RecoveryPolicy::sctp_thin();
        let mut recorder = LadderRecorder::new(7, &policy);
        let at = Instant::from_millis;
        let packet = |sent| LadderEvent::Packet {
            from: Side::Receiver,
            sent,
            arrived: Some(sent + Duration::from_millis(50)),
            kind: PacketKind::Acknowledgement,
            label: "SACK 7".to_owned(),
        };
        recorder.due = Some(at(100));
        // The demo in real time tells of packets first, then of timers and of deliveries.
        recorder.events.extend([at(300), at(401), at(600)].map(packet));
        for timer in [at(350), at(402), at(9_000)] {
            let next_rto = Duration::from_secs(1);
            let timeout = Event::Timeout { path: 0, next_rto, thin: true, linear: true };
            recorder.on_recovery_event(&(timer, timeout));
        }
        recorder.on_delivered(at(400), &Probe { flow: 0, index: 7, due: at(100) });
        let ladder = recorder.into_ladder().unwrap();
        let times: Vec<u64> =
            ladder.events.iter().map(|event| place(event).0.as_nanos() / 1_000_000).collect();
        assert_eq!(times, [300, 350, 400, 401], "{:?}", ladder.events);
    }
}
