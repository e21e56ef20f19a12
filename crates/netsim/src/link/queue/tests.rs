use base::{Duration, Ecn, Instant, Rate};

use super::super::{Admission, DropCause, Link, LinkConfig, LossModel, Outcome};
use super::*;
use crate::link::Carried;

/// A numbered packet with a codepoint.
#[derive(Clone, Debug, PartialEq)]
struct Numbered(u64, Ecn);

impl Carried for Numbered {
    fn is_ecn_capable(&self) -> bool {
        self.1.is_ecn_capable()
    }
    fn mark_congestion(&mut self) {
        self.1.mark_congestion();
    }
}

fn us(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// 1000 bytes take 1 ms.
fn line(queue: &str) -> LinkConfig {
    let rate = Rate::from_bits_per_second(8_000_000).unwrap();
    let (queue, discipline) =
        queue.parse::<QueueText>().unwrap().resolve(rate, Duration::from_millis(50));
    LinkConfig { rate: Some(rate), queue, discipline, ..LinkConfig::default() }
}

/// What became of packets of 1000 bytes that came at these times, in microseconds: those dropped, with the time at
/// which that was known, those marked, and the times of arrival of all others.
#[derive(Debug, Default, PartialEq)]
struct Fates {
    dropped: Vec<(u64, u64)>,
    marked: Vec<u64>,
    arrived: Vec<(u64, u64)>,
}

fn run(config: LinkConfig, ecn: Ecn, times: impl IntoIterator<Item = u64>) -> Fates {
    let mut link = Link::new(config, 1, 0).unwrap();
    let mut fates = Fates::default();
    let mut offered = 0;
    for (number, at) in (0..).zip(times) {
        poll_until(&mut link, us(at), &mut fates);
        offered += 1;
        match link.send(us(at), Numbered(number, ecn), 1_000) {
            Admission::Accepted { copies } => assert_eq!(copies, 1),
            Admission::Dropped { packet, cause } => {
                assert_eq!(cause, DropCause::Queue);
                fates.dropped.push((packet.0, at));
            }
        }
    }
    poll_until(&mut link, Instant::FAR_FUTURE, &mut fates);
    assert_eq!((link.in_transit(), link.poll_timeout()), (0, None));
    let statistics = link.statistics();
    assert_eq!(statistics.offered.packets, offered);
    assert_eq!(statistics.dropped_by_queue.packets, fates.dropped.len() as u64);
    assert_eq!(statistics.delivered.packets, fates.arrived.len() as u64);
    assert_eq!(statistics.marked.packets, fates.marked.len() as u64);
    fates
}

/// Calls the link whenever it wants to be called.
fn poll_until(link: &mut Link<Numbered>, end: Instant, fates: &mut Fates) {
    while let Some(due) = link.poll_timeout().filter(|due| *due <= end) {
        if let Some(delivery) = link.poll(due) {
            let Numbered(number, ecn) = delivery.packet;
            fates.arrived.push((number, delivery.due.as_nanos() / 1_000));
            if ecn == Ecn::Ce {
                fates.marked.push(number);
            }
        }
        while let Some(outcome) = link.poll_outcome() {
            let Outcome::Dropped { packet, cause } = outcome else { panic!("{outcome:?}") };
            assert_eq!(cause, DropCause::Queue);
            fates.dropped.push((packet.0, due.as_nanos() / 1_000));
        }
    }
}

/// Twice as many packets as the line takes, for `millis`.
fn overload(millis: u64) -> impl Iterator<Item = u64> {
    (0..millis * 2).map(|number| number * 500)
}

#[test]
fn codel_drops_at_the_turns_that_the_control_law_names() {
    let fates = run(line("codel 10000p"), Ecn::NotEct, overload(400));
    // Packet n comes after n / 2 ms and has its turn after n ms: packet 10 is the first that waits for 5 ms. An
    // interval later it is the turn of packet 110. The next drops follow after 100 ms by the roots of 1, 2, 3 and so on,
    // each at the next turn; every drop lets the turns come one packet earlier.
    let first = [(110, 110_000), (211, 210_000), (283, 281_000), (342, 339_000), (393, 389_000)];
    assert_eq!(fates.dropped[..5], first);
    assert_eq!(fates.arrived[109..112], [(109, 110_000), (111, 111_000), (112, 112_000)]);
}

#[test]
fn codel_leaves_a_burst_alone_that_drains_within_an_interval() {
    // 100 packets at once have all left after 100 ms; the last wait longest.
    assert_eq!(run(line("codel"), Ecn::NotEct, [0; 100]).dropped, []);
    // Of 120 the one whose turn comes an interval after packet 5 first waited too long is dropped.
    assert_eq!(run(line("codel"), Ecn::NotEct, [0; 120]).dropped, [(105, 105_000)]);
}

#[test]
fn codel_leaves_a_queue_alone_that_waits_less_than_its_target() {
    // Five packets every five milliseconds: no packet waits for longer than 4 ms, for seconds.
    let bursts = (0..5_000).map(|number| number / 5 * 5_000);
    assert_eq!(run(line("codel"), Ecn::NotEct, bursts).dropped, []);
    // A backlog of one packet is none, however slow the line: here each takes 25 ms and waits for as long.
    let slow = LinkConfig { rate: Rate::from_bits_per_second(320_000), ..line("codel") };
    let pairs = (0..200).map(|number| number / 2 * 50_000);
    assert_eq!(run(slow, Ecn::NotEct, pairs).dropped, []);
}

#[test]
fn codel_goes_on_where_it_was_if_the_queue_comes_back_soon() {
    let gap = |pause: u64| {
        // Five drops in 400 ms; then nothing until the queue has drained, and the same again.
        let again = overload(200).map(move |at| at + 900_000 + pause);
        let fates = run(line("codel 10000p"), Ecn::NotEct, overload(400).chain(again));
        let of_second = fates.dropped.into_iter().filter(|(number, _)| *number >= 800);
        let times: Vec<u64> = of_second.map(|(_, at)| at).collect();
        times[1] - times[0]
    };
    // Longer than 16 intervals ago it is forgotten, and the second drop comes after a whole interval.
    assert_eq!(gap(3_000_000), 100_000);
    assert!(gap(0) <= 50_000, "{}", gap(0));
}

#[test]
fn codel_marks_what_can_bear_it_in_the_place_of_dropping_it() {
    let config = || line("codel 10000p ecn");
    let marked = run(config(), Ecn::Ect0, overload(300));
    assert_eq!((marked.dropped.len(), marked.arrived.len()), (0, 600));
    assert_eq!(marked.marked[..2], [110, 210]);
    let dropped = run(config(), Ecn::NotEct, overload(300));
    assert_eq!((dropped.marked.len(), dropped.dropped[0]), (0, (110, 110_000)));
    let unmarked = run(line("codel 10000p"), Ecn::Ect0, overload(300));
    assert_eq!((unmarked.marked.len(), unmarked.dropped[0]), (0, (110, 110_000)));
}

#[test]
fn codel_has_a_limit_and_loses_by_the_loss_model_as_any_queue() {
    let fates = run(line("codel 3p"), Ecn::NotEct, [0; 6]);
    // One is being serialised, three wait.
    assert_eq!(fates.dropped, [(4, 0), (5, 0)]);
    let mut link =
        Link::new(LinkConfig { loss: LossModel::List(vec![2]), ..line("codel") }, 1, 0).unwrap();
    for number in 0..3 {
        let _ = link.send(us(0), Numbered(number, Ecn::NotEct), 1_000);
    }
    let late = us(10_000);
    let arrived: Vec<_> = core::iter::from_fn(|| link.poll(late)).map(|one| one.due).collect();
    assert_eq!(arrived, [us(1_000), us(3_000)], "a packet that comes late sees the same times");
    let cause = DropCause::Loss;
    let packet = Numbered(1, Ecn::NotEct);
    assert_eq!(link.poll_outcome(), Some(Outcome::Dropped { packet, cause }));
    assert_eq!(link.poll_outcome(), None);
}

#[test]
fn red_keeps_the_queue_between_its_thresholds() {
    let mut link = Link::new(line("red 20p 60p 200p weight=0.02 gentle"), 1, 0).unwrap();
    // A quarter too much for a minute, and who sends does not care: only the average is held.
    let (mut sum, mut most) = (0, 0);
    for number in 0..75_000u64 {
        let at = us(number * 800);
        while link.poll(at).is_some() {}
        let _ = link.send(at, Numbered(number, Ecn::NotEct), 1_000);
        if number > 1_000 {
            sum += link.queued(at).packets;
            most = most.max(link.queued(at).packets);
        }
    }
    let mean = sum as f64 / 74_000.0;
    // A fifth is to be dropped: between 60 (a tenth) and 120 (all), with even gaps.
    assert!((55.0..75.0).contains(&mean) && most < 120, "{mean} {most}");
}

#[test]
fn red_marks_below_its_maximum_and_drops_from_there_on() {
    // The average is the queue. Up to 15 wait.
    let config = || line("red 5p 15p 60p weight=1 probability=50% ecn");
    let fates = run(config(), Ecn::Ect0, [0; 30]);
    assert!(fates.dropped.iter().all(|(number, _)| *number >= 16), "{fates:?}");
    assert_eq!((fates.dropped.len(), fates.arrived.len()), (14, 16));
    assert!(fates.marked.iter().all(|number| *number > 5) && !fates.marked.is_empty());
    let fates = run(config(), Ecn::NotEct, [0; 30]);
    assert!(fates.marked.is_empty() && fates.dropped[0].0 < 16, "{fates:?}");
}

#[test]
fn disciplines_that_contradict_themselves_are_refused() {
    for text in [
        "red 15p 5p 60p",
        "red 5p 15p 60p weight=0",
        "red 5p 15p 60p weight=1.5",
        "codel target=1s",
    ] {
        assert!(Link::<u64>::new(line(text), 1, 0).is_err(), "{text}");
    }
}
