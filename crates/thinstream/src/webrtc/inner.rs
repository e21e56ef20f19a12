//! State of a listener, which keeps its driver running.

use std::net::SocketAddr;
use std::sync::Arc;

use io::Shared;
use tokio::sync::Notify;

use super::node::Node;

/// State that the handles of a listener and of its connections share; the driver ends when the last
/// handle is dropped.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) shared: Arc<Shared<Node>>,
    pub(super) incoming: Arc<Notify>,
    pub(super) local: SocketAddr,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.close();
    }
}
