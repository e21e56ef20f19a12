//! The client, an unmodified kernel: this machine's in a namespace, or Linux in User-Mode Linux.

use std::io::Read;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration as Span;

use base::Instant;
use interop::{EdgePlace, GUEST, HOST, Namespace, Uml, Wire, WirePlan};
use io::Clock;

use crate::Outcome;

/// Longest silence that a client accepts.
const PATIENCE: Span = Span::from_secs(120);

/// Held while a guest boots: a hundred at the same time would take longer than a guest may.
static BOOTING: Mutex<()> = Mutex::new(());

/// Kernel that has the clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientKind {
    /// The one that runs this program.
    Machine,
    /// Linux in User-Mode Linux, booted anew for each client.
    Guest,
}

impl FromStr for ClientKind {
    type Err = String;

    fn from_str(text: &str) -> Result<ClientKind, String> {
        match text {
            "machine" => Ok(ClientKind::Machine),
            "guest" => Ok(ClientKind::Guest),
            _ => Err(format!("--client {text}: expected machine or guest")),
        }
    }
}

/// The machine at the near end of a wire.
pub(crate) enum Machine {
    Here(Namespace),
    Guest(Uml),
}

/// A client's machine and the one with the server, with a wire between them.
pub(crate) struct Place {
    pub(crate) client: Machine,
    pub(crate) far: Namespace,
    pub(crate) wire: Wire,
}

impl Place {
    pub(crate) fn new(kind: ClientKind, plan: WirePlan) -> Outcome<Place> {
        if kind == ClientKind::Machine {
            let EdgePlace { near, far, wire } = EdgePlace::with_way(plan)?;
            return Ok(Place { client: Machine::Here(near), far, wire });
        }
        let guest = {
            let _turn = BOOTING.lock().unwrap_or_else(PoisonError::into_inner);
            Uml::boot_real_time()?
        };
        let (near, far) = (guest.namespace(), Namespace::new()?);
        let wire = Wire::start(near, &far, plan)?;
        // From the guest over its own wire and this one, and back.
        near.forward()?;
        far.forward()?;
        EdgePlace::lead_to_edge(near)?;
        far.ip(&format!("route add {GUEST}/32 via {}", Wire::address(0)))?;
        let routes = format!(
            "ip route add 10.78.0.0/24 via {HOST} && ip route add {}/32 via {HOST}",
            Wire::address(1)
        );
        guest.shell(&routes, Span::from_secs(10))?;
        Ok(Place { client: Machine::Guest(guest), far, wire })
    }
}

/// A connection of the client.
pub(crate) enum Client {
    Here(TcpStream),
    /// The socket outside the wire at which the guest reports each message.
    Guest(UdpSocket),
}

impl Machine {
    /// Connects to `at`; messages have `size` bytes.
    pub(crate) fn connect(&self, at: SocketAddr, size: usize) -> Outcome<Client> {
        match self {
            Machine::Here(near) => {
                let stream = near.enter(|| TcpStream::connect(at))??;
                stream.set_read_timeout(Some(PATIENCE))?;
                Ok(Client::Here(stream))
            }
            Machine::Guest(guest) => {
                let told = guest.namespace().enter(|| UdpSocket::bind((HOST, 0)))??;
                told.set_read_timeout(Some(Span::from_millis(200)))?;
                // Reads a message as soon as it is there, and writes each to a datagram.
                let script = format!(
                    "socat -u -b {size} TCP:{at} UDP-SENDTO:{} </dev/null >/dev/null 2>&1 &",
                    told.local_addr()?
                );
                guest.shell(&script, Span::from_secs(10))?;
                Ok(Client::Guest(told))
            }
        }
    }
}

impl Client {
    /// Latency of each message, in nanoseconds, until the server ends the connection. `written` is
    /// the number of messages that it wrote, and the largest number until then.
    pub(crate) fn listen(
        self,
        size: usize,
        clock: Clock,
        written: &AtomicU64,
    ) -> Outcome<Vec<u64>> {
        match self {
            Client::Here(stream) => from_stream(stream, size, clock),
            Client::Guest(told) => from_guest(&told, size, clock, written),
        }
    }
}

fn from_stream(mut stream: TcpStream, size: usize, clock: Clock) -> Outcome<Vec<u64>> {
    let (mut buffer, mut filled) = ([0; 64 * 1024], 0);
    let mut latencies = Vec::new();
    loop {
        match stream.read(&mut buffer[filled..])? {
            0 => return Ok(latencies),
            read => filled += read,
        }
        let (now, whole) = (clock.now(), filled / size * size);
        for message in buffer[..whole].chunks_exact(size) {
            latencies.push(latency(message, now)?);
        }
        buffer.copy_within(whole..filled, 0);
        filled -= whole;
    }
}

fn from_guest(
    told: &UdpSocket,
    size: usize,
    clock: Clock,
    written: &AtomicU64,
) -> Outcome<Vec<u64>> {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    let mut message = [0; 2048];
    let (mut latencies, mut last) = (Vec::new(), clock.now());
    while (latencies.len() as u64) < written.load(Ordering::Acquire) {
        match told.recv(&mut message) {
            Ok(read) if read == size => latencies.push(latency(&message[..size], clock.now())?),
            Ok(read) => return Err(format!("the guest read {read} bytes of a message").into()),
            Err(error) if matches!(error.kind(), TimedOut | WouldBlock) => {
                if Span::from(clock.now().since(last)) > PATIENCE {
                    return Err("the guest says nothing".into());
                }
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        last = clock.now();
    }
    Ok(latencies)
}

/// Nanoseconds from when the message was written, which its first bytes say, until `now`.
fn latency(message: &[u8], now: Instant) -> Outcome<u64> {
    let written = u64::from_be_bytes(message[..8].try_into()?);
    Ok(now.as_nanos() - written)
}
