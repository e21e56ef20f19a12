//! A plain game loop, 60 frames a second, that never waits for the network: each frame takes what
//! has come and sends what is new. The sockets live on a thread of tokio that the game never sees.
//!
//! `cargo run -p thinstream --example game_loop` runs a server and a client in one process.

use std::time::Duration;

use thinstream::{
    Association, AssociationOptions, Bytes, Endpoint, EndpointOptions, PeerAddress, SendOptions,
    StreamId, TrySendError,
};
use tokio::runtime::Runtime;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A player who is not heard for so long has left.
const GONE: Duration = Duration::from_secs(5);

/// The network, as a game polls it.
pub struct Net {
    endpoint: Endpoint,
    /// Peers that are connected, or about to be.
    pub peers: Vec<Association>,
    runtime: Runtime,
}

impl Net {
    /// Opens a socket for a server, or for clients alone.
    pub fn open(address: &str, options: EndpointOptions) -> Result<Net> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let inside = runtime.enter();
        let options = EndpointOptions { dead_after: Some(GONE), ..options };
        let endpoint = Endpoint::bind(address.parse()?, options)?;
        drop(inside);
        Ok(Net { endpoint, peers: Vec::new(), runtime })
    }

    /// Address to which others connect.
    pub fn peer_address(&self) -> Result<PeerAddress> {
        let key = self.endpoint.fingerprint().ok_or("it is plain")?;
        Ok((self.endpoint.local_addr(), key).into())
    }

    /// Begins to connect; messages may be sent at once.
    pub fn connect(&mut self, peer: PeerAddress) -> Result<()> {
        self.peers.push(self.endpoint.open(peer, AssociationOptions::default())?);
        Ok(())
    }

    /// Takes in who has connected and what has come, in the order of the peers. Those who have left
    /// are gone after it.
    pub fn poll(&mut self, mut on_message: impl FnMut(usize, Bytes)) {
        while let Ok(Some(peer)) = self.endpoint.try_accept() {
            self.peers.push(peer);
        }
        let mut number = 0;
        self.peers.retain(|peer| {
            let here = loop {
                match peer.try_receive() {
                    Ok(Some(message)) => on_message(number, message.payload.into_bytes()),
                    Ok(None) => break true,
                    Err(_) => break false,
                }
            };
            number += usize::from(here);
            here
        });
    }

    /// Closes all associations, and returns once they are closed.
    pub fn close(self) {
        self.runtime.block_on(self.endpoint.close());
    }

    /// Sends to every peer what is worth nothing after a tenth of a second; returns how many had no
    /// room for it.
    pub fn broadcast(&self, message: &Bytes) -> usize {
        let options =
            SendOptions { unordered: true, ..SendOptions::expiring(Duration::from_millis(100)) };
        let send = |peer: &&Association| peer.try_send(StreamId(0), message.clone(), options);
        self.peers.iter().filter(|peer| send(peer) == Err(TrySendError::Full)).count()
    }
}

fn main() -> Result<()> {
    let mut server = Net::open("127.0.0.1:0", EndpointOptions::server())?;
    let mut client = Net::open("0.0.0.0:0", EndpointOptions::client())?;
    client.connect(server.peer_address()?)?;
    for frame in 0u32..120 {
        server.poll(|player, input| println!("player {player}: {input:?}"));
        client.poll(|_, state| println!("frame {frame}: {state:?}"));
        client.broadcast(&Bytes::from(format!("keys of frame {frame}")));
        server.broadcast(&Bytes::from(format!("world at {frame}")));
        std::thread::sleep(Duration::from_millis(16));
    }
    client.close();
    Ok(())
}
