//! One connection: bytes from the client to the service and back, no faster than the other side takes them.
//!
//! Neither direction holds more than [`PIECE`] here. While the service does not take it, nothing more is read from
//! the stack, whose window closes; while the stack's send buffer is full, nothing more is read from the service,
//! whose own TCP then waits. A half-close ends one direction and leaves the other; a reset, from either side, is a
//! reset on the other.

mod to_service;

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use tcp::{Connection, ConnectionError, Endpoint, Failure, Received, SendFlags, State};
use tokio::io::Interest;
use tokio::net::TcpStream;

use self::to_service::{Read, ToService, Written};
use super::registry::{Entry, Registry};
use super::shard::{Accepted, Shard};
use super::tally::End;

/// Most bytes that are on their way here, in each direction.
const PIECE: usize = 64 * 1024;
/// Pieces after which other connections get their turn.
const TURN: usize = 16;
/// How long the service may take to accept.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Serves a connection to its end.
pub(super) async fn run(registry: Arc<Registry>, accepted: Accepted) {
    let end = match registry.enter(&accepted) {
        Ok(entry) => serve(&registry, &accepted, &entry).await,
        Err(end) => end,
    };
    if end != End::Finished {
        let shard = registry.shard(accepted.shard);
        shard.machine.call(|endpoint, now| endpoint.abort(now, accepted.id));
    }
    registry.leave(&accepted, end);
}

async fn serve(registry: &Registry, accepted: &Accepted, entry: &Entry) -> End {
    let service = registry.service(accepted.service);
    let client = Client { shard: registry.shard(accepted.shard), accepted };
    let stream = match connect(service.forward, &client).await {
        Ok(stream) => stream,
        Err(end) => return end,
    };
    let mut stream = ToService::new(stream, service.finished_probe.into());
    if service.proxy_protocol && stream.write_all(proxy_line(accepted).as_bytes()).await.is_err() {
        return End::NoService;
    }
    let (up, down) = (Up::Open(Vec::new()), Down::Open(None));
    let carried = Flow { client: &client, entry, stream, up, down }.run().await;
    match carried {
        Ok(()) => client.see_off().await,
        Err(end) => end,
    }
}

/// Connects to the service, for as long as the client is there.
async fn connect(to: std::net::SocketAddr, client: &Client<'_>) -> Result<TcpStream, End> {
    let mut connecting =
        std::pin::pin!(tokio::time::timeout(CONNECT_LIMIT, TcpStream::connect(to)));
    loop {
        tokio::select! {
            connected = &mut connecting => return match connected {
                Ok(Ok(stream)) => Ok(stream),
                Ok(Err(error)) if io::is_shortage(&error) => Err(End::NoResources),
                _ => Err(End::NoService),
            },
            () = client.accepted.signal.notified() => client.check()?,
        }
    }
}

/// What tells the service who the client is.
fn proxy_line(accepted: &Accepted) -> String {
    let family = if accepted.client.is_ipv4() { "TCP4" } else { "TCP6" };
    let (client, local) = (accepted.client, accepted.local);
    let (from, to) = (client.ip(), local.ip());
    format!("PROXY {family} {from} {to} {} {}\r\n", client.port(), local.port())
}

/// The client's connection in the stack.
struct Client<'a> {
    shard: &'a Shard,
    accepted: &'a Accepted,
}

impl Client<'_> {
    /// Asks the stack, without anything that it would have to do.
    fn ask<T>(&self, question: impl FnOnce(&Connection) -> Option<T>) -> Option<T> {
        let id = self.accepted.id;
        self.shard.machine.inspect(|stack| stack.connection(id).and_then(question))
    }

    /// Whether the client is still there. What it was sent or had to say before it was gone is of no more use:
    /// the service shall hear of it at once.
    fn check(&self) -> Result<(), End> {
        self.ask(Connection::failure).map_or(Ok(()), |failure| Err(End::Client(failure)))
    }

    /// Everything was carried: waits until the client has it all.
    ///
    /// One that takes its time has until [`rest_limit`]. Otherwise it could keep what waits for it, and a place
    /// among the connections, for years by acknowledging a byte now and then.
    async fn see_off(&self) -> End {
        let id = self.accepted.id;
        let call = |stack: &mut Endpoint, now| stack.close(now, id);
        self.shard.machine.call(call);
        let waits = |connection: &Connection| {
            let info = connection.info(base::Instant::ZERO);
            Some(info.unsent_bytes + info.unacked_bytes)
        };
        let limit = rest_limit(self.ask(waits).unwrap_or(0));
        let mut limit = std::pin::pin!(tokio::time::sleep(limit));
        loop {
            if let Err(end) = self.check() {
                return end;
            }
            let over = |connection: &Connection| {
                Some(matches!(connection.state(), State::Closed | State::TimeWait))
            };
            if self.ask(over).unwrap_or(true) {
                return End::Finished;
            }
            tokio::select! {
                () = self.accepted.signal.notified() => {}
                () = &mut limit => return End::Client(Failure::TimedOut),
            }
        }
    }
}

/// How long a client may take for the last `bytes`: five minutes, as long as the stack waits without any progress,
/// and so much more that a kilobyte a second suffices.
fn rest_limit(bytes: u64) -> Duration {
    Duration::from_secs(300 + bytes / 1024)
}

/// From the client to the service.
enum Up {
    /// Goes on; with what the service did not take yet.
    Open(Vec<Bytes>),
    /// The client finished, and the service knows.
    Finished,
}

/// From the service to the client.
enum Down {
    /// Goes on; with what the stack did not take yet.
    Open(Option<Bytes>),
    /// The service finished, and the stack knows.
    Finished,
}

impl Up {
    fn held(&self) -> usize {
        match self {
            Up::Open(pending) => pending.iter().map(Bytes::len).sum(),
            Up::Finished => 0,
        }
    }
}

impl Down {
    fn held(&self) -> usize {
        match self {
            Down::Open(pending) => pending.as_ref().map_or(0, Bytes::len),
            Down::Finished => 0,
        }
    }
}

/// How far a step came.
enum Step {
    /// There may be more at once.
    More,
    /// Nothing until the stack has something to say.
    Stack,
    /// Nothing until the service's socket is ready.
    Service,
    /// This direction is over.
    Over,
}

struct Flow<'a> {
    client: &'a Client<'a>,
    entry: &'a Entry,
    stream: ToService,
    up: Up,
    down: Down,
}

impl Flow<'_> {
    async fn run(mut self) -> Result<(), End> {
        loop {
            let (mut up, mut down) = (Step::More, Step::More);
            for _ in 0..TURN {
                if matches!(up, Step::More) {
                    up = self.step_up()?;
                }
                if matches!(down, Step::More) {
                    down = self.step_down()?;
                }
            }
            self.entry.hold(self.up.held() + self.down.held());
            let ready = match (&up, &down) {
                (Step::Over, Step::Over) => {
                    self.stream.complete();
                    return Ok(());
                }
                (Step::More, _) | (_, Step::More) => {
                    tokio::task::yield_now().await;
                    continue;
                }
                (Step::Service, Step::Service) => Interest::READABLE | Interest::WRITABLE,
                (Step::Service, _) => Interest::WRITABLE,
                (_, Step::Service) => Interest::READABLE,
                // Both wait for the client; a reset by the service must not.
                _ => Interest::ERROR,
            };
            tokio::select! {
                // Neither direction may be one that asks the stack.
                () = self.client.accepted.signal.notified() => self.client.check()?,
                ready = self.stream.ready(ready) => ready.map_err(|_| End::ServiceReset)?,
            }
        }
    }

    /// Moves some of what the client sent to the service.
    fn step_up(&mut self) -> Result<Step, End> {
        let Up::Open(pending) = &mut self.up else { return Ok(Step::Over) };
        if pending.is_empty() {
            let id = self.client.accepted.id;
            let take = |stack: &mut Endpoint, now| receive(stack, now, id, pending);
            match self.client.shard.machine.call(take).map_err(client_end)? {
                Received::Nothing => return Ok(Step::Stack),
                Received::Finished => {
                    self.stream.finish().map_err(|_| End::ServiceReset)?;
                    self.up = Up::Finished;
                    return Ok(Step::Over);
                }
                Received::Data(_) => {}
            }
        }
        match self.stream.write(pending).map_err(|_| End::ServiceReset)? {
            Written::Bytes(taken) => {
                self.entry.count_up(taken);
                Ok(Step::More)
            }
            Written::Full => Ok(Step::Service),
        }
    }

    /// Moves a piece from the service to the client.
    fn step_down(&mut self) -> Result<Step, End> {
        let Down::Open(pending) = &mut self.down else { return Ok(Step::Over) };
        let (machine, id) = (&self.client.shard.machine, self.client.accepted.id);
        let mut data = match pending.take() {
            Some(data) => data,
            None => match self.stream.read().map_err(|_| End::ServiceReset)? {
                Read::Data(data) => data,
                Read::Nothing => return Ok(Step::Service),
                Read::Finished => {
                    machine.call(|stack, now| stack.shutdown_write(now, id));
                    self.down = Down::Finished;
                    return Ok(Step::Over);
                }
            },
        };
        let piece = data.clone();
        let send = |stack: &mut Endpoint, now| stack.send(now, id, piece, SendFlags::default());
        let taken = machine.call(send).map_err(|error| match error {
            tcp::SendError::Failed(failure) => End::Client(failure),
            _ => End::Client(Failure::Reset),
        })?;
        self.entry.count_down(taken);
        data.advance(taken);
        if data.is_empty() {
            return Ok(Step::More);
        }
        // The stack tells when it has room.
        *pending = Some(data);
        Ok(Step::Stack)
    }
}

/// Takes what the client sent, up to [`PIECE`] of it. What is said of data is in `pieces`.
fn receive(
    stack: &mut Endpoint,
    now: base::Instant,
    id: tcp::ConnectionId,
    pieces: &mut Vec<Bytes>,
) -> Result<Received, ConnectionError> {
    /// As many as one system call takes for sure (IOV_MAX is 1024), and more than segments in a piece.
    const PIECES: usize = 128;
    let mut room = PIECE;
    loop {
        match stack.receive(now, id, room) {
            Ok(Received::Data(data)) => {
                room -= data.len();
                pieces.push(data);
                if room == 0 || pieces.len() == PIECES {
                    return Ok(Received::Data(Bytes::new()));
                }
            }
            // What came before has its turn first.
            _ if !pieces.is_empty() => return Ok(Received::Data(Bytes::new())),
            other => return other,
        }
    }
}

fn client_end(error: ConnectionError) -> End {
    match error {
        ConnectionError::Failed(failure) => End::Client(failure),
        _ => End::Client(Failure::Reset),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_takes_a_kilobyte_a_second_gets_everything() {
        assert_eq!(rest_limit(0), Duration::from_secs(300));
        assert!(rest_limit(1 << 20) > Duration::from_secs(1024));
    }
}
