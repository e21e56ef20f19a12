//! A peer with its data channels: ICE, DTLS, SCTP and the channels above, as one machine.

mod budget;
mod carry;
mod options;
mod signalled;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::VecDeque;
use std::sync::Arc;

use base::{Duration, Instant, RandomStream};
use bytes::Bytes;
use layers::data_channel::{ChannelError, ChannelOptions, DataChannels, DtlsRole, MessageKind};
use recovery::RecoveryPolicy;
use sctp::{AssociationId, AssociationMut, Event, StreamId};
use secure::{Dtls, Role, SettingsError, Trust};

use self::budget::Budget;
pub use self::options::{Ended, PeerEvent, PeerOptions};
use self::signalled::Prepared;
pub(crate) use self::signalled::init_to_come;
use crate::ice::Ice;

/// Addresses by which SCTP knows the two ends (RFC 8261, section 6.1, has none): a peer that moves
/// is the same to SCTP.
const HERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);
const THERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 9);

/// Time within which the association has to be set up.
const SET_UP: Duration = Duration::from_secs(60);

/// A peer and its data channels.
///
/// The owner drives it like any [`Machine`](base::Machine) and drains [`Peer::poll_event`] after
/// each input. It can be dropped once [`Peer::is_over`] and no datagram is left to transmit.
pub struct Peer<I> {
    ice: I,
    role: Role,
    dtls: Dtls,
    endpoint: sctp::Endpoint,
    options: PeerOptions,
    association: Option<AssociationId>,
    /// An association whose INITs are in the descriptions; none once the session is open.
    prepared: Option<Prepared>,
    channels: DataChannels,
    /// Events of the association that the channels have not processed, since earlier messages wait
    /// to be read.
    held: VecDeque<Event>,
    budget: Budget,
    /// A DTLS datagram for which the budget does not suffice yet, or for which there is no path.
    /// DTLS retransmissions of the datagram would queue behind it and consume the budget.
    waiting: Option<Bytes>,
    connected: Option<PeerEvent>,
    deadline: Option<Instant>,
    ended: Option<Ended>,
    /// Whether the application was notified of the end.
    told: bool,
}

impl<I> core::fmt::Debug for Peer<I> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Peer")
            .field("role", &self.role)
            .field("dtls", &self.dtls)
            .field("budget", &self.budget)
            .field("waiting", &self.waiting.as_ref().map(Bytes::len))
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

impl<I: Ice> Peer<I> {
    /// A peer that `ice` finds, that is `role`'s opposite in DTLS and presents a key of `trust`.
    /// `random` decides tags, TSNs and, with [`Secrets::Seeded`](secure::Secrets::Seeded), the
    /// keys of DTLS. An error means that a seeded session could not be configured.
    pub fn new(
        now: Instant,
        ice: I,
        (role, trust): (Role, Trust),
        mut options: PeerOptions,
        random: RandomStream,
    ) -> Result<Peer<I>, SettingsError> {
        options.association.policy = options.acknowledging(options.association.policy.clone());
        let (randomness, endpoint) = options.endpoint(random);
        let dtls = Dtls::new(&options.context, role, Arc::new(trust), randomness, now)?;
        let channel_role = match role {
            Role::Client => DtlsRole::Client,
            Role::Server => DtlsRole::Server,
        };
        let channels = DataChannels::new(options.channels(channel_role));
        let budget = Budget::new(options.description);
        Ok(Peer {
            ice,
            role,
            dtls,
            endpoint,
            options,
            association: None,
            prepared: None,
            channels,
            held: VecDeque::new(),
            budget,
            waiting: None,
            connected: None,
            deadline: Some(now + SET_UP),
            ended: None,
            told: false,
        })
    }

    // ---- the application's calls ---------------------------------------------------------------

    /// Opens a channel by DCEP (RFC 8832) with the lowest free identifier of this side. Messages
    /// may be sent at once; they wait until the association is set up.
    ///
    /// # Errors
    /// Those of [`DataChannels::open`].
    pub fn open(&mut self, options: ChannelOptions) -> Result<StreamId, ChannelError> {
        self.channels.open(options)
    }

    /// Opens this side of a channel that both applications have agreed on.
    ///
    /// # Errors
    /// Those of [`DataChannels::open_negotiated`].
    pub fn open_negotiated(
        &mut self,
        id: StreamId,
        options: ChannelOptions,
    ) -> Result<(), ChannelError> {
        self.channels.open_negotiated(id, options)
    }

    /// Sends a message on a channel. The driver drains
    /// [`poll_transmit`](base::Machine::poll_transmit) afterwards.
    ///
    /// # Errors
    /// Those of [`DataChannels::send`].
    pub fn send(
        &mut self,
        now: Instant,
        id: StreamId,
        kind: MessageKind,
        payload: Bytes,
    ) -> Result<(), ChannelError> {
        self.channels.send(id, kind, payload)?;
        self.carry(now);
        Ok(())
    }

    /// Closes a channel by resetting its streams; earlier messages still arrive.
    ///
    /// # Errors
    /// [`ChannelError::NotOpen`].
    pub fn close_channel(&mut self, now: Instant, id: StreamId) -> Result<(), ChannelError> {
        self.channels.close(id)?;
        self.carry(now);
        Ok(())
    }

    /// Asks for [`ChannelEvent::BufferedLow`](crate::ChannelEvent::BufferedLow), see
    /// [`DataChannels::set_low_threshold`].
    ///
    /// # Errors
    /// [`ChannelError::NotOpen`].
    pub fn set_low_threshold(
        &mut self,
        id: StreamId,
        threshold: Option<usize>,
    ) -> Result<(), ChannelError> {
        self.channels.set_low_threshold(id, threshold)
    }

    /// Bytes of a channel's messages that have never been sent.
    pub fn buffered(&self, id: StreamId) -> usize {
        match self.association {
            Some(association) => self.channels.buffered_on(&self.endpoint, association, id),
            None => self.channels.buffered(),
        }
    }

    /// Options of a channel; none if it does not exist.
    pub fn channel(&self, id: StreamId) -> Option<&ChannelOptions> {
        self.channels.channel(id)
    }

    /// Identifiers of existing channels, including closing ones.
    pub fn channel_ids(&self) -> impl ExactSizeIterator<Item = StreamId> {
        self.channels.ids()
    }

    /// The association below the channels; none before the session is open.
    pub fn association(&self) -> Option<&sctp::Association> {
        self.endpoint.association(self.association?)
    }

    /// Replaces the recovery policy of the association below the channels, with acknowledgements
    /// according to [`PeerOptions::acknowledge_at_once`]. False before the session is open.
    pub fn set_policy(&mut self, policy: Arc<RecoveryPolicy>) -> bool {
        let policy = self.options.acknowledging(policy);
        self.association_mut().map(|mut own| own.set_policy(policy)).is_some()
    }

    /// The association below the channels, to set its options; none before the session is open.
    pub fn association_mut(&mut self) -> Option<AssociationMut<'_>> {
        self.endpoint.association_mut(self.association?)
    }

    /// Ends the session, after sent messages have arrived, if the peer still answers.
    pub fn close(&mut self, now: Instant) {
        if let Some(mut association) = self.association_mut() {
            association.shutdown(now);
        } else {
            self.end(now, Ended::Closed);
        }
        self.carry(now);
    }

    /// Output: the next event for the application; to be polled until there is none.
    pub fn poll_event(&mut self) -> Option<PeerEvent> {
        if let Some(connected) = self.connected.take() {
            return Some(connected);
        }
        if let Some(event) = self.channels.poll_event() {
            return Some(PeerEvent::Channel(event));
        }
        // Messages that the association still holds come first.
        let ended = self.ended.as_ref().filter(|_| !self.told && self.held.is_empty())?;
        self.told = true;
        Some(PeerEvent::Ended(ended.clone()))
    }

    /// Whether the session has ended. Datagrams that notify the peer may be left to transmit, and
    /// events to be drained.
    pub fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    /// The side of ICE, for its selected pair and its state.
    pub fn ice(&self) -> &I {
        &self.ice
    }

    /// The side of ICE, to pass on results of signalling.
    pub fn ice_mut(&mut self) -> &mut I {
        &mut self.ice
    }
}
