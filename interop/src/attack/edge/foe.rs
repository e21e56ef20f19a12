//! Clients that ask for much and take it as they like.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use socket2::{Domain, Socket, Type};

use super::service::SEND;

/// Bytes that the client's system takes in for a connection: little, so that the rest waits in the
/// edge.
const BUFFER: usize = 4 << 10;
/// Time limit for a connection to be established.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between turns of those who take little, and of those who take all they can.
const TURN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(2));
/// Bytes written or read in a turn.
const PIECE: usize = 65_536;

/// Behaviour of a hostile connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greed {
    /// Asks for data without end and takes a byte of it each second.
    Bytewise,
    /// Asks for data without end and keeps its window closed.
    Nothing,
    /// Does that, and sends to the service, which reads nothing.
    BothWays,
    /// Asks for data without end and takes it as fast as it comes.
    Everything,
}

impl std::fmt::Display for Greed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Greed::Bytewise => "take a byte a second",
            Greed::Nothing => "keep their windows closed",
            Greed::BothWays => "keep their windows closed, and send what the service does not read",
            Greed::Everything => "download as fast as they can",
        })
    }
}

/// Resources that hostile clients obtained.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    pub(super) connections: usize,
    pub(super) refused: usize,
    pub(super) bytes: u64,
}

/// Hostile clients, a connection each, behind one address.
pub(super) struct Foe {
    greed: Greed,
    members: Vec<TcpStream>,
    taken: Taken,
}

impl Foe {
    /// Opens connections from an address to the edge.
    pub(super) fn open(
        home: Ipv4Addr,
        edge: SocketAddr,
        greed: Greed,
        connections: u16,
    ) -> Result<Foe> {
        let mut foe = Foe { greed, members: Vec::new(), taken: Taken::default() };
        for _ in 0..connections {
            match connect(home, edge, greed)? {
                Some(stream) => foe.members.push(stream),
                None => foe.taken.refused += 1,
            }
        }
        foe.taken.connections = foe.members.len();
        Ok(foe)
    }

    /// Goes on for a while.
    pub(super) fn stay(&mut self, span: Duration) -> Result<()> {
        let deadline = Instant::now() + span;
        let turn = if self.greed == Greed::Everything { TURN.1 } else { TURN.0 };
        while Instant::now() < deadline {
            for member in std::mem::take(&mut self.members) {
                match act(&member, self.greed) {
                    Ok(bytes) => {
                        self.taken.bytes += bytes;
                        self.members.push(member);
                    }
                    Err(_) => self.taken.refused += 1,
                }
            }
            std::thread::sleep(turn);
        }
        Ok(())
    }

    pub(super) fn taken(&self) -> Taken {
        self.taken
    }
}

/// Does what it does in a turn; bytes that it took, or that its connection has ended.
fn act(mut stream: &TcpStream, greed: Greed) -> std::io::Result<u64> {
    let mut buffer = [0; PIECE];
    let done = match greed {
        Greed::Everything => stream.read(&mut buffer),
        Greed::Bytewise => stream.read(&mut buffer[..1]),
        Greed::BothWays => stream.write(&buffer).map(|_| 0),
        Greed::Nothing => match stream.take_error()? {
            Some(error) => Err(error),
            None => Ok(0),
        },
    };
    match done {
        Ok(bytes) => Ok(bytes as u64),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        Err(error) => Err(error),
    }
}

/// A connection that has said what it wants; none where it is refused.
fn connect(home: Ipv4Addr, edge: SocketAddr, greed: Greed) -> Result<Option<TcpStream>> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).context("a hostile client")?;
    if greed != Greed::Everything {
        socket.set_recv_buffer_size(BUFFER)?;
    }
    socket.bind(&SocketAddr::from((home, 0)).into()).context("a hostile client's address")?;
    if socket.connect_timeout(&edge.into(), PATIENCE).is_err() {
        return Ok(None);
    }
    let mut stream = TcpStream::from(socket);
    let is_taken = stream.write_all(&[SEND]).is_ok();
    stream.set_nonblocking(true)?;
    Ok(is_taken.then_some(stream))
}
