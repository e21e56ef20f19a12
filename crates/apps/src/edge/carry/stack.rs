//! The client's side of a flow where it is a connection of a TCP endpoint.

use base::Instant;
use bytes::Bytes;
use tcp::{ConnectionError, ConnectionId, Endpoint, Failure, Received, SendError, SendFlags};

use super::{Client, Taken};

/// Most pieces of a turn: one system call takes them for sure (IOV_MAX is 1024), and a piece has
/// fewer segments.
const PIECES: usize = 128;

/// A connection and the endpoint that has it, for the length of a call.
#[derive(Debug)]
pub struct InStack<'a> {
    /// Userspace TCP that holds the connection.
    pub stack: &'a mut Endpoint,
    /// The time of the call.
    pub now: Instant,
    /// Client's connection in the endpoint.
    pub id: ConnectionId,
}

impl Client for InStack<'_> {
    type Error = Failure;

    fn receive(&mut self, limit: usize, pieces: &mut Vec<Bytes>) -> Result<Taken, Failure> {
        let mut room = limit;
        loop {
            let own = self.stack.connection_mut(self.id);
            match own.map(|mut own| own.receive(self.now, room)) {
                Some(Ok(Received::Data(data))) => {
                    room -= data.len();
                    pieces.push(data);
                    if room == 0 || pieces.len() == PIECES {
                        return Ok(Taken::Data);
                    }
                }
                // Pieces that came before have their turn first.
                _ if !pieces.is_empty() => return Ok(Taken::Data),
                Some(Ok(Received::Nothing)) => return Ok(Taken::Nothing),
                Some(Ok(Received::Finished)) => return Ok(Taken::Finished),
                Some(Err(ConnectionError::Failed(failure))) => return Err(failure),
                None | Some(Err(ConnectionError::Closed)) => return Err(Failure::Reset),
            }
        }
    }

    fn room(&mut self) -> Result<usize, Failure> {
        room_in(self.stack, self.id)
    }

    fn send(&mut self, data: Bytes) -> Result<usize, Failure> {
        let mut own = self.stack.connection_mut(self.id).ok_or(Failure::Reset)?;
        own.send(self.now, data, SendFlags::default()).map_err(send_failure)
    }

    fn finish(&mut self) {
        if let Some(mut own) = self.stack.connection_mut(self.id) {
            own.shutdown_write(self.now);
        }
    }
}

/// Bytes that a connection takes to send now. The endpoint has nothing to send after this.
///
/// # Errors
/// Once the connection is gone.
pub fn room_in(stack: &mut Endpoint, id: ConnectionId) -> Result<usize, Failure> {
    stack.connection_mut(id).ok_or(Failure::Reset)?.room_to_send().map_err(send_failure)
}

fn send_failure(error: SendError) -> Failure {
    match error {
        SendError::Failed(failure) => failure,
        _ => Failure::Reset,
    }
}
