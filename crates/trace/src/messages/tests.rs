use super::*;

use crate::way::Way;

const STREAM: StreamId = StreamId { number: 1, way: Way::There };

fn bytes(ms: u64, start: u64, size: u32) -> DataSent {
    DataSent {
        stream: STREAM,
        at: Duration::from_millis(ms),
        start,
        end: start + u64::from(size),
        bytes: size,
        is_new: true,
        pushed: false,
        chunk: None,
    }
}

fn chunk(ms: u64, tsn: u64, size: u32, (begins, ends): (bool, bool), stream: u16) -> DataSent {
    let chunk = Some(ChunkSent { stream, begins, ends });
    DataSent { end: tsn + 1, chunk, ..bytes(ms, tsn, size) }
}

const ALL: (bool, bool) = (true, true);

fn again(data: DataSent) -> DataSent {
    DataSent { is_new: false, ..data }
}

fn gathered(sent: &[DataSent]) -> Vec<(u64, u64)> {
    let mut messages = Messages::new(None, 1000);
    sent.iter().for_each(|data| messages.on_data(data));
    let found = messages.finish();
    assert_eq!(found.len(), 1);
    found[0].messages.iter().map(|one| (one.at.as_millis(), one.size)).collect()
}

#[test]
fn what_is_sent_again_was_written_once() {
    let sent =
        [bytes(0, 1, 100), bytes(50, 101, 30), again(bytes(300, 1, 100)), bytes(310, 131, 9)];
    assert_eq!(gathered(&sent), [(0, 100), (50, 30), (310, 9)]);
}

#[test]
fn a_write_of_several_full_packets_is_one() {
    let sent = [bytes(0, 1, 1448), bytes(0, 1449, 1448), bytes(0, 2897, 104), bytes(0, 3001, 50)];
    assert_eq!(gathered(&sent), [(0, 3000), (0, 50)], "behind a packet with room begins another");
    let sent = [DataSent { pushed: true, ..bytes(0, 1, 1448) }, bytes(0, 1449, 52)];
    assert_eq!(gathered(&sent), [(0, 1448), (0, 52)], "nothing waited behind it");
    let sent = [bytes(0, 1, 1448), bytes(1, 1449, 52)];
    assert_eq!(gathered(&sent), [(0, 1448), (1, 52)], "a millisecond later");
    let sent = [bytes(0, 1, 100), bytes(0, 101, 100)];
    assert_eq!(gathered(&sent), [(0, 100), (0, 100)], "small packets are whole");
}

#[test]
fn a_message_of_several_chunks_is_one_and_several_in_a_packet_are_several() {
    let sent = [
        chunk(0, 7, 100, ALL, 0),
        chunk(0, 8, 40, ALL, 0),
        chunk(10, 9, 1400, (true, false), 2),
        chunk(10, 10, 60, (true, true), 3),
        chunk(20, 11, 600, (false, true), 2),
        chunk(30, 12, 5, ALL, 2),
    ];
    assert_eq!(gathered(&sent), [(0, 100), (0, 40), (10, 2000), (10, 60), (30, 5)]);
}

#[test]
fn what_was_lost_before_the_capture_was_written_no_later_than_what_follows() {
    let sent = [bytes(0, 1, 100), bytes(80, 301, 100), again(bytes(400, 101, 200))];
    assert_eq!(gathered(&sent), [(0, 100), (80, 200), (80, 100)]);
    let sent = [
        chunk(0, 7, 100, ALL, 0),
        chunk(80, 10, 50, ALL, 0),
        again(chunk(400, 8, 120, ALL, 0)),
        chunk(90, 11, 50, ALL, 0),
    ];
    assert_eq!(gathered(&sent), [(0, 100), (80, 120), (80, 50), (90, 50)], "9 was never seen");
    let sent = [
        chunk(0, 7, 1400, (true, false), 0),
        chunk(80, 9, 50, (false, true), 0),
        again(chunk(400, 8, 1400, (false, false), 0)),
    ];
    assert_eq!(gathered(&sent), [(0, 2850)], "the middle of a message");
}

#[test]
fn only_streams_that_are_wanted_count_and_only_so_many_messages() {
    for (wanted, found) in [("1a", 1), ("1", 1), ("1b", 0), ("11", 0)] {
        let mut messages = Messages::new(Some([wanted.to_owned()].into()), 1000);
        messages.on_data(&bytes(0, 1, 100));
        assert_eq!(messages.finish().len(), found, "{wanted}");
    }
    let mut messages = Messages::new(None, 2);
    (0..5).for_each(|place| messages.on_data(&bytes(place * 10, 1 + place * 10, 10)));
    assert_eq!(messages.left_out(), 3);
    assert_eq!(messages.finish()[0].messages.len(), 2);
    // Numbers that jump are no messages.
    let mut messages = Messages::new(None, 2);
    messages.on_data(&chunk(0, 1, 10, ALL, 0));
    messages.on_data(&chunk(0, 1 << 40, 10, ALL, 0));
    assert_eq!(messages.finish()[0].messages.len(), 2);
}
