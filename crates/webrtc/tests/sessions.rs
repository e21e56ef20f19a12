//! Beginning, migration and end of sessions between a browser and a server.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod world;

use std::net::SocketAddr;

use base::{DatagramMeta, Duration, Ecn, Instant, Machine, Probability};
use bytes::Bytes;
use secure::{Failure, Role, Settings, Versions};
use webrtc::{
    AcceptError, ChannelOptions, Ended, MessageKind, PeerEvent, ServerLimits, ServerOptions,
    StreamId,
};
use world::{End, Setting, World, address, check, messages, offer};

/// Time until the page's first message, sent at once, arrives.
fn first_message(setting: Setting) -> Instant {
    let mut world = World::new(setting);
    let id = world.browser(|page, _| page.open(ChannelOptions::default())).unwrap();
    world.browser(|page, now| page.send(now, id, MessageKind::Text, "first".into())).unwrap();
    while messages(&world.told_server(), id).is_empty() {
        world.run_for(Duration::from_millis(1));
        assert!(world.simulation.now() < Instant::from_millis(60_000), "no message");
    }
    world.simulation.now()
}

#[test]
fn the_first_message_arrives_after_three_and_a_half_round_trips_whichever_end_of_dtls_the_server_is()
 {
    // A check, DTLS 1.3 without a cookie, INIT, and the message with the COOKIE ECHO: the server as
    // client of DTLS begins with the first check instead of waiting for the nomination.
    let server = first_message(Setting::new(0));
    let client = first_message(Setting { role: Role::Client, ..Setting::new(0) });
    assert!(server <= Instant::from_millis(400), "{server}");
    assert!(client <= Instant::from_millis(400), "{client}");
}

#[test]
fn an_init_in_the_offer_saves_a_round_trip_and_a_server_that_does_not_know_it_goes_by_packets() {
    for role in [Role::Server, Role::Client] {
        let with = |signals_init, server: fn(&mut ServerOptions)| {
            first_message(Setting { role, signals_init, server, ..Setting::new(0) })
        };
        let by_packets = with(false, |_| {});
        assert_eq!(by_packets.since(with(true, |_| {})), Duration::from_millis(100), "{role:?}");
        assert_eq!(with(true, |options| options.signalled_init = false), by_packets, "{role:?}");
    }
}

#[test]
fn a_peer_that_answers_connects_as_soon_as_one_that_offers_and_carries_everything_over_loss() {
    for role in [Role::Server, Role::Client] {
        let at = |server_offers| first_message(Setting { role, server_offers, ..Setting::new(0) });
        assert_eq!(at(true), at(false), "{role:?}");
        let (mut world, id) = connected(Setting { role, server_offers: true, ..Setting::new(10) });
        for _ in 0..50 {
            send(&mut world, id, "there and back");
            world.run_for(Duration::from_millis(20));
        }
        world.run_for(Duration::from_secs(20));
        assert_eq!(messages(&world.told_server(), id).len(), 50, "{role:?}");
        assert_eq!(messages(world.told_browser(), id).len(), 50, "{role:?}");
    }
}

/// A setting in which the server offers.
fn offered(role: Role) -> Setting {
    Setting { role, server_offers: true, ..Setting::new(0) }
}

#[test]
fn an_init_in_the_servers_offer_saves_a_round_trip_where_the_peer_answers_with_its_own() {
    for role in [Role::Server, Role::Client] {
        let by_packets = first_message(offered(role));
        let signalled = first_message(Setting { signals_init: true, ..offered(role) });
        assert_eq!(by_packets.since(signalled), Duration::from_millis(100), "{role:?}");
        let without: fn(&mut ServerOptions) = |options| options.signalled_init = false;
        let setting = Setting { signals_init: true, server: without, ..offered(role) };
        assert_eq!(first_message(setting), by_packets, "{role:?}");
    }
}

#[test]
fn an_answer_that_only_returns_the_init_of_the_servers_offer_makes_no_association() {
    // As it was; with other words behind its tag; with its tag behind another window; with another
    // first TSN.
    let returned: [fn(Vec<u8>) -> Vec<u8>; 3] = [
        |init| init,
        |mut init| {
            init[8..12].copy_from_slice(&[0, 2, 0, 0]);
            init[16..20].fill(7);
            init
        },
        |init| [&[1, 0, 0, 20][..], &init[4..20]].concat(),
    ];
    for (case, returns) in returned.into_iter().enumerate() {
        for role in [Role::Server, Role::Client] {
            let at = first_message(Setting { returns: Some(returns), ..offered(role) });
            assert_eq!(at, first_message(offered(role)), "{case} {role:?}");
        }
    }
}

#[test]
fn a_peer_that_answers_with_an_init_that_it_does_not_mean_is_served_by_packets() {
    // Its tag is not that of any association of the peer, which begins with packets as if nothing
    // had been said.
    for role in [Role::Server, Role::Client] {
        let returns: fn(Vec<u8>) -> Vec<u8> = |mut init| {
            init[4] ^= 1;
            init
        };
        let (mut world, id) = connected(Setting { returns: Some(returns), ..offered(role) });
        for _ in 0..20 {
            send(&mut world, id, "there and back");
            world.run_for(Duration::from_millis(20));
        }
        world.run_for(Duration::from_secs(20));
        assert_eq!(messages(&world.told_server(), id).len(), 20, "{role:?}");
        assert_eq!(messages(world.told_browser(), id).len(), 20, "{role:?}");
        let told = world.told_server();
        assert_eq!(told.iter().filter(|event| **event == PeerEvent::Connected).count(), 1);
    }
}

#[test]
fn a_peer_that_answers_with_another_key_is_refused() {
    let mut world = World::new(Setting { server_offers: true, wrong_key: true, ..Setting::new(0) });
    world.run_for(Duration::from_secs(5));
    assert!(!world.told_server().contains(&PeerEvent::Connected));
    assert!(matches!(world.told_server().last(), Some(PeerEvent::Ended(Ended::Dtls(_)))));
}

#[test]
fn associations_of_descriptions_carry_everything_over_loss() {
    for seed in 0..8 {
        let role = if seed % 2 == 0 { Role::Server } else { Role::Client };
        let server_offers = seed % 4 >= 2;
        let (mut world, id) = connected(Setting {
            role,
            seed,
            signals_init: true,
            server_offers,
            ..Setting::new(10)
        });
        for _ in 0..50 {
            send(&mut world, id, "there and back");
            world.run_for(Duration::from_millis(20));
        }
        world.run_for(Duration::from_secs(20));
        assert_eq!(messages(&world.told_server(), id).len(), 50, "{seed}");
        assert_eq!(messages(world.told_browser(), id).len(), 50, "{seed}");
        world.browser(|page, now| page.close_channel(now, id)).unwrap();
        world.run_for(Duration::from_secs(5));
        assert!(world.server(|peer, _| peer.channel(id).is_none()).unwrap(), "{seed}");
    }
}

#[test]
fn an_answer_that_only_repeats_the_offers_init_makes_no_association() {
    let mut world = World::new(Setting {
        signals_init: true,
        server: |options| options.signalled_init = false,
        ..Setting::new(0)
    });
    let id = world.browser(|page, _| page.open(ChannelOptions::default())).unwrap();
    let own = world.signalled.take().unwrap();
    assert_eq!(world.browser(|page, _| page.take_init(&own)), Ok(false));
    assert!(world.browser(|page, _| page.take_init(b"no INIT")).is_err());
    world.run_for(Duration::from_secs(2));
    send(&mut world, id, "by packets");
    world.run_for(Duration::from_secs(2));
    assert_eq!(messages(&world.told_server(), id), ["by packets"]);
}

#[test]
fn a_client_hello_in_several_datagrams_is_answered_over_loss_in_either_version() {
    for versions in [Versions::Only13, Versions::Only12, Versions::Either] {
        for seed in 0..3 {
            // Datagrams as small as this split what Firefox sends in two.
            let browser = Settings { versions, mtu: 150, ..Settings::default() };
            let arrived = first_message(Setting { browser, seed, ..Setting::new(10) });
            assert!(arrived < Instant::from_millis(30_000), "{versions:?} {seed}: {arrived}");
        }
    }
}

#[test]
fn sessions_begin_over_a_link_that_loses_reorders_and_duplicates() {
    for seed in 0..10 {
        let mut setting = Setting { seed, ..Setting::new(10) };
        setting.role = if seed % 2 == 0 { Role::Server } else { Role::Client };
        setting.link.duplicate = Probability::from_ratio(1, 10);
        setting.link.reorder.probability = Probability::from_ratio(1, 10);
        setting.link.reorder.extra_delay = Duration::from_millis(20);
        setting.link.allow_reordering = true;
        first_message(setting);
    }
}

#[test]
fn a_browser_with_another_key_than_its_offer_names_is_refused() {
    let mut world = World::new(Setting { wrong_key: true, ..Setting::new(0) });
    world.run_for(Duration::from_secs(5));
    let told = world.told_server();
    let refused =
        |event: &PeerEvent| matches!(event, PeerEvent::Ended(Ended::Dtls(Failure::Refused(_))));
    assert!(told.len() == 1 && told.iter().all(refused), "{told:?}");
    assert!(!world.told_browser().contains(&PeerEvent::Connected));
}

fn connected(setting: Setting) -> (World, StreamId) {
    let mut world = World::new(setting);
    let id = world.browser(|page, _| page.open(ChannelOptions::default())).unwrap();
    world.run_for(Duration::from_secs(5));
    assert!(world.told_server().contains(&PeerEvent::Connected));
    (world, id)
}

fn send(world: &mut World, id: StreamId, text: &'static str) {
    world.server(|peer, now| peer.send(now, id, MessageKind::Text, text.into())).unwrap().unwrap();
    world.browser(|page, now| page.send(now, id, MessageKind::Text, text.into())).unwrap();
}

#[test]
fn either_side_closes_and_the_other_hears_of_it() {
    let (mut world, id) = connected(Setting::new(0));
    send(&mut world, id, "last");
    world.browser(|page, now| page.close(now));
    world.run_for(Duration::from_secs(2));
    assert_eq!(messages(&world.told_server(), id), ["last"]);
    assert_eq!(world.told_server().last(), Some(&PeerEvent::Ended(Ended::Closed)));
    assert!(world.server(|_, _| ()).is_none(), "the server has forgotten the peer");

    let (mut world, id) = connected(Setting::new(0));
    send(&mut world, id, "last");
    world.server(|peer, now| peer.close(now));
    world.run_for(Duration::from_secs(2));
    assert_eq!(messages(world.told_browser(), id), ["last"]);
    assert_eq!(world.told_browser().last(), Some(&PeerEvent::Ended(Ended::Closed)));
}

#[test]
fn a_page_that_vanishes_is_given_up_after_thirty_seconds_without_a_check() {
    let (mut world, _) = connected(Setting::new(0));
    // Its address leads nowhere from now on.
    world.simulation.translate(world.browser, address(1), "10.9.9.9:9".parse().unwrap());
    world.simulation.with_host(world.browser, |end, _| {
        if let End::Browser(page, _) = end {
            page.ice_mut().answer(&unreachable_answer());
        }
    });
    let before = world.simulation.now();
    while !world.told_server().contains(&PeerEvent::Ended(Ended::Unreachable)) {
        world.run_for(Duration::from_millis(100));
        assert!(world.simulation.now().since(before) < Duration::from_secs(40));
    }
    assert!(world.simulation.now().since(before) > Duration::from_secs(25));
}

/// Credentials that no server has: checks with them are not answered.
fn unreachable_answer() -> webrtc::sdp::Description {
    let own = webrtc::ice::Credentials { ufrag: "none".into(), password: "x".repeat(22) };
    offer(&own, &world::identity(9))
}

#[test]
fn a_browser_behind_a_nat_that_rebinds_goes_on_without_a_new_handshake() {
    let (mut world, id) = connected(Setting::new(2));
    let outside: SocketAddr = "10.0.0.1:40000".parse().unwrap();
    world.simulation.translate(world.browser, address(1), outside);
    for _ in 0..20 {
        send(&mut world, id, "moved");
        world.run_for(Duration::from_millis(500));
    }
    world.run_for(Duration::from_secs(20));
    assert_eq!(messages(&world.told_server(), id).len(), 20);
    assert_eq!(messages(world.told_browser(), id).len(), 20);
    let ended = |event: &PeerEvent| matches!(event, PeerEvent::Ended(_));
    assert!(!world.told_server().iter().any(ended));
}

/// Bytes that a server sends within a time, all to one address that sends nothing more.
fn drain(server: &mut webrtc::Server, from: Instant, span: Duration, to: SocketAddr) -> usize {
    let (mut now, mut bytes) = (from, 0);
    while now < from + span {
        server.handle_timeout(now);
        let mut buffer = Vec::new();
        while let Some(transmit) = server.poll_transmit(now, &mut buffer) {
            assert_eq!(transmit.remote, to);
        }
        bytes += buffer.len();
        now += Duration::from_millis(10);
    }
    bytes
}

#[test]
fn an_address_that_never_answers_gets_at_most_three_times_the_offer_and_what_came_in_its_name() {
    for role in [Role::Server, Role::Client] {
        let mut server = world::server(1, role, |_| {});
        let own = webrtc::ice::Credentials { ufrag: "page".into(), password: "p".repeat(22) };
        let text = offer(&own, &world::identity(1)).to_string();
        let (_, answer) = server.accept(Instant::ZERO, &text, None).unwrap();
        let request = check(&answer.credentials.ufrag, "page", &answer.credentials.password);
        let victim: SocketAddr = "203.0.113.7:53".parse().unwrap();
        let meta =
            DatagramMeta { local: address(2), remote: victim, ecn: Ecn::NotEct, origin: None };
        let mut received = 0;
        for _ in 0..3 {
            received += request.len();
            server.handle_datagram(Instant::ZERO, meta, request.clone().into());
        }
        let sent = drain(&mut server, Instant::ZERO, Duration::from_secs(40), victim);
        assert!(sent > 0 && sent <= 3 * (received + text.len()), "{role:?}: {sent} for {received}");
    }
}

#[test]
fn a_check_in_the_name_of_an_address_that_a_living_peer_has_takes_nothing_over() {
    let (mut world, id) = connected(Setting::new(0));
    let thief = webrtc::ice::Credentials { ufrag: "thief".into(), password: "p".repeat(22) };
    let text = offer(&thief, &world::identity(9)).to_string();
    for _ in 0..20 {
        world.simulation.with_host(world.server, |end, now| {
            let End::Server(server, ..) = end else { panic!("the browser") };
            let (_, answer) = server.accept(now, &text, None).unwrap();
            let request = check(&answer.credentials.ufrag, "thief", &answer.credentials.password);
            let meta = DatagramMeta {
                local: address(2),
                remote: address(1),
                ecn: Ecn::NotEct,
                origin: None,
            };
            server.handle_datagram(now, meta, request.into());
        });
        send(&mut world, id, "mine");
        world.run_for(Duration::from_millis(300));
    }
    world.run_for(Duration::from_secs(3));
    assert_eq!(messages(&world.told_server(), id).len(), 20);
}

#[test]
fn offers_beyond_the_bounds_are_refused_and_room_returns_once_they_time_out() {
    let limits = |options: &mut ServerOptions| {
        options.limits = ServerLimits { peers: 8, per_host: 8, waiting: 6, waiting_per_host: 3 }
    };
    let mut server = world::server(1, Role::Server, limits);
    let own = webrtc::ice::Credentials { ufrag: "page".into(), password: "p".repeat(22) };
    let text = offer(&own, &world::identity(1)).to_string();
    let [one, two] = ["192.0.2.1", "192.0.2.2"].map(|ip| Some(ip.parse().unwrap()));
    let mut accept = |host, now| server.accept(now, &text, host).map(|(id, _)| id);
    for _ in 0..3 {
        accept(one, Instant::ZERO).unwrap();
    }
    assert_eq!(accept(one, Instant::ZERO), Err(AcceptError::TooManyOfHost));
    for _ in 0..3 {
        accept(two, Instant::ZERO).unwrap();
    }
    assert_eq!(accept(None, Instant::ZERO), Err(AcceptError::TooMany));
    // Without a check within 30 s they are forgotten, once the application was told.
    let later = Instant::from_millis(31_000);
    server.handle_timeout(later);
    let mut ended = 0;
    while let Some((_, event)) = server.poll_event() {
        assert_eq!(event, PeerEvent::Ended(Ended::Unreachable));
        ended += 1;
    }
    assert_eq!(server.poll_transmit(later, &mut Vec::new()), None);
    assert_eq!((ended, server.len()), (6, 0));
    assert!(server.accept(later, &text, one).is_ok());
}

#[test]
fn one_host_takes_no_more_than_its_share_of_peers_connected_or_not() {
    let limits = |options: &mut ServerOptions| {
        options.limits = ServerLimits { per_host: 2, ..ServerLimits::default() }
    };
    let mut server = world::server(1, Role::Server, limits);
    let own = webrtc::ice::Credentials { ufrag: "page".into(), password: "p".repeat(22) };
    let text = offer(&own, &world::identity(1)).to_string();
    let [one, two] = ["192.0.2.1", "192.0.2.2"].map(|ip| Some(ip.parse().unwrap()));
    let mut accept = |host| server.accept(Instant::ZERO, &text, host).map(drop);
    assert_eq!([accept(one), accept(one)], [Ok(()), Ok(())]);
    assert_eq!(accept(one), Err(AcceptError::HostFull));
    assert_eq!(accept(two), Ok(()));
}

#[test]
fn a_burst_of_messages_as_soon_as_the_page_may_does_not_end_a_handshake_under_loss() {
    // With SCTP's set-up in the offer the page has its association once its end of DTLS is open,
    // and the server's may not be.
    for seed in 0..40 {
        let setting = Setting { seed, signals_init: true, ..Setting::new(20) };
        let mut world = World::new(setting);
        let id = world.browser(|page, _| page.open(ChannelOptions::default())).unwrap();
        for number in 0..60_u8 {
            world.browser(|page, now| {
                page.send(now, id, MessageKind::Binary, vec![number; 1000].into()).unwrap();
            });
        }
        world.run_for(Duration::from_secs(60));
        assert_eq!(messages(&world.told_server(), id).len(), 60, "seed {seed}");
    }
}

/// Number of 100 pages without an association after ten seconds, over a path that loses this
/// percentage of packets each way.
fn not_set_up(role: Role) -> usize {
    let waits = |seed: &u64| {
        let browser = Settings { linear_retransmissions: 4, ..Settings::default() };
        let mut world = World::new(Setting { seed: *seed, role, browser, ..Setting::new(30) });
        world.run_for(Duration::from_secs(10));
        let connected = |event: &PeerEvent| *event == PeerEvent::Connected;
        !world.told_browser().iter().any(connected)
    };
    (0..100).filter(waits).count()
}

#[test]
fn at_30_percent_loss_each_way_few_pages_wait_for_longer_than_ten_seconds() {
    let [server, client] = [Role::Server, Role::Client].map(not_set_up);
    println!("of 100 pages {server} and {client} are not set up after 10 s");
    assert!(server <= 10 && client <= 10, "{server}, {client}");
}

#[test]
fn a_flood_of_checks_and_of_hellos_leaves_a_living_page_alone_and_takes_no_memory() {
    let (mut world, id) = connected(Setting::new(0));
    let hello = [22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let check = |names: &str| {
        let id = is::stun::TransId::new();
        let message = is::stun::StunMessage::binding_request(names, id, true, 1, 1, true);
        let mut bytes = vec![0; 500];
        let length = message.to_bytes(None, &mut bytes, |_, _| [0; 20]).unwrap();
        bytes.truncate(length);
        bytes
    };
    let checks = ["page:page", "a:b", ":", "", "page"].map(check);
    for round in 0..20_000_u32 {
        let bytes = match round % 6 {
            5 => hello.to_vec(),
            other => checks[other as usize].clone(),
        };
        let [_, a, b, c] = round.to_be_bytes();
        let remote = SocketAddr::from(([198, a, b, c], 7));
        world.simulation.with_host(world.server, |end, now| {
            let meta = DatagramMeta { local: address(2), remote, ecn: Ecn::NotEct, origin: None };
            end.handle_datagram(now, meta, Bytes::from(bytes).into());
            assert_eq!(end.poll_transmit(now, &mut Vec::new()), None);
        });
    }
    send(&mut world, id, "still here");
    world.run_for(Duration::from_secs(1));
    assert_eq!(messages(&world.told_server(), id).last(), Some(&Bytes::from("still here")));
}

#[test]
fn rubbish_from_strangers_and_from_the_browsers_address_changes_nothing() {
    let (mut world, id) = connected(Setting::new(0));
    let mut random = base::RandomStream::new(1, base::Purpose("rubbish", 0));
    for round in 0..2_000 {
        let mut bytes = vec![0; 1 + random.below(200) as usize];
        random.fill(&mut bytes);
        // Mostly what looks like STUN or DTLS.
        bytes[0] = [0, 1, 20, 21, 22, 23, 25, 26, 0x2f, bytes[0]][round % 10];
        let remote = if round % 2 == 0 { address(1) } else { "198.51.100.1:7".parse().unwrap() };
        world.simulation.with_host(world.server, |end, now| {
            let meta = DatagramMeta { local: address(2), remote, ecn: Ecn::NotEct, origin: None };
            end.handle_datagram(now, meta, Bytes::from(bytes).into());
        });
    }
    send(&mut world, id, "still here");
    world.run_for(Duration::from_secs(2));
    assert_eq!(messages(&world.told_server(), id), ["still here"]);
    assert_eq!(messages(world.told_browser(), id), ["still here"]);
}

#[test]
fn a_page_that_sends_more_than_is_read_is_held_up_by_its_window() {
    let unread = |options: &mut ServerOptions| {
        options.unread = 50_000;
        options.association.receive_buffer = 100_000;
    };
    let mut world = World::new(Setting { server: unread, ..Setting::new(0) });
    let id = world.browser(|page, _| page.open(ChannelOptions::default())).unwrap();
    world.run_for(Duration::from_secs(3));
    world.set_deaf(true);
    let sent: Vec<Bytes> = (0..200u8).map(|number| vec![number; 2_000].into()).collect();
    for payload in &sent {
        world
            .browser(|page, now| page.send(now, id, MessageKind::Binary, payload.clone()))
            .unwrap();
    }
    world.run_for(Duration::from_secs(60));
    let waiting = world.browser(|page, _| page.buffered(id));
    // What is unread, a window beyond it, and what is in flight.
    assert!((400_000 - 200_000..400_000 - 50_000).contains(&waiting), "{waiting}");
    world.set_deaf(false);
    world.run_for(Duration::from_secs(60));
    assert_eq!(messages(&world.told_server(), id), sent);
}
