//! One side of a conversation over a connection: messages framed by the length in their headers.

use base::RandomStream;
use bytes::{Buf, Bytes, BytesMut};
use tcp::{Event, Received, SendFlags};

use super::host::{Line, Reader, Talk};
use super::model::{Account, Conversation, End, HEADER, Header, Inbox, Outbox, read, write};
use super::shared::{SharedRef, policy, size};
use super::tcp::{Tcp, presets};

/// Bytes taken from a connection at once.
const READ: usize = 16 << 10;

/// What one side has said and heard.
#[derive(Debug, Default)]
pub(crate) struct TcpTalk {
    /// Known to the client from the start; the server learns it from the first message.
    conversation: Option<Conversation>,
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
    peer_finished: bool,
}

impl TcpTalk {
    /// Hands the connection what waits, and finishes once nothing does where that is wanted.
    fn push(&mut self, line: &mut Line<'_, Tcp>) {
        if !self.waiting.is_empty() {
            let waiting = self.waiting.clone();
            let own = line.endpoint.connection_mut(line.id);
            let sent = own.map(|mut own| own.send(line.now, waiting, SendFlags::default()));
            // A connection that takes nothing any more fails, and says so.
            self.waiting.advance(sent.and_then(Result::ok).unwrap_or(0));
        }
        if self.finishes && self.waiting.is_empty() && !self.finished {
            self.finished = true;
            if let Some(mut own) = line.endpoint.connection_mut(line.id) {
                own.shutdown_write(line.now);
            }
        }
    }

    fn read_all(&mut self, line: &mut Line<'_, Tcp>, reader: Reader<'_>) -> Result<(), String> {
        let Some(mut own) = line.endpoint.connection_mut(line.id) else { return Ok(()) };
        loop {
            match own.receive(line.now, READ) {
                Ok(Received::Data(bytes)) => self.partial.extend_from_slice(&bytes),
                Ok(Received::Finished) => self.peer_finished = true,
                Ok(Received::Nothing) | Err(_) => return Ok(()),
            }
            while let Some(message) = self.next_message() {
                let header = read(&message)?;
                reader.check(&mut self.conversation, &header)?;
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
}

impl Talk<Tcp> for TcpTalk {
    fn begin(&mut self, conversation: Conversation) {
        self.conversation = Some(conversation);
    }

    /// Says nothing while the last message still waits for room.
    fn send(
        &mut self,
        line: &mut Line<'_, Tcp>,
        from_client: bool,
        random: &mut RandomStream,
        shared: &SharedRef,
    ) {
        if random.below(16) == 0 {
            let policy = policy(&presets(), random);
            if let Some(mut own) = line.endpoint.connection_mut(line.id) {
                own.set_policy(line.now, policy);
            }
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
        self.push(line);
    }

    fn read(&mut self, line: &mut Line<'_, Tcp>, reader: Reader<'_>) -> Result<(), String> {
        let verdict = self.read_all(line, reader);
        if self.peer_finished {
            self.finish(line);
        }
        verdict
    }

    fn on_event(&mut self, line: &mut Line<'_, Tcp>, event: &Event) -> Result<(), String> {
        if *event == Event::Writable {
            self.push(line);
        }
        Ok(())
    }

    fn finish(&mut self, line: &mut Line<'_, Tcp>) {
        self.finishes = true;
        self.push(line);
    }

    /// One of eight clients aborts.
    fn leave(&mut self, line: &mut Line<'_, Tcp>, random: &mut RandomStream) {
        if random.below(8) > 0 {
            self.finish(line);
        } else if let Some(mut own) = line.endpoint.connection_mut(line.id) {
            own.abort(line.now);
        }
    }

    fn judged(&self) -> Option<Conversation> {
        self.conversation
    }

    /// A connection that closed has nothing waiting.
    fn account(self, end: End) -> Account {
        Account { end, sent: self.sent, received: self.received }
    }
}
