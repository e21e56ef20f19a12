//! The machine of a listener, and who waits for what of it.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ::webrtc::sdp::Description;
use ::webrtc::{AcceptError, PeerEvent, PeerId, Server};
use base::Instant;
use base::machine::Holder;
use io::{Shared, UdpCarrier};
use recovery::RecoveryPolicy;
use sctp::AssociationOptions;
use tokio::sync::Notify;

use crate::error::EndpointError;

/// The machine and its connections' signals.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) server: Server,
    /// Connections with handles: who waits for their events.
    signals: BTreeMap<PeerId, Arc<Notify>>,
    /// Connected, and not accepted yet.
    incoming: VecDeque<PeerId>,
    accept_signal: Arc<Notify>,
    failed: Option<EndpointError>,
}

impl Holder for Node {
    type Held = Server;

    fn held(&self) -> &Server {
        &self.server
    }

    fn held_mut(&mut self) -> &mut Server {
        &mut self.server
    }
}

impl Node {
    pub(super) fn new(server: Server, accept_signal: Arc<Notify>) -> Node {
        let (signals, incoming) = (BTreeMap::new(), VecDeque::new());
        Node { server, signals, incoming, accept_signal, failed: None }
    }

    /// Answers an offer; the connection has this policy, or the server's.
    pub(super) fn answer(
        &mut self,
        now: Instant,
        policy: Option<Arc<RecoveryPolicy>>,
        offer: &str,
        (from, candidates): (Option<IpAddr>, &[SocketAddr]),
    ) -> Result<(PeerId, Description), AcceptError> {
        let Some(policy) = policy else {
            return self.server.accept_at(now, offer, from, candidates);
        };
        let usual = self.server.options().association.clone();
        self.server.set_association(AssociationOptions { policy, ..usual.clone() });
        let answer = self.server.accept_at(now, offer, from, candidates);
        self.server.set_association(usual);
        answer
    }

    /// The next connection, and its signal.
    pub(super) fn accept(&mut self) -> Result<Option<(PeerId, Arc<Notify>)>, EndpointError> {
        while let Some(id) = self.incoming.pop_front() {
            if let Some(signal) = self.signals.get(&id) {
                return Ok(Some((id, Arc::clone(signal))));
            }
        }
        self.failed.clone().map_or(Ok(None), Err)
    }

    /// The next event of a connection; an error once there will be none.
    pub(super) fn event(&mut self, id: PeerId) -> Result<Option<PeerEvent>, ()> {
        if !self.signals.contains_key(&id) || self.failed.is_some() {
            return Err(());
        }
        let event = self.server.peer_event(id);
        if matches!(event, Some(PeerEvent::Ended(_))) {
            self.signals.remove(&id);
        }
        Ok(event)
    }

    /// The last handle of a connection is gone.
    pub(super) fn release(&mut self, now: Instant, id: PeerId) {
        self.signals.remove(&id);
        self.server.with_peer(id, |peer| peer.close(now));
    }

    /// Tells those who wait that something may have happened.
    fn dispatch(&mut self) {
        while let Some(id) = self.server.poll_eventful() {
            if let Some(signal) = self.signals.get(&id) {
                signal.notify_waiters();
                continue;
            }
            // Not accepted yet, or released: then its events are for none.
            while let Some(event) = self.server.peer_event(id) {
                if event == PeerEvent::Connected {
                    self.signals.insert(id, Arc::new(Notify::new()));
                    self.incoming.push_back(id);
                    self.accept_signal.notify_one();
                    break;
                }
            }
        }
    }

    fn fail(&mut self, error: EndpointError) {
        self.failed = Some(error);
        self.accept_signal.notify_one();
        self.signals.values().for_each(|signal| signal.notify_waiters());
    }
}

/// Runs the machine until the last handle is gone, and tells all handles when its socket fails.
pub(super) async fn drive(shared: Arc<Shared<Node>>, carrier: Arc<UdpCarrier>) {
    let hook = |node: &mut Node, _: Instant| node.dispatch();
    if let Err(error) = io::run(Arc::clone(&shared), carrier, hook).await {
        let error = EndpointError::Socket(error.to_string().into());
        shared.call(|node, _| node.fail(error));
    }
}
