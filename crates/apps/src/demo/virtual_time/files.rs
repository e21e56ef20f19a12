//! Captures and events of a demo in virtual time, those that were asked for. They come from a run
//! of their own, policy by policy, so that their order is always the same.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use base::Instant;
use lab::cell_world::CellWorld;
use lab::engine::EngineError;
use lab::plan::{Plan, Subject};
use netsim::capture::{InterfaceId, PcapWriter};
use netsim::frame::FrameHeader;
use netsim::{Checker, HostId, Packet};

use crate::demo::error::DemoError;
use crate::demo::options::DemoOptions;
use crate::files::{EventFile, FileError, Unwritten, unwritten};

/// Number of SCTP in IP headers.
const SCTP: u8 = 132;

/// The files of a demo.
pub(super) struct Files {
    packets: Option<Rc<RefCell<PacketFile>>>,
    events: EventFile,
}

/// Writes what the senders' hosts send and receive: an interface for each flow and policy. Policies
/// are written one after the other, each from time zero on.
struct PacketFile {
    file: PcapWriter<BufWriter<File>>,
    /// Interfaces of the run's senders.
    interfaces: BTreeMap<HostId, InterfaceId>,
    failure: Option<io::Error>,
}

impl Files {
    pub(super) fn create(options: &DemoOptions) -> Result<Files, DemoError> {
        let begin = |path: &Path| {
            let file = File::create(path).and_then(|file| PcapWriter::new(BufWriter::new(file)));
            let file = file.map_err(|error| FileError::new("write", path, error))?;
            let packets = PacketFile { file, interfaces: BTreeMap::new(), failure: None };
            Ok::<_, FileError>(Rc::new(RefCell::new(packets)))
        };
        let packets = options.pcap.as_deref().map(begin).transpose()?;
        Ok(Files { packets, events: EventFile::create(options.events.as_deref())? })
    }

    /// Runs the flows once more and writes them down; gives what could not be written. A file that
    /// fails is given up, and the other goes on.
    pub(super) fn write(
        mut self,
        options: &DemoOptions,
        plan: &Plan,
    ) -> Result<Vec<Unwritten>, DemoError> {
        if self.packets.is_none() && !self.events.is_open() {
            return Ok(Vec::new());
        }
        for (contender, (_, cell)) in options.policies.iter().zip(&plan.cells) {
            let Subject::Flows(flows) = &cell.subject else { continue };
            let failed = |error| EngineError::World { place: contender.name.clone(), error };
            let mut built = flows.build(options.seed)?.map_err(failed)?;
            if let Some(packets) = &self.packets {
                packets.borrow_mut().begin(&contender.name, &built);
                built.world.watch(Rc::clone(packets));
            }
            built.world.flows.iter().for_each(|ends| ends.log.borrow_mut().keep_steps());
            built.run(&AtomicBool::new(false)).map_err(failed)?;
            self.write_events(&contender.name, &built);
        }
        let packets = self.packets.map_or(Ok(()), |packets| packets.borrow_mut().finish());
        let path = options.pcap.as_deref().unwrap_or(Path::new(""));
        let packets = packets.map_err(|error| FileError::new("write", path, error));
        Ok(unwritten([packets, self.events.finish()]))
    }

    /// The events of all flows of a run, flow by flow.
    fn write_events(&mut self, policy: &str, built: &CellWorld) {
        for (number, ends) in (0..).zip(&built.world.flows) {
            let log = ends.log.borrow();
            for event in log.steps.iter().flatten() {
                self.events.write(policy, number, log.first_unit(), event);
            }
        }
    }
}

impl PacketFile {
    /// The run of a policy begins.
    fn begin(&mut self, policy: &str, built: &CellWorld) {
        self.interfaces.clear();
        for (number, ends) in built.world.flows.iter().enumerate() {
            match self.file.add_interface(&format!("{policy}-{number}")) {
                Ok(interface) => drop(self.interfaces.insert(ends.sender, interface)),
                Err(error) => drop(self.failure.get_or_insert(error)),
            }
        }
    }

    fn write(&mut self, now: Instant, host: HostId, packet: &Packet) {
        let Some(interface) = self.interfaces.get(&host).filter(|_| self.failure.is_none()) else {
            return;
        };
        let header = FrameHeader { raw_protocol: SCTP, ..FrameHeader::of(&packet.datagram) };
        self.failure = self.file.write(*interface, now, header, &packet.datagram.payload).err();
    }

    fn finish(&mut self) -> io::Result<()> {
        self.failure.take().map_or(Ok(()), Err)?;
        self.file.flush()
    }
}

impl Checker for PacketFile {
    fn on_sent(&mut self, now: Instant, packet: &Packet) {
        self.write(now, packet.sender, packet);
    }

    fn on_delivered(&mut self, now: Instant, packet: &Packet, receiver: HostId) {
        self.write(now, receiver, packet);
    }
}
