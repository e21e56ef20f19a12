use super::*;
use crate::wire::{Flags, Timestamps};
use base::{Purpose, RandomStream};

const SECOND: Duration = Duration::from_secs(1);

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

fn state(port: u16) -> TimeWait {
    TimeWait {
        local: "10.0.0.1:80".parse().unwrap(),
        remote: SocketAddr::new([10, 0, 0, 2].into(), port),
        snd_nxt: SeqNumber(500),
        rcv_nxt: SeqNumber(1000),
        window: 77,
        timestamps: Some((10_000, 3)),
        lasts: SECOND * 60,
    }
}

fn waits() -> TimeWaits {
    TimeWaits::new(HashKey::draw(&mut RandomStream::new(1, Purpose("test", 0))))
}

fn segment(flags: Flags, seq: u32) -> Segment {
    let mut segment = Segment::new(4000, 80);
    segment.flags = flags;
    segment.seq = SeqNumber(seq);
    segment
}

#[test]
fn the_fin_again_is_acknowledged_and_begins_the_wait_anew() {
    let mut waits = waits();
    let TimeWait { local, remote, .. } = state(4000);
    waits.insert(at(0), state(4000), None, 10);
    let fin = segment(Flags::FIN | Flags::ACK, 999);
    let (verdict, ack) = waits.on_segment(at(30), local, remote, &fin, true).unwrap();
    let ack = ack.unwrap();
    assert_eq!((verdict, ack.flags, ack.window), (Verdict::Restart, Flags::ACK, 77));
    assert_eq!((ack.seq, ack.ack), (SeqNumber(500), SeqNumber(1000)));
    assert_eq!(ack.options.timestamps, Some(Timestamps { value: 30_003, echo: 10_000 }));
    assert_eq!(waits.next_timeout(), Some(at(90)));
    assert_eq!(waits.end_first(at(89)), None);
    assert_eq!(waits.end_first(at(90)), Some(None));
    assert!(!waits.contains(local, remote));
    assert_eq!((waits.len(), waits.next_timeout()), (0, None));
}

#[test]
fn a_reset_and_an_expected_ack_do_nothing_and_anything_else_is_acknowledged() {
    let judge = |flags, seq| state(1).judge(&segment(flags, seq), true);
    assert_eq!(judge(Flags::RST, 1000), Verdict::Nothing);
    assert_eq!(judge(Flags::ACK, 1000), Verdict::Nothing);
    assert_eq!(judge(Flags::FIN, 999), Verdict::Nothing);
    assert_eq!(judge(Flags::ACK, 999), Verdict::Acknowledge);
    assert_eq!(judge(Flags::ACK, 1001), Verdict::Acknowledge);
    assert_eq!(judge(Flags::FIN | Flags::ACK, 1000), Verdict::Acknowledge);
    assert_eq!(judge(Flags::SYN | Flags::ACK, 1001), Verdict::Acknowledge);
}

#[test]
fn two_sides_that_disagree_do_not_go_on_for_ever() {
    let mut waits = waits();
    let TimeWait { local, remote, .. } = state(4000);
    waits.insert(at(0), state(4000), None, 10);
    let answers = |waits: &mut TimeWaits, segment: &Segment| {
        let answer =
            |_: &u32| waits.on_segment(at(1), local, remote, segment, true).unwrap().1.is_some();
        (0..100).filter(answer).count()
    };
    assert_eq!(answers(&mut waits, &segment(Flags::ACK, 7)), 5);
    let mut data = segment(Flags::ACK, 7);
    data.payload = bytes::Bytes::from_static(b"again");
    assert_eq!(answers(&mut waits, &data), 100);
}

#[test]
fn a_syn_is_new_by_its_timestamp_or_else_by_its_number() {
    let new = Verdict::NewConnection { after: SeqNumber(500) };
    let syn = |seq, stamp: Option<u32>| {
        let mut syn = segment(Flags::SYN, seq);
        syn.options.timestamps = stamp.map(|value| Timestamps { value, echo: 0 });
        syn
    };
    let judge = |syn| state(1).judge(&syn, true);
    assert_eq!(judge(syn(3, Some(10_001))), new);
    assert_eq!(judge(syn(3, Some(10_000))), Verdict::Acknowledge);
    assert_eq!(judge(syn(1001, Some(10_000))), new);
    assert_eq!(judge(syn(1001, Some(9_999))), Verdict::Acknowledge);
    assert_eq!(judge(syn(1001, None)), new);
    assert_eq!(judge(syn(1000, None)), Verdict::Acknowledge);
    let nobody_listens = state(1).judge(&syn(1001, None), false);
    assert_eq!(nobody_listens, Verdict::Acknowledge);
}

#[test]
fn this_side_may_open_anew_a_second_after_it_was_heard_last_if_there_are_timestamps() {
    let mut waits = waits();
    let TimeWait { local, remote, .. } = state(4000);
    waits.insert(at(0), state(4000), None, 10);
    let reusable =
        |waits: &TimeWaits, millis| waits.reusable(Instant::from_millis(millis), local, remote);
    assert_eq!(reusable(&waits, 999), None);
    assert_eq!(reusable(&waits, 1000), Some(SeqNumber(500)));
    let fin = segment(Flags::FIN | Flags::ACK, 999);
    waits.on_segment(at(30), local, remote, &fin, true).unwrap();
    assert_eq!(reusable(&waits, 30_999), None);
    assert_eq!(reusable(&waits, 31_000), Some(SeqNumber(500)));
    waits.take(local, remote);
    waits.insert(at(40), TimeWait { timestamps: None, ..state(4000) }, None, 10);
    assert_eq!(reusable(&waits, 50_000), None);
}

#[test]
fn the_first_to_end_gives_way_to_one_too_many() {
    let mut waits = waits();
    for port in 1..=3 {
        assert_eq!(waits.insert(at(u64::from(port)), state(port), None, 2), None);
    }
    let remains: Vec<_> =
        (1..=3).filter(|port| waits.contains(state(*port).local, state(*port).remote)).collect();
    assert_eq!((remains, waits.len()), (vec![2, 3], 2));
    assert_eq!((waits.take(state(2).local, state(2).remote), waits.len()), (None, 1));
}
