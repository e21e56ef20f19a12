//! Messages that wait too long.

use base::Duration;
use sctp::wire::ChunkType;
use sctp::{AbandonReason, Event, Reliability, SendOptions};

use crate::peer::{Peer, Sent};

/// Fills the congestion window, so that later messages wait.
fn fill_window(peer: &mut Peer) {
    assert_eq!(peer.send(0, 4 * 1440, Reliability::Full).len(), 4);
}

fn lives(millis: u64) -> Reliability {
    Reliability::Lifetime(Duration::from_millis(millis))
}

#[test]
fn a_message_that_expires_before_its_first_transmission_is_never_sent_whatever_the_peer_knows() {
    for mut peer in [Peer::plain(), Peer::partial(), Peer::interleaving()] {
        fill_window(&mut peer);
        assert!(peer.send(1, 100, lives(300)).is_empty());
        assert!(peer.send(1, 200, Reliability::Full).is_empty());
        assert_eq!(peer.stats().queued_bytes, 300);
        // Dropped when its time is over, not when its turn comes: the buffer is free.
        assert_eq!(peer.pass(299), []);
        assert_eq!(peer.stats().queued_bytes, 300);
        assert_eq!(peer.pass(1), []);
        assert_eq!(peer.stats().queued_bytes, 200);
        let abandoned = peer.abandoned();
        assert_eq!((abandoned.len(), abandoned[0].sent), (1, false));
        assert_eq!(abandoned[0].reason, AbandonReason::Lifetime);
        // It leaves no hole in its stream.
        let sent = peer.sack(3, &[]);
        match &sent[0][..] {
            [Sent::Data(4, 1, 0, "BE", 200)] | [Sent::IData(4, 1, 0, 0, "BE", 200)] => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(peer.stats().abandoned.unsent, 1);
    }
}

#[test]
fn a_bound_on_queueing_delay_drops_what_an_outage_made_stale() {
    let mut peer = Peer::partial_with(|options| {
        options.max_queueing_delay = Some(Duration::from_millis(250));
    });
    fill_window(&mut peer);
    // The network is silent for two seconds while a message is sent every 100 ms.
    for context in 0..20 {
        let options = SendOptions { context, ..SendOptions::default() };
        peer.try_send(1, 100, options).unwrap();
        peer.pass(100);
    }
    // Then all data that the outage delayed is acknowledged: messages older than 250 ms are not
    // sent.
    let sent = peer.sack(3, &[]);
    assert_eq!(sent, [[Sent::Data(4, 1, 0, "BE", 100), Sent::Data(5, 1, 1, "BE", 100)]]);
    let abandoned = peer.abandoned();
    let contexts: Vec<u32> = abandoned.iter().map(|gone| gone.context).collect();
    assert_eq!(contexts, (0..18).collect::<Vec<u32>>());
    assert!(abandoned.iter().all(|gone| gone.reason == AbandonReason::QueueingDelay));
}

#[test]
fn the_bound_may_change_in_mid_life() {
    let mut peer = Peer::partial();
    fill_window(&mut peer);
    peer.send(1, 100, Reliability::Full);
    peer.pass(200);
    assert_eq!(peer.stats().queued_bytes, 100);
    let id = peer.bench.id();
    peer.bench.endpoint.association_mut(id).unwrap().set_options(|options| {
        options.max_queueing_delay = Some(Duration::from_millis(300));
    });
    peer.drain();
    peer.pass(99);
    assert_eq!(peer.stats().queued_bytes, 100);
    peer.pass(1);
    assert_eq!(peer.stats().queued_bytes, 0);
}

#[test]
fn a_shutdown_does_not_wait_for_what_has_expired() {
    let mut peer = Peer::partial();
    fill_window(&mut peer);
    peer.send(1, 100, lives(300));
    assert!(peer.shutdown().is_empty());
    peer.pass(300);
    assert_eq!(peer.sack(3, &[]), [[Sent::Other(ChunkType::SHUTDOWN)]]);
}

#[test]
fn ten_thousand_messages_that_expire_at_once_are_told_in_bounded_memory() {
    let mut peer = Peer::partial();
    fill_window(&mut peer);
    for _ in 0..10_000 {
        peer.try_send(1, 10, SendOptions { reliability: lives(50), ..SendOptions::default() })
            .unwrap();
    }
    peer.drain();
    peer.pass(50);
    assert_eq!(peer.abandoned().len(), 1024);
    let further = Event::FurtherAbandoned { messages: 10_000 - 1024 };
    assert!(peer.bench.events.iter().any(|(_, event)| *event == further));
    assert_eq!(peer.stats().abandoned.unsent, 10_000);
}

#[test]
fn what_is_stale_does_not_leave_when_the_timer_is_late() {
    let mut peer = Peer::partial();
    fill_window(&mut peer);
    peer.send(1, 100, lives(300));
    peer.send(2, 50, Reliability::Full);
    // The process was suspended; when it continues, it reads the socket before the clock.
    peer.bench.now += Duration::from_secs(10);
    assert_eq!(peer.sack(3, &[]), [[Sent::Data(4, 2, 0, "BE", 50)]]);
    assert_eq!(peer.abandoned()[0].reason, AbandonReason::Lifetime);
}
