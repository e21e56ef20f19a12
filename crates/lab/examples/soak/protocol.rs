//! The interface of a protocol that is soaked, and the types that its hosts and conversations
//! share.

use std::collections::BTreeMap;
use std::net::IpAddr;

use base::{Instant, Machine, RandomStream};

use super::model::{Account, Conversation, End, Header};
use super::shared::SharedRef;

/// A protocol that is soaked.
pub(crate) trait Protocol: Sized {
    type Endpoint: Machine;
    type Id: Copy + Ord;
    type Event;
    type Talk: Talk<Self>;

    /// Port of the network's datagrams: that of the UDP encapsulation, or 0.
    const PORT: u16;
    /// Whether an association may have several addresses, and live on when a NAT changes its port.
    const MOVES: bool;
    /// Whether a client counts an association that failed as reset.
    const FAILURES_ARE_RESETS: bool;

    /// Makes the endpoint of a client, anew for each of its lives.
    fn client(place: &Place, life: u32) -> Self::Endpoint;
    /// A server's endpoint in its `life`, which listens.
    fn server(place: &Place, life: u32) -> Self::Endpoint;
    /// Opens an association from a client to the server at this address.
    fn connect(
        endpoint: &mut Self::Endpoint,
        now: Instant,
        place: &Place,
        server: IpAddr,
    ) -> Option<Self::Id>;
    fn poll_event(endpoint: &mut Self::Endpoint) -> Option<(Self::Id, Self::Event)>;
    /// The meaning of an event.
    fn told(event: &Self::Event) -> Told;
    /// Associations that this event brings to a server.
    fn accept(endpoint: &mut Self::Endpoint, id: Self::Id, event: &Self::Event) -> Vec<Self::Id>;
    /// Frees an association that has ended.
    fn release(endpoint: &mut Self::Endpoint, now: Instant, id: Self::Id);
    /// Associations that are not over.
    fn count(endpoint: &Self::Endpoint) -> usize;
}

/// Meaning of an event to an application of any protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Established,
    Readable,
    /// The peer began again under the same name; messages under way are lost.
    Restarted,
    Over(End),
    /// Streams, or the whole association, begin again with their first numbers.
    Reset,
    /// An event that concerns the conversation alone.
    Other,
}

/// A side's end of an association, at one instant.
pub(crate) struct Line<'a, P: Protocol> {
    pub(crate) now: Instant,
    pub(crate) endpoint: &'a mut P::Endpoint,
    pub(crate) id: P::Id,
}

/// The side that reads, with the conversations that it may read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reader<'a> {
    /// A client, of its only conversation.
    Client(Conversation),
    /// A server, with the latest life of each client whose conversation is over.
    Server(&'a BTreeMap<u32, u32>),
}

impl Reader<'_> {
    /// Checks that a message belongs to the conversation. A server learns which one that is from
    /// its first message.
    pub(crate) fn check(
        &self,
        conversation: &mut Option<Conversation>,
        header: &Header,
    ) -> Result<(), String> {
        let (expected, from_client) = match self {
            Reader::Client(own) => (*own, false),
            Reader::Server(_) => (*conversation.get_or_insert(header.conversation), true),
        };
        let belongs = (header.conversation, header.from_client) == (expected, from_client);
        if belongs { Ok(()) } else { Err(format!("{expected:?} was told {header:?}")) }
    }
}

/// One side's part of a conversation.
pub(crate) trait Talk<P: Protocol>: Default {
    /// A client's conversation is named once it is established.
    fn begin(&mut self, conversation: Conversation);
    /// Sends the next message; now and then with another policy from now on.
    fn send(
        &mut self,
        line: &mut Line<'_, P>,
        from_client: bool,
        random: &mut RandomStream,
        shared: &SharedRef,
    );
    /// Reads all that arrived, and checks each message.
    fn read(&mut self, line: &mut Line<'_, P>, reader: Reader<'_>) -> Result<(), String>;
    /// Handles an event about messages; fails if it cannot be true.
    fn on_event(&mut self, line: &mut Line<'_, P>, event: &P::Event) -> Result<(), String>;
    /// Says no more, and closes the association.
    fn finish(&mut self, line: &mut Line<'_, P>);
    /// Ends the association: finishes, or aborts it where the protocol's clients do so now and
    /// then.
    fn leave(&mut self, line: &mut Line<'_, P>, random: &mut RandomStream);
    /// The conversation that the judge enters, if any.
    fn judged(&self) -> Option<Conversation>;
    /// Messages sent and received by the end, for the comparison of both.
    fn account(self, end: End) -> Account;
}

/// Addresses of a host of a soak, and everything else that it is built from.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) seed: u64,
    /// Number among the clients, or among the servers.
    pub(crate) index: u32,
    /// Addresses of the host, one for each of its paths.
    pub(crate) homes: Vec<IpAddr>,
    pub(crate) shared: SharedRef,
}
