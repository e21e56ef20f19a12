use super::*;

fn data(tsn: u32, flags: u8, stream: u16, ssn: u16, payload: &[u8]) -> Vec<u8> {
    let mut chunk = vec![0, flags, 0, 0];
    chunk.extend(tsn.to_be_bytes());
    chunk.extend(stream.to_be_bytes());
    chunk.extend(ssn.to_be_bytes());
    chunk.extend([0; 4]);
    chunk.extend(payload);
    chunk
}

fn i_data(tsn: u32, flags: u8, mid: u32, fsn: u32, payload: &[u8]) -> Vec<u8> {
    let mut chunk = vec![64, flags, 0, 0];
    chunk.extend(tsn.to_be_bytes());
    chunk.extend([0; 4]);
    chunk.extend(mid.to_be_bytes());
    chunk.extend(fsn.to_be_bytes());
    chunk.extend(payload);
    chunk
}

fn write(data: &mut UserData, length: usize, may_expire: bool) -> Vec<u8> {
    let message = data.next_message(length);
    data.note_written(Written { stream: 0, unordered: false, length, may_expire });
    message
}

#[test]
fn fragments_that_are_swapped_repeated_corrupt_or_of_another_message_are_found() {
    let sent = |chunks: &[&[u8]]| {
        let mut own = UserData::default();
        let (first, second) = (write(&mut own, 10, false), write(&mut own, 4, false));
        (own.check_sent(chunks), first, second)
    };
    let (_, first, second) = sent(&[]);
    let (left, right) = (data(7, 2, 0, 0, &first[..6]), data(8, 1, 0, 0, &first[6..]));
    let next = data(9, 3, 0, 1, &second);
    assert_eq!(sent(&[&left, &right, &next, &right]).0, Ok(()), "one of them again");
    assert!(sent(&[&next]).0.is_err(), "out of turn");
    assert!(sent(&[&left, &next]).0.is_ok(), "a fragment that is not looked at yet");
    let swapped = data(8, 1, 0, 0, &first[..4]);
    assert!(sent(&[&left, &swapped]).0.is_err());
    let mut corrupt = right.clone();
    corrupt[17] ^= 1;
    assert!(sent(&[&left, &corrupt]).0.is_err());
    assert!(sent(&[&left, &data(8, 0, 0, 0, &first[6..])]).0.is_err(), "without E");
    assert!(sent(&[&data(7, 3, 0, 0, &first[..6])]).0.is_err(), "E too early");
    assert!(sent(&[&left, &right, &data(9, 3, 0, 0, &first)]).0.is_err(), "sent twice");
    assert!(sent(&[&left, &data(7, 2, 0, 0, &first[..5])]).0.is_err(), "another length");
}

#[test]
fn a_message_that_may_be_given_up_may_be_passed_over() {
    let mut own = UserData::default();
    let (_, second) = (write(&mut own, 4, true), write(&mut own, 4, false));
    assert_eq!(own.check_sent(&[&data(1, 3, 0, 0, &second)]), Ok(()));
}

#[test]
fn interleaved_fragments_go_on_where_their_message_was() {
    let mut own = UserData::default();
    let first = write(&mut own, 8, false);
    own.check_sent(&[&i_data(1, 2, 0, 0, &first[..4])]).unwrap();
    assert!(own.check_sent(&[&i_data(2, 1, 0, 2, &first[4..])]).is_err(), "a fragment is missing");
    assert_eq!(own.check_sent(&[&i_data(2, 1, 0, 1, &first[4..])]), Ok(()));
}

#[test]
fn what_is_read_is_what_came_once_and_in_its_order() {
    let mut own = UserData::default();
    let (one, two) = (data(1, 3, 0, 0, b"one"), data(2, 3, 0, 1, b"two"));
    let parts = (data(4, 1, 0, 2, b"ee"), data(3, 2, 0, 2, b"thr"));
    own.note_arrived(&[&two, &one, &parts.0, &parts.1]);
    assert!(own.check_delivered(0, false, b"two").is_err(), "before the first");
    assert!(own.check_delivered(0, false, b"onf").is_err());
    assert!(own.check_delivered(1, false, b"one").is_err(), "on another stream");
    assert_eq!(own.check_delivered(0, false, b"one"), Ok(()));
    assert!(own.check_delivered(0, false, b"one").is_err(), "twice");
    assert_eq!(own.check_delivered(0, false, b"two"), Ok(()));
    assert_eq!(own.check_delivered(0, false, b"three"), Ok(()));
}
