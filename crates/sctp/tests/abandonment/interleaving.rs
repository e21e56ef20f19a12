//! I-DATA and I-FORWARD-TSN, negotiated or not (RFC 8260, sections 2.1 to 2.3).

use sctp::wire::chunk::{DataFlags, IData};
use sctp::wire::{Fsn, Mid, Ppid, StreamId};
use sctp::{Extensions, Part};

use crate::forward_tsn::{bench, cause_of, forward, i_forward, read, sack_of, tsn};
use crate::support::wire::{Bench, data, names};

fn both() -> Extensions {
    Extensions::PARTIAL_RELIABILITY | Extensions::INTERLEAVING
}

/// Place of a fragment: stream, MID, FSN.
type Place = (u16, u32, u32);

fn i_data(offset: u32, place: Place, flags: u8, payload: &[u8]) -> IData<&[u8]> {
    let (stream, mid, fsn) = place;
    let flags = DataFlags::from_bits(flags);
    let (stream, mid, fsn, ppid) = (StreamId(stream), Mid(mid), Fsn(fsn), Ppid(51));
    IData { tsn: tsn(offset), stream, mid, fsn, ppid, flags, payload }
}

const B: u8 = 2;
const E: u8 = 1;
const U: u8 = 4;

fn interleaving() -> Bench {
    bench(both(), &[0xc0, 0xc2, 0x40], true)
}

#[test]
fn messages_whose_fragments_alternate_are_delivered_with_their_numbers() {
    let mut bench = interleaving();
    bench.give_right(|p| {
        p.append(i_data(0, (1, 0, 0), B, b"bu")).unwrap();
        p.append(i_data(1, (2, 0, 0), B, b"th")).unwrap();
        p.append(i_data(2, (2, 0, 1), E, b"in")).unwrap();
        p.append(i_data(3, (1, 0, 1), E, b"lk")).unwrap();
    });
    assert_eq!(read(&mut bench), [(2, 0, "thin".into()), (1, 0, "bulk".into())]);
    bench.give_right(|p| {
        p.append(i_data(4, (1, 0x1_0001, 0), B | E | U, b"free")).unwrap();
    });
    let (now, id) = (bench.now, bench.id());
    let message = bench.endpoint.association_mut(id).and_then(|mut own| own.receive(now)).unwrap();
    assert_eq!((message.ssn().0, message.mid, message.ppid), (1, Mid(0x1_0001), Ppid(51)));
    assert_eq!((message.tsn, message.part), (tsn(4), Part::Last));
}

#[test]
fn messages_given_up_leave_nothing_and_do_not_hold_up_others() {
    let mut bench = interleaving();
    bench.give_right(|p| {
        p.append(i_data(1, (1, 0, 1), 0, b"lost")).unwrap();
        p.append(i_data(2, (1, 1, 0), B | E, b"next")).unwrap();
        p.append(i_data(3, (1, 0, 0), B | U, b"lost")).unwrap();
        p.append(i_data(5, (1, 1, 0), B | U, b"kept")).unwrap();
    });
    assert_eq!(read(&mut bench), []);
    let sent =
        bench.give_right(|p| p.append(i_forward(4, &[(1, false, 0), (1, true, 0)])).unwrap());
    assert_eq!(sack_of(&sent), (5, vec![]));
    assert_eq!(read(&mut bench), [(1, 1, "next".into())]);
    bench.give_right(|p| p.append(i_data(6, (1, 1, 1), E | U, b"!")).unwrap());
    assert_eq!(read(&mut bench), [(1, 1, "kept!".into())]);
}

#[test]
fn the_other_kind_of_user_data_or_of_forward_tsn_ends_the_association() {
    let aborts = |bench: &mut Bench, sent: Vec<Vec<u8>>| {
        assert_eq!(names(&sent[0]), ["ABORT"]);
        assert_eq!(cause_of(&sent).0, 13, "Protocol Violation");
        assert!(bench.endpoint.association(bench.id()).is_none_or(|own| own.is_closed()));
    };
    let mut agreed = interleaving();
    let sent = agreed.give_right(|p| p.append(data(0, 0, 0, b"DATA")).unwrap());
    aborts(&mut agreed, sent);
    let mut agreed = interleaving();
    let sent = agreed.give_right(|p| p.append(forward(0, &[])).unwrap());
    aborts(&mut agreed, sent);
    for types in [&[0xc0, 0x40][..], &[0xc0]] {
        let offered = if types.len() == 2 { Extensions::PARTIAL_RELIABILITY } else { both() };
        let mut other = bench(offered, types, true);
        let sent = other.give_right(|p| p.append(i_data(0, (0, 0, 0), B | E, b"I-DATA")).unwrap());
        aborts(&mut other, sent);
    }
}

#[test]
fn contradictions_end_the_association_and_empty_fragments_too() {
    let cases = [
        (vec![i_data(1, (0, 0, 0), B, b"a"), i_data(2, (0, 0, 0), B, b"b")], 13),
        (vec![i_data(1, (0, 0, 1), E, b"a"), i_data(2, (0, 0, 2), 0, b"b")], 13),
        (vec![i_data(1, (0, 0, 0), 0, b"a")], 13),
        (vec![i_data(1, (0, 0, 0), B | E, b"")], 9),
    ];
    for (chunks, code) in cases {
        let mut bench = interleaving();
        let sent = bench.give_right(|p| {
            chunks.into_iter().for_each(|chunk| p.append(chunk).unwrap());
        });
        assert_eq!(names(&sent[0]), ["ABORT"]);
        assert_eq!(cause_of(&sent).0, code);
    }
}

#[test]
fn user_data_on_a_stream_that_does_not_exist_is_reported() {
    let mut bench = interleaving();
    let sent = bench.give_right(|p| p.append(i_data(0, (99, 0, 0), B | E, b"x")).unwrap());
    assert_eq!(names(&sent[0]), ["ERROR", "SACK"]);
    assert_eq!(cause_of(&sent).0, 1);
}

#[test]
fn reserved_bits_of_i_data_are_ignored() {
    let mut bench = interleaving();
    let chunk = |bench: &mut Bench, offset: u32, flags: u8, mid: u32| {
        let mut value = tsn(offset).0.to_be_bytes().to_vec();
        // Stream 1, the reserved bytes, MID, PPID, a byte of user data.
        value.extend([0, 1, 0xff, 0xff]);
        value.extend(mid.to_be_bytes());
        value.extend([0, 0, 0, 51, b'x']);
        bench.give_right(|p| p.append(crate::support::wire::Any(64, flags, &value)).unwrap())
    };
    // The first packet with data is acknowledged at once in any case.
    chunk(&mut bench, 0, 0xf0 | B | E, 0);
    assert_eq!(read(&mut bench), [(1, 0, "x".into())]);
    // The I bit, 8, is no reserved bit: the SACK is not delayed.
    assert_eq!(sack_of(&chunk(&mut bench, 1, 8 | B | E, 1)).0, 1);
}
