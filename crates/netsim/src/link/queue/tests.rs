use base::{Duration, Ecn, HashKey, Instant, Rate};

use super::super::{Admission, DropCause, Link, LinkConfig, LossModel, Outcome};
use super::*;
use crate::link::LinkPacket;

/// A numbered packet with a codepoint.
#[derive(Clone, Debug, PartialEq)]
struct Numbered(u64, Ecn);

impl LinkPacket for Numbered {
    fn is_ecn_capable(&self) -> bool {
        self.1.is_ecn_capable()
    }
    fn mark_congestion(&mut self) {
        self.1.mark_congestion();
    }
    /// Number of thousands: a flow is a range of 1,000 numbers.
    fn flow(&self, key: &HashKey) -> u64 {
        key.hash(&(self.0 / 1_000).to_be_bytes())
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

/// Fates of packets of 1000 bytes that arrived at these times, in microseconds: dropped ones, with
/// the time at which the queue dropped them, marked ones, and the times of arrival of all others.
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
    // Packet n comes after n / 2 ms and is dequeued after n ms: packet 10 is the first that waits
    // for 5 ms. An interval later packet 110 is dequeued. The next drops follow after 100 ms by
    // the roots of 1, 2, 3 and so on, each at the next dequeue; every drop lets those come one
    // packet earlier.
    let first = [(110, 110_000), (211, 210_000), (283, 281_000), (342, 339_000), (393, 389_000)];
    assert_eq!(fates.dropped[..5], first);
    assert_eq!(fates.arrived[109..112], [(109, 110_000), (111, 111_000), (112, 112_000)]);
}

#[test]
fn codel_leaves_a_burst_alone_that_drains_within_an_interval() {
    // 100 packets at once have all left after 100 ms; the last wait longest.
    assert_eq!(run(line("codel"), Ecn::NotEct, [0; 100]).dropped, []);
    // Of 120 the one that is dequeued an interval after packet 5 first waited too long is dropped.
    assert_eq!(run(line("codel"), Ecn::NotEct, [0; 120]).dropped, [(105, 105_000)]);
}

#[test]
fn codel_leaves_a_queue_alone_that_waits_less_than_its_target() {
    // Five packets every five milliseconds: no packet waits for longer than 4 ms, for seconds.
    let bursts = (0..5_000).map(|number| number / 5 * 5_000);
    assert_eq!(run(line("codel"), Ecn::NotEct, bursts).dropped, []);
    // A backlog of one packet is none, however slow the line: here each takes 25 ms and waits for
    // as long.
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
    // Longer than 16 intervals ago it is forgotten, and the second drop comes after a whole
    // interval.
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
        "fq_codel target=1s",
        "fq_codel queues=0",
        "fq_codel quantum=1B",
        "pie update=1us",
    ] {
        assert!(Link::<u64>::new(line(text), 1, 0).is_err(), "{text}");
    }
}

/// Offers these packets of `size` bytes at once to an idle line with fq_codel; those that arrive in
/// order, and those that are dropped.
fn at_once(queue: &str, packets: impl IntoIterator<Item = (u64, u64)>) -> (Vec<u64>, Vec<u64>) {
    let mut link = Link::new(line(queue), 1, 0).unwrap();
    for (number, size) in packets {
        let admitted = link.send(us(0), Numbered(number, Ecn::NotEct), size);
        assert!(matches!(admitted, Admission::Accepted { .. }), "others make room");
    }
    let mut fates = Fates::default();
    while let Some(Outcome::Dropped { packet, .. }) = link.poll_outcome() {
        fates.dropped.push((packet.0, 0));
    }
    poll_until(&mut link, Instant::FAR_FUTURE, &mut fates);
    assert_eq!((link.in_transit(), link.poll_timeout()), (0, None));
    let numbers = |all: Vec<(u64, u64)>| all.into_iter().map(|(number, _)| number).collect();
    (numbers(fates.arrived), numbers(fates.dropped))
}

#[test]
fn flows_take_turns_of_a_quantum_of_bytes() {
    // A flow of 1000-byte packets and one of 500-byte packets, the first packet of which is on the
    // line already.
    let packets = (0..6).map(|n| (n, 1_000)).chain((0..8).map(|n| (1_000 + n, 500)));
    let (arrived, dropped) = at_once("fq_codel quantum=1000B", packets);
    // Flow 0 has used its quantum with packet 0, so that flow 1 comes first; then both send 1000
    // bytes in turn.
    let turns = [0, 1_000, 1_001, 1, 1_002, 1_003, 2, 1_004, 1_005, 3, 1_006, 1_007, 4, 5];
    assert_eq!((&arrived[..], dropped.len()), (&turns[..], 0));
}

#[test]
fn a_flow_that_had_nothing_waiting_goes_first() {
    let mut link = Link::new(line("fq_codel"), 1, 0).unwrap();
    let mut fates = Fates::default();
    for number in 0..50 {
        let _ = link.send(us(0), Numbered(number, Ecn::NotEct), 1_000);
    }
    // A thin flow: a small packet each 10 ms.
    for number in 0..4 {
        let at = us(2_500 + number * 10_000);
        poll_until(&mut link, at, &mut fates);
        let _ = link.send(at, Numbered(1_000 + number, Ecn::NotEct), 100);
    }
    poll_until(&mut link, Instant::FAR_FUTURE, &mut fates);
    let thin: Vec<u64> = fates
        .arrived
        .iter()
        .filter(|(number, _)| *number >= 1_000)
        .map(|(number, at)| at - (2_500 + (number - 1_000) * 10_000))
        .collect();
    // Each waits for the packet that is on the line, and takes 0.1 ms itself.
    assert!(thin.iter().all(|wait| (100..=1_100).contains(wait)), "{thin:?}");
    assert_eq!(fates.arrived.len(), 54);
}

#[test]
fn a_thin_flow_loses_nothing_while_codel_drops_of_the_flow_that_fills_its_queue() {
    let config = line("fq_codel");
    let mut link = Link::new(config, 1, 0).unwrap();
    let mut fates = Fates::default();
    // Twice what the line takes in flow 0, and 80 kbit/s in flow 1.
    for number in 0..2_000u64 {
        let at = us(number * 500);
        poll_until(&mut link, at, &mut fates);
        let _ = link.send(at, Numbered(number % 1_000, Ecn::NotEct), 1_000);
        if number % 20 == 0 {
            let _ = link.send(at, Numbered(1_000 + number / 20, Ecn::NotEct), 100);
        }
    }
    poll_until(&mut link, Instant::FAR_FUTURE, &mut fates);
    let of_thin = fates.dropped.iter().filter(|(number, _)| *number >= 1_000).count();
    assert!(of_thin == 0 && fates.dropped.len() > 10, "{of_thin} {}", fates.dropped.len());
}

#[test]
fn a_full_queue_drops_half_of_the_longest_from_its_head() {
    // On the line is packet 0; 10 may wait, and the eleventh makes five of flow 0 go.
    let packets = (0..10).map(|n| (n, 1_000)).chain([(1_000, 100), (1_001, 100)]);
    let (arrived, dropped) = at_once("fq_codel 10p", packets);
    assert_eq!(dropped, [1, 2, 3, 4]);
    // The first turn of flow 0, 1514 bytes, has some left after packet 0.
    assert_eq!(arrived, [0, 5, 1_000, 1_001, 6, 7, 8, 9]);
}

#[test]
fn packets_of_one_flow_stay_in_order_and_everything_is_accounted_for() {
    let packets = (0..900u64).map(|n| ((n % 3) * 1_000 + n / 3, 200 + (n * 37) % 1_300));
    let (arrived, dropped) = at_once("fq_codel 500p", packets);
    assert_eq!(arrived.len() + dropped.len(), 900);
    for flow in 0..3 {
        let own: Vec<u64> = arrived.iter().copied().filter(|n| n / 1_000 == flow).collect();
        assert!(own.is_sorted() && own.len() > 50, "{flow}: {own:?}");
    }
}

/// The mean number of packets that wait during a minute of a load, in hundredths of the line,
/// behind PIE; and the share that is dropped.
fn behind_pie(load: u64) -> (f64, f64) {
    let mut link = Link::new(line("pie"), 1, 0).unwrap();
    let (gap, mut sum, mut count) = (100_000 / load, 0, 0);
    for number in 0..60_000_000 / gap {
        let at = us(number * gap);
        while link.poll(at).is_some() {}
        let _ = link.send(at, Numbered(number, Ecn::NotEct), 1_000);
        if at > us(10_000_000) {
            (sum, count) = (sum + link.queued(at).packets, count + 1);
        }
    }
    let statistics = link.statistics();
    let share = statistics.dropped_by_queue.packets as f64 / statistics.offered.packets as f64;
    (sum as f64 / f64::from(count), share)
}

#[test]
fn pie_holds_the_wait_near_its_target_and_drops_what_is_too_much() {
    // A packet takes 1 ms: the target is 15 packets, or a little more, since what is being sent
    // does not count.
    for (load, excess) in [(105, 5.0 / 105.0), (125, 0.2), (150, 1.0 / 3.0)] {
        let (waiting, share) = behind_pie(load);
        assert!((10.0..20.0).contains(&waiting), "{load}: {waiting}");
        assert!((share - excess).abs() < 0.02, "{load}: {share}");
    }
    assert_eq!(behind_pie(90).1, 0.0);
}

#[test]
fn pie_lets_a_burst_pass_after_a_calm_and_marks_what_can_bear_it() {
    // 140 ms of twice the rate use up less than the allowance of 150 ms.
    assert_eq!(run(line("pie"), Ecn::NotEct, overload(140)).dropped, []);
    let lasting = run(line("pie"), Ecn::NotEct, overload(2_000));
    assert!(lasting.dropped.iter().all(|(_, at)| *at >= 150_000) && lasting.dropped.len() > 100);
    // Marks do not make this sender slower: the probability rises above a tenth, and then packets
    // are dropped.
    let slight = |ecn| run(line("pie ecn"), ecn, (0..3_000).map(|number| number * 950));
    let (marked, dropped) = (slight(Ecn::Ect0), slight(Ecn::NotEct));
    assert!(marked.marked.len() > 10 && dropped.marked.is_empty());
    assert_eq!(marked.marked[0], dropped.dropped[0].0, "the first that signals marks instead");
    let before = marked.dropped[0].0;
    assert!(marked.marked.iter().filter(|number| **number < before).count() > 10);
}
