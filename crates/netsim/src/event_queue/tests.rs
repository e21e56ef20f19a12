use std::collections::BTreeMap;

use base::{Purpose, RandomStream};

use super::*;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// Takes the next event if it happens at `limit` or before.
fn pop(queue: &mut EventQueue, limit: Instant) -> Option<(Instant, Source)> {
    let (at, source) = queue.advance_to_next(limit)?;
    queue.set(source, None);
    Some((at, source))
}

#[test]
fn packets_come_before_timers_and_lower_numbers_before_higher() {
    let mut queue = EventQueue::default();
    let order = [
        (at(1), Source::Host(9)),
        (at(2), Source::Link(0)),
        (at(2), Source::Link(7)),
        (at(2), Source::Host(0)),
        (at(2), Source::Host(3)),
    ];
    for (at, source) in order.iter().rev() {
        queue.set(*source, Some(*at));
    }
    let taken: Vec<_> = core::iter::from_fn(|| pop(&mut queue, at(2))).collect();
    assert_eq!(taken, order);
}

#[test]
fn an_instant_in_the_past_becomes_now() {
    let mut queue = EventQueue::default();
    queue.set(Source::Host(0), Some(at(5)));
    assert_eq!(pop(&mut queue, at(4)), None);
    assert_eq!(pop(&mut queue, at(5)), Some((at(5), Source::Host(0))));
    queue.set(Source::Host(0), Some(at(1)));
    assert_eq!(pop(&mut queue, at(9)), Some((at(5), Source::Host(0))));
}

#[test]
fn time_is_never_moved_past_what_is_pending() {
    let mut queue = EventQueue::default();
    queue.set(Source::Link(1), Some(at(5)));
    queue.advance(at(9));
    assert_eq!(queue.now(), at(5));
    queue.set(Source::Link(1), None);
    queue.advance(at(9));
    assert_eq!((queue.now(), queue.is_empty()), (at(9), true));
    queue.advance(at(3));
    assert_eq!(queue.now(), at(9));
}

#[test]
fn random_operations_agree_with_a_sorted_map() {
    let mut random = RandomStream::new(1, Purpose("test", 0));
    let mut queue = EventQueue::default();
    let mut model: BTreeMap<Source, Instant> = BTreeMap::new();
    let mut taken = 0;
    for _ in 0..100_000 {
        let number = random.below(40) as u32;
        let source = if random.below(2) == 0 { Source::Link(number) } else { Source::Host(number) };
        match random.below(4) {
            0 => {
                queue.set(source, None);
                model.remove(&source);
            }
            1 => {
                let expected = model.iter().map(|(source, at)| (*at, *source)).min();
                assert_eq!(pop(&mut queue, Instant::FAR_FUTURE), expected);
                if let Some((_, source)) = expected {
                    model.remove(&source);
                    taken += 1;
                }
            }
            _ => {
                let instant = at(queue.now().as_nanos() + random.below(50));
                queue.set(source, Some(instant));
                model.insert(source, instant);
            }
        }
        assert_eq!(queue.is_empty(), model.is_empty());
    }
    assert!(taken > 10_000, "{taken}");
}
