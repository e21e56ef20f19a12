//! Peers that set up as many associations as they can: from one address, from many, with and
//! without a message.

use base::{Duration, Machine as _};
use sctp::EndpointOptions;
use sctp::wire::chunk::DataFlags;

use crate::crowd::{Crowd, Member, OUT_OF_RESOURCE, abort_causes, attacker, stranger};

fn crowd(max_associations: usize) -> Crowd {
    Crowd::new(EndpointOptions { max_associations, ..EndpointOptions::default() })
}

#[test]
fn one_address_that_takes_all_it_can_leaves_honest_set_ups_working() {
    let mut crowd = Crowd::new(EndpointOptions::default());
    let mut refused = 0;
    for index in 0..65_536 {
        if let Err(answers) = crowd.try_open(attacker(index)) {
            assert_eq!(abort_causes(&answers), [OUT_OF_RESOURCE]);
            assert_eq!(answers[0].len(), 20, "less than its cause");
            refused += 1;
        }
    }
    assert_eq!(crowd.bench.endpoint.association_count(), 8_192, "an eighth");
    assert_eq!((refused, crowd.bench.endpoint.stats().refused_per_peer), (57_344, 57_344));
    crowd.serves_honest_peers(19);
    assert_eq!(crowd.told_of_loss(), 0, "there was room");
}

#[test]
fn many_addresses_that_take_every_place_leave_honest_set_ups_working() {
    let mut crowd = crowd(2_000);
    for index in 0..10_000 {
        crowd.open(stranger(index));
    }
    assert_eq!(crowd.bench.endpoint.association_count(), 2_000);
    assert_eq!(crowd.bench.endpoint.stats().unused_evicted, 8_000);
    let mut honest = crowd.serves_honest_peers(19);
    // The flood continues: associations that have carried data stay.
    for index in 10_000..14_000 {
        crowd.open(stranger(index));
        if index % 100 == 0 {
            honest.iter_mut().for_each(|member| crowd.round_trip(member));
        }
    }
    assert_eq!(crowd.bench.endpoint.association_count(), 2_000);
    assert_eq!(crowd.told_of_loss() as u64, crowd.bench.endpoint.stats().unused_evicted);
    assert_eq!(crowd.bench.endpoint.stats().idle_evicted, 0);
}

#[test]
fn places_that_some_hosts_took_and_used_once_go_to_others_as_soon_as_they_are_idle() {
    let mut crowd = crowd(1_024);
    let mut honest = crowd.open(stranger(1));
    crowd.round_trip(&mut honest);
    for host in 0..32u8 {
        for port in 0..32 {
            let remote = std::net::SocketAddr::from(([10, 66, 1, host], 1 + port));
            if let Ok(mut member) = crowd.try_open(remote) {
                crowd.round_trip(&mut member);
            }
        }
    }
    assert_eq!(crowd.bench.endpoint.association_count(), 1_024);
    // At once, none has been idle.
    assert!(crowd.try_open(stranger(2)).is_err());
    assert_eq!(
        crowd.bench.endpoint.stats().refused_full,
        1 + 1,
        "{:?}",
        crowd.bench.endpoint.stats()
    );
    crowd.wait(Duration::from_secs(1));
    crowd.round_trip(&mut honest);
    crowd.serves_honest_peers(19);
    crowd.round_trip(&mut honest);
    assert_eq!(crowd.bench.endpoint.stats().idle_evicted, 19);
}

#[test]
fn a_few_hosts_that_keep_every_place_in_use_lock_out_no_other() {
    let mut crowd = crowd(1_024);
    let mut busy = Vec::new();
    for host in 0..8u8 {
        for port in 0..128 {
            let remote = std::net::SocketAddr::from(([10, 66, 1, host], 1 + port));
            busy.push(crowd.open(remote));
        }
    }
    let mut turns = 0;
    let mut honest: Vec<Member> = Vec::new();
    for round in 0..19 {
        for member in &mut busy {
            if crowd.bench.endpoint.association(member.id).is_some() {
                crowd.round_trip(member);
                turns += 1;
            }
        }
        honest.push(crowd.open(stranger(1_000 + round)));
        honest.iter_mut().for_each(|member| crowd.round_trip(member));
        crowd.wait(Duration::from_millis(50));
    }
    assert!(turns > 19 * 1_000, "{turns}");
    assert_eq!(crowd.bench.endpoint.stats().idle_evicted, 19);
}

#[test]
fn those_that_are_used_are_not_driven_out_by_newcomers_who_have_as_many() {
    let mut crowd = crowd(10);
    let mut members: Vec<Member> = (0..10).map(|index| crowd.open(stranger(index))).collect();
    members.iter_mut().for_each(|member| crowd.round_trip(member));
    crowd.wait(Duration::from_secs(20));
    let answers = crowd.try_open(stranger(77)).unwrap_err();
    assert_eq!(abort_causes(&answers), [OUT_OF_RESOURCE]);
    assert_eq!(crowd.bench.endpoint.stats().refused_full, 1);
    members.iter_mut().skip(1).for_each(|member| crowd.round_trip(member));
    // The one that was silent for half a minute makes room.
    crowd.wait(Duration::from_secs(10));
    crowd.open(stranger(77));
    assert!(crowd.bench.endpoint.association(members[0].id).is_none());
    members.iter_mut().skip(1).for_each(|member| crowd.round_trip(member));
}

#[test]
fn a_network_of_ipv6_is_one_host_and_the_limit_is_what_was_asked_for() {
    let options = EndpointOptions { max_per_peer: Some(3), ..EndpointOptions::default() };
    let mut crowd = Crowd::new(options);
    let from = |network: u16, host: u16| {
        std::net::SocketAddr::from(([0x2001, 0xdb8, 0, network, 0, 0, 0, host], 9899))
    };
    (0..3).for_each(|host| assert!(crowd.try_open(from(1, host)).is_ok()));
    assert!(crowd.try_open(from(1, 3)).is_err());
    let first = crowd.open(from(2, 0));
    assert_eq!(crowd.bench.endpoint.stats().refused_per_peer, 1);
    // One that ends leaves its place to another.
    let of_first = crowd.bench.events[0].0;
    crowd.bench.endpoint.association_mut(of_first).unwrap().abort(bytes::Bytes::new());
    crowd.open(from(1, 3));
    assert!(crowd.bench.endpoint.association(first.id).is_some());
}

#[test]
fn an_association_that_this_side_opened_makes_room_for_no_other() {
    let mut crowd = crowd(2);
    let options = sctp::AssociationOptions::default();
    let now = crowd.now();
    let own = crowd.bench.endpoint.connect(now, stranger(1), 5000, options).unwrap();
    crowd.bench.drain();
    let (first, second) = (crowd.open(stranger(2)), crowd.open(stranger(3)));
    assert!(crowd.bench.endpoint.association(own).is_some());
    assert!(crowd.bench.endpoint.association(first.id).is_none());
    assert!(crowd.bench.endpoint.association(second.id).is_some());
}

#[test]
fn one_that_was_driven_out_is_told_why_and_so_is_the_application() {
    let mut crowd = crowd(1);
    let mut first = crowd.open(stranger(1));
    let cookie_answers = {
        crowd.bench.remote = stranger(2);
        let cookie = crowd.bench.init(sctp::VerificationTag(7));
        crowd.bench.give_right(|packet| {
            packet.append(sctp::wire::chunk::CookieEcho { cookie: &cookie }).unwrap();
        })
    };
    assert_eq!(abort_causes(&cookie_answers), [OUT_OF_RESOURCE]);
    assert_eq!((crowd.told_of_loss(), crowd.bench.endpoint.association_count()), (1, 1));
    // Its packets are out of the blue now, and no state of it is left.
    let answers = crowd.fragment(&mut first, 0, DataFlags::WHOLE, 10);
    assert_eq!(abort_causes(&answers), [0]);
    crowd.bench.endpoint.release(first.id);
}

/// INITs of `count` strangers before the driver asks for packets: sizes of the answers, and the
/// number of those dropped.
fn burst(count: u32) -> (Vec<usize>, u64) {
    let mut crowd = crowd(10);
    let meta = |remote| base::DatagramMeta {
        local: crate::support::address(crate::support::SERVER),
        remote,
        ecn: base::Ecn::NotEct,
        origin: None,
    };
    let init = |index: u32| {
        let tag = sctp::VerificationTag(0);
        crate::support::wire::packet(6000, crate::support::PORT, tag, |packet| {
            packet.append(crate::support::wire::init(sctp::VerificationTag(index + 1))).unwrap();
        })
    };
    let (now, endpoint) = (crowd.now(), &mut crowd.bench.endpoint);
    for index in 0..count {
        endpoint.handle_datagram(now, meta(stranger(index)), init(index).into());
    }
    let sent = core::iter::from_fn(|| endpoint.poll_transmit(now, &mut Vec::new()));
    let sizes = sent.map(|transmit| transmit.size).take(count as usize).collect();
    (sizes, endpoint.stats().answers_dropped)
}

#[test]
fn a_burst_of_ten_thousand_inits_is_answered_in_full_by_a_driver_that_drains_late() {
    let (answers, dropped) = burst(10_000);
    assert_eq!((answers.len(), dropped), (10_000, 0));
}

#[test]
fn answers_that_wait_take_eight_mebibytes_at_most_and_those_dropped_are_counted() {
    let (answers, dropped) = burst(60_000);
    assert!(dropped > 0 && answers.len() as u64 + dropped == 60_000, "{dropped} dropped");
    assert!(answers.iter().sum::<usize>() < 8 << 20 && answers.len() > 10_000);
}
