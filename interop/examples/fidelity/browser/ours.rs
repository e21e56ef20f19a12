//! Our server: it sends what the label of a channel asks for, or takes down when that arrives.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use interop::BROWSER_HOST;
use thinstream::webrtc::{
    ChannelEvent, Connection, Listener, ListenerOptions, MessageKind, PeerEvent, ServerOptions,
};

use crate::Outcome;
use crate::order::{Order, now_micros};

/// Times at which messages of one connection were sent and at which they arrived, microseconds
/// since 1970.
pub(crate) type Pairs = Vec<(f64, f64)>;

/// Arrivals on each connection that is done.
type Arrived = Arc<Mutex<Vec<Pairs>>>;

/// Task of a server: to send, or to count.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// Sends what a channel asks for.
    Send,
    /// Takes down when messages arrive, and acknowledges them at once or as its policy says.
    Count { at_once: bool },
}

/// A running server of ours, with the arrivals that it counts.
pub(crate) struct Ours {
    listener: Listener,
    arrived: Arrived,
}

impl Ours {
    /// A server with the default policy, in the namespace and on the runtime of the caller.
    pub(crate) fn new(work: Work) -> Outcome<Ours> {
        let mut server = ServerOptions::new(vec![]);
        let counts = matches!(work, Work::Count { .. });
        if let Work::Count { at_once } = work {
            server.acknowledge_at_once = at_once;
        }
        server.limits.waiting_per_host = server.limits.waiting;
        let options = ListenerOptions { server: Some(server), ..ListenerOptions::default() };
        let listener = Listener::bind(format!("{BROWSER_HOST}:0").parse()?, options)?;
        let (accepting, arrived) = (listener.clone(), Arrived::default());
        let all = Arc::clone(&arrived);
        tokio::spawn(async move {
            while let Ok(connection) = accepting.accept().await {
                tokio::spawn(converse(connection, counts.then(|| Arc::clone(&all))));
            }
        });
        Ok(Ours { listener, arrived })
    }

    /// Address at which the server receives datagrams.
    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.listener.local_addr()
    }

    /// The answer to an offer, for a browser that reaches it at `at`.
    pub(crate) fn answer(&self, offer: &str, at: SocketAddr) -> Outcome<String> {
        Ok(self.listener.answer(offer, None, &[at])?.1)
    }

    /// Removes and returns the arrivals of each connection that is done.
    pub(crate) fn take_arrived(&self) -> Vec<Pairs> {
        std::mem::take(&mut *self.arrived.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn converse(connection: Connection, arrived: Option<Arrived>) {
    let connection = Arc::new(connection);
    let (mut order, mut pairs) = (None, Pairs::new());
    while let Some(event) = connection.event().await {
        match (event, &arrived) {
            (PeerEvent::Channel(ChannelEvent::Opened { id, options }), _) => {
                order = Order::parse(&options.label);
                if let (Some(order), None) = (order, &arrived) {
                    tokio::spawn(send(Arc::clone(&connection), id, order));
                }
            }
            (PeerEvent::Channel(ChannelEvent::Message { id, payload, .. }), Some(arrived)) => {
                let sent = payload.get(4..12).and_then(|bytes| bytes.try_into().ok());
                let sent = sent.map_or(0, u64::from_le_bytes);
                pairs.push((sent as f64, now_micros() as f64));
                if order.is_some_and(|order| pairs.len() == order.count as usize) {
                    let mut all = arrived.lock().unwrap_or_else(PoisonError::into_inner);
                    all.push(std::mem::take(&mut pairs));
                    drop(all);
                    let _ = connection.send(id, MessageKind::Text, "done");
                }
            }
            _ => {}
        }
    }
}

async fn send(connection: Arc<Connection>, id: thinstream::webrtc::StreamId, order: Order) {
    let mut ticks = tokio::time::interval(order.interval);
    for number in 0..order.count {
        ticks.tick().await;
        if connection.send(id, MessageKind::Binary, order.message(number)).is_err() {
            return;
        }
    }
}
