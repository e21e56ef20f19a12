//! Data channels between a browser and a server over the virtual network.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod world;

use base::{Duration, Instant};
use bytes::Bytes;
use recovery::RecoveryPolicy;
use secure::{Role, Settings, Versions};
use webrtc::{ChannelEvent, ChannelOptions, ChannelReliability, MessageKind, PeerEvent, StreamId};
use world::{Setting, World, messages};

/// Every kind of channel that the W3C's API can make.
fn kinds() -> Vec<ChannelOptions> {
    let lifetime = ChannelReliability::Lifetime(Duration::from_millis(300));
    let of = |label: &str, ordered, reliability| ChannelOptions {
        label: label.into(),
        protocol: format!("{label}-protocol"),
        ordered,
        reliability,
        ..ChannelOptions::default()
    };
    vec![
        of("reliable", true, ChannelReliability::Full),
        of("unordered", false, ChannelReliability::Full),
        of("once", true, ChannelReliability::Retransmissions(0)),
        of("twice", false, ChannelReliability::Retransmissions(2)),
        of("brief", false, lifetime),
    ]
}

fn opened(told: &[PeerEvent]) -> Vec<(StreamId, ChannelOptions)> {
    let open = |event: &PeerEvent| match event {
        PeerEvent::Channel(ChannelEvent::Opened { id, options }) => Some((*id, options.clone())),
        _ => None,
    };
    told.iter().filter_map(open).collect()
}

#[test]
fn channels_of_every_kind_carry_messages_both_ways_over_loss() {
    for (role, versions) in [
        (Role::Server, Versions::Only13),
        (Role::Client, Versions::Only13),
        (Role::Server, Versions::Only12),
        (Role::Client, Versions::Only12),
        (Role::Server, Versions::Either),
    ] {
        let browser = Settings { versions, ..Settings::default() };
        let mut world = World::new(Setting { role, browser, ..Setting::new(10) });
        let ids: Vec<_> = kinds()
            .into_iter()
            .map(|kind| world.browser(|page, _| page.open(kind)).unwrap())
            .collect();
        world.run_for(Duration::from_secs(20));
        let parity = if role == Role::Server { 0 } else { 1 };
        assert!(ids.iter().all(|id| id.0 % 2 == parity), "{ids:?}");
        let told = opened(&world.told_server());
        let expected: Vec<_> = ids.iter().copied().zip(kinds()).collect();
        let mut sorted = told.clone();
        sorted.sort_by_key(|(id, _)| *id);
        assert_eq!(sorted, expected, "{role:?} {versions:?}");
        let sent: Vec<Bytes> = (0..50u8).map(|number| vec![number; 100].into()).collect();
        for payload in &sent {
            for id in &ids {
                let (kind, payload) = (MessageKind::Binary, payload.clone());
                world.browser(|page, now| page.send(now, *id, kind, payload.clone())).unwrap();
                world.server(|peer, now| peer.send(now, *id, kind, payload)).unwrap().unwrap();
            }
            world.run_for(Duration::from_millis(20));
        }
        world.run_for(Duration::from_secs(30));
        for (id, kind) in expected {
            for told in [world.told_server(), world.told_browser().to_vec()] {
                let mut arrived = messages(&told, id);
                if !kind.ordered {
                    arrived.sort();
                }
                match kind.reliability {
                    ChannelReliability::Full => assert_eq!(arrived, sent, "{kind:?}"),
                    _ => {
                        let known = arrived.iter().all(|payload| sent.contains(payload));
                        assert!(known && arrived.len() <= sent.len(), "{kind:?}");
                        // One in ten is lost, or its retransmission.
                        assert!(arrived.len() > 35, "{kind:?}: {}", arrived.len());
                    }
                }
            }
        }
    }
}

#[test]
fn text_binary_and_empty_messages_keep_their_kind() {
    let mut world = World::new(Setting::new(0));
    let id = world.browser(|page, _| page.open(ChannelOptions::default())).unwrap();
    let sent = [
        (MessageKind::Text, "grüße"),
        (MessageKind::Text, ""),
        (MessageKind::Binary, "\0"),
        (MessageKind::Binary, ""),
    ];
    for (kind, payload) in sent {
        let payload = Bytes::from_static(payload.as_bytes());
        world.browser(|page, now| page.send(now, id, kind, payload)).unwrap();
    }
    world.run_for(Duration::from_secs(3));
    let told = world.told_server();
    let arrived = told.iter().filter_map(|event| match event {
        PeerEvent::Channel(ChannelEvent::Message { kind, payload, .. }) => {
            Some((*kind, core::str::from_utf8(payload).unwrap()))
        }
        _ => None,
    });
    assert_eq!(arrived.collect::<Vec<_>>(), sent);
}

#[test]
fn a_negotiated_channel_is_not_announced_and_carries_messages() {
    let mut world = World::new(Setting::new(0));
    let id = StreamId(7);
    world.browser(|page, _| page.open_negotiated(id, ChannelOptions::default())).unwrap();
    world.server(|peer, _| peer.open_negotiated(id, ChannelOptions::default())).unwrap().unwrap();
    let payload = Bytes::from_static(b"agreed");
    world.browser(|page, now| page.send(now, id, MessageKind::Text, payload.clone())).unwrap();
    world.run_for(Duration::from_secs(3));
    assert_eq!(messages(&world.told_server(), id), [payload]);
    assert_eq!(opened(&world.told_server()), []);
}

#[test]
fn a_channel_of_the_server_opens_in_the_browser_and_closes_on_both_sides() {
    let mut world = World::new(Setting::new(0));
    let options = ChannelOptions { label: "news".into(), ..ChannelOptions::default() };
    let id = world.server(|peer, _| peer.open(options.clone())).unwrap().unwrap();
    world.run_for(Duration::from_secs(2));
    assert_eq!(opened(world.told_browser()), [(id, options)]);
    world.browser(|page, now| page.close_channel(now, id)).unwrap();
    world.run_for(Duration::from_secs(2));
    let closed = PeerEvent::Channel(ChannelEvent::Closed { id });
    assert!(world.told_browser().contains(&closed) && world.told_server().contains(&closed));
    let sent = world.server(|peer, now| peer.send(now, id, MessageKind::Text, Bytes::new()));
    assert!(sent.unwrap().is_err());
    // The identifier is free again.
    let again = world.server(|peer, _| peer.open(ChannelOptions::default())).unwrap().unwrap();
    assert_eq!(again, id);
}

#[test]
fn messages_of_256_kib_arrive_whole_both_ways_over_loss_and_longer_ones_are_refused() {
    let mut world = World::new(Setting::new(5));
    let id = world.browser(|page, _| page.open(ChannelOptions::default())).unwrap();
    world.run_for(Duration::from_secs(5));
    let large: Bytes = (0..256u32 << 10).map(|at| (at % 251) as u8).collect();
    let kind = MessageKind::Binary;
    world.browser(|page, now| page.send(now, id, kind, large.clone())).unwrap();
    world.server(|peer, now| peer.send(now, id, kind, large.clone())).unwrap().unwrap();
    let longer = Bytes::from(vec![0; (256 << 10) + 1]);
    assert!(world.browser(|page, now| page.send(now, id, kind, longer.clone())).is_err());
    assert!(world.server(|peer, now| peer.send(now, id, kind, longer)).unwrap().is_err());
    world.run_for(Duration::from_secs(120));
    assert_eq!(messages(&world.told_server(), id), core::slice::from_ref(&large));
    assert_eq!(messages(world.told_browser(), id), [large]);
}

/// Time at which a small message behind a large one on another channel arrives.
fn small_behind_large(extensions: sctp::Extensions) -> Instant {
    let mut setting = Setting::new(0);
    setting.link.rate = base::Rate::from_bits_per_second(2_000_000);
    setting.association.extensions = extensions;
    let mut world = World::new(setting);
    let ids =
        [0, 1].map(|_| world.browser(|page, _| page.open(ChannelOptions::default())).unwrap());
    world.run_for(Duration::from_secs(3));
    let start = world.simulation.now();
    let scheduler = sctp::Scheduler::RoundRobin;
    world.browser(|page, _| {
        page.association_mut().unwrap().set_options(|all| all.scheduler = scheduler)
    });
    for (id, length) in [(ids[0], 200 << 10), (ids[1], 10)] {
        let payload = Bytes::from(vec![1; length]);
        world.browser(|page, now| page.send(now, id, MessageKind::Binary, payload)).unwrap();
    }
    while messages(&world.told_server(), ids[1]).is_empty() {
        world.run_for(Duration::from_millis(1));
    }
    Instant::ZERO + world.simulation.now().since(start)
}

#[test]
fn where_both_sides_interleave_a_small_message_passes_a_large_one() {
    let both = sctp::Extensions::default() | sctp::Extensions::INTERLEAVING;
    let passing = small_behind_large(both);
    let waiting = small_behind_large(sctp::Extensions::default());
    assert!(passing < Instant::from_millis(200), "{passing}");
    assert!(waiting > Instant::from_millis(700), "{waiting}");
}

#[test]
fn the_application_hears_once_that_little_is_buffered() {
    let mut setting = Setting::new(0);
    setting.link.rate = base::Rate::from_bits_per_second(1_000_000);
    let mut world = World::new(setting);
    let id = world.browser(|page, _| page.open(ChannelOptions::default())).unwrap();
    world.run_for(Duration::from_secs(3));
    let low = PeerEvent::Channel(ChannelEvent::BufferedLow { id });
    let count = |world: &World| world.told_server().iter().filter(|event| **event == low).count();
    world.server(|peer, _| peer.set_low_threshold(id, Some(20_000))).unwrap().unwrap();
    for _ in 0..100 {
        let payload = Bytes::from(vec![0; 1_000]);
        world
            .server(|peer, now| peer.send(now, id, MessageKind::Binary, payload))
            .unwrap()
            .unwrap();
    }
    let buffered = world.server(|peer, _| peer.buffered(id)).unwrap();
    assert!(buffered > 80_000, "{buffered}");
    assert_eq!(count(&world), 0);
    while count(&world) == 0 {
        world.run_for(Duration::from_millis(1));
    }
    let left = world.server(|peer, _| peer.buffered(id)).unwrap();
    assert!((1..=20_000).contains(&left), "{left}");
    world.run_for(Duration::from_secs(5));
    assert_eq!(count(&world), 1);
    assert_eq!(world.server(|peer, _| peer.buffered(id)).unwrap(), 0);
}

#[test]
fn equal_seeds_give_equal_runs() {
    let run = |seed| {
        let mut world = World::new(Setting { seed, ..Setting::new(10) });
        let id = world.browser(|page, _| page.open(ChannelOptions::default())).unwrap();
        for number in 0..30u8 {
            let payload = Bytes::from(vec![number; 100]);
            world.browser(|page, now| page.send(now, id, MessageKind::Binary, payload)).unwrap();
            world.run_for(Duration::from_millis(100));
        }
        world.run_for(Duration::from_secs(20));
        (world.simulation.packets_sent(), world.told_server(), world.told_browser().to_vec())
    };
    let first = run(3);
    assert_eq!(first, run(3));
    assert_ne!(first.0, run(4).0);
}

/// Messages of a page go one by one, 250 ms apart: the round trip that its stack has measured.
fn measured_round_trip(server: fn(&mut webrtc::ServerOptions), policy: RecoveryPolicy) -> Duration {
    let mut setting = Setting { server, ..Setting::new(0) };
    setting.association.policy = RecoveryPolicy::sctp_rfc().into();
    let mut world = World::new(setting);
    let id = world.browser(|page, _| page.open(ChannelOptions::default())).unwrap();
    world.run_for(Duration::from_secs(5));
    assert!(world.server(|peer, _| peer.set_policy(policy.into())).unwrap());
    for _ in 0..40 {
        world.browser(|page, now| page.send(now, id, MessageKind::Text, "one".into())).unwrap();
        world.run_for(Duration::from_millis(250));
    }
    world.browser(|page, _| page.association().unwrap().stats().paths[0].recovery.srtt).unwrap()
}

#[test]
fn messages_of_pages_are_acknowledged_at_once_under_any_policy_unless_that_is_switched_off() {
    for policy in [RecoveryPolicy::sctp_rfc(), RecoveryPolicy::sctp_latency()] {
        let at_once = measured_round_trip(|_| {}, policy.clone());
        assert_eq!(at_once.as_millis(), 100);
        let delayed = measured_round_trip(|options| options.acknowledge_at_once = false, policy);
        assert!(delayed > Duration::from_millis(250), "{delayed}");
    }
}
