//! Cost of a segment among many connections, counted in connections examined.

use base::{DatagramMeta, Duration, Ecn, Instant, Machine, Purpose, RandomStream};

use crate::endpoint::{ConnectionId, Endpoint};
use crate::{
    ConnectionOptions, EndpointOptions, Event, KeepAlive, ListenOptions, Received, SendFlags,
};

const CLIENT: &str = "10.0.0.1:0";
const SERVER: &str = "10.0.0.2:80";

/// Two endpoints and the connections between them, on each of which a keep-alive timer runs.
struct Ends {
    client: Endpoint,
    server: Endpoint,
    now: Instant,
    /// Connections of the client and of the server.
    connections: Vec<(ConnectionId, ConnectionId)>,
}

/// Datagrams that one side has for the other.
fn carry(now: Instant, from: &mut Endpoint, to: &mut Endpoint) -> usize {
    let (mut buffer, mut count) = (Vec::new(), 0);
    while let Some(transmit) = from.poll_transmit(now, &mut buffer) {
        let meta = DatagramMeta {
            local: transmit.remote,
            remote: transmit.local.unwrap(),
            ecn: Ecn::NotEct,
            origin: None,
        };
        to.handle_datagram(now, meta, core::mem::take(&mut buffer).into());
        count += 1;
    }
    count
}

impl Ends {
    fn with(connections: usize) -> Ends {
        let keep_alive = Some(KeepAlive::default());
        let options = ConnectionOptions { keep_alive, no_delay: true, ..Default::default() };
        let end = |number| {
            let random = RandomStream::new(3, Purpose("endpoint", number));
            Endpoint::new(EndpointOptions::default(), random)
        };
        let (client, server) = (end(0), end(1));
        let mut ends =
            Ends { client, server, now: Instant::from_millis(5000), connections: vec![] };
        let accepted = options.clone();
        let listener = ends
            .server
            .listen(SERVER.parse().unwrap(), ListenOptions { backlog: connections, accepted })
            .unwrap();
        for _ in 0..connections {
            let (from, to) = (CLIENT.parse().unwrap(), SERVER.parse().unwrap());
            let own = ends.client.connect(ends.now, from, to, options.clone()).unwrap();
            ends.settle();
            ends.connections.push((own, ends.server.accept(listener).unwrap()));
        }
        ends
    }

    fn settle(&mut self) {
        while carry(self.now, &mut self.client, &mut self.server)
            + carry(self.now, &mut self.server, &mut self.client)
            > 0
        {}
        while self.client.poll_event().is_some() {}
        while self.server.poll_event().is_some_and(|(_, event)| event != Event::Closed) {}
    }

    /// A message of 100 bytes from one side and back, with its acknowledgements; how often either
    /// side looked at a connection for it.
    fn talk(&mut self, index: usize) -> u64 {
        let looks = |ends: &Ends| ends.client.table.looks.get() + ends.server.table.looks.get();
        let before = looks(self);
        let (client, server) = self.connections[index];
        let message = || vec![3; 100].into();
        self.client
            .connection_mut(client)
            .unwrap()
            .send(self.now, message(), SendFlags::default())
            .unwrap();
        self.settle();
        let heard = self.server.connection_mut(server).unwrap().receive(self.now, 1 << 20).unwrap();
        assert!(matches!(heard, Received::Data(data) if data.len() == 100));
        self.server
            .connection_mut(server)
            .unwrap()
            .send(self.now, message(), SendFlags::default())
            .unwrap();
        self.settle();
        let heard = self.client.connection_mut(client).unwrap().receive(self.now, 1 << 20).unwrap();
        assert!(matches!(heard, Received::Data(data) if data.len() == 100));
        // Delayed acknowledgements go, and what else is due.
        self.now += Duration::from_millis(300);
        self.client.handle_timeout(self.now);
        self.server.handle_timeout(self.now);
        self.settle();
        looks(self) - before
    }
}

#[test]
fn a_message_costs_as_many_looks_at_connections_however_many_there_are() {
    let cost = |connections: usize| {
        let mut ends = Ends::with(connections);
        (0..20).map(|number| ends.talk(number * connections / 20)).sum::<u64>()
    };
    // Now and then the hashes of two look alike.
    let (few, many) = (cost(20), cost(2000));
    assert!((20..4000).contains(&few) && many <= few + few / 10, "{few} looks, {many} looks");
}
