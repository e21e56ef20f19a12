//! Data channels between two of ours over a path that loses one packet in ten.

use base::{Duration, Instant, Probability};
use bytes::Bytes;
use layers::data_channel::{
    ChannelEvent, ChannelOptions, DataChannels, DataChannelsOptions, DtlsRole, MessageKind,
};
use netsim::topology::Directions;
use netsim::{HostId, LinkConfig};
use sctp::{AssociationId, AssociationOptions, Event, Extensions, ReconfigurationPolicy, StreamId};

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
        Sides::with(loss, options(plain()))
    }

    fn with(loss: u64, options: AssociationOptions) -> Sides {
        let loss = Probability::from_ratio(loss, 100);
        let links = Directions::both(LinkConfig::lossy(RTT / 2, loss));
        let mut pair = Pair::new(links, options, 7);
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

    /// Moves messages between associations and channels, in steps of 10 ms.
    fn run(&mut self, span: Duration) {
        let until = self.pair.sim.now() + span;
        while self.pair.sim.now() < until {
            for side in &mut self.sides {
                let Side { host, association, channels, events } = side;
                self.pair.sim.with_host(*host, |peer, now| {
                    peer.deaf = true;
                    channels.note_transmitted(&peer.endpoint, *association);
                    let told: Vec<Event> =
                        peer.events.drain(..).map(|(_, _, event)| event).collect();
                    channels.drive(now, &mut peer.endpoint, *association, told);
                });
                events.extend(core::iter::from_fn(|| channels.poll_event()));
            }
            self.pair.run_for(Duration::from_millis(10));
        }
    }

    fn count(&self, side: usize, event: &ChannelEvent) -> usize {
        self.sides[side].events.iter().filter(|seen| *seen == event).count()
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

fn open(sides: &mut Sides, side: usize) -> StreamId {
    sides.channels(side).open(ChannelOptions::default()).unwrap()
}

fn send(sides: &mut Sides, side: usize, id: StreamId, text: &str) {
    let payload = Bytes::copy_from_slice(text.as_bytes());
    sides.channels(side).send(id, MessageKind::Text, payload).unwrap();
}

fn texts(sides: &Sides, side: usize, id: StreamId) -> Vec<String> {
    let all = sides.messages(side, id).into_iter();
    all.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).collect()
}

#[test]
fn a_closed_channel_is_closed_on_both_sides_and_its_identifier_free() {
    let mut sides = Sides::new(0);
    let id = open(&mut sides, CLIENT);
    send(&mut sides, CLIENT, id, "last words");
    sides.run(RTT * 2);
    send(&mut sides, SERVER, id, "and an answer");
    sides.channels(CLIENT).close(id).unwrap();
    assert!(sides.channels(CLIENT).send(id, MessageKind::Text, Bytes::new()).is_err());
    // The request and its answer, then both in the other direction.
    sides.run(RTT * 3);
    for side in [CLIENT, SERVER] {
        assert_eq!(sides.count(side, &ChannelEvent::Closed { id }), 1);
        assert_eq!(sides.channels(side).ids().len(), 0);
    }
    assert_eq!(texts(&sides, SERVER, id), ["last words"]);
    assert_eq!(texts(&sides, CLIENT, id), ["and an answer"], "heard while it closes");
    let closing = ChannelEvent::Closing { id, fault: None };
    assert_eq!((sides.count(SERVER, &closing), sides.count(CLIENT, &closing)), (1, 0));
    // Open again, with messages numbered from 0.
    assert_eq!(open(&mut sides, CLIENT), id);
    send(&mut sides, CLIENT, id, "again");
    sides.run(RTT * 2);
    assert_eq!(texts(&sides, SERVER, id), ["last words", "again"]);
    assert_eq!(sides.channels(SERVER).ignored(), 0);
}

#[test]
fn channels_come_and_go_over_loss_and_nothing_is_lost_or_mixed_up() {
    for seed_side in [CLIENT, SERVER] {
        let mut sides = Sides::new(10);
        let mut expected = Vec::new();
        for round in 0..30 {
            let id = open(&mut sides, seed_side);
            assert_eq!(id, StreamId(seed_side as u16), "free again after both resets");
            for number in 0..3 {
                let text = format!("{round}.{number}");
                send(&mut sides, seed_side, id, &text);
                expected.push(text);
            }
            sides.run(Duration::from_millis(10 * (round % 7)));
            // One side closes, or the other, or both at once.
            if round % 3 != 1 {
                sides.channels(seed_side).close(id).unwrap();
            }
            if round % 3 != 0 {
                // As soon as it knows of it.
                while sides.channels(1 - seed_side).close(id).is_err()
                    && sides.channels(1 - seed_side).ids().len() == 0
                    && sides.channels(seed_side).ids().len() == 1
                {
                    sides.run(Duration::from_millis(10));
                }
            }
            sides.run(Duration::from_secs(60));
            for side in [CLIENT, SERVER] {
                let closed = sides.count(side, &ChannelEvent::Closed { id });
                assert_eq!(closed, round as usize + 1, "{round}");
            }
        }
        let id = StreamId(seed_side as u16);
        assert_eq!(texts(&sides, 1 - seed_side, id), expected);
        let faults =
            |event: &ChannelEvent| matches!(event, ChannelEvent::Closing { fault: Some(_), .. });
        assert!(!sides.sides.iter().any(|side| side.events.iter().any(faults)));
    }
}

#[test]
fn a_slow_application_finds_the_reset_between_the_old_channel_and_the_new() {
    let mut sides = Sides::new(0);
    let id = open(&mut sides, CLIENT);
    sides.run(RTT * 2);
    sides.channels(SERVER).close(id).unwrap();
    send(&mut sides, CLIENT, id, "old");
    // The server asks; then its application sleeps. The client closes too, and uses the identifier
    // again.
    sides.run(Duration::from_millis(10));
    let host = sides.sides[CLIENT].host;
    for _ in 0..100 {
        let Side { association, channels, events, .. } = &mut sides.sides[CLIENT];
        sides.pair.sim.with_host(host, |peer, now| {
            let told: Vec<Event> = peer.events.drain(..).map(|(_, _, event)| event).collect();
            channels.drive(now, &mut peer.endpoint, *association, told);
        });
        events.extend(core::iter::from_fn(|| channels.poll_event()));
        sides.pair.run_for(Duration::from_millis(10));
        if sides.channels(CLIENT).ids().len() == 0 {
            assert_eq!(open(&mut sides, CLIENT), id);
            send(&mut sides, CLIENT, id, "new");
        }
    }
    assert_eq!(texts(&sides, SERVER, id), [""; 0]);
    sides.run(RTT * 3);
    assert_eq!(texts(&sides, SERVER, id), ["old", "new"]);
    assert_eq!(sides.count(SERVER, &ChannelEvent::Closed { id }), 1);
    let faults =
        |event: &ChannelEvent| matches!(event, ChannelEvent::Closing { fault: Some(_), .. });
    assert!(!sides.sides[SERVER].events.iter().any(faults));
    assert_eq!(sides.channels(SERVER).ids().len(), 1);
}

#[test]
fn where_streams_cannot_be_reset_a_channel_closes_and_its_identifier_is_not_used_again() {
    let denies = ReconfigurationPolicy { reset_streams: false, ..ReconfigurationPolicy::default() };
    let without = Extensions::default().without(Extensions::STREAM_RECONFIGURATION);
    for options in [
        AssociationOptions { reconfiguration: denies, ..options(plain()) },
        AssociationOptions { extensions: without, ..options(plain()) },
    ] {
        let mut sides = Sides::with(0, options);
        let id = open(&mut sides, CLIENT);
        sides.run(RTT * 2);
        sides.channels(CLIENT).close(id).unwrap();
        sides.run(RTT * 10);
        assert_eq!(sides.count(CLIENT, &ChannelEvent::Closed { id }), 1);
        assert_ne!(open(&mut sides, CLIENT), id);
        let sent = sides.pair.stats().counters.packets_sent;
        assert!(sent < 20, "it is not asked for without end: {sent} packets");
    }
}

#[test]
fn channels_end_with_their_association() {
    let mut sides = Sides::new(0);
    let ids = [open(&mut sides, CLIENT), open(&mut sides, SERVER)];
    sides.run(RTT * 2);
    let (host, id) = (sides.sides[CLIENT].host, sides.sides[CLIENT].association);
    sides
        .pair
        .sim
        .with_host(host, |peer, now| peer.endpoint.association_mut(id).unwrap().shutdown(now));
    sides.run(RTT * 3);
    for (side, id) in [CLIENT, SERVER].into_iter().flat_map(|side| ids.map(|id| (side, id))) {
        assert_eq!(sides.count(side, &ChannelEvent::Closed { id }), 1);
    }
}

#[test]
fn a_channel_tells_each_time_that_little_of_it_waits_and_others_do_not() {
    let mut sides = Sides::new(0);
    let ids = [open(&mut sides, CLIENT), open(&mut sides, CLIENT)];
    sides.run(RTT * 2);
    sides.channels(CLIENT).set_low_threshold(ids[0], Some(50_000)).unwrap();
    let low = |sides: &Sides, id| sides.count(CLIENT, &ChannelEvent::BufferedLow { id });
    let fill = |sides: &mut Sides| {
        for id in ids {
            // More than the initial congestion window admits at once.
            for _ in 0..200 {
                let payload = Bytes::from(vec![0; 1_000]);
                sides.channels(CLIENT).send(id, MessageKind::Binary, payload).unwrap();
            }
        }
    };
    for round in 1..=2 {
        fill(&mut sides);
        sides.run(Duration::from_millis(20));
        assert_eq!(low(&sides, ids[0]), round - 1, "more waits than the threshold");
        sides.run(RTT * 30);
        assert_eq!(low(&sides, ids[0]), round);
    }
    // Less than the threshold at any time.
    send(&mut sides, CLIENT, ids[0], "small");
    sides.run(RTT * 2);
    assert_eq!((low(&sides, ids[0]), low(&sides, ids[1])), (2, 0));
    // A threshold of zero: each message that leaves causes an event.
    sides.channels(CLIENT).set_low_threshold(ids[1], Some(0)).unwrap();
    send(&mut sides, CLIENT, ids[1], "small");
    sides.run(RTT * 2);
    assert_eq!(low(&sides, ids[1]), 1);
    sides.channels(CLIENT).set_low_threshold(ids[1], None).unwrap();
    send(&mut sides, CLIENT, ids[1], "small");
    sides.run(RTT * 2);
    assert_eq!(low(&sides, ids[1]), 1);
}
