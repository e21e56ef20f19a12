//! What keeps the driver of a listener running.

use std::net::SocketAddr;
use std::sync::Arc;

use io::Shared;
use tokio::sync::Notify;

use super::node::Node;

/// What the handles of a listener and of its connections share; the end of it ends the driver.
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
