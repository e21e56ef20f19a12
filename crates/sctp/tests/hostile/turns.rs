//! Turns: the order in which associations with data send.

use std::sync::Arc;

use base::Machine;
use recovery::RecoveryPolicy;
use sctp::{AssociationOptions, EndpointOptions};

use crate::crowd::{Crowd, Member, stranger};

/// Bytes of a message that fills a packet of 1500 bytes with IPv4 and UDP.
const FULL: usize = 1444;

/// Associations with large windows, whose bursts only turns bound.
fn crowd(policy: RecoveryPolicy, associations: u32) -> (Crowd, Vec<Member>) {
    let mut policy = policy;
    policy.congestion.initial_window = Some(1 << 20);
    policy.congestion.max_burst = 0;
    let accepted = AssociationOptions {
        policy: Arc::new(policy),
        heartbeat_interval: None,
        ..AssociationOptions::default()
    };
    let mut crowd = Crowd::new(EndpointOptions { accepted, ..EndpointOptions::default() });
    let members = (0..associations).map(|index| crowd.open(stranger(index))).collect();
    (crowd, members)
}

fn policies() -> [RecoveryPolicy; 2] {
    [RecoveryPolicy::sctp_rfc(), RecoveryPolicy::sctp_thin()]
}

fn send(crowd: &mut Crowd, member: &Member, messages: usize, size: usize) {
    (0..messages).for_each(|_| assert_eq!(crowd.send(member.id, size), Ok(())));
}

/// The associations whose packets leave next, as runs of up to `most` packets together.
fn runs(crowd: &mut Crowd, most: usize) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for _ in 0..most {
        let (now, mut buffer) = (crowd.now(), Vec::new());
        let Some(transmit) = crowd.bench.endpoint.poll_transmit(now, &mut buffer) else { break };
        let to = (0..).find(|index| stranger(*index) == transmit.remote).unwrap();
        match runs.last_mut() {
            Some((last, count)) if *last == to => *count += 1,
            _ => runs.push((to, 1)),
        }
    }
    runs
}

#[test]
fn windows_of_neighbours_take_turns_of_44_packets_that_can_be_joined() {
    for policy in policies() {
        let (mut crowd, members) = crowd(policy, 2);
        send(&mut crowd, &members[0], 60, FULL);
        send(&mut crowd, &members[1], 50, FULL);
        assert_eq!(runs(&mut crowd, 1000), [(0, 44), (1, 44), (0, 16), (1, 6)]);
    }
}

#[test]
fn a_thin_message_goes_after_the_turn_in_progress_and_before_all_other_windows() {
    for policy in policies() {
        let (mut crowd, members) = crowd(policy, 11);
        for bulk in &members[..10] {
            send(&mut crowd, bulk, 60, FULL);
        }
        let before: Vec<_> = (0..10).map(|bulk| (bulk, 44)).chain([(0, 5)]).collect();
        assert_eq!(runs(&mut crowd, 445), before);
        send(&mut crowd, &members[10], 1, 30);
        assert_eq!(runs(&mut crowd, 11 + 1 + 16), [(0, 11), (10, 1), (1, 16)]);
        let left: u32 = runs(&mut crowd, 10_000).iter().map(|(_, packets)| packets).sum();
        assert_eq!(left, 8 * 16, "nothing is lost by turns");
    }
}

#[test]
fn a_bulk_association_goes_on_however_many_thin_ones_have_something_to_send() {
    for policy in policies() {
        let (mut crowd, members) = crowd(policy, 41);
        send(&mut crowd, &members[0], 60, FULL);
        assert_eq!(runs(&mut crowd, 44), [(0, 44)]);
        for thin in &members[1..] {
            send(&mut crowd, thin, 1, 30);
        }
        let order = runs(&mut crowd, 10_000);
        let place = order.iter().position(|(to, _)| *to == 0);
        assert_eq!((place, order.len()), (Some(16), 41));
    }
}
