//! One side of a conversation over a connection: messages framed by the length in their headers.

use base::{Instant, RandomStream};
use bytes::{Buf, Bytes, BytesMut};
use tcp::{ConnectionId, Endpoint, Received, SendFlags};

use super::model::{Account, Conversation, End, HEADER, Header, Inbox, Outbox, read, write};
use super::shared::{SharedRef, policy, size};
use super::tcp_node::presets;

/// Bytes taken from a connection at once.
const READ: usize = 16 << 10;

/// What one side has said and heard.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    /// Known to the client from the start; the server learns it from the first message.
    pub(crate) conversation: Option<Conversation>,
    sent: Outbox,
    received: Inbox,
    /// The part of the last message that the send buffer had no room for.
    waiting: Bytes,
    /// What arrived of a message that is not whole.
    partial: BytesMut,
    /// This side finishes as soon as nothing waits.
    finishes: bool,
    finished: bool,
    /// The peer has finished.
    pub(crate) peer_finished: bool,
}

impl Talk {
    /// Sends the next message, unless the last one still waits for room; now and then with another policy from now on.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint,
        id: ConnectionId,
        from_client: bool,
        random: &mut RandomStream,
        shared: &SharedRef,
    ) {
        if random.below(16) == 0 {
            endpoint.set_policy(now, id, policy(&presets(), random));
            shared.borrow_mut().policies += 1;
        }
        let Some(conversation) = self.conversation else { return };
        if self.finishes || !self.waiting.is_empty() {
            return;
        }
        let number = self.sent.counts[0];
        let header = Header { conversation, from_client, stream: 0, number };
        self.waiting = write(header, size(random));
        self.sent.counts[0] += 1;
        self.push(now, endpoint, id);
    }

    /// Hands the connection what waits, and finishes once nothing does where that is wanted.
    pub(crate) fn push(&mut self, now: Instant, endpoint: &mut Endpoint, id: ConnectionId) {
        if !self.waiting.is_empty() {
            let sent = endpoint.send(now, id, self.waiting.clone(), SendFlags::default());
            // A connection that takes nothing any more fails, and says so.
            self.waiting.advance(sent.unwrap_or(0));
        }
        if self.finishes && self.waiting.is_empty() && !self.finished {
            self.finished = true;
            endpoint.shutdown_write(now, id);
        }
    }

    /// Says no more.
    pub(crate) fn finish(&mut self, now: Instant, endpoint: &mut Endpoint, id: ConnectionId) {
        self.finishes = true;
        self.push(now, endpoint, id);
    }

    /// Reads all that arrived; `check` judges whose message it is.
    pub(crate) fn read(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint,
        id: ConnectionId,
        mut check: impl FnMut(&mut Option<Conversation>, &Header) -> Result<(), String>,
    ) -> Result<(), String> {
        loop {
            match endpoint.receive(now, id, READ) {
                Ok(Received::Data(bytes)) => self.partial.extend_from_slice(&bytes),
                Ok(Received::Finished) => self.peer_finished = true,
                Ok(Received::Nothing) | Err(_) => return Ok(()),
            }
            while let Some(message) = self.next_message() {
                let header = read(&message)?;
                check(&mut self.conversation, &header)?;
                self.received.take(header, false)?;
            }
            if self.peer_finished {
                let rest = self.partial.len();
                let whole = rest == 0;
                return if whole {
                    Ok(())
                } else {
                    Err(format!("FIN behind {rest} bytes of a message"))
                };
            }
        }
    }

    /// The next whole message. A length that is wrong is found when the message is read.
    fn next_message(&mut self) -> Option<Bytes> {
        let length = self.partial.get(HEADER - 4..HEADER)?;
        let length = u32::from_be_bytes(length.try_into().ok()?) as usize;
        let length = length.clamp(HEADER, 1 << 16);
        (self.partial.len() >= length).then(|| self.partial.split_to(length).freeze())
    }

    /// The account of this side. A connection that closed has nothing waiting.
    pub(crate) fn account(self, end: End) -> Account {
        Account { end, sent: self.sent, received: self.received }
    }
}
