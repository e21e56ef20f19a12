//! QUIC: quinn's state machine, with all messages on one stream.

mod driver;
mod open;

use std::sync::Arc;

use base::machine::Holder;
use base::{Instant, Purpose, RandomStream};
use bytes::Bytes;
use lab::peers::PeerEnd;
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, ConnectionId, ConnectionIdGenerator, Endpoint,
    EndpointConfig, ServerConfig, TransportConfig, VarInt,
};

use self::driver::Driver;
use self::open::Open;
use crate::ends::Side;

/// One end of a connection.
pub(crate) struct QuicEnd {
    driver: Driver,
    transport: Arc<TransportConfig>,
}

/// Connection IDs of a seed, so that equal runs have equal packets.
struct Names(RandomStream);

impl Names {
    fn new(seed: u64) -> Names {
        Names(RandomStream::new(seed, Purpose("connection id", 0)))
    }
}

impl ConnectionIdGenerator for Names {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.0.below(u64::MAX).to_le_bytes())
    }

    fn cid_len(&self) -> usize {
        8
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// The default configuration. With `tuned`: the peer is asked to acknowledge each packet within 1
/// ms, and a packet is declared lost as soon as one later packet is acknowledged or a round trip is
/// over.
fn transport(tuned: bool) -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport.enable_segmentation_offload(false);
    if tuned {
        let mut frequency = AckFrequencyConfig::default();
        frequency
            .ack_eliciting_threshold(VarInt::from_u32(0))
            .max_ack_delay(Some(std::time::Duration::from_millis(1)))
            .reordering_threshold(VarInt::from_u32(1));
        transport
            .ack_frequency_config(Some(frequency))
            .packet_threshold(1)
            .time_threshold(1.0)
            .mtu_discovery_config(None);
    }
    transport
}

impl QuicEnd {
    pub(crate) fn new(side: Side, tuned: bool) -> QuicEnd {
        let transport = Arc::new(transport(tuned));
        let server = side.server.then(|| {
            let mut server = ServerConfig::new(Arc::new(Open), Arc::new(Open));
            server.transport_config(Arc::clone(&transport));
            Arc::new(server)
        });
        let mut seed = [u8::from(side.server); 32];
        seed[..8].copy_from_slice(&side.seed.to_le_bytes());
        let mut config = EndpointConfig::new(Arc::new(Open));
        let names = side.seed;
        config.cid_generator(move || Box::new(Names::new(names)));
        let config = Arc::new(config);
        let endpoint = Endpoint::new(config, server, true, Some(seed));
        QuicEnd { driver: Driver::new(endpoint, side.remote), transport }
    }
}

impl Holder for QuicEnd {
    type Held = Driver;

    fn held(&self) -> &Driver {
        &self.driver
    }

    fn held_mut(&mut self) -> &mut Driver {
        &mut self.driver
    }
}

impl PeerEnd for QuicEnd {
    fn connect(&mut self, now: Instant) {
        let mut config = ClientConfig::new(Arc::new(Open));
        config.transport_config(Arc::clone(&self.transport));
        self.driver.connect(now, config);
    }

    fn send(&mut self, _: Instant, message: Bytes) {
        self.driver.send(message);
    }

    fn receive(&mut self, _: Instant) -> Option<Bytes> {
        self.driver.receive()
    }

    fn has_failed(&self) -> bool {
        self.driver.has_failed()
    }
}
