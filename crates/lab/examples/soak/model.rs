//! Messages between the applications of a soak, and their judge: every message arrives once, in
//! order where asked, intact, or its sender learns of a failure, or that the message was given up.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

/// Ordered streams of a conversation, and the unordered one behind them.
pub(crate) const ORDERED: usize = 3;
pub(crate) const STREAMS: usize = ORDERED + 1;

/// Bytes of a message before its filling.
pub(crate) const HEADER: usize = 17;

/// One life of an association, as its client counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Conversation {
    pub(crate) client: u32,
    pub(crate) life: u32,
}

/// The fields at the beginning of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) conversation: Conversation,
    pub(crate) from_client: bool,
    pub(crate) stream: u8,
    /// Number of the message in its stream, from 0, without a hole.
    pub(crate) number: u32,
}

/// The bytes of a message of at least `size` bytes.
pub(crate) fn write(header: Header, size: usize) -> Bytes {
    let size = size.max(HEADER);
    let mut bytes = Vec::with_capacity(size);
    bytes.extend_from_slice(&header.conversation.client.to_be_bytes());
    bytes.extend_from_slice(&header.conversation.life.to_be_bytes());
    bytes.push(u8::from(header.from_client) << 7 | header.stream);
    bytes.extend_from_slice(&header.number.to_be_bytes());
    bytes.extend_from_slice(&(size as u32).to_be_bytes());
    let seed = filling(&bytes);
    bytes.extend((HEADER..size).map(|at| (seed.wrapping_mul(at as u32 | 1) >> 16) as u8));
    bytes.into()
}

/// Reads a message and checks every byte.
pub(crate) fn read(bytes: &[u8]) -> Result<Header, String> {
    let word = |at: usize| {
        let field = bytes.get(at..at + 4).and_then(|field| field.try_into().ok());
        field.map(u32::from_be_bytes).ok_or_else(|| format!("a message of {} bytes", bytes.len()))
    };
    let conversation = Conversation { client: word(0)?, life: word(4)? };
    let kind = bytes.get(8).copied().unwrap_or_default();
    let (number, size) = (word(9)?, word(13)? as usize);
    if size != bytes.len() {
        return Err(format!("a message of {size} bytes came with {}", bytes.len()));
    }
    let header =
        Header { conversation, from_client: kind & 0x80 != 0, stream: kind & 0x7f, number };
    if write(header, size) != bytes {
        return Err(format!("message {number} of {conversation:?} changed on its way"));
    }
    Ok(header)
}

fn filling(header: &[u8]) -> u32 {
    header
        .iter()
        .fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Counts of messages per stream.
pub(crate) type Counts = [u32; STREAMS];

/// Whether the messages of a client's conversations may be given up: in half of them.
pub(crate) fn may_give_up(client: u32) -> bool {
    client % 4 >= 2
}

/// Whether streams of a client's conversations begin again now and then.
pub(crate) fn resets(client: u32) -> bool {
    client % 8 >= 4
}

/// Number by which [`Outbox::on_abandoned`] knows a message.
pub(crate) fn context(stream: usize, number: u32) -> u32 {
    (stream as u32) << 30 | number
}

/// Messages that one side of a conversation sent, and those that were given up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) counts: Counts,
    /// Stream and number, and whether a part of it left.
    given_up: BTreeMap<(usize, u32), bool>,
    /// Messages that were given up without being named.
    further: u64,
}

impl Outbox {
    /// This many messages sent, none given up.
    #[allow(dead_code, reason = "tests of the judge use it")]
    pub(crate) fn of(counts: Counts) -> Outbox {
        Outbox { counts, ..Outbox::default() }
    }

    /// Notes that a message was given up; fails if it cannot have been.
    pub(crate) fn on_abandoned(&mut self, context: u32, sent: bool) -> Result<(), String> {
        let (stream, number) = ((context >> 30) as usize, context & 0x3fff_ffff);
        if self.given_up.insert((stream, number), sent).is_some() {
            return Err(format!("stream {stream}: message {number} was given up twice"));
        }
        Ok(())
    }

    pub(crate) fn on_further(&mut self, messages: u64) {
        self.further += messages;
    }

    /// Messages that were given up.
    pub(crate) fn given_up(&self) -> u64 {
        self.given_up.len() as u64 + self.further
    }

    /// Messages that must have arrived.
    fn owed(&self) -> u64 {
        let sent: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        sent.saturating_sub(self.given_up())
    }

    /// Whether each message arrived or was given up, and none that never left arrived.
    fn compare(&self, inbox: &Inbox) -> Result<(), String> {
        let mut missing = 0;
        for (stream, count) in self.counts.into_iter().enumerate() {
            for number in 0..count {
                let arrived = inbox.has(stream, number);
                match self.given_up.get(&(stream, number)) {
                    Some(false) if arrived => {
                        return Err(format!(
                            "stream {stream}: message {number} never left and came"
                        ));
                    }
                    None if !arrived => missing += 1,
                    _ => {}
                }
            }
        }
        if missing > self.further {
            return Err(format!(
                "sent {:?}, arrived {:?}, given up {}, {missing} missing and no failure was told",
                self.counts,
                inbox.counts,
                self.given_up()
            ));
        }
        Ok(())
    }
}

/// Messages that one side of a conversation has received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inbox {
    /// Per stream, the number after the highest in order, or after the last without a hole.
    pub(crate) counts: Counts,
    /// Unordered ones that came before a lower number.
    early: BTreeSet<u32>,
    /// Ordered ones that were passed over.
    holes: BTreeSet<(usize, u32)>,
}

impl Inbox {
    /// Takes the next message; fails if it cannot be the next one. Where messages may be given up
    /// (`gaps`), some may be missing.
    pub(crate) fn take(&mut self, header: Header, gaps: bool) -> Result<(), String> {
        let (stream, number) = (usize::from(header.stream), header.number);
        let Some(next) = self.counts.get_mut(stream) else {
            return Err(format!("stream {stream}"));
        };
        if stream < ORDERED {
            let skips = gaps && number > *next;
            if number != *next && !skips {
                return Err(format!("stream {stream}: message {number} where {next} was due"));
            }
            self.holes.extend((*next..number).map(|hole| (stream, hole)));
            *next = number + 1;
            return Ok(());
        }
        if number < *next || !self.early.insert(number) {
            return Err(format!("unordered message {number} came twice"));
        }
        while self.early.remove(next) {
            *next += 1;
        }
        Ok(())
    }

    /// Whether this message of the stream came.
    fn has(&self, stream: usize, number: u32) -> bool {
        let below = self.counts.get(stream).is_some_and(|next| number < *next);
        (below && !self.holes.contains(&(stream, number)))
            || (stream == ORDERED && self.early.contains(&number))
    }

    /// Messages that came, holes or not.
    pub(crate) fn total(&self) -> u64 {
        let counted = self.counts.iter().map(|count| u64::from(*count)).sum::<u64>();
        counted + self.early.len() as u64 - self.holes.len() as u64
    }
}

/// End of a conversation, as one side saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// A shutdown: all that was sent has arrived.
    Closed,
    /// An event that says so, a restart included.
    Failed,
}

/// All messages of one side of a conversation, and its end.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) end: End,
    pub(crate) sent: Outbox,
    pub(crate) received: Inbox,
}

/// The accounts of both sides of all conversations that are over.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    client: BTreeMap<Conversation, Account>,
    server: BTreeMap<Conversation, Account>,
    pub(crate) closed: u64,
    pub(crate) failed: u64,
    pub(crate) messages: u64,
    pub(crate) given_up: u64,
}

impl Ledger {
    /// A side's account is closed. Once both are, they are compared.
    pub(crate) fn enter(
        &mut self,
        conversation: Conversation,
        of_client: bool,
        account: Account,
    ) -> Result<(), String> {
        self.messages += account.received.total();
        self.given_up += account.sent.given_up();
        match account.end {
            End::Closed => self.closed += 1,
            End::Failed => self.failed += 1,
        }
        let (own, other) = if of_client {
            (&mut self.client, &mut self.server)
        } else {
            (&mut self.server, &mut self.client)
        };
        let Some(counterpart) = other.remove(&conversation) else {
            own.insert(conversation, account);
            return Ok(());
        };
        for (sender, receiver) in [(&account, &counterpart), (&counterpart, &account)] {
            if sender.end == End::Closed {
                let verdict = sender.sent.compare(&receiver.received);
                verdict.map_err(|what| format!("{conversation:?}: {what}"))?;
            }
        }
        Ok(())
    }

    /// Conversations of which one side alone ended with a shutdown after it had sent something that
    /// was not given up: no rule says that it arrived.
    pub(crate) fn unmatched(&self) -> Vec<Conversation> {
        let sides = self.client.iter().chain(&self.server);
        let lost =
            sides.filter(|(_, account)| account.end == End::Closed && account.sent.owed() > 0);
        lost.map(|(conversation, _)| *conversation).collect()
    }
}
