//! A flow's packets as captures on both of its hosts would show them.
//!
//! Time zero of the run is 1 January 1970. A packet that the network loses has a comment in the
//! sender's capture, and is missing in the receiver's.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};

use base::Instant;
use netsim::capture::{InterfaceId, PcapWriter};
use netsim::checker::{Checker, DropCause};
use netsim::frame::FrameHeader;
use netsim::packet::AddressedDatagram;
use netsim::{HostId, Packet};

use crate::flow::Numbering;
use crate::world::Ends;

/// Numbers of the protocols in IP headers.
const TCP: u8 = 6;
const SCTP: u8 = 132;
/// Protocol number for experiments (RFC 3692): packets of other transports are written without
/// their UDP header.
const EXPERIMENT: u8 = 253;

/// Writes the captures of a flow, or of flows that are alike, in pcapng: that of the senders and
/// that of the receivers.
pub struct FlowCapture<W: Write> {
    /// 0 for a sender, 1 for a receiver.
    sides: BTreeMap<HostId, usize>,
    taps: [Tap<W>; 2],
    failure: Option<io::Error>,
}

/// A capture on one host, in order: each packet is written when its fate is known.
struct Tap<W: Write> {
    file: PcapWriter<W>,
    interface: InterfaceId,
    protocol: u8,
    waiting: VecDeque<CapturedPacket>,
    /// Number of packets already written.
    written: u64,
    /// Packets whose fate is unknown: place in this capture, by number in the simulation.
    open: BTreeMap<u64, u64>,
}

struct CapturedPacket {
    at: Instant,
    datagram: AddressedDatagram,
    remark: Option<&'static str>,
    is_settled: bool,
}

impl<W: Write> FlowCapture<W> {
    /// A capture of these flows, all of one transport, which have not begun.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn new(flows: &[Ends], files: [W; 2]) -> io::Result<FlowCapture<W>> {
        let numbering = flows.first().map_or(Numbering::Tcp, |ends| ends.log.borrow().numbering());
        let sides = flows.iter().flat_map(|ends| [(ends.sender, 0), (ends.receiver, 1)]);
        let [sender, receiver] = files;
        let taps =
            [Tap::new(sender, "sender", numbering)?, Tap::new(receiver, "receiver", numbering)?];
        Ok(FlowCapture { sides: sides.collect(), taps, failure: None })
    }

    /// Writes the packets that are still on their way, and flushes the files.
    ///
    /// # Errors
    /// The first error of a file, whose capture ends before it.
    pub fn finish(&mut self) -> io::Result<()> {
        for tap in &mut self.taps {
            for seen in &mut tap.waiting {
                seen.is_settled = true;
            }
        }
        self.write();
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => self.taps.iter_mut().try_for_each(|tap| tap.file.flush()),
        }
    }

    fn side(&self, host: HostId) -> Option<usize> {
        self.sides.get(&host).copied()
    }

    fn write(&mut self) {
        for tap in &mut self.taps {
            if self.failure.is_none()
                && let Err(error) = tap.write()
            {
                self.failure = Some(error);
            }
        }
    }

    fn settle(&mut self, packet: &Packet, remark: Option<&'static str>) {
        if let Some(side) = self.side(packet.sender) {
            self.taps[side].settle(packet.number, remark);
        }
    }
}

impl<W: Write> Tap<W> {
    fn new(file: W, name: &str, numbering: Numbering) -> io::Result<Tap<W>> {
        let mut file = PcapWriter::new(file)?;
        let interface = file.add_interface(name)?;
        let protocol = match numbering {
            Numbering::Sctp => SCTP,
            Numbering::Tcp => TCP,
            Numbering::Marked => EXPERIMENT,
        };
        let (waiting, open) = (VecDeque::new(), BTreeMap::new());
        Ok(Tap { file, interface, protocol, waiting, written: 0, open })
    }

    fn see(&mut self, at: Instant, packet: &Packet, is_settled: bool) {
        if !is_settled {
            self.open.insert(packet.number, self.written + self.waiting.len() as u64);
        }
        let datagram = packet.datagram.clone();
        self.waiting.push_back(CapturedPacket { at, datagram, remark: None, is_settled });
    }

    fn settle(&mut self, number: u64, remark: Option<&'static str>) {
        let place = self.open.remove(&number).and_then(|place| place.checked_sub(self.written));
        if let Some(seen) = place.and_then(|place| self.waiting.get_mut(place as usize)) {
            seen.is_settled = true;
            seen.remark = remark;
        }
    }

    fn write(&mut self) -> io::Result<()> {
        while let Some(seen) = self.waiting.pop_front_if(|seen| seen.is_settled) {
            self.written += 1;
            let header =
                FrameHeader { raw_protocol: self.protocol, ..FrameHeader::of(&seen.datagram) };
            let (payload, remark) = (&seen.datagram.payload, seen.remark);
            self.file.write_remarked(self.interface, seen.at, header, payload, remark)?;
        }
        Ok(())
    }
}

impl<W: Write> Checker for FlowCapture<W> {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        if let Some(side) = self.side(packet.sender) {
            self.taps[side].see(now, packet, false);
        }
    }

    fn on_dropped(&mut self, _: Instant, packet: &Packet, cause: DropCause) {
        self.settle(packet, Some(word(cause)));
        self.write();
    }

    fn on_delivered(&mut self, now: Instant, packet: &Packet, receiver: HostId) {
        self.settle(packet, None);
        if let Some(side) = self.side(receiver) {
            self.taps[side].see(now, packet, true);
            self.write();
        }
    }
}

/// The comment on a packet that does not arrive.
fn word(cause: DropCause) -> &'static str {
    match cause {
        DropCause::Loss => "lost",
        DropCause::Queue => "lost: the queue had no room",
        DropCause::Blackout => "lost: the link was out",
        DropCause::TooLarge => "lost: too large for the link",
        DropCause::NoRoute | DropCause::NoHost => "lost: no host has the address",
    }
}
