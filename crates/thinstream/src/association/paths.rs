//! An association's paths, and notices of abandoned messages.

use std::net::SocketAddr;

use sctp::{AssociationOptions, PathHint, PathOptions, StreamId};

use super::{Association, Handle};
use crate::node::Phase;
use crate::notices::{AbandonNotice, Notices, PathEvent};

impl Association {
    /// Makes the path to `remote` the primary one: new data takes it while it works (SETPRIMARY of
    /// RFC 9260, section 11.1.4). False if the peer is not known to be there.
    pub fn set_primary(&self, remote: SocketAddr) -> bool {
        self.with(|mut own, _| own.set_primary(remote)).unwrap_or_default()
    }

    /// Sets the options of the path to `remote`, replacing earlier ones; the default value removes
    /// them. False if there is no such path.
    pub fn set_path_options(&self, remote: SocketAddr, options: &PathOptions) -> bool {
        self.with(|mut own, now| own.set_path_options(now, remote, options)).unwrap_or_default()
    }

    /// Passes on what the application knows about the path to `remote`: its interface went down or
    /// came back, or its signal is weak. False if the peer is not known to be there.
    pub fn path_hint(&self, remote: SocketAddr, hint: PathHint) -> bool {
        self.with(|mut own, now| own.path_hint(now, remote, hint)).unwrap_or_default()
    }

    /// Sends a HEARTBEAT on the path to `remote` at once (REQUESTHEARTBEAT of RFC 9260, section
    /// 11.1.8). False if there is none, or the association is not set up.
    pub fn request_heartbeat(&self, remote: SocketAddr) -> bool {
        self.with(|mut own, now| own.request_heartbeat(now, remote)).unwrap_or_default()
    }

    /// Changes options of an existing association, such as
    /// [`switchover`](AssociationOptions::switchover). Those that were negotiated at set-up
    /// (streams, receive buffer, extensions) keep their effect.
    pub fn set_options(&self, change: impl FnOnce(&mut AssociationOptions)) {
        self.with(|mut own, _| own.set_options(change));
    }

    /// Sets the priority of a stream's messages for
    /// [`Scheduler::Priority`](crate::Scheduler::Priority): the smaller, the sooner.
    pub fn set_stream_priority(&self, stream: StreamId, priority: u16) {
        self.with(|mut own, _| own.set_stream_priority(stream, priority));
    }

    /// Sets the share of a stream for [`Scheduler::WeightedFair`](crate::Scheduler::WeightedFair).
    pub fn set_stream_weight(&self, stream: StreamId, weight: u16) {
        self.with(|mut own, _| own.set_stream_weight(stream, weight));
    }

    /// Waits for the next change of a path; none when the association has ended and all events were
    /// returned. The latest 256 events wait for a call; each goes to one caller.
    ///
    /// Dropping the future loses no event.
    pub async fn path_event(&self) -> Option<PathEvent> {
        self.next_notice(|notices| notices.paths.pop_front()).await
    }

    /// Returns the next change of a path, if there is one.
    pub fn try_path_event(&self) -> Option<PathEvent> {
        self.take_notice(|notices| notices.paths.pop_front())
    }

    /// Waits for the notice of the next abandoned message ([`Reliability`](crate::Reliability));
    /// none when the association has ended and all notices were returned. The latest 256 notices
    /// wait for a call; earlier ones are only counted.
    ///
    /// Dropping the future loses no notice.
    pub async fn abandoned(&self) -> Option<AbandonNotice> {
        self.next_notice(Notices::pop_abandoned).await
    }

    /// Returns the notice of the next abandoned message, if there is one.
    pub fn try_abandoned(&self) -> Option<AbandonNotice> {
        self.take_notice(Notices::pop_abandoned)
    }

    pub(super) fn take_notice<T>(
        &self,
        mut take: impl FnMut(&mut Notices) -> Option<T>,
    ) -> Option<T> {
        let Handle { shard, ticket, .. } = &*self.handle;
        shard.look(|node| node.notices(ticket).and_then(&mut take))
    }

    pub(super) async fn next_notice<T>(
        &self,
        mut take: impl FnMut(&mut Notices) -> Option<T>,
    ) -> Option<T> {
        let ticket = &self.handle.ticket;
        self.after_changes(|node| match node.notices(ticket).and_then(&mut take) {
            // The last of them come before the end.
            None if !matches!(node.phase(ticket), Phase::Ended(_)) => None,
            taken => Some(taken),
        })
        .await
    }
}
