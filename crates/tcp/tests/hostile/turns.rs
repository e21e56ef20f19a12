//! Turns: the order in which connections with data send.

use std::sync::Arc;

use recovery::RecoveryPolicy;
use tcp::wire::Options;
use tcp::{ConnectionOptions, EndpointOptions, SendFlags};

use crate::crowd::{Crowd, stranger};

/// Opens connections with large windows.
fn crowd(connections: u32) -> Crowd {
    let mut policy = RecoveryPolicy::tcp_sack();
    policy.congestion.initial_window = Some(10 << 20);
    let accepted = ConnectionOptions {
        policy: Arc::new(policy),
        no_delay: true,
        ..ConnectionOptions::default()
    };
    let mut crowd = Crowd::new(EndpointOptions::default(), accepted);
    let options = Options { mss: Some(1460), window_scale: Some(7), ..Options::default() };
    for index in 0..connections {
        let honest = crowd.connect(stranger(index), options.clone());
        // The window of a SYN is not scaled.
        crowd.give(honest.remote, &honest.segment(0));
    }
    crowd.drain();
    crowd
}

fn write(crowd: &mut Crowd, connection: usize, bytes: usize) {
    let (now, id) = (crowd.now, crowd.accepted[connection]);
    let data = vec![1; bytes].into();
    assert_eq!(
        crowd.endpoint.connection_mut(id).unwrap().send(now, data, SendFlags::default()),
        Ok(bytes)
    );
}

/// Connections of the next segments, in runs, up to `most` segments.
fn runs(crowd: &mut Crowd, most: usize) -> Vec<(usize, u32)> {
    let mut runs: Vec<(usize, u32)> = Vec::new();
    for _ in 0..most {
        let Some((to, _)) = crowd.next() else { break };
        let connection = (0..).find(|index| stranger(*index) == to).unwrap() as usize;
        match runs.last_mut() {
            Some((last, count)) if *last == connection => *count += 1,
            _ => runs.push((connection, 1)),
        }
    }
    runs
}

#[test]
fn windows_of_neighbours_take_turns_of_44_segments_that_can_be_joined() {
    let mut crowd = crowd(2);
    write(&mut crowd, 0, 100 * 1460);
    write(&mut crowd, 1, 50 * 1460);
    assert_eq!(runs(&mut crowd, 1000), [(0, 44), (1, 44), (0, 44), (1, 6), (0, 12)]);
}

#[test]
fn a_message_goes_after_the_turn_in_progress_and_before_all_other_windows() {
    let mut crowd = crowd(11);
    for bulk in 0..10 {
        write(&mut crowd, bulk, 200 * 1460);
    }
    let before: Vec<_> = (0..10).map(|bulk| (bulk, 44)).chain([(0, 5)]).collect();
    assert_eq!(runs(&mut crowd, 445), before);
    write(&mut crowd, 10, 30);
    assert_eq!(runs(&mut crowd, 39 + 1 + 44), [(0, 39), (10, 1), (1, 44)]);
    // No segment is lost thereby.
    let left: u32 = runs(&mut crowd, 10_000).iter().map(|(_, segments)| segments).sum();
    assert_eq!(left, 10 * 200 - 445 - 39 - 44);
}
