//! The record that both ends of a flow keep for its meters and watchers.

use core::hint::black_box;
use std::cell::RefCell;
use std::rc::Rc;

use base::Instant;
use bytes::Bytes;
use netsim::AddressedDatagram;
use recovery::{Event, TimedEvent};

use super::message_times::MessageTimes;
use super::spans::{FIRST, Numbering, Span, for_each_span};
use crate::observed::{Delivery, FlowMeter, GroupMeter, Seen};
use crate::workload::DueMessage;

/// Detail in which a flow is noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Only the number of delivered bytes.
    Bytes,
    /// The fate of each message and of each packet that carries it.
    Messages,
    /// The fate of each message and packet, kept until the run ends.
    Deliveries,
}

/// The record of one flow, shared by its two ends.
#[derive(Debug)]
pub struct FlowLog {
    numbering: Numbering,
    /// Bytes of headers before each datagram; `None`: those that its addresses imply.
    headers: Option<u64>,
    notes: Option<Box<MessageTimes>>,
    /// Unit that recovery's events call the flow's first.
    first_unit: u64,
    /// Number of that unit on the wire.
    first_number: u32,
    /// The unit after all that is acknowledged.
    acknowledged: u64,
    /// Bytes that the receiver's application has read.
    read: u64,
    /// Measurements of this flow alone.
    pub meter: FlowMeter,
    group: Rc<RefCell<GroupMeter>>,
    /// Number of the flow within its group.
    number: usize,
    /// Whether the packet under construction carries retransmissions.
    resends: bool,
    /// The association or connection failed before the flow's end.
    pub failed: bool,
    /// Messages that reached the application, in that order, if they are kept.
    pub deliveries: Option<Vec<Delivery>>,
    /// Events of the sender's recovery, if they are kept.
    pub steps: Option<Vec<TimedEvent>>,
}

/// Shared by the two ends of a flow, in one thread.
pub type LogHandle = Rc<RefCell<FlowLog>>;

impl FlowLog {
    /// The record of a flow of a group.
    pub fn new(numbering: Numbering, detail: Detail, group: &Rc<RefCell<GroupMeter>>) -> LogHandle {
        let (number, meter) = group.borrow_mut().join();
        Rc::new(RefCell::new(FlowLog {
            numbering,
            headers: None,
            notes: (detail >= Detail::Messages).then(Box::default),
            first_unit: 0,
            first_number: FIRST,
            acknowledged: 0,
            read: 0,
            meter,
            group: Rc::clone(group),
            number,
            resends: false,
            failed: false,
            deliveries: (detail == Detail::Deliveries).then(Vec::new),
            steps: None,
        }))
    }

    /// Reads the record ahead of its use.
    pub(super) fn warm(&self) {
        black_box((self.read, self.meter.bytes, self.number, self.notes.is_some()));
    }

    fn observe(&self, seen: &Seen<'_>) {
        self.group.borrow_mut().observe(self.number, seen);
    }

    /// Data takes this path from now on.
    pub fn on_path(&mut self, now: Instant, path: u8) {
        self.observe(&Seen::Path { at: now, path });
    }

    /// Keeps the events of the sender's recovery, and deliveries if messages are noted. Changes
    /// nothing else; to be called before the flow begins.
    pub fn keep_steps(&mut self) {
        self.steps.get_or_insert_default();
        self.deliveries.get_or_insert_default();
    }

    /// Sets the bytes of headers before each datagram; by default those of its addresses.
    pub fn set_headers(&mut self, bytes: u64) {
        self.headers = Some(bytes);
    }

    /// Whether recovery's events are wanted.
    pub fn hears_recovery(&self) -> bool {
        self.notes.is_some() || self.steps.is_some()
    }

    /// Whether the flow's packets are SCTP, TCP or marked ones of another implementation.
    pub fn numbering(&self) -> Numbering {
        self.numbering
    }

    /// Unit that recovery's events call the flow's first.
    pub fn first_unit(&self) -> u64 {
        self.first_unit
    }

    /// Messages that are on their way.
    pub fn open_messages(&self) -> usize {
        self.notes.as_ref().map_or(0, |notes| notes.len())
    }

    /// The flow begins: `first_unit` is the first one in recovery's events.
    pub fn on_start(&mut self, first_unit: u64) {
        self.first_unit = first_unit;
    }

    /// Number of the flow's first unit on the wire.
    pub fn first_number(&self) -> u32 {
        self.first_number
    }

    /// The flow begins over an association that chose its initial TSN by itself: `first_unit` is
    /// the first one in recovery's events, whose low 32 bits are that TSN.
    pub fn on_real_start(&mut self, first_unit: u64) {
        self.first_unit = first_unit;
        self.first_number = first_unit as u32;
    }

    /// The application wants to send a message.
    pub fn on_due(&mut self, message: &DueMessage) {
        self.observe(&Seen::Due(message));
    }

    /// The transport accepted a whole message.
    pub fn on_accepted(&mut self, now: Instant, message: DueMessage, stream: u16) {
        let Some(notes) = &mut self.notes else { return };
        match self.numbering {
            Numbering::Sctp | Numbering::Marked => notes.on_accepted(now, message, stream),
            Numbering::Tcp => notes.on_accepted_bytes(now, message),
        }
    }

    /// Recovery of the sender took a step.
    pub fn on_recovery_event(&mut self, (at, event): &TimedEvent) {
        self.steps.iter_mut().for_each(|kept| kept.push((*at, event.clone())));
        let Some(notes) = &mut self.notes else { return };
        match event {
            Event::Resent { unit, cause, order } => {
                let unit = unit.saturating_sub(self.first_unit);
                notes.on_resent(*at, unit, *cause, *order);
                match self.numbering {
                    Numbering::Sctp => notes.on_retransmission(unit, unit + 1),
                    Numbering::Tcp => self.resends = true,
                    Numbering::Marked => {}
                }
                self.observe(&Seen::Resent { at: *at, cause: *cause, order: *order });
            }
            Event::Spurious { units } => {
                self.observe(&Seen::Reported { at: *at, units: *units });
            }
            Event::Timeout { .. } => self.observe(&Seen::Timeout { at: *at }),
            Event::Acknowledged { cumulative, rtt, rto, .. } => {
                // A report of data behind a hole is no progress: the application cannot have them
                // yet.
                if *cumulative > self.acknowledged.max(self.first_unit) {
                    self.acknowledged = *cumulative;
                    self.observe(&Seen::Progress { at: *at, rto: *rto });
                }
                if let Some(rtt) = rtt {
                    self.observe(&Seen::RoundTrip { at: *at, rtt: *rtt, rto: *rto });
                }
            }
            _ => {}
        }
    }

    /// A packet of the sender leaves. Recovery's events before it were reported.
    pub fn on_sent(&mut self, now: Instant, packet: &AddressedDatagram) {
        self.meter
            .on_sent(now, packet.payload_size() + self.headers.unwrap_or(packet.header_size()));
        let Some(notes) = &mut self.notes else { return };
        let (numbering, near, resends) = (self.numbering, notes.sent_to(), self.resends);
        self.resends = false;
        let mut carries = false;
        for_each_span(
            (numbering, self.first_number),
            &packet.payload,
            &packet.tail,
            near,
            &mut |span| {
                carries = true;
                match numbering {
                    Numbering::Sctp | Numbering::Marked => notes.on_chunk_sent(now, span),
                    Numbering::Tcp => {
                        if resends {
                            // Other units in the packet are new, or copies behind retransmissions.
                            notes.on_retransmission(span.start, span.end.min(near));
                        }
                        notes.on_bytes_sent(now, span);
                    }
                }
            },
        );
        if carries {
            self.observe(&Seen::DataSent);
        }
    }

    /// A packet of the flow reached the receiver's host undamaged; its last bytes are in `tail`.
    pub fn on_arrived(&mut self, now: Instant, packet: &Bytes, tail: &Bytes) {
        let Some(notes) = &mut self.notes else { return };
        let (group, number, near) = (&self.group, self.number, notes.sent_to());
        let (mut fresh, mut again) = (0, 0);
        for_each_span(
            (self.numbering, self.first_number),
            packet,
            tail,
            near,
            &mut |span: Span| {
                let known = notes.arrived_of(span);
                again += known;
                fresh += span.end - span.start - known;
                if let Some(needless) = notes.on_arrived(now, span) {
                    group.borrow_mut().observe(number, &Seen::Needless(needless));
                }
            },
        );
        if fresh + again > 0 {
            self.observe(&Seen::DataArrived { at: now, fresh, again });
        }
    }

    /// The receiver's application read the next SCTP message in the sender's order.
    pub fn on_next_message_read(&mut self, now: Instant, size: usize) {
        self.on_read(now, size);
        if let Some(notes) = &mut self.notes
            && let Some(delivery) = notes.on_next_delivered(now)
        {
            self.on_delivery(delivery);
        }
    }

    /// The receiver's application read an SCTP message that begins with this unit.
    pub fn on_message_read(&mut self, now: Instant, unit: u64, size: usize) {
        self.on_read(now, size);
        if let Some(notes) = &mut self.notes
            && let Some(delivery) = notes.on_message_delivered(now, unit)
        {
            self.on_delivery(delivery);
        }
    }

    fn on_delivery(&mut self, delivery: Delivery) {
        self.observe(&Seen::Delivered(&delivery));
        self.deliveries.iter_mut().for_each(|kept| kept.push(delivery));
    }

    /// The receiver's application read bytes of TCP.
    pub fn on_bytes_read(&mut self, now: Instant, size: usize) {
        self.on_read(now, size);
        let read = self.read;
        while let Some(notes) = &mut self.notes
            && let Some(delivery) = notes.poll_delivered(now, read)
        {
            self.on_delivery(delivery);
        }
    }

    fn on_read(&mut self, now: Instant, size: usize) {
        self.read += size as u64;
        self.meter.on_read(now, size as u64);
        self.observe(&Seen::Read { at: now, bytes: size as u64 });
    }

    /// A transfer over a separate connection is complete.
    pub fn on_transfer(&mut self, now: Instant, message: &DueMessage) {
        self.observe(&Seen::Transferred { at: now, message });
    }

    /// Ends the run: messages not delivered by then count as undelivered.
    pub fn finish(&mut self, now: Instant) {
        self.observe(&Seen::Finished { at: now });
        for due in self.notes.iter().flat_map(|notes| notes.undelivered()) {
            self.observe(&Seen::Undelivered { due, at: now });
        }
    }
}
