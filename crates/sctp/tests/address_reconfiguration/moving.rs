//! A client that gets a second address, makes it the primary one, and deletes the first.

use base::Machine;
use netsim::LossModel;
use sctp::AddressChange::{Added, Deleted, MadePrimary};

use super::*;

#[test]
fn an_address_is_added_asked_made_primary_and_the_old_one_deleted() {
    let mut mobile = Mobile::new(links(), links());
    let (client, server) = (mobile.client, mobile.server);
    let [home, away, there] = [HOME, AWAY, SERVER].map(address);
    mobile.ask(Added, AWAY).unwrap();
    mobile.at(1_000);
    assert!(mobile.own(Added, AWAY) && mobile.peers(Added, AWAY) == 1);
    assert_eq!(mobile.times_of(client, ChunkType::ASCONF), [(0.0, home, there)]);
    assert_eq!(mobile.times_of(server, ChunkType::ASCONF_ACK), [(50.0, there, home)]);
    // The server asks the new address at once, the client its new path when the answer came.
    assert_eq!(mobile.times_of(server, ChunkType::HEARTBEAT), [(50.0, there, away)]);
    assert_eq!(mobile.times_of(client, ChunkType::HEARTBEAT), [(100.0, away, there)]);
    mobile.send(server);
    mobile.ask(MadePrimary, AWAY).unwrap();
    mobile.at(2_000);
    assert!(mobile.own(MadePrimary, AWAY) && mobile.peers(MadePrimary, AWAY) == 1);
    mobile.send(server);
    mobile.ask(Deleted, HOME).unwrap();
    mobile.at(3_000);
    assert!(mobile.own(Deleted, HOME) && mobile.peers(Deleted, HOME) == 1);
    mobile.send(server);
    mobile.send(client);
    mobile.at(4_000);
    let data: Vec<_> = mobile.times_of(server, ChunkType::DATA);
    let expected = [(1_000.0, there, home), (2_000.0, there, away), (3_000.0, there, away)];
    assert_eq!(data, expected);
    assert_eq!(mobile.times_of(client, ChunkType::DATA), [(3_000.0, away, there)]);
    assert_eq!((mobile.peer(client).messages.len(), mobile.peer(server).messages.len()), (3, 1));
    let late = |host| mobile.sent_by(host).filter(|(at, _)| *at > 2_200.0).collect::<Vec<_>>();
    assert!(late(server).iter().all(|(_, sent)| sent.to == away));
    assert!(late(client).iter().all(|(_, sent)| sent.source == away));
    assert_eq!(mobile.peer(client).endpoint.poll_timeout(), None);
}

#[test]
fn an_asconf_fits_the_packets_of_the_smallest_path_and_no_data_rides_with_it() {
    let mut mobile = Mobile::new(links(), links());
    let client = mobile.client;
    let changes = [(Added, AWAY), (MadePrimary, AWAY), (Deleted, HOME)];
    for (second, (change, address)) in (0..).zip(changes) {
        mobile.at(second * 1_000);
        mobile.send(client);
        mobile.ask(change, address).unwrap();
    }
    mobile.at(4_000);
    let asconfs = mobile.sent_by(client).filter(|(_, sent)| sent.has(ChunkType::ASCONF));
    let asconfs: Vec<&Sent> = asconfs.map(|(_, sent)| sent).collect();
    assert_eq!(asconfs.len(), changes.len());
    // The smallest path MTU (RFC 9260, section 7.3) less the headers of IPv6 and UDP, with the two
    // addresses as long as IPv6's.
    let most = 576 - 40 - 8 - 2 * 12;
    assert!(asconfs.iter().all(|sent| sent.size <= most && !sent.has(ChunkType::DATA)));
}

#[test]
fn the_second_address_of_a_client_is_joined_to_the_second_of_the_server() {
    let mut mobile = Mobile::towards(&[SERVER, SECOND], links(), links());
    let server = mobile.server;
    mobile.at(1_000);
    mobile.ask(Added, AWAY).unwrap();
    mobile.at(2_000);
    let [away, second] = [AWAY, SECOND].map(address);
    let mut heartbeats = mobile.times_of(server, ChunkType::HEARTBEAT);
    heartbeats.retain(|(_, _, to)| *to == away);
    assert_eq!(heartbeats, [(1_050.0, second, away)]);
}

#[test]
fn nothing_but_asconf_leaves_from_a_new_address_until_the_peer_took_note_of_it() {
    // All answers to the client are lost for five seconds.
    let mut home = links();
    home.backward.blackouts.push(T0..T0 + Duration::from_secs(5));
    let mut mobile = Mobile::new(home, links());
    let (client, there) = (mobile.client, address(SERVER));
    mobile.ask(Added, AWAY).unwrap();
    for time in 0..10 {
        mobile.at(time * 200);
        mobile.send(client);
    }
    mobile.at(20_000);
    assert!(mobile.own(Added, AWAY));
    // T4 is RTO.Min, 1 s; the second time it leaves from the new address, and its answer goes
    // there.
    let (home, away) = (address(HOME), address(AWAY));
    let asconfs = mobile.times_of(client, ChunkType::ASCONF);
    assert_eq!(asconfs, [(0.0, home, there), (1_000.0, away, there)]);
    let early = mobile.sent_by(client).filter(|(at, sent)| *at < 1_100.0 && sent.source == away);
    assert!(early.map(|(_, sent)| sent.has(ChunkType::ASCONF)).eq([true]));
    assert_eq!(mobile.peers(Added, AWAY), 1);
    assert_eq!(mobile.peer(mobile.server).messages.len(), 10);
}

#[test]
fn an_asconf_that_is_lost_goes_to_another_address_of_the_peer() {
    let mut home = links();
    let second_one = T0 + Duration::from_secs(1);
    home.forward.blackouts.push(second_one..second_one + Duration::from_millis(10));
    let mut mobile = Mobile::towards(&[SERVER, SECOND], home, links());
    mobile.at(1_000);
    mobile.ask(MadePrimary, HOME).unwrap();
    mobile.at(5_000);
    assert!(mobile.own(MadePrimary, HOME));
    let [home, there, second] = [HOME, SERVER, SECOND].map(address);
    let asconfs = mobile.times_of(mobile.client, ChunkType::ASCONF);
    assert_eq!(asconfs, [(1_000.0, home, there), (2_000.0, home, second)]);
}

#[test]
fn nothing_leaves_from_an_address_once_the_peer_was_told_that_it_goes() {
    let mut mobile = Mobile::new(links(), links());
    let (client, server) = (mobile.client, mobile.server);
    mobile.ask(Added, AWAY).unwrap();
    mobile.at(1_000);
    // The first path still carries data when its address is deleted: the peer may process the
    // deletion before the data arrives, which then comes from an unknown address.
    mobile.ask(Deleted, HOME).unwrap();
    mobile.send(client);
    mobile.send(server);
    mobile.at(2_000);
    assert!(mobile.own(Deleted, HOME));
    let [home, away, there] = [HOME, AWAY, SERVER].map(address);
    assert_eq!(
        mobile.times_of(client, ChunkType::ASCONF),
        [(0.0, home, there), (1_000.0, away, there)]
    );
    assert_eq!(mobile.times_of(client, ChunkType::DATA)[0], (1_000.0, away, there));
    let late = mobile.sent_by(client).filter(|(at, _)| *at >= 1_000.0);
    assert!(late.map(|(_, sent)| sent.source).all(|source| source == away));
    assert_eq!((mobile.peer(client).messages.len(), mobile.peer(server).messages.len()), (1, 1));
}

#[test]
fn a_client_whose_address_is_gone_goes_on_from_another() {
    let mut home = links();
    home.forward.blackouts.push(T0..Instant::FAR_FUTURE);
    home.backward.blackouts.push(T0..Instant::FAR_FUTURE);
    let mut mobile = Mobile::new(home, links());
    let (client, server) = (mobile.client, mobile.server);
    mobile.send(client);
    mobile.send(server);
    mobile.ask(Added, AWAY).unwrap();
    mobile.ask(MadePrimary, AWAY).unwrap();
    mobile.ask(Deleted, HOME).unwrap();
    mobile.at(60_000);
    for (change, of) in [(Added, AWAY), (MadePrimary, AWAY), (Deleted, HOME)] {
        assert!(mobile.own(change, of) && mobile.peers(change, of) == 1, "{change:?}");
    }
    assert_eq!((mobile.peer(client).messages.len(), mobile.peer(server).messages.len()), (1, 1));
    mobile.send(client);
    mobile.send(server);
    mobile.at(61_000);
    assert_eq!((mobile.peer(client).messages.len(), mobile.peer(server).messages.len()), (2, 2));
}

#[test]
fn each_packet_may_be_lost_and_each_change_happens_once() {
    for (of_client, of_server) in (0..64).map(|n| (n % 8, n / 8)) {
        let link = |number: u64| LinkConfig {
            loss: LossModel::List(if number == 0 { vec![] } else { vec![number + 2] }),
            ..half(RTT)
        };
        let home = Directions { forward: link(of_client), backward: link(of_server) };
        let mut mobile = Mobile::new(home, links());
        let (client, server) = (mobile.client, mobile.server);
        mobile.ask(Added, AWAY).unwrap();
        mobile.ask(MadePrimary, AWAY).unwrap();
        mobile.send(client);
        mobile.send(server);
        mobile.ask(Deleted, HOME).unwrap();
        mobile.at(60_000);
        for (change, of) in [(Added, AWAY), (MadePrimary, AWAY), (Deleted, HOME)] {
            let what = (change, of_client, of_server);
            assert!(mobile.own(change, of) && mobile.peers(change, of) == 1, "{what:?}");
        }
        assert_eq!(mobile.peer(client).messages.len(), 1, "{of_client} {of_server}");
        assert_eq!(mobile.peer(server).messages.len(), 1, "{of_client} {of_server}");
        assert_eq!(mobile.peer(client).endpoint.poll_timeout(), None);
        assert_eq!(mobile.peer(server).endpoint.poll_timeout(), None);
    }
}

#[test]
fn addresses_may_come_and_go_without_end() {
    let mut mobile = Mobile::new(links(), links());
    for round in 0..40 {
        let (next, last) = if round % 2 == 0 { (AWAY, HOME) } else { (HOME, AWAY) };
        mobile.ask(Added, next).unwrap();
        mobile.send(mobile.client);
        mobile.at(round * 2_000 + 1_000);
        mobile.ask(Deleted, last).unwrap();
        mobile.send(mobile.server);
        mobile.at(round * 2_000 + 2_000);
        assert!(mobile.own(Deleted, last));
    }
    assert_eq!(mobile.peer(mobile.client).messages.len(), 40);
    assert_eq!(mobile.peer(mobile.server).messages.len(), 40);
    let own = mobile.peer(mobile.client).endpoint.association(mobile.id).unwrap();
    assert!(own.stats().paths.len() <= 3, "rows of closed paths are used again");
}

#[test]
fn what_makes_no_sense_is_not_asked_for() {
    let mut mobile = Mobile::new(links(), links());
    let meaningless = |text: &str| Err(AddressError::Meaningless(ip(text)));
    assert_eq!(mobile.ask(Added, HOME), Err(AddressError::Known(ip(HOME))));
    assert_eq!(mobile.ask(Added, "224.0.0.1:9"), meaningless("224.0.0.1:9"));
    assert_eq!(mobile.ask(Added, "127.0.0.1:9"), meaningless("127.0.0.1:9"));
    assert_eq!(mobile.ask(Added, "[2001:db8::1]:9"), meaningless("[2001:db8::1]:9"));
    assert_eq!(mobile.ask(Deleted, AWAY), Err(AddressError::Unknown(ip(AWAY))));
    assert_eq!(mobile.ask(MadePrimary, AWAY), Err(AddressError::Unknown(ip(AWAY))));
    assert_eq!(mobile.ask(Deleted, HOME), Err(AddressError::Last(ip(HOME))));
    mobile.at(1_000);
    assert!(mobile.times_of(mobile.client, ChunkType::ASCONF).is_empty());
    // Not without negotiation.
    let mut pair = support::Pair::new(links(), options(plain()), 1);
    pair.at(0);
    let id = pair.association;
    let asked = pair.sim.with_host(pair.client, |peer, now| {
        peer.endpoint.association_mut(id).unwrap().add_address(now, address(AWAY))
    });
    assert_eq!(asked, Err(AddressError::NotNegotiated));
}

#[test]
fn from_another_source_congestion_control_begins_anew() {
    let mut mobile = Mobile::towards(&[SERVER, SECOND], links(), links());
    let id = mobile.id;
    mobile.sim.with_host(mobile.client, |peer, now| {
        let payload = vec![7; 60_000].into();
        let (stream, ppid) = (StreamId(0), Ppid(0));
        peer.endpoint
            .association_mut(id)
            .unwrap()
            .send(now, stream, ppid, payload, SendOptions::default())
            .unwrap();
    });
    mobile.at(3_000);
    let window = |mobile: &Mobile, source: &str| {
        let stats = mobile.peer(mobile.client).endpoint.association(id).unwrap().stats();
        let path = stats.paths.into_iter().find(|path| {
            !path.removed && path.local == Some(address(source)) && path.remote == address(SERVER)
        });
        path.map(|path| path.recovery.cwnd)
    };
    assert!(window(&mobile, HOME).is_some_and(|cwnd| cwnd > 4404));
    // The new address is paired with the server's second one.
    mobile.ask(Added, AWAY).unwrap();
    mobile.at(4_000);
    assert_eq!(window(&mobile, AWAY), None);
    mobile.ask(Deleted, HOME).unwrap();
    mobile.at(5_000);
    assert_eq!((window(&mobile, HOME), window(&mobile, AWAY)), (None, Some(4404)));
    mobile.send(mobile.client);
    mobile.at(6_000);
    assert_eq!(mobile.peer(mobile.server).messages.len(), 2);
}
