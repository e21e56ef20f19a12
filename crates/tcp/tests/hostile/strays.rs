//! Endpoints at the same addresses, of which each has a part of the connections.

use allocation_counter::measure;
use tcp::wire::{Flags, Options, Segment, SeqNumber};
use tcp::{ConnectionOptions, EndpointOptions, SynCookies};

use crate::crowd::{Crowd, stranger, syn};
use crate::support::address;

fn two(options: EndpointOptions) -> [Crowd; 2] {
    let options = EndpointOptions { hands_over: true, ..options };
    [(); 2].map(|()| Crowd::new(options.clone(), ConnectionOptions::default()))
}

fn usual() -> [Crowd; 2] {
    two(EndpointOptions::default())
}

#[test]
fn a_segment_at_the_wrong_endpoint_reaches_its_connection() {
    let [mut one, mut other] = usual();
    let honest = other.connect(stranger(7), Options::default());
    other.drain();
    one.give(honest.remote, &honest.segment(10));
    assert_eq!((one.drain(), one.hand_over(&mut other)), (0, 1));
    let connection =
        |crowd: &Crowd| crowd.endpoint.connection(crowd.accepted[0]).unwrap().readable_bytes();
    assert_eq!(connection(&other), 10);
    // A reset, too.
    let mut reset = honest.segment(0);
    (reset.flags, reset.seq) = (Flags::RST, reset.seq.advance(10));
    one.give(honest.remote, &reset);
    assert_eq!(one.hand_over(&mut other), 1);
    let ended = other.endpoint.connection(other.accepted[0]).unwrap();
    assert!(ended.failure().is_some());
    assert_eq!([one, other].map(|crowd| crowd.endpoint.stats().no_connection), [0, 0]);
}

#[test]
fn a_segment_without_a_connection_is_refused_once_by_the_last_endpoint() {
    let [mut one, mut other] = usual();
    let stray = Segment { flags: Flags::ACK, ..Segment::new(777, 80) };
    one.give(address("10.0.7.7:777"), &stray);
    assert_eq!((one.drain(), one.hand_over(&mut other)), (0, 1));
    let (_, answer) = other.next().unwrap();
    assert!(answer.flags.rst());
    assert_eq!((other.drain(), other.endpoint.take_stray().is_none()), (0, true));
    assert_eq!([one, other].map(|crowd| crowd.endpoint.stats().no_connection), [0, 1]);
}

#[test]
fn a_syn_opens_a_connection_where_it_arrives_and_is_refused_there() {
    let [mut one, mut other] = usual();
    one.serves();
    other.serves();
    let closed = Segment { flags: Flags::SYN, ..Segment::new(777, 81) };
    one.give(address("10.0.7.7:777"), &closed);
    assert_eq!(one.hand_over(&mut other), 0);
    assert!(one.next().unwrap().1.flags.rst());
}

#[test]
fn endpoints_with_the_same_secrets_take_cookies_of_each_other() {
    let [mut one, mut other] =
        two(EndpointOptions { syn_cookies: SynCookies::Always, ..EndpointOptions::default() });
    let remote = stranger(3);
    one.give(remote, &syn(remote, SeqNumber(70)));
    let (_, answer) = one.next().unwrap();
    // The other one has sent some, too.
    other.give(stranger(4), &syn(stranger(4), SeqNumber(70)));
    other.drain();
    let ack = Segment {
        seq: SeqNumber(71),
        ack: answer.seq.next(),
        flags: Flags::ACK,
        window: 1000,
        ..Segment::new(remote.port(), 80)
    };
    other.give(remote, &ack);
    assert_eq!((other.accepted.len(), other.hand_over(&mut one)), (1, 0));
}

#[test]
fn strays_that_nobody_fetches_do_not_pile_up() {
    let [mut one, mut other] = usual();
    let flood = |one: &mut Crowd| {
        for index in 0..50_000 {
            let remote = stranger(index);
            let stray = Segment { flags: Flags::ACK, ..Segment::new(remote.port(), 80) };
            one.give(remote, &stray);
        }
    };
    let used = measure(|| flood(&mut one));
    assert!(used.bytes_current < 1 << 20, "{} bytes", used.bytes_current);
    assert_eq!(one.endpoint.stats().strays_dropped, 50_000 - 1024);
    assert_eq!(one.hand_over(&mut other), 1024);
}
