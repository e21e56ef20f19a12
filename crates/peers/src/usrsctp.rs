//! usrsctp, FreeBSD's SCTP in userspace, as the system's library has it: a program of its own for
//! each end (`interop/peers/virtual_usrsctp.c`), which gets its time, its packets and its random
//! numbers through a pipe.

use std::collections::VecDeque;
use std::io::{self, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use base::{Datagram, DatagramMeta, Duration, Icmp, Instant, Machine, Transmit, TransmitBuffer};
use bytes::Bytes;
use lab::peers::{IP_HEADER, PeerEnd};
use programs::{build, missing};

use crate::datagram::transmit;
use crate::ends::Side;

/// Interval at which the library advances its timers.
const TICK: Duration = Duration::from_millis(10);
/// Most bytes of one record of an answer: a packet, or a message.
const LARGEST: usize = 1 << 24;

/// Reason for which there is no usrsctp on this machine; none where there is.
pub(crate) fn missing() -> Option<String> {
    program().as_ref().err().cloned()
}

/// The program, built at the first call.
fn program() -> &'static Result<PathBuf, String> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let header = "not there (Debian package libusrsctp-dev)";
        missing::file("/usr/include/usrsctp.h", header).map_err(|missing| missing.to_string())?;
        build::compile(&["virtual_usrsctp.c"], "virtual_usrsctp", &["-lusrsctp"])
            .map_err(|error| format!("{error:#}"))
    })
}

/// One end of an association, on one ordered stream.
pub(crate) struct UsrsctpEnd {
    program: Program,
    side: Side,
    packets: VecDeque<Vec<u8>>,
    messages: VecDeque<Bytes>,
    /// Messages from before the association was set up.
    waiting: VecDeque<Bytes>,
    established: bool,
    ended: bool,
    /// Time at which the timers advance next; none before the end has anything to do.
    tick: Option<Instant>,
}

impl UsrsctpEnd {
    /// An end with the library's defaults. With `tuned`: a timeout from 10 to 400 ms, the I bit on
    /// every message (RFC 7053), SACKs without delay, and 1000 retransmissions before the
    /// association ends. Small messages leave at once in both. None where the program does not
    /// start.
    pub(crate) fn new(side: Side, tuned: bool) -> Option<UsrsctpEnd> {
        let program = Program::start(program().as_ref().ok()?, side, tuned).ok()?;
        Some(UsrsctpEnd {
            program,
            side,
            packets: VecDeque::new(),
            messages: VecDeque::new(),
            waiting: VecDeque::new(),
            established: false,
            ended: false,
            tick: None,
        })
    }

    /// Asks the program, and keeps what it answers. An end whose program is gone is over.
    fn ask(&mut self, now: Instant, request: Request, content: &[u8]) {
        if self.ended {
            return;
        }
        self.tick = Some(next_tick(now));
        match self.program.ask(now, request, content) {
            Ok(records) => records.into_iter().for_each(|record| self.keep(record)),
            Err(_) => self.ended = true,
        }
        if self.established {
            while let Some(message) = self.waiting.pop_front() {
                self.ask(now, Request::Send, &message);
            }
        }
    }

    fn keep(&mut self, record: Record) {
        match record {
            Record::Packet(packet) => self.packets.push_back(packet),
            Record::Message(message) => self.messages.push_back(message.into()),
            Record::Established => self.established = true,
            Record::Ended => self.ended = true,
        }
    }
}

/// The first multiple of [`TICK`] after `now`.
fn next_tick(now: Instant) -> Instant {
    let ticks = now.as_nanos() / TICK.as_nanos() + 1;
    Instant::from_nanos(ticks * TICK.as_nanos())
}

impl Machine for UsrsctpEnd {
    fn handle_datagram(&mut self, now: Instant, _: DatagramMeta, datagram: Datagram) {
        self.ask(now, Request::Packet, &datagram.into_bytes());
    }

    fn handle_icmp(&mut self, _: Instant, _: Icmp<'_>) {}

    fn handle_timeout(&mut self, now: Instant) {
        if self.tick.is_some_and(|tick| tick <= now) {
            self.ask(now, Request::Tick, &[]);
        }
    }

    fn poll_transmit(&mut self, _: Instant, buffer: &mut dyn TransmitBuffer) -> Option<Transmit> {
        let packet = self.packets.pop_front()?;
        Some(transmit(self.side.remote, &packet, buffer))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.tick.filter(|_| !self.ended)
    }
}

impl PeerEnd for UsrsctpEnd {
    /// Directly over IP, as ours.
    fn headers(&self) -> u64 {
        IP_HEADER
    }

    fn connect(&mut self, now: Instant) {
        self.ask(now, Request::Connect, &[]);
    }

    fn send(&mut self, now: Instant, message: Bytes) {
        match self.established {
            true => self.ask(now, Request::Send, &message),
            false => self.waiting.push_back(message),
        }
    }

    fn receive(&mut self, _: Instant) -> Option<Bytes> {
        self.messages.pop_front()
    }

    fn has_failed(&self) -> bool {
        self.ended
    }
}

/// Requests to the program, by the letter that begins each.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Request {
    Connect = b'c',
    Send = b's',
    Packet = b'd',
    Tick = b't',
}

/// Answers of the program, as read from its output.
enum Record {
    Packet(Vec<u8>),
    Message(Vec<u8>),
    Established,
    Ended,
}

/// The running program, which ends when this value is dropped.
struct Program {
    child: Child,
    requests: BufWriter<ChildStdin>,
    answers: ChildStdout,
}

impl Program {
    fn start(path: &PathBuf, side: Side, tuned: bool) -> io::Result<Program> {
        let role = if side.server { "server" } else { "client" };
        let set = if tuned { "tuned" } else { "default" };
        let mut command = Command::new(path);
        command.args([role, set]).arg(side.seed.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let piped = || io::Error::other("no pipe");
        let requests = BufWriter::new(child.stdin.take().ok_or_else(piped)?);
        let answers = child.stdout.take().ok_or_else(piped)?;
        Ok(Program { child, requests, answers })
    }

    fn ask(&mut self, now: Instant, request: Request, content: &[u8]) -> io::Result<Vec<Record>> {
        let length = u32::try_from(content.len()).map_err(io::Error::other)?;
        self.requests.write_all(&[request as u8])?;
        self.requests.write_all(&(now.as_nanos() / 1000).to_le_bytes())?;
        self.requests.write_all(&length.to_le_bytes())?;
        self.requests.write_all(content)?;
        self.requests.flush()?;
        let mut records = Vec::new();
        loop {
            let (kind, content) = self.read_record()?;
            records.push(match kind {
                b'p' => Record::Packet(content),
                b'm' => Record::Message(content),
                b'e' => Record::Established,
                b'x' => Record::Ended,
                b'z' => return Ok(records),
                _ => return Err(io::Error::other("an unknown record")),
            });
        }
    }

    fn read_record(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.answers.read_exact(&mut head)?;
        let [kind, length @ ..] = head;
        let length = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
        if length > LARGEST {
            return Err(io::Error::other("a record too long"));
        }
        let mut content = vec![0; length];
        self.answers.read_exact(&mut content)?;
        Ok((kind, content))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The program holds no state worth saving; an error means that it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
