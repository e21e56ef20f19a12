//! A client that knows its own verification tags and keeps to no other rule.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bytes::Bytes;
use sctp::wire::chunk::{CookieEcho, Data, DataFlags, HeartbeatAck, Init, OutgoingSack};
use sctp::wire::{Chunk, CommonHeader, Packet, PacketBuilder, Parameter};
use sctp::{Ppid, Ssn, StreamId, Tsn, VerificationTag};
use thinstream::DEFAULT_PORT;

/// Address of hostile clients: another host than that of the honest ones.
const HOME: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 66);
/// Packets that leave before answers are waited for: what a server's socket holds.
const BURST: usize = 32;
/// Time between bursts of data: as fast as a server takes it.
const BETWEEN_BURSTS: Duration = Duration::from_micros(300);
/// Time limit for the answer to an attempt.
const PATIENCE: Duration = Duration::from_millis(20);
/// User data of a packet.
const PIECE: usize = 1_400;
/// Packets of an unfinished message: as long as a server takes one (256 KiB), and no longer.
const UNFINISHED: u32 = 180;
/// Packets behind a missing TSN, once a message is as long as it may be.
const BEYOND_A_GAP: u32 = 120;
/// Messages of a client that takes no echo.
const MESSAGES: u32 = 300;

/// Behaviour of a hostile client, all of it from one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    /// Sets up this many associations, and sends nothing on them.
    Places(u16),
    /// Begins a message of 250 kB on each of this many associations, and sends 170 kB beyond a
    /// missing TSN.
    Unfinished(u16),
    /// Sends 300 messages of 1,400 bytes on each of this many associations, and keeps its window
    /// closed for the echoes.
    Echoes(u16),
}

impl std::fmt::Display for Attack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Attack::Places(count) => write!(f, "{count} associations without data"),
            Attack::Unfinished(count) => write!(f, "{count} unfinished messages"),
            Attack::Echoes(count) => write!(f, "echoes not taken, {count} times"),
        }
    }
}

/// Resources that a hostile client obtained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// COOKIE ACKs: associations that were set up.
    pub associations: usize,
    /// ABORTs: attempts that the server refused, and associations that it ended.
    pub refused: usize,
    /// Number of packets that the hostile client sent.
    pub packets: u64,
}

/// An association, by the client's SCTP port.
struct Member {
    /// The server's tag and first TSN.
    tag: VerificationTag,
    tsn: Tsn,
    sent: u32,
}

/// The hostile client, which may have any number of associations.
pub(super) struct Foe {
    socket: UdpSocket,
    members: BTreeMap<u16, Member>,
    refused: BTreeSet<u16>,
    taken: Taken,
}

/// The tag of the client's side at a port.
fn own_tag(port: u16) -> VerificationTag {
    VerificationTag(0x5000_0000 | u32::from(port))
}

const FIRST_TSN: Tsn = Tsn(100);

impl Foe {
    pub(super) fn new(server: SocketAddr) -> Result<Foe> {
        let socket = UdpSocket::bind((HOME, 0)).context("cannot bind a hostile client")?;
        socket.connect(server)?;
        let (members, refused) = (BTreeMap::new(), BTreeSet::new());
        Ok(Foe { socket, members, refused, taken: Taken::default() })
    }

    pub(super) fn taken(&self) -> Taken {
        self.taken
    }

    pub(super) fn attack(&mut self, attack: Attack) -> Result<()> {
        match attack {
            Attack::Places(count) => self.open(count),
            Attack::Unfinished(count) => {
                self.open(count)?;
                self.on_each(UNFINISHED + BEYOND_A_GAP, unfinished)
            }
            Attack::Echoes(count) => {
                self.open(count)?;
                self.on_each(MESSAGES, whole)
            }
        }
    }

    /// Sets up associations from as many SCTP ports; each is tried three times without an answer.
    fn open(&mut self, count: u16) -> Result<()> {
        for _ in 0..3 {
            let known =
                |foe: &Foe, port| foe.members.contains_key(&port) || foe.refused.contains(&port);
            let missing: Vec<u16> = (1..=count).filter(|port| !known(self, *port)).collect();
            for ports in missing.chunks(BURST) {
                for port in ports {
                    self.send(*port, VerificationTag(0), |packet| packet.append(init(*port)));
                }
                let deadline = Instant::now() + PATIENCE;
                while ports.iter().any(|port| !known(self, *port)) && Instant::now() < deadline {
                    self.hear(deadline)?;
                }
            }
        }
        Ok(())
    }

    /// Sends `packets` packets on each association, a burst on one after the other.
    fn on_each(&mut self, packets: u32, next: fn(u32) -> Data<&'static [u8]>) -> Result<()> {
        let ports: Vec<u16> = self.members.keys().copied().collect();
        for _ in 0..packets.div_ceil(BURST as u32) {
            for port in &ports {
                for _ in 0..BURST {
                    let Some(member) = self.members.get_mut(port) else { break };
                    let (chunk, tag) = (next(member.sent), member.tag);
                    member.sent += 1;
                    self.send(*port, tag, |packet| packet.append(chunk));
                }
                self.hear_what_came()?;
                std::thread::sleep(BETWEEN_BURSTS);
            }
        }
        Ok(())
    }

    /// Answers for a while, so that its associations do not seem dead.
    pub(super) fn answer_for(&mut self, span: Duration) -> Result<()> {
        let deadline = Instant::now() + span;
        while Instant::now() < deadline {
            self.hear(deadline)?;
        }
        Ok(())
    }

    /// Waits for a packet until then, and takes all that are there.
    fn hear(&mut self, deadline: Instant) -> Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        self.socket.set_read_timeout(Some(left.max(Duration::from_micros(1))))?;
        if self.take_one()? {
            self.hear_what_came()?;
        }
        Ok(())
    }

    /// Takes all packets that are there.
    fn hear_what_came(&mut self) -> Result<()> {
        self.socket.set_nonblocking(true)?;
        while self.take_one()? {}
        Ok(self.socket.set_nonblocking(false)?)
    }

    /// Whether there was a packet, or came within the time that the socket waits.
    fn take_one(&mut self) -> Result<bool> {
        let mut buffer = [0; 65_536];
        match self.socket.recv(&mut buffer) {
            Ok(length) => {
                self.on_packet(Bytes::copy_from_slice(&buffer[..length]));
                Ok(true)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Ok(false)
            }
            Err(error) => Err(error).context("a hostile client's socket"),
        }
    }

    fn on_packet(&mut self, datagram: Bytes) {
        let Ok(packet) = Packet::parse(datagram) else { return };
        let port = packet.header().destination_port;
        for chunk in packet.chunks().map_while(Result::ok) {
            match chunk {
                Chunk::InitAck(answer) => {
                    let Ok(cookie) = answer.0.parameters.state_cookie() else { continue };
                    let (tag, tsn) = (answer.0.initiate_tag, answer.0.initial_tsn);
                    self.send(port, tag, |packet| packet.append(CookieEcho { cookie }));
                    self.members.insert(port, Member { tag, tsn, sent: 0 });
                }
                Chunk::CookieAck(_) => self.taken.associations += 1,
                Chunk::Abort(_) => {
                    self.members.remove(&port);
                    self.refused.insert(port);
                    self.taken.refused += 1;
                }
                Chunk::Heartbeat(asked) => {
                    let Some(member) = self.members.get(&port) else { continue };
                    let answer = HeartbeatAck { info: asked.info };
                    self.send(port, member.tag, |packet| packet.append(answer));
                }
                Chunk::Data(_) => self.take_nothing(port),
                _ => {}
            }
        }
    }

    /// Acknowledges nothing, with a closed window.
    fn take_nothing(&mut self, port: u16) {
        let Some(member) = self.members.get(&port) else { return };
        let sack = OutgoingSack {
            cumulative_tsn_ack: Tsn(member.tsn.0.wrapping_sub(1)),
            a_rwnd: 0,
            gap_ack_blocks: [],
            duplicate_tsns: [],
        };
        self.send(port, member.tag, |packet| packet.append(sack));
    }

    fn send<R>(
        &mut self,
        port: u16,
        verification_tag: VerificationTag,
        fill: impl FnOnce(&mut PacketBuilder<'_>) -> R,
    ) {
        let mut buffer = Vec::new();
        let header =
            CommonHeader { source_port: port, destination_port: DEFAULT_PORT, verification_tag };
        let mut builder = PacketBuilder::start(&mut buffer, header, 60_000);
        fill(&mut builder);
        builder.finish();
        // What the system does not take is lost, as in any flood.
        let _ = self.socket.send(&buffer);
        self.taken.packets += 1;
    }
}

fn init(port: u16) -> Init<[Parameter<'static>; 0]> {
    Init {
        initiate_tag: own_tag(port),
        a_rwnd: 1_500,
        outbound_streams: 10,
        inbound_streams: 10,
        initial_tsn: FIRST_TSN,
        parameters: [],
    }
}

fn data(offset: u32, ssn: u16, flags: DataFlags) -> Data<&'static [u8]> {
    Data {
        tsn: Tsn(FIRST_TSN.0 + offset),
        stream: StreamId(0),
        ssn: Ssn(ssn),
        ppid: Ppid(0),
        flags,
        payload: &[7; PIECE],
    }
}

/// The packet number `index` of a message without an end; behind it a TSN is missing.
fn unfinished(index: u32) -> Data<&'static [u8]> {
    match index {
        0 => data(0, 0, DataFlags::BEGINNING),
        1..UNFINISHED => data(index, 0, DataFlags::from_bits(0)),
        UNFINISHED => data(index + 1, 2, DataFlags::BEGINNING),
        _ => data(index + 1, 2, DataFlags::from_bits(0)),
    }
}

/// DATA chunk of a whole message, with the TSN and SSN of its index.
fn whole(index: u32) -> Data<&'static [u8]> {
    data(index, index as u16, DataFlags::WHOLE)
}
