//! One connection: bytes from the client to the service and back, no faster than the other side takes them.
//!
//! Neither direction holds more than one piece here. While the service does not take it, nothing more is read from
//! the stack, whose window closes; while the stack's send buffer is full, nothing more is read from the service,
//! whose own TCP then waits. A half-close ends one direction and leaves the other; a reset, from either side, is a
//! reset on the other.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use tcp::{ConnectionError, Failure, Received, SendFlags};
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::TcpStream;

use super::registry::{Entry, Registry};
use super::shard::{Accepted, Shard};
use super::status::End;

/// Largest piece that is read at once, in each direction.
const PIECE: usize = 64 * 1024;
/// Pieces after which other connections get their turn.
const TURN: usize = 16;
/// How long the service may take to accept.
const CONNECT_LIMIT: std::time::Duration = std::time::Duration::from_secs(10);

thread_local! {
    /// Memory to read from services into, of all connections that this thread serves.
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; PIECE]);
}

/// Serves a connection to its end.
pub(super) async fn run(registry: Arc<Registry>, accepted: Accepted) {
    let Some(entry) = registry.enter(&accepted) else {
        let shard = registry.shard(accepted.shard);
        shard.machine.call(|endpoint, now| endpoint.abort(now, accepted.id));
        let end = End::TooMany;
        registry.leave(&accepted, end);
        return;
    };
    let end = serve(&registry, &accepted, &entry).await;
    registry.leave(&accepted, end);
}

async fn serve(registry: &Registry, accepted: &Accepted, entry: &Entry) -> End {
    let service = registry.service(accepted.service);
    let shard = registry.shard(accepted.shard);
    let connected = tokio::time::timeout(CONNECT_LIMIT, TcpStream::connect(service.forward)).await;
    let mut stream = match connected {
        Ok(Ok(stream)) => stream,
        _ => {
            shard.machine.call(|endpoint, now| endpoint.abort(now, accepted.id));
            return End::NoService;
        }
    };
    // The client's TCP has put together what it wanted to.
    let _ = stream.set_nodelay(true);
    if service.proxy_protocol {
        let line = proxy_line(accepted);
        if stream.write_all(line.as_bytes()).await.is_err() {
            shard.machine.call(|endpoint, now| endpoint.abort(now, accepted.id));
            return End::NoService;
        }
    }
    Flow { shard, accepted, entry, stream, up: Up::Open(None), down: Down::Open(None) }.run().await
}

/// What tells the service who the client is.
fn proxy_line(accepted: &Accepted) -> String {
    let family = if accepted.client.is_ipv4() { "TCP4" } else { "TCP6" };
    let (client, local) = (accepted.client, accepted.local);
    let (from, to) = (client.ip(), local.ip());
    format!("PROXY {family} {from} {to} {} {}\r\n", client.port(), local.port())
}

/// From the client to the service.
enum Up {
    /// Goes on; with what the service did not take yet.
    Open(Option<Bytes>),
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
    shard: &'a Shard,
    accepted: &'a Accepted,
    entry: &'a Entry,
    stream: TcpStream,
    up: Up,
    down: Down,
}

impl Flow<'_> {
    async fn run(mut self) -> End {
        loop {
            let (mut up, mut down) = (Step::More, Step::More);
            for _ in 0..TURN {
                if matches!(up, Step::More) {
                    match self.step_up() {
                        Ok(step) => up = step,
                        Err(end) => return self.reset(end),
                    }
                }
                if matches!(down, Step::More) {
                    match self.step_down() {
                        Ok(step) => down = step,
                        Err(end) => return self.reset(end),
                    }
                }
            }
            let ready = match (&up, &down) {
                (Step::Over, Step::Over) => return End::Finished,
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
                () = self.accepted.signal.notified() => {}
                found = self.stream.ready(ready) => match found {
                    Ok(found) if !found.is_error() => {}
                    _ => return self.reset(End::ServiceReset),
                },
            }
        }
    }

    /// Moves a piece from the client to the service.
    fn step_up(&mut self) -> Result<Step, End> {
        let Up::Open(pending) = &mut self.up else { return Ok(Step::Over) };
        let mut data = match pending.take() {
            Some(data) => data,
            None => {
                let id = self.accepted.id;
                let receive = self.shard.machine.call(|stack, now| stack.receive(now, id, PIECE));
                match receive.map_err(client_end)? {
                    Received::Data(data) => data,
                    Received::Nothing => return Ok(Step::Stack),
                    Received::Finished => {
                        shutdown_write(&self.stream).map_err(|_| End::ServiceReset)?;
                        self.up = Up::Finished;
                        return Ok(Step::Over);
                    }
                }
            }
        };
        match self.stream.try_write(&data) {
            Ok(taken) => {
                self.entry.count_up(taken);
                bytes::Buf::advance(&mut data, taken);
                if !data.is_empty() {
                    *pending = Some(data);
                }
                Ok(Step::More)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                *pending = Some(data);
                Ok(Step::Service)
            }
            Err(_) => Err(End::ServiceReset),
        }
    }

    /// Moves a piece from the service to the client.
    fn step_down(&mut self) -> Result<Step, End> {
        let Down::Open(pending) = &mut self.down else { return Ok(Step::Over) };
        let id = self.accepted.id;
        let mut data = match pending.take() {
            Some(data) => data,
            None => match read(&self.stream) {
                Ok(data) if data.is_empty() => {
                    self.shard.machine.call(|stack, now| stack.shutdown_write(now, id));
                    self.down = Down::Finished;
                    return Ok(Step::Over);
                }
                Ok(data) => data,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Step::Service);
                }
                Err(_) => return Err(End::ServiceReset),
            },
        };
        let piece = data.clone();
        let send =
            |stack: &mut tcp::Endpoint, now| stack.send(now, id, piece, SendFlags::default());
        let taken = self.shard.machine.call(send).map_err(|error| match error {
            tcp::SendError::Failed(failure) => End::Client(failure),
            _ => End::Client(Failure::Reset),
        })?;
        self.entry.count_down(taken);
        bytes::Buf::advance(&mut data, taken);
        if data.is_empty() {
            return Ok(Step::More);
        }
        // The stack tells when it has room.
        *pending = Some(data);
        Ok(Step::Stack)
    }

    /// Carries a reset to the other side.
    fn reset(self, end: End) -> End {
        match end {
            End::Client(_) => {
                let _ = self.stream.set_zero_linger();
            }
            _ => {
                let id = self.accepted.id;
                self.shard.machine.call(|endpoint, now| endpoint.abort(now, id));
            }
        }
        end
    }
}

fn client_end(error: ConnectionError) -> End {
    match error {
        ConnectionError::Failed(failure) => End::Client(failure),
        _ => End::Client(Failure::Reset),
    }
}

/// Reads what the service has sent, a piece at most; nothing when it has finished.
fn read(stream: &TcpStream) -> io::Result<Bytes> {
    SCRATCH.with_borrow_mut(|scratch| {
        let length = stream.try_read(scratch)?;
        Ok(Bytes::copy_from_slice(&scratch[..length]))
    })
}

/// Ends the direction towards the service.
fn shutdown_write(stream: &TcpStream) -> io::Result<()> {
    socket2::SockRef::from(stream).shutdown(std::net::Shutdown::Write)
}
