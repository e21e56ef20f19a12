//! Data channels between two of ours over a path that loses one packet in ten.

use base::{Duration, Instant, Probability};
use bytes::Bytes;
use netsim::topology::Directions;
use netsim::{HostId, LinkConfig};
use sctp::layer::data_channel::{
    ChannelEvent, ChannelOptions, DataChannels, DataChannelsOptions, DtlsRole, MessageKind,
};
use sctp::{AssociationId, Event, StreamId};

use crate::support::{Pair, RTT, options, plain};

/// A side: its host, its association and its channels.
struct Side {
    host: HostId,
    association: AssociationId,
    channels: DataChannels,
    events: Vec<ChannelEvent>,
}

struct Sides {
    pair: Pair,
    sides: [Side; 2],
}

const CLIENT: usize = 0;
const SERVER: usize = 1;

impl Sides {
    fn new(loss: u64) -> Sides {
        let loss = Probability::from_ratio(loss, 100);
        let links = Directions::both(LinkConfig::lossy(RTT / 2, loss));
        let mut pair = Pair::new(links, options(plain()), 7);
        pair.run_for(Duration::from_secs(20));
        let server = pair.server().events.iter().find(|(_, _, event)| *event == Event::Established);
        let server = server.unwrap().1;
        let side = |host, association, role| Side {
            host,
            association,
            channels: DataChannels::new(DataChannelsOptions {
                streams: 16,
                ..DataChannelsOptions::new(role)
            }),
            events: Vec::new(),
        };
        let sides = [
            side(pair.client, pair.association, DtlsRole::Client),
            side(pair.server, server, DtlsRole::Server),
        ];
        Sides { pair, sides }
    }

    fn channels(&mut self, side: usize) -> &mut DataChannels {
        &mut self.sides[side].channels
    }

    /// Carries between associations and channels, in steps of 10 ms.
    fn run(&mut self, span: Duration) {
        let until = self.pair.sim.now() + span;
        while self.pair.sim.now() < until {
            for side in &mut self.sides {
                let Side { host, association, channels, events } = side;
                self.pair.sim.with_host(*host, |peer, now| {
                    for (_, message) in peer.messages.drain(..) {
                        let payload = message.payload.into_bytes();
                        channels.handle_message(message.stream, message.ppid, payload);
                    }
                    let endpoint = &mut peer.endpoint;
                    let send = |one: sctp::layer::Outgoing| {
                        let (ppid, payload) = (one.ppid, one.payload);
                        endpoint.send(now, *association, one.stream, ppid, payload, one.options)
                    };
                    let _ = channels.flush(send);
                });
                events.extend(core::iter::from_fn(|| channels.poll_event()));
            }
            self.pair.run_for(Duration::from_millis(10));
        }
    }

    fn messages(&self, side: usize, id: StreamId) -> Vec<Bytes> {
        let of_channel = |event: &ChannelEvent| match event {
            ChannelEvent::Message { id: on, payload, .. } if *on == id => Some(payload.clone()),
            _ => None,
        };
        self.sides[side].events.iter().filter_map(of_channel).collect()
    }
}

#[test]
fn channels_of_both_sides_carry_everything_in_order_over_loss() {
    let mut sides = Sides::new(10);
    let open = |sides: &mut Sides, side: usize, label: &str| {
        let options = ChannelOptions { label: label.into(), ..ChannelOptions::default() };
        sides.channels(side).open(options).unwrap()
    };
    let even = open(&mut sides, CLIENT, "from the client");
    let odd = open(&mut sides, SERVER, "from the server");
    assert_eq!((even, odd), (StreamId(0), StreamId(1)));
    for index in 0..100u8 {
        let (kind, payload) = (MessageKind::Binary, Bytes::from(vec![index; 100]));
        sides.channels(CLIENT).send(even, kind, payload.clone()).unwrap();
        sides.channels(SERVER).send(odd, kind, payload).unwrap();
        sides.run(Duration::from_millis(20));
    }
    sides.run(Duration::from_secs(30));
    let expected: Vec<Bytes> = (0..100u8).map(|index| vec![index; 100].into()).collect();
    assert_eq!(sides.messages(SERVER, even), expected);
    assert_eq!(sides.messages(CLIENT, odd), expected);
    for (side, id, label) in [(SERVER, even, "from the client"), (CLIENT, odd, "from the server")] {
        let first = sides.sides[side].events.iter().find(
            |event| matches!(event, ChannelEvent::Opened { options, .. } if options.label == label),
        );
        assert!(first.is_some());
        assert!(sides.sides[1 - side].events.contains(&ChannelEvent::Confirmed { id }));
    }
}

#[test]
fn a_channel_without_loss_is_open_after_one_round_trip_and_data_ride_with_the_opening() {
    let mut sides = Sides::new(0);
    let start = sides.pair.sim.now();
    let id = sides.channels(CLIENT).open(ChannelOptions::default()).unwrap();
    sides.channels(CLIENT).send(id, MessageKind::Text, Bytes::from_static(b"hi")).unwrap();
    sides.run(RTT / 2 + Duration::from_millis(20));
    assert_eq!(sides.messages(SERVER, id), [Bytes::from_static(b"hi")]);
    assert!(!sides.sides[CLIENT].events.contains(&ChannelEvent::Confirmed { id }));
    sides.run(RTT / 2 + Duration::from_millis(20));
    assert!(sides.sides[CLIENT].events.contains(&ChannelEvent::Confirmed { id }));
    assert!(sides.pair.sim.now() > start && start > Instant::ZERO);
}
