//! The service behind the edge: a client's first byte says what it does.

use std::net::{SocketAddr, TcpListener};

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::namespace::Namespace;

/// Asks the service to send back what comes.
pub(super) const ECHO: u8 = b'e';
/// Asks the service to send without end, and to read no more.
pub(super) const SEND: u8 = b's';

/// Bytes that its system keeps for a connection, so that data waits in the edge and not there.
const BUFFER: usize = 16 << 10;

/// A service, for as long as this lives.
pub(super) struct Service {
    address: SocketAddr,
    _runtime: Runtime,
}

impl Service {
    /// Starts it at the loopback address of `namespace`.
    pub(super) fn start(namespace: &Namespace) -> Result<Service> {
        let listener = namespace.enter(|| TcpListener::bind("127.0.0.1:0"))?;
        let listener = listener.context("cannot bind the service behind the edge")?;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        runtime.spawn(async move {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            while let Ok((stream, _)) = listener.accept().await {
                let socket = socket2::SockRef::from(&stream);
                let _ = socket.set_send_buffer_size(BUFFER);
                let _ = socket.set_recv_buffer_size(BUFFER);
                tokio::spawn(serve(stream));
            }
        });
        Ok(Service { address, _runtime: runtime })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Serves a client until it has gone.
async fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let _ = stream.set_nodelay(true);
    match stream.read_u8().await? {
        SEND => loop {
            stream.write_all(&[7; 4_096]).await?;
        },
        _ => {
            let (mut from, mut to) = stream.split();
            tokio::io::copy(&mut from, &mut to).await.map(drop)
        }
    }
}
