//! QUIC by quinn, with rustls.

use std::net::SocketAddr;
use std::sync::Arc;

use base::{Holder, Instant};
use bytes::Bytes;
use netsim::topology::{Directions, Placed, pair};
use netsim::{Host, Simulation};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TransportConfig};

use crate::driver::Driver;
use crate::run::until;
use crate::tls;
use crate::world::link;

fn address(host: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], 443))
}

/// An end of a connection. The client sends a message of 100 bytes as soon as it may.
struct End {
    driver: Driver,
    received_at: Option<Instant>,
}

impl End {
    fn new(host: u8, seed: u64, transport: Arc<TransportConfig>) -> End {
        let server = (host == 2).then(|| {
            let crypto = QuicServerConfig::try_from(tls::server()).expect("TLS 1.3");
            let mut server = ServerConfig::with_crypto(Arc::new(crypto));
            server.transport_config(transport);
            Arc::new(server)
        });
        let mut bytes = [host; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let config = Arc::new(EndpointConfig::default());
        let endpoint = Endpoint::new(config, server, true, Some(bytes));
        End { driver: Driver::new(endpoint, address(3 - host)), received_at: None }
    }

    fn connect(&mut self, transport: Arc<TransportConfig>) {
        let crypto = QuicClientConfig::try_from(tls::client()).expect("TLS 1.3");
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(transport);
        self.driver.connect(Instant::ZERO, config);
        self.driver.send(Bytes::from_static(&[0; 100]));
    }
}

impl Holder for End {
    type Held = Driver;

    fn held(&self) -> &Driver {
        &self.driver
    }

    fn held_mut(&mut self) -> &mut Driver {
        &mut self.driver
    }
}

impl Host for End {
    fn after_input(&mut self, now: Instant) {
        if self.driver.receive().is_some() {
            self.received_at.get_or_insert(now);
        }
    }
}

/// One connection; when its message arrived. `tuned` knows the round trip of the path.
pub(crate) fn run(loss: u64, seed: u64, tuned: bool) -> Option<Instant> {
    let mut transport = TransportConfig::default();
    if tuned {
        transport.initial_rtt(std::time::Duration::from_millis(100));
    }
    let transport = Arc::new(transport);
    let mut client = End::new(1, seed, Arc::clone(&transport));
    client.connect(Arc::clone(&transport));
    let server = End::new(2, seed, transport);
    let mut simulation = Simulation::new(seed);
    let places = pair(
        &mut simulation,
        Placed::at(client, address(1)),
        Placed::at(server, address(2)),
        &[Directions::both(link(loss))],
    );
    let server = places.expect("a network").second;
    until(|| {
        let next = simulation.now() + base::Duration::from_secs(1);
        simulation.run_until(next).expect("a network that works");
        simulation.host(server).received_at
    })
}
