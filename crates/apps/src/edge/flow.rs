//! One connection: a task between the stack and an ordinary TCP connection to the service.
//! [`super::carry`] decides which bytes move; a reset, from either side, is a reset on the other.

mod to_service;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tcp::{Connection, Failure, State};
use tokio::io::Interest;
use tokio::net::TcpStream;

use self::to_service::ToService;
#[cfg(test)]
pub(super) use self::to_service::advance;
use super::budget::Budget;
use super::carry::{self, Failed, InStack, InTransit, Next, Taken};
use super::counters::End;
use super::registry::{Entry, Registry};
use super::shard::{Accepted, Shard};

/// Time limit for the service to accept a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Serves a connection to its end.
pub(super) async fn run(registry: Arc<Registry>, accepted: Accepted) {
    let end = match registry.enter(&accepted) {
        Ok(entry) => serve(&registry, &accepted, &entry).await,
        Err(end) => end,
    };
    if end != End::Finished {
        let shard = registry.shard(accepted.shard);
        shard.machine.call(|endpoint, now| {
            if let Some(mut own) = endpoint.connection_mut(accepted.id) {
                own.abort(now);
            }
        });
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
    let mut stream = ToService::new(stream, service);
    if service.proxy_protocol && stream.write_all(proxy_line(accepted).as_bytes()).await.is_err() {
        return End::NoService;
    }
    let stack = Stack { client: &client, budget: registry.budget() };
    let flow = Flow { stack, entry, stream, in_transit: InTransit::default(), held: 0 };
    match flow.run().await {
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

/// The line that gives the service the client's address.
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

    /// Fails once the client is gone: bytes from and to it are of no more use, and the service is
    /// to be reset at once.
    fn check(&self) -> Result<(), End> {
        self.ask(Connection::failure).map_or(Ok(()), |failure| Err(End::Client(failure)))
    }

    /// Waits, once all data was carried, until the client has acknowledged it.
    ///
    /// A slow client has until [`rest_limit`]. Otherwise it could keep what waits for it, and a
    /// place among the connections, for years by acknowledging a byte now and then.
    async fn see_off(&self) -> End {
        let id = self.accepted.id;
        self.shard.machine.call(|stack, now| {
            if let Some(mut own) = stack.connection_mut(id) {
                own.close(now);
            }
        });
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

/// Time limit for a client to take the last `bytes`: five minutes, as long as the stack waits
/// without any progress, and a second more for each kilobyte.
fn rest_limit(bytes: u64) -> Duration {
    Duration::from_secs(300 + bytes / 1024)
}

/// The stack's side of a flow.
struct Stack<'a> {
    client: &'a Client<'a>,
    budget: &'a Budget,
}

impl Stack<'_> {
    /// Does something with the connection, after which the driver sends what is due.
    fn call<T>(&self, act: impl FnOnce(&mut InStack<'_>) -> T) -> T {
        let id = self.client.accepted.id;
        self.client.shard.machine.call(|stack, now| act(&mut InStack { stack, now, id }))
    }
}

impl carry::Client for Stack<'_> {
    type Error = Failure;

    fn receive(&mut self, limit: usize, pieces: &mut Vec<Bytes>) -> Result<Taken, Failure> {
        let limit = self.budget.piece(limit);
        let (id, machine) = (self.client.accepted.id, &self.client.shard.machine);
        let now = machine.clock().now();
        // Where there is nothing to read, nothing follows from reading, and the driver need not
        // look.
        let nothing = machine.look(|stack| {
            let readable = stack.connection(id).map_or(0, Connection::readable_bytes);
            (readable == 0).then(|| InStack { stack, now, id }.receive(limit, pieces))
        });
        match nothing {
            Some(result) => result,
            None => self.call(|connection| connection.receive(limit, pieces)),
        }
    }

    fn room(&mut self) -> Result<usize, Failure> {
        let id = self.client.accepted.id;
        // Nothing of this makes the stack send anything.
        self.client.shard.machine.look(|stack| carry::room_in(stack, id))
    }

    fn send(&mut self, data: Bytes) -> Result<usize, Failure> {
        self.call(|connection| connection.send(data))
    }

    fn finish(&mut self) {
        self.call(|connection| connection.finish());
    }
}

struct Flow<'a> {
    stack: Stack<'a>,
    entry: &'a Entry,
    stream: ToService,
    in_transit: InTransit,
    /// Bytes that the budget counts for this flow.
    held: usize,
}

impl Flow<'_> {
    async fn run(mut self) -> Result<(), End> {
        loop {
            let next = self.in_transit.carry(&mut self.stack, &mut self.stream);
            self.tell();
            let next = next.map_err(|failed| match failed {
                Failed::Client(failure) => End::Client(failure),
                Failed::Service(_) => End::ServiceReset,
            })?;
            let (readable, writable) = match next {
                Next::Over => {
                    self.stream.complete();
                    return Ok(());
                }
                Next::Again => {
                    tokio::task::yield_now().await;
                    continue;
                }
                Next::Wait { readable, writable } => (readable, writable),
            };
            let ready = match (readable, writable) {
                (true, true) => Interest::READABLE | Interest::WRITABLE,
                (true, false) => Interest::READABLE,
                (false, true) => Interest::WRITABLE,
                // Both wait for the client; a reset by the service must not.
                (false, false) => Interest::ERROR,
            };
            tokio::select! {
                // Neither direction may be one that asks the stack.
                () = self.stack.client.accepted.signal.notified() => self.stack.client.check()?,
                ready = self.stream.ready(ready) => ready.map_err(|_| End::ServiceReset)?,
            }
        }
    }

    /// Reports bytes carried and bytes held.
    fn tell(&mut self) {
        self.entry.count(self.in_transit.bytes());
        let before = std::mem::replace(&mut self.held, self.in_transit.held());
        self.stack.budget.move_in_flows(before, self.held);
    }
}

impl Drop for Flow<'_> {
    fn drop(&mut self) {
        self.stack.budget.move_in_flows(self.held, 0);
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
