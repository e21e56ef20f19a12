//! Bytes from a client to a service and back, no faster than the other side takes them: what a flow
//! does, without sockets, tasks and time.
//!
//! A direction holds what it took from one side until the other takes it, and takes nothing more
//! until then. To the service that is a piece of what the stack had, whose window closes meanwhile.
//! To the client nothing is fetched for which the stack has no room, so that it waits in the
//! service's own connection. A half-close ends one direction and leaves the other.

mod stack;

pub use stack::{InStack, room_in};

use bytes::{Buf, Bytes};

/// Most bytes that are on their way in each direction.
pub const PIECE: usize = 64 * 1024;
/// Steps of each direction after which other connections get their turn.
const BURST: usize = 16;

/// The client's side of a flow.
pub trait Client {
    /// Failure of the client's connection.
    type Error;

    /// Takes some of what the client sent, up to `limit` bytes, to the end of `pieces`, which is
    /// empty.
    ///
    /// # Errors
    /// Once the connection is gone.
    fn receive(&mut self, limit: usize, pieces: &mut Vec<Bytes>) -> Result<Taken, Self::Error>;

    /// Bytes that it takes now. After 0 the stack reports when there is room.
    ///
    /// # Errors
    /// Once the connection is gone.
    fn room(&mut self) -> Result<usize, Self::Error>;

    /// Takes as much of `data` as fits, and returns the number of bytes taken. After less than all
    /// the stack reports when there is room.
    ///
    /// # Errors
    /// Once the connection is gone.
    fn send(&mut self, data: Bytes) -> Result<usize, Self::Error>;

    /// Ends the direction to the client.
    fn finish(&mut self);
}

/// The service's side of a flow.
pub trait Service {
    /// Failure of the service's connection.
    type Error;

    /// Writes as much of `pieces` as it takes, and takes that away from them.
    ///
    /// # Errors
    /// Once the connection is gone.
    fn write(&mut self, pieces: &mut Vec<Bytes>) -> Result<Written, Self::Error>;

    /// Reads what the service has sent, up to `limit` bytes.
    ///
    /// # Errors
    /// Once the connection is gone.
    fn read(&mut self, limit: usize) -> Result<Read, Self::Error>;

    /// Ends the direction to the service.
    ///
    /// # Errors
    /// Once the connection is gone.
    fn finish(&mut self) -> Result<(), Self::Error>;
}

/// Result of reading from a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Bytes were taken, and are to be written to the service.
    Data,
    /// No bytes for now: the client's next ones wake the task.
    Nothing,
    /// The client's FIN was reached: no bytes follow.
    Finished,
}

/// Result of reading from a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// Bytes that were read, at least one.
    Data(Bytes),
    /// No bytes for now: the socket is not readable.
    Nothing,
    /// The service closed its direction: no bytes follow.
    Finished,
}

/// Result of writing to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Number of bytes that the service's socket took.
    Bytes(usize),
    /// No byte was taken: the service has to read first.
    Full,
}

/// The side whose connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed<C, S> {
    /// The client's connection, in the userspace TCP.
    Client(C),
    /// The service's connection, in the kernel.
    Service(S),
}

/// The next action of a flow's task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing: there may be more at once.
    Again,
    /// The stack says something, or the service's socket becomes ready for this; both where neither
    /// is set.
    Wait {
        /// The flow waits until the service can be read.
        readable: bool,
        /// The flow waits until the service can be written.
        writable: bool,
    },
    /// Never another: both directions are over.
    Over,
}

/// Result of a step in one direction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// There may be more at once.
    More,
    /// Nothing until the stack has something to say.
    Stack,
    /// Nothing until the service's socket is ready.
    Service,
    /// The direction has ended: nothing is left to do.
    Over,
}

/// Bytes taken from one side and not yet by the other.
#[derive(Debug, Default)]
pub struct InTransit {
    up: Vec<Bytes>,
    /// Size of the buffer that holds the first of them: all of it is kept until its last byte is
    /// gone.
    whole: usize,
    up_finished: bool,
    down: Bytes,
    down_finished: bool,
    bytes_up: u64,
    bytes_down: u64,
}

impl InTransit {
    /// Bytes that are kept: taken from one side and not by the other.
    pub fn held(&self) -> usize {
        self.whole + self.up.iter().skip(1).map(Bytes::len).sum::<usize>() + self.down.len()
    }

    /// Bytes that the service took, and that the stack took for the client.
    pub fn bytes(&self) -> (u64, u64) {
        (self.bytes_up, self.bytes_down)
    }

    /// Carries what can be carried now, for a while, in both directions.
    ///
    /// # Errors
    /// Where a side failed: the other is to be reset.
    pub fn carry<C: Client, S: Service>(
        &mut self,
        client: &mut C,
        service: &mut S,
    ) -> Result<Next, Failed<C::Error, S::Error>> {
        let (mut up, mut down) = (Step::More, Step::More);
        for _ in 0..BURST {
            if up == Step::More {
                up = self.step_up(client, service)?;
            }
            if down == Step::More {
                down = self.step_down(client, service)?;
            }
        }
        Ok(match (up, down) {
            (Step::Over, Step::Over) => Next::Over,
            (Step::More, _) | (_, Step::More) => Next::Again,
            (up, down) => {
                Next::Wait { readable: down == Step::Service, writable: up == Step::Service }
            }
        })
    }

    /// Moves some of the client's bytes to the service.
    fn step_up<C: Client, S: Service>(
        &mut self,
        client: &mut C,
        service: &mut S,
    ) -> Result<Step, Failed<C::Error, S::Error>> {
        if self.up_finished {
            return Ok(Step::Over);
        }
        if self.up.is_empty() {
            match client.receive(PIECE, &mut self.up).map_err(Failed::Client)? {
                Taken::Nothing => return Ok(Step::Stack),
                Taken::Finished => {
                    service.finish().map_err(Failed::Service)?;
                    self.up_finished = true;
                    return Ok(Step::Over);
                }
                Taken::Data => self.whole = self.up.first().map_or(0, Bytes::len),
            }
        }
        let pieces = self.up.len();
        match service.write(&mut self.up).map_err(Failed::Service)? {
            Written::Bytes(taken) => {
                self.bytes_up += taken as u64;
                if self.up.len() < pieces {
                    self.whole = self.up.first().map_or(0, Bytes::len);
                }
                Ok(Step::More)
            }
            Written::Full => Ok(Step::Service),
        }
    }

    /// Moves a piece from the service to the client.
    fn step_down<C: Client, S: Service>(
        &mut self,
        client: &mut C,
        service: &mut S,
    ) -> Result<Step, Failed<C::Error, S::Error>> {
        if self.down_finished {
            return Ok(Step::Over);
        }
        if self.down.is_empty() {
            let room = client.room().map_err(Failed::Client)?;
            if room == 0 {
                return Ok(Step::Stack);
            }
            match service.read(room.min(PIECE)).map_err(Failed::Service)? {
                Read::Data(data) => self.down = data,
                Read::Nothing => return Ok(Step::Service),
                Read::Finished => {
                    client.finish();
                    self.down_finished = true;
                    return Ok(Step::Over);
                }
            }
        }
        let taken = client.send(self.down.clone()).map_err(Failed::Client)?;
        self.bytes_down += taken as u64;
        self.down.advance(taken.min(self.down.len()));
        if !self.down.is_empty() {
            // The stack reports when it has room.
            return Ok(Step::Stack);
        }
        self.down = Bytes::new();
        Ok(Step::More)
    }
}

#[cfg(test)]
mod tests;
