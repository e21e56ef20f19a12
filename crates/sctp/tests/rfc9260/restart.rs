//! Section 5.2: both sides open at once, or one side restarts.

use base::{Duration, Instant, Machine};
use bytes::Bytes;
use netsim::topology::{Directions, Placed, pair};
use netsim::{HostId, LinkConfig, LossModel, Simulation};
use sctp::wire::VerificationTag;
use sctp::wire::chunk::CookieEcho;
use sctp::{AssociationId, EndpointOptions, Event, Ppid, SendOptions, StreamId};

use crate::support::wire::{Bench, PEER_TAG, names};
use crate::support::{CLIENT, PORT, Peer, RTT, SERVER, address, half, options, plain};

struct Both {
    sim: Simulation<Peer>,
    hosts: [HostId; 2],
    ids: [AssociationId; 2],
}

/// Both open at once; the packets in the lists are lost.
fn collide(lost: [&[u64]; 2], listen: bool) -> Both {
    let link = |lost: &[u64]| LinkConfig { loss: LossModel::List(lost.to_vec()), ..half(RTT) };
    let links = Directions { forward: link(lost[0]), backward: link(lost[1]) };
    let mut sim = Simulation::new(1);
    let endpoint = EndpointOptions {
        port: PORT,
        listen,
        accepted: options(plain()),
        ..EndpointOptions::default()
    };
    let one = Placed::at(Peer::new(endpoint.clone(), 1, 1), address(CLIENT));
    let other = Placed::at(Peer::new(endpoint, 1, 2), address(SERVER));
    let placed = pair(&mut sim, one, other, &[links]).unwrap();
    let hosts = [placed.first, placed.second];
    let ids = [(hosts[0], SERVER), (hosts[1], CLIENT)].map(|(host, remote)| {
        sim.with_host(host, |peer, now| {
            peer.endpoint.connect(now, address(remote), PORT, options(plain())).unwrap()
        })
    });
    Both { sim, hosts, ids }
}

#[test]
fn two_that_open_at_once_get_one_association_whatever_is_lost() {
    let cases: [[&[u64]; 2]; 7] = [
        [&[], &[]],
        [&[1], &[]],
        [&[2], &[]],
        [&[2], &[2]],
        [&[1], &[1]],
        [&[3], &[]],
        [&[3], &[3]],
    ];
    for (case, lost) in cases.into_iter().enumerate() {
        let mut both = collide(lost, case % 2 == 0);
        let until = Instant::from_millis(20_000);
        both.sim.run_until(until).unwrap();
        for (side, host) in both.hosts.into_iter().enumerate() {
            let id = both.ids[side];
            both.sim.with_host(host, |peer, now| {
                assert_eq!(peer.endpoint.association_count(), 1);
                assert!(peer.endpoint.association(id).unwrap().is_established(), "case {case}");
                let established = peer.events.iter().filter(|e| e.2 == Event::Established).count();
                assert_eq!(established, 1, "case {case}");
                let payload = Bytes::from_static(b"across");
                let (stream, ppid) = (StreamId(0), Ppid(0));
                peer.endpoint
                    .association_mut(id)
                    .unwrap()
                    .send(now, stream, ppid, payload, SendOptions::default())
                    .unwrap();
            });
        }
        both.sim.run_until(until + Duration::from_secs(5)).unwrap();
        for host in both.hosts {
            assert_eq!(both.sim.host(host).messages.len(), 1, "case {case}");
        }
    }
}

#[test]
fn a_peer_that_lost_its_memory_restarts_the_association_under_its_old_name() {
    let mut bench = Bench::established();
    let (id, old_tag) = (bench.id(), bench.tag);
    // A new INIT with a new tag, answered with a new tag of ours.
    let cookie = bench.init(VerificationTag(0x1234));
    assert_ne!(bench.tag, old_tag);
    assert_eq!(bench.endpoint.association_count(), 1);
    let answer = bench.give(bench.tag, |p| p.append(CookieEcho { cookie: &cookie }).unwrap());
    assert_eq!(names(&answer[0]), ["COOKIE ACK"]);
    assert_eq!(crate::support::wire::tag_of(&answer[0]), VerificationTag(0x1234));
    assert_eq!(bench.events.last(), Some(&(id, Event::Restarted)));
    assert_eq!(bench.endpoint.association_count(), 1);
    // Packets with the old tag find no association any more.
    let wrong = bench.endpoint.stats().wrong_tag;
    bench.give(old_tag, |p| p.append(crate::support::wire::data(0, 0, 0, b"old")).unwrap());
    assert_eq!(bench.endpoint.stats().wrong_tag, wrong + 1);
}

#[test]
fn a_cookie_for_a_restart_does_not_show_the_tags_of_the_association() {
    let mut bench = Bench::established();
    let tags = [bench.tag, PEER_TAG].map(|tag| tag.0.to_be_bytes());
    let cookie = bench.init(VerificationTag(0x1234));
    for tag in tags {
        assert!(!cookie.windows(4).any(|bytes| bytes == tag), "{tag:?} in {cookie:?}");
    }
}

#[test]
fn a_repeated_cookie_echo_is_confirmed_even_from_behind_another_udp_port() {
    let mut bench = Bench::listening();
    let cookie = bench.init(PEER_TAG);
    let echo = |bench: &mut Bench| {
        let tag = bench.tag;
        names(&bench.give(tag, |p| p.append(CookieEcho { cookie: &cookie }).unwrap())[0])
    };
    assert_eq!(echo(&mut bench), ["COOKIE ACK"]);
    bench.remote.set_port(4444);
    assert_eq!(echo(&mut bench), ["COOKIE ACK"]);
    assert_eq!(bench.endpoint.association_count(), 1);
}

#[test]
fn an_init_alone_does_not_disturb_an_association() {
    let mut bench = Bench::established();
    let old_tag = bench.tag;
    let before = bench.endpoint.association(bench.id()).unwrap().stats();
    for tag in 1..100 {
        bench.init(VerificationTag(tag));
    }
    assert_eq!(bench.endpoint.association(bench.id()).unwrap().stats(), before);
    bench.tag = old_tag;
    let answer = bench.give_right(|p| p.append(crate::support::wire::data(0, 0, 0, b"x")).unwrap());
    assert_eq!(names(&answer[0]), ["SACK"]);
}

#[test]
fn a_cookie_echo_repeated_is_answered_again_and_changes_nothing() {
    let mut bench = Bench::listening();
    let cookie = bench.init(PEER_TAG);
    for round in 0..3 {
        let answer = bench.give(bench.tag, |p| p.append(CookieEcho { cookie: &cookie }).unwrap());
        assert_eq!(names(&answer[0]), ["COOKIE ACK"], "round {round}");
    }
    assert_eq!(bench.events.len(), 1);
    // Even when its life is over, since the tags are those of the association.
    bench.pass(Duration::from_secs(61));
    let answer = bench.give(bench.tag, |p| p.append(CookieEcho { cookie: &cookie }).unwrap());
    assert_eq!(names(&answer[0]).first().map(String::as_str), Some("COOKIE ACK"));
    assert!(bench.endpoint.poll_timeout().is_none_or(|at| at > bench.now));
}

#[test]
fn what_was_acknowledged_before_a_restart_can_still_be_read_and_counts_for_the_window() {
    let mut bench = Bench::established();
    let id = bench.id();
    bench.give_right(|p| p.append(crate::support::wire::data(0, 1, 0, b"before")).unwrap());
    let cookie = bench.init(VerificationTag(0x1234));
    bench.give(bench.tag, |p| p.append(CookieEcho { cookie: &cookie }).unwrap());
    let told: Vec<_> = bench.events.iter().rev().take(2).map(|(_, event)| event.clone()).collect();
    assert_eq!(told, [Event::Readable, Event::Restarted], "the latest first");
    bench.give(bench.tag, |p| p.append(crate::support::wire::data(0, 1, 0, b"after")).unwrap());
    let now = bench.now;
    let read: Vec<_> = std::iter::from_fn(|| {
        bench.endpoint.association_mut(id).and_then(|mut own| own.receive(now))
    })
    .map(|message| message.payload.into_bytes())
    .collect();
    assert_eq!(read, ["before", "after"]);
}
