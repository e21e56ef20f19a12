//! Files that show why a message was late: a capture of packets, and recovery's events.

use std::io::{self, Write};

use base::Instant;
use netsim::capture::{InterfaceId, PcapWriter};
use netsim::frame::FrameHeader;
use netsim::{HostId, Packet};
use recovery::TimedEvent;

use super::Observer;
use crate::events::EventLine;

/// Writes the packets of flows as a capture at their senders would show them: an interface for each
/// flow and policy. Flows are written one after the other, each from time zero on.
pub struct PacketFile<W: Write> {
    file: PcapWriter<W>,
    interface: Option<InterfaceId>,
    failure: Option<io::Error>,
}

impl<W: Write> PacketFile<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of `writer`.
    pub fn new(writer: W) -> io::Result<PacketFile<W>> {
        Ok(PacketFile { file: PcapWriter::new(writer)?, interface: None, failure: None })
    }

    /// A flow begins.
    ///
    /// # Errors
    /// Those of the writer, those of earlier flows included.
    pub fn begin(&mut self, policy: &str, flow: u32) -> io::Result<()> {
        self.failure.take().map_or(Ok(()), Err)?;
        self.interface = Some(self.file.add_interface(&format!("{policy}-{flow}"))?);
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<()> {
        self.failure.take().map_or(Ok(()), Err)?;
        self.file.flush()
    }

    fn write(&mut self, now: Instant, packet: &Packet) {
        let Some(interface) = self.interface.filter(|_| self.failure.is_none()) else { return };
        let (header, payload) = (FrameHeader::of(&packet.datagram), &packet.datagram.payload);
        self.failure = self.file.write(interface, now, header, payload).err();
    }
}

impl<W: Write> Observer for &mut PacketFile<W> {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        if packet.sender == HostId(0) {
            self.write(now, packet);
        }
    }

    fn on_arrived(&mut self, now: Instant, packet: &Packet, receiver: HostId) {
        if receiver == HostId(0) {
            self.write(now, packet);
        }
    }
}

/// Writes the events of the senders' recovery as JSON, one a line.
pub struct EventFile<W: Write> {
    writer: W,
    policy: String,
    flow: u32,
    first_unit: u64,
    failure: Option<io::Error>,
}

impl<W: Write> EventFile<W> {
    /// Begins a file.
    pub fn new(writer: W) -> EventFile<W> {
        EventFile { writer, policy: String::new(), flow: 0, first_unit: 0, failure: None }
    }

    /// A flow begins.
    ///
    /// # Errors
    /// Those of the writer, of earlier flows.
    pub fn begin(&mut self, policy: &str, flow: u32) -> io::Result<()> {
        self.failure.take().map_or(Ok(()), Err)?;
        policy.clone_into(&mut self.policy);
        self.flow = flow;
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<()> {
        self.failure.take().map_or(Ok(()), Err)?;
        self.writer.flush()
    }
}

impl<W: Write> Observer for &mut EventFile<W> {
    fn on_start(&mut self, first_unit: u64) {
        self.first_unit = first_unit;
    }

    fn on_recovery_event(&mut self, event: &TimedEvent) {
        if self.failure.is_none() {
            let line = EventLine::new(&self.policy, self.flow, self.first_unit, event);
            self.failure = writeln!(self.writer, "{}", line.to_json()).err();
        }
    }
}

/// Both see everything; one that is none sees nothing.
impl<A: Observer, B: Observer> Observer for (Option<A>, Option<B>) {
    fn on_start(&mut self, first_unit: u64) {
        self.0.iter_mut().for_each(|one| one.on_start(first_unit));
        self.1.iter_mut().for_each(|one| one.on_start(first_unit));
    }
    fn on_recovery_event(&mut self, event: &TimedEvent) {
        self.0.iter_mut().for_each(|one| one.on_recovery_event(event));
        self.1.iter_mut().for_each(|one| one.on_recovery_event(event));
    }
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        self.0.iter_mut().for_each(|one| one.on_sent(now, packet));
        self.1.iter_mut().for_each(|one| one.on_sent(now, packet));
    }
    fn on_arrived(&mut self, now: Instant, packet: &Packet, receiver: HostId) {
        self.0.iter_mut().for_each(|one| one.on_arrived(now, packet, receiver));
        self.1.iter_mut().for_each(|one| one.on_arrived(now, packet, receiver));
    }
}
