//! Pages that mean harm, inside of sessions that they have set up: whatever they open, send, reset
//! or never read, the server holds little of it, and the channel that it serves goes on.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod world;

use std::net::SocketAddr;

use base::{DatagramMeta, Duration, Ecn, Machine, Purpose, RandomStream};
use bytes::Bytes;
use sctp::{Ppid, ResetDirection, SendOptions};
use webrtc::{ChannelOptions, Ended, MessageKind, PeerEvent, ServerOptions, StreamId};
use world::{Setting, World, address, check, messages};

/// Payload protocol identifiers (RFC 8831, section 8): of DCEP, of bytes, and of no bytes.
const DCEP: Ppid = Ppid(50);
const BINARY: Ppid = Ppid(53);
const BINARY_EMPTY: Ppid = Ppid(57);

/// A page with a session and one channel, on which it has sent a message.
fn begun(setting: Setting) -> (World, StreamId) {
    let mut world = World::new(setting);
    let id = world.browser(|page, _| page.open(ChannelOptions::default())).unwrap();
    world.browser(|page, now| page.send(now, id, MessageKind::Text, "first".into())).unwrap();
    world.run_for(Duration::from_secs(5));
    assert_eq!(messages(&world.told_server(), id), ["first"]);
    (world, id)
}

/// Sends past the page's channels, as a stack that keeps to nothing; false once its association
/// takes no more.
fn send_raw(world: &mut World, id: u16, ppid: Ppid, payload: impl Into<Bytes>) -> bool {
    world.browser(|page, now| {
        let mut own = page.association_mut().unwrap();
        own.send(now, StreamId(id), ppid, payload.into(), SendOptions::default()).is_ok()
    })
}

/// The channel still carries a message there and back.
fn assert_serves(world: &mut World, id: StreamId) {
    let before =
        (messages(&world.told_server(), id).len(), messages(world.told_browser(), id).len());
    world.browser(|page, now| page.send(now, id, MessageKind::Text, "still".into())).unwrap();
    world
        .server(|peer, now| peer.send(now, id, MessageKind::Text, "here".into()))
        .unwrap()
        .unwrap();
    world.run_for(Duration::from_secs(30));
    let after =
        (messages(&world.told_server(), id).len(), messages(world.told_browser(), id).len());
    assert_eq!(after, (before.0 + 1, before.1 + 1));
}

/// DATA_CHANNEL_OPEN with a label (RFC 8832, section 5.1).
fn open(label: &[u8]) -> Vec<u8> {
    let length = (label.len() as u16).to_be_bytes();
    [&[3, 0, 0, 0, 0, 0, 0, 0], &length[..], &[0, 0], label].concat()
}

#[test]
fn of_as_many_channels_as_there_are_identifiers_those_exist_that_may() {
    let (mut world, id) = begun(Setting::new(0));
    for number in 1..=u16::MAX - 1 {
        while !send_raw(&mut world, number, DCEP, open(b"one of many")) {
            world.run_for(Duration::from_millis(100));
        }
    }
    world.run_for(Duration::from_secs(120));
    let all = world.server(|peer, _| peer.channel_ids().len()).unwrap();
    assert_eq!(all, 1024);
    let opened = |event: &&PeerEvent| {
        matches!(event, PeerEvent::Channel(webrtc::ChannelEvent::Opened { .. }))
    };
    assert!(world.told_server().iter().filter(opened).count() <= 1024);
    assert_serves(&mut world, id);
}

#[test]
fn rubbish_for_dcep_and_data_of_no_channel_disturb_no_channel() {
    let (mut world, id) = begun(Setting::new(0));
    let mut random = RandomStream::new(1, Purpose("rubbish", 0));
    for round in 0..5_000_u32 {
        let mut payload = vec![0; 1 + random.below(40) as usize];
        random.fill(&mut payload);
        // Openings with lengths that lie, answers to nothing, other types.
        payload[0] = [3, 2, payload[0]][round as usize % 3];
        // Any stream but the one in use.
        let stream = 1 + random.below(65_534) as u16;
        let ppid = if round % 4 == 0 { Ppid(random.below(60) as u32) } else { DCEP };
        while !send_raw(&mut world, stream, ppid, payload.clone()) {
            world.run_for(Duration::from_millis(100));
        }
    }
    world.run_for(Duration::from_secs(60));
    assert!(world.server(|peer, _| peer.channel_ids().len()).unwrap() <= 1024);
    assert_serves(&mut world, id);
}

#[test]
fn messages_without_bytes_that_are_not_read_close_the_window_too() {
    let unread = |options: &mut ServerOptions| {
        options.unread = 50_000;
        options.association.receive_buffer = 100_000;
    };
    let (mut world, id) = begun(Setting { server: unread, ..Setting::new(0) });
    world.set_deaf(true);
    let mut sent = 0;
    for _ in 0..60 {
        while sent < 20_000 && send_raw(&mut world, id.0, BINARY_EMPTY, &[0][..]) {
            sent += 1;
        }
        world.run_for(Duration::from_secs(1));
    }
    // What the server holds: 50,000 bytes of events and a window of 100,000 bytes, each message
    // with what it takes.
    world.set_deaf(false);
    let held = messages(&world.told_server(), id).len();
    assert!(held < 3_000, "{held} of {sent}");
    world.run_for(Duration::from_secs(60));
    assert_eq!(messages(&world.told_server(), id).len(), 1 + sent);
    assert_serves(&mut world, id);
}

#[test]
fn resets_without_end_behind_a_message_that_is_not_read_end_the_session() {
    let unread = |options: &mut ServerOptions| options.unread = 1;
    let (mut world, id) = begun(Setting { server: unread, ..Setting::new(0) });
    world.set_deaf(true);
    send_raw(&mut world, id.0, BINARY, "unread");
    let mut asked = 0;
    while asked < 1_100 {
        asked += world.browser(|page, now| {
            let Some(mut own) = page.association_mut() else { return 1 };
            i32::from(own.reset_streams(now, ResetDirection::Outgoing, &[StreamId(9)]).is_ok())
        });
        world.run_for(Duration::from_millis(110));
    }
    // The application reads, and asks once more, as drivers do after they have sent.
    world.set_deaf(false);
    world.run_for(Duration::from_secs(5));
    world.set_deaf(false);
    assert_eq!(world.told_server().last(), Some(&PeerEvent::Ended(Ended::Flooded)));
    assert!(world.server(|_, _| ()).is_none(), "the server has forgotten the peer");
}

#[test]
fn a_message_that_is_longer_than_any_may_be_ends_the_session_with_the_reason() {
    // The page's stack would send 8 MiB; the server takes 256 KiB, and said so.
    let long = sctp::AssociationOptions {
        max_message_size: 8 << 20,
        send_buffer: 16 << 20,
        ..webrtc::PeerOptions::association()
    };
    let (mut world, id) = begun(Setting { association: long, ..Setting::new(0) });
    assert!(send_raw(&mut world, id.0, BINARY, vec![7; 8 << 20]));
    world.run_for(Duration::from_secs(60));
    let longest = messages(&world.told_server(), id).iter().map(Bytes::len).max();
    assert!(longest.unwrap() <= 256 << 10, "{longest:?}");
    let ended = |event: &PeerEvent| {
        matches!(event, PeerEvent::Ended(Ended::Association(sctp::Failure::ProtocolViolation(_))))
    };
    assert!(world.told_server().last().is_some_and(ended), "{:?}", world.told_server());
}

#[test]
fn checks_from_ten_thousand_addresses_take_sixteen_places_and_the_page_is_served() {
    let (mut world, id) = begun(Setting::new(0));
    let names = world.server(|peer, _| peer.ice().credentials().clone()).unwrap();
    let request = check(&names.ufrag, &world.credentials.ufrag, &names.password);
    let mut answered = 0;
    for number in 0..10_000_u32 {
        let [_, _, a, b] = number.to_be_bytes();
        let remote = SocketAddr::from(([198, 18, a, b], 7));
        world.simulation.with_host(world.server, |end, now| {
            let meta = DatagramMeta { local: address(2), remote, ecn: Ecn::NotEct, origin: None };
            end.handle_datagram(now, meta, request.clone().into());
            let mut bytes = Vec::new();
            while end.poll_transmit(now, &mut bytes).is_some() {}
            assert!(bytes.len() <= 3 * request.len(), "{}", bytes.len());
            answered += usize::from(!bytes.is_empty());
        });
    }
    assert!(answered > 0);
    world.run_for(Duration::from_secs(6));
    assert_serves(&mut world, id);
}

#[test]
fn hellos_by_the_thousand_in_the_name_of_a_page_disturb_its_session_in_no_state() {
    let hello = {
        let context =
            secure::Context::without_cookies(secure::Settings::default(), &world::identity(9))
                .unwrap();
        let trust = std::sync::Arc::new(secure::Trust::Any);
        let mut other = secure::Dtls::new(
            &context,
            secure::Role::Client,
            trust,
            secure::Randomness::Seeded(1),
            base::Instant::ZERO,
        );
        secure::Sealer::poll_transmit(other.as_mut().unwrap()).unwrap()
    };
    let (mut world, id) = begun(Setting::new(0));
    for _ in 0..3_000 {
        world.simulation.with_host(world.server, |end, now| {
            let meta = DatagramMeta {
                local: address(2),
                remote: address(1),
                ecn: Ecn::NotEct,
                origin: None,
            };
            end.handle_datagram(now, meta, hello.clone().into());
            let mut bytes = Vec::new();
            while end.poll_transmit(now, &mut bytes).is_some() {}
            assert!(bytes.len() <= 3 * hello.len(), "{}", bytes.len());
        });
    }
    assert_serves(&mut world, id);
}
