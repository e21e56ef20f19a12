//! Peers that make this side hold as much memory as they can: the sum over all associations has a
//! limit.

use base::Duration;
use sctp::wire::chunk::{DataFlags, IData};
use sctp::wire::{Fsn, Parameter};
use sctp::{
    AssociationOptions, EndpointOptions, Extensions, MemoryLimits, MemoryState, Mid, Ppid,
    SendError, StreamId,
};

use crate::crowd::{Crowd, Member, OUT_OF_RESOURCE, abort_causes, stranger};
use crate::foe::memory;
use crate::support::wire::data;

const LIMIT: usize = 16 << 20;

/// Bytes that an association may hold in both directions in any state of the budget, with overhead
/// and its own size.
const LEAST: usize = 16 << 10;

const BEGINNING: DataFlags = DataFlags::BEGINNING;
const MIDDLE: DataFlags = DataFlags::from_bits(0);

fn crowd() -> Crowd {
    crowd_with(LIMIT, AssociationOptions::default())
}

fn crowd_with(limit: usize, accepted: AssociationOptions) -> Crowd {
    Crowd::new(EndpointOptions {
        memory: MemoryLimits::of(limit),
        accepted: AssociationOptions { heartbeat_interval: None, ..accepted },
        ..EndpointOptions::default()
    })
}

fn strangers(crowd: &mut Crowd, count: u32) -> Vec<Member> {
    (0..count).map(|index| crowd.open(stranger(index))).collect()
}

/// The sum of what all associations hold.
fn held(crowd: &Crowd, members: &[Member]) -> usize {
    let own = |member: &Member| crowd.bench.endpoint.association(member.id);
    members.iter().filter_map(own).map(|own| own.buffered().total()).sum()
}

/// Difference between the endpoint's figure and that sum.
fn lag(crowd: &Crowd, members: &[Member]) -> usize {
    held(crowd, members).abs_diff(crowd.bench.endpoint.buffered_bytes())
}

/// An endless message of `kilobytes` from each peer.
fn begin_messages(crowd: &mut Crowd, members: &mut [Member], kilobytes: u32) {
    for member in members {
        for index in 0..kilobytes {
            let flags = if index == 0 { BEGINNING } else { MIDDLE };
            crowd.fragment(member, 0, flags, 1000);
        }
    }
}

#[test]
fn two_thousand_unfinished_messages_stay_within_the_budget_and_hold_up_no_other() {
    let mut crowd = crowd();
    let mut thin = crowd.open(stranger(1 << 20));
    crowd.round_trip(&mut thin);
    let mut members = strangers(&mut crowd, 2_000);
    let used = memory(|| {
        for batch in members.chunks_mut(100) {
            begin_messages(&mut crowd, batch, 40);
            crowd.round_trip(&mut thin);
        }
    });
    assert_eq!(crowd.bench.endpoint.memory_state(), MemoryState::Full);
    let bound = LIMIT + LIMIT / 8;
    let held = crowd.bench.endpoint.buffered_bytes();
    assert!((LIMIT..=bound).contains(&held), "{held}");
    assert!((used.bytes_max as usize) < bound * 6 / 5, "{} bytes", used.bytes_max);
    let honest = crowd.serves_honest_peers(19);
    // Associations without progress are aborted, and their memory is released.
    crowd.wait(Duration::from_secs(130));
    crowd.round_trip(&mut thin);
    assert_ne!(crowd.bench.endpoint.memory_state(), MemoryState::Full);
    let stats = crowd.bench.endpoint.stats();
    let ended = stats.stalled_aborted + stats.stuck_aborted;
    assert!(ended > 0 && crowd.told_of_loss() as u64 == ended, "{ended}");
    assert!(honest.iter().all(|one| crowd.bench.endpoint.association(one.id).is_some()));
}

#[test]
fn echoes_that_are_not_taken_stay_within_the_budget_and_hold_up_no_other() {
    let mut crowd = crowd();
    let mut thin = crowd.open(stranger(1 << 20));
    let mut members = strangers(&mut crowd, 300);
    for batch in members.chunks_mut(30) {
        for member in batch {
            for _ in 0..300 {
                crowd.fragment(member, 0, DataFlags::WHOLE, 1000);
                member.messages += 1;
                if member.sent == 1 {
                    crowd.bench.drain();
                    crowd.sack(member, 1, 0);
                }
            }
        }
        crowd.round_trip(&mut thin);
    }
    assert_eq!(crowd.bench.endpoint.memory_state(), MemoryState::Full);
    let held = crowd.bench.endpoint.buffered_bytes();
    assert!((LIMIT..LIMIT + 300 * LEAST).contains(&held), "{held}");
    crowd.serves_honest_peers(19);
    // The peers answer probes forever, and accept no data.
    for _ in 0..200 {
        crowd.wait(Duration::from_secs(1));
        for member in &mut members {
            crowd.sack(member, 0, 0);
        }
        crowd.round_trip(&mut thin);
    }
    assert_ne!(crowd.bench.endpoint.memory_state(), MemoryState::Full);
    let stats = crowd.bench.endpoint.stats();
    assert!(stats.stalled_aborted > 0, "{stats:?}");
}

#[test]
fn what_is_sent_to_peers_that_close_their_windows_stays_within_the_budget() {
    let mut crowd = crowd();
    let mut thin = crowd.open(stranger(1 << 20));
    let mut members = strangers(&mut crowd, 100);
    let mut taken = 0;
    for member in &mut members {
        while crowd.send(member.id, 10_000).is_ok() {
            taken += 10_000;
            let sent = crowd.bench.drain().len() as u32;
            crowd.sack(member, sent, 0);
        }
        crowd.round_trip(&mut thin);
    }
    assert!(taken < LIMIT + 100 * LEAST, "{taken}");
    // A thin stream continues; a long message waits for memory, and its application is notified
    // when there is some.
    let last = crowd.open(stranger(500));
    assert_eq!(crowd.send(last.id, 3_000), Ok(()));
    assert_eq!(crowd.send(last.id, 60_000), Err(SendError::BufferFull));
    let before = crowd.bench.events.len();
    for member in &members[..60] {
        crowd.bench.endpoint.release(member.id);
    }
    crowd.wait(Duration::from_secs(1));
    let writable = (last.id, sctp::Event::Writable);
    assert!(crowd.bench.events[before..].contains(&writable));
    assert_eq!(crowd.send(last.id, 60_000), Ok(()));
}

#[test]
fn what_came_beyond_missing_chunks_is_given_up_and_arrives_once_all_the_same() {
    let mut crowd = crowd();
    crowd.deaf = true;
    let mut members = strangers(&mut crowd, 40);
    for member in &mut members {
        // The first chunk is missing.
        member.sent = 1;
        member.messages = 1;
        for _ in 1..500 {
            crowd.fragment(member, 0, DataFlags::WHOLE, 1000);
            member.messages += 1;
        }
    }
    let held_now = crowd.bench.endpoint.buffered_bytes();
    assert!(held_now < LIMIT - LIMIT / 4 + (600 << 10), "{held_now}");
    assert!(crowd.bench.endpoint.stats().pruned_bytes > 1 << 20);
    let mut read = 0;
    for member in &mut members {
        // Unacknowledged data is retransmitted.
        (member.sent, member.messages) = (0, 0);
        let mut next = 0;
        for _ in 0..500 {
            crowd.fragment(member, 0, DataFlags::WHOLE, 1000);
            member.messages += 1;
            while let Some(message) = crowd
                .bench
                .endpoint
                .association_mut(member.id)
                .and_then(|mut own| own.receive(crowd.bench.now))
            {
                assert_eq!(u32::from(message.ssn().0), next, "in order, once");
                next += 1;
            }
        }
        assert_eq!(next, 500);
        read += next;
    }
    assert_eq!(read, 20_000);
    assert_eq!(crowd.bench.endpoint.memory_state(), MemoryState::Ease);
}

#[test]
fn under_pressure_the_window_shrinks_and_what_was_sent_for_a_larger_one_is_taken() {
    let mut crowd = crowd();
    crowd.deaf = true;
    let mut members = strangers(&mut crowd, 14);
    let a_rwnd = |answers: &[Vec<u8>]| {
        let bytes = bytes::Bytes::copy_from_slice(answers.last().unwrap());
        let packet = sctp::wire::Packet::parse(bytes).unwrap();
        let windows = packet.chunks().filter_map(|chunk| match chunk.unwrap() {
            sctp::wire::Chunk::Sack(sack) => Some(sack.a_rwnd),
            _ => None,
        });
        windows.last().unwrap()
    };
    for member in &mut members {
        for _ in 0..880 {
            crowd.fragment(member, 0, DataFlags::WHOLE, 1000);
            member.messages += 1;
        }
    }
    assert_eq!(crowd.bench.endpoint.memory_state(), MemoryState::Pressure);
    let mut member = crowd.open(stranger(99));
    let first = crowd.fragment(&mut member, 0, DataFlags::WHOLE, 1000);
    assert_eq!(a_rwnd(&first), 4096 - 1000 - 96);
    // INIT ACK advertised a mebibyte.
    for _ in 1..10 {
        member.messages += 1;
        crowd.fragment(&mut member, 0, DataFlags::WHOLE, 1000);
    }
    member.messages += 1;
    let last = crowd.fragment(&mut member, 0, DataFlags::WHOLE, 1000);
    assert_eq!(a_rwnd(&last), 0);
    let mut read = 0;
    while crowd
        .bench
        .endpoint
        .association_mut(member.id)
        .and_then(|mut own| own.receive(crowd.bench.now))
        .is_some()
    {
        read += 1;
    }
    assert_eq!(read, 11);
}

#[test]
fn messages_of_a_byte_that_wait_to_be_sent_take_no_hundred_times_the_send_buffer() {
    let mut crowd = crowd_with(1 << 30, AssociationOptions::default());
    let mut member = crowd.open(stranger(1));
    crowd.send(member.id, 1).unwrap();
    crowd.bench.drain();
    crowd.sack(&mut member, 1, 0);
    let used = memory(|| while crowd.send(member.id, 1).is_ok() {});
    assert!(used.bytes_max < 6 << 20, "{} bytes for a send buffer of 1 MiB", used.bytes_max);
    assert!(lag(&crowd, &[member]) < used.bytes_max as usize / 2);
    // Any change is noticed within 64 inputs.
    (0..64).for_each(|_| assert!(crowd.send(member.id, 1).is_err()));
    assert_eq!(lag(&crowd, &[member]), 0);
}

#[test]
fn while_there_is_enough_the_sum_lags_by_a_few_percent_and_once_memory_is_scarce_by_nothing() {
    let mut crowd = crowd();
    crowd.deaf = true;
    let mut members = strangers(&mut crowd, 100);
    for round in 0..80 {
        for (index, member) in members.iter_mut().enumerate() {
            let length = 50 + (index * 37 + round * 411) % 1300;
            crowd.fragment(member, 0, DataFlags::WHOLE, length);
            member.messages += 1;
            if index % 3 == 0 && round % 5 == 4 {
                while crowd
                    .bench
                    .endpoint
                    .association_mut(member.id)
                    .and_then(|mut own| own.receive(crowd.bench.now))
                    .is_some()
                {}
            }
        }
        let (lag, held) = (lag(&crowd, &members), held(&crowd, &members));
        assert!(lag <= held / 16, "round {round}: {lag} of {held}");
    }
    assert_eq!(crowd.bench.endpoint.memory_state(), MemoryState::Ease);
    let mut large: Vec<Member> = (200..240).map(|index| crowd.open(stranger(index))).collect();
    begin_messages(&mut crowd, &mut large, 200);
    assert_ne!(crowd.bench.endpoint.memory_state(), MemoryState::Ease);
    members.iter_mut().for_each(|member| _ = crowd.fragment(member, 0, DataFlags::WHOLE, 10));
    large.iter_mut().for_each(|member| _ = crowd.fragment(member, 0, MIDDLE, 10));
    members.append(&mut large);
    assert_eq!(lag(&crowd, &members), 0);
}

#[test]
fn at_the_limit_newcomers_with_little_come_to_be_up_to_the_reserve_and_the_unused_make_room() {
    let limit = 1 << 20;
    let mut crowd = crowd_with(limit, AssociationOptions::default());
    let mut index = 0;
    while crowd.bench.endpoint.stats().unused_evicted == 0 {
        crowd.open(stranger(index));
        index += 1;
        assert!(index < 2_000, "without end");
    }
    let held = crowd.bench.endpoint.buffered_bytes();
    assert!((limit + limit / 16..limit + limit / 8 + LEAST).contains(&held), "{held}");
    // All are in use, so none makes room.
    let mut crowd = crowd_with(limit, AssociationOptions::default());
    let refused = (0..2_000).find_map(|index| match crowd.try_open(stranger(index)) {
        Ok(mut member) => {
            crowd.round_trip(&mut member);
            None
        }
        Err(answers) => Some(answers),
    });
    assert_eq!(abort_causes(&refused.unwrap()), [OUT_OF_RESOURCE]);
    assert_eq!(crowd.bench.endpoint.stats().refused_memory, 1);
}

#[test]
fn one_that_got_on_since_its_account_was_taken_is_not_ended_for_standing_still() {
    let mut crowd = crowd();
    crowd.deaf = true;
    let mut mover = crowd.open(stranger(1 << 20));
    let give = |crowd: &mut Crowd, mover: &mut Member| {
        crowd.fragment(mover, 0, DataFlags::WHOLE, 10_000);
        mover.messages += 1;
    };
    (0..12).for_each(|_| give(&mut crowd, &mut mover));
    // It holds as much as before, and has moved another hundred kilobytes: too few inputs for a new
    // look.
    for _ in 0..16 {
        assert!(
            crowd
                .bench
                .endpoint
                .association_mut(mover.id)
                .and_then(|mut own| own.receive(crowd.bench.now))
                .is_some()
        );
        give(&mut crowd, &mut mover);
    }
    let mut members = strangers(&mut crowd, 600);
    begin_messages(&mut crowd, &mut members, 40);
    let mut newcomers = (1_000..2_000).map(stranger);
    while crowd.bench.endpoint.stats().stuck_aborted == 0 {
        crowd.open(newcomers.next().unwrap());
    }
    let mover = crowd.bench.endpoint.association(mover.id);
    assert!(mover.is_some_and(|mover| mover.is_established()));
}

#[test]
fn what_a_library_keeps_for_an_association_counts() {
    let mut crowd = crowd();
    let member = crowd.open(stranger(1));
    let before = crowd.bench.endpoint.buffered_bytes();
    crowd.bench.endpoint.association_mut(member.id).unwrap().set_kept(100_000);
    let now = crowd.bench.endpoint.buffered_bytes();
    assert!((before + 99_000..before + 101_000).contains(&now), "{now}");
    crowd.bench.endpoint.release(member.id);
    crowd.bench.drain();
    assert_eq!(crowd.bench.endpoint.buffered_bytes(), 0);
}

/// Interleaving is agreed on where the endpoint offers it too.
const INTERLEAVES: &[Parameter<'static>] =
    &[Parameter::ForwardTsnSupported, Parameter::SupportedExtensions(&[192, 64, 194])];

/// Many peers of one kind, the endpoint's figure of what they hold, and the bytes requested from
/// the allocator.
fn figure(kind: &str, accepted: AssociationOptions, make: impl Fn(&mut Crowd, &mut Member)) {
    let mut kept = None;
    let used = memory(|| {
        let mut crowd = crowd_with(1 << 30, accepted);
        crowd.deaf = true;
        for index in 0..1_000 {
            let mut member = crowd.try_open_with(stranger(index), INTERLEAVES).unwrap();
            make(&mut crowd, &mut member);
        }
        crowd.bench.events = Vec::new();
        kept = Some(crowd);
    });
    let told = kept.unwrap().bench.endpoint.buffered_bytes() as f64;
    // The allocator's overhead, as in the accounts: sixteen bytes for each piece.
    let real = used.bytes_current as f64 + 16.0 * used.count_current as f64;
    println!("{kind}: {told} of {real}, {:.3}", told / real);
    assert!((told / real - 1.0).abs() <= 0.2, "{kind}: {told} of {real}, {:.3}", told / real);
}

/// Beginnings of thirty messages in I-DATA, from the `first` TSN on.
fn interleaved(crowd: &mut Crowd, member: &mut Member, first: u32) {
    (crowd.bench.remote, crowd.bench.tag) = (member.remote, member.tag());
    for index in 0..30 {
        let chunk = IData {
            tsn: data(first + index, 0, 0, &[]).tsn,
            stream: StreamId((index % 3) as u16),
            mid: Mid(index / 3),
            ppid: Ppid(0),
            fsn: Fsn(0),
            flags: BEGINNING,
            payload: &[1u8; 1000][..],
        };
        crowd.bench.give_right(|packet| packet.append(chunk).unwrap());
    }
}

#[test]
fn the_figure_is_what_the_allocator_was_asked_for_within_a_fifth() {
    let options = AssociationOptions::default;
    figure("idle", options(), |_, _| ());
    figure("thin", options(), |crowd, member| crowd.round_trip(member));
    figure("unread", options(), |crowd, member| {
        for _ in 0..40 {
            crowd.fragment(member, 0, DataFlags::WHOLE, 100);
            member.messages += 1;
        }
    });
    figure("to send", options(), |crowd, member| {
        for _ in 0..30 {
            crowd.send(member.id, 300).unwrap();
        }
    });
    figure("sent", options(), |crowd, member| {
        crowd.send(member.id, 100_000).unwrap();
        crowd.bench.drain();
    });
}

#[test]
fn the_figure_of_what_is_unfinished_is_so_too() {
    let options = AssociationOptions::default;
    figure("unfinished", options(), |crowd, member| {
        begin_messages(crowd, core::slice::from_mut(member), 30);
    });
    figure("beyond a gap", options(), |crowd, member| {
        member.sent = 1;
        for _ in 0..30 {
            crowd.fragment(member, 0, BEGINNING, 1000);
            member.sent += 1;
        }
    });
    figure(
        "on many streams",
        AssociationOptions { inbound_streams: 1000, ..options() },
        |crowd, member| {
            for stream in 0..10 {
                let chunk = data(member.sent, stream, 0, &[1; 50]);
                member.sent += 1;
                crowd.give(member, chunk);
            }
        },
    );
    figure("in packets full of something else", options(), |crowd, member| {
        (crowd.bench.remote, crowd.bench.tag) = (member.remote, member.tag());
        for index in 0..30 {
            let mut chunk = data(index, 0, 0, &[1; 300]);
            chunk.flags = if index == 0 { BEGINNING } else { MIDDLE };
            crowd.bench.give_right(|packet| {
                packet.append(chunk).unwrap();
                packet.append(crate::support::wire::Any(132, 0, &[0; 900])).unwrap();
            });
        }
    });
    let interleaving = AssociationOptions {
        extensions: Extensions::PARTIAL_RELIABILITY | Extensions::INTERLEAVING,
        ..options()
    };
    figure("unfinished and interleaved", interleaving.clone(), |crowd, member| {
        interleaved(crowd, member, 0);
    });
    figure("interleaved beyond a gap", interleaving, |crowd, member| {
        interleaved(crowd, member, 1);
    });
}
