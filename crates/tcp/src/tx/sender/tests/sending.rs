//! Contents of segments, and the times at which they are sent.

use super::*;
use crate::tx::Nagle;

#[test]
fn the_initial_window_is_ten_segments_and_each_acknowledgement_opens_it() {
    let mut bench = Bench::new(sack());
    assert_eq!(bench.write(30_000).len(), 10);
    // Byte counting with L = 2: two segments acknowledged make room for four.
    assert_eq!(bench.at(100).ack(2001).len(), 4);
}

#[test]
fn a_segment_never_exceeds_the_peers_window_and_the_last_of_the_data_is_pushed() {
    let mut bench = Bench::with(SenderOptions::default(), sack(), 2500);
    let taken = bench.sender.write(ms(0), Bytes::from(vec![1; 4000]), false, false);
    assert_eq!(taken, 4000);
    let sent = bench.poll_all();
    assert_eq!(sent.iter().map(|out| out.bytes).collect::<Vec<_>>(), [1000, 1000]);
    assert!(sent.iter().all(|segment| !segment.push));
    bench.window = 10_000;
    let ack = bench.at(100).ack(2001);
    assert_eq!(ack, [(100, 2001, 1000, false), (100, 3001, 1000, false)]);
}

#[test]
fn fin_rides_on_the_last_segment_and_is_acknowledged_with_it() {
    let mut bench = Bench::new(sack());
    bench.sender.write(ms(0), Bytes::from(vec![1; 1500]), false, false);
    bench.sender.finish();
    assert_eq!(bench.poll(), [(0, 1, 1000, false), (0, 1001, 500, true)]);
    assert!(bench.sender.is_fin_sent());
    bench.at(50).ack(1501);
    assert!(bench.sender.is_settled() && !bench.sender.is_fin_acked());
    bench.at(60).ack(1502);
    assert!(bench.sender.is_fin_acked());
    assert_eq!(bench.sender.next_timeout(), None);
}

#[test]
fn fin_alone_follows_acknowledged_data_and_is_sent_again_by_the_timer() {
    let mut bench = Bench::new(sack());
    bench.sender.finish();
    assert_eq!(bench.poll(), [(0, 1, 0, true)]);
    assert_eq!(bench.run(1000), [(300, 1, 0, true), (900, 1, 0, true)]);
}

#[test]
fn nagle_holds_small_segments_while_one_is_outstanding_and_no_delay_does_not() {
    for (nagle, held) in [(Nagle::Minshall, false), (Nagle::Rfc9293, true)] {
        let options = SenderOptions { nagle, ..SenderOptions::default() };
        let mut bench = Bench::with(options, sack(), 100_000);
        assert_eq!(bench.write(1000).len(), 1);
        assert_eq!(bench.write(100).is_empty(), held, "behind a full segment: {nagle:?}");
        bench.at(10).ack(1001);
        bench.at(20).ack(1101);
        assert_eq!(bench.write(10).len(), 1);
        assert_eq!(bench.write(10).len(), 0, "behind a small one: {nagle:?}");
        assert_eq!(bench.at(30).ack(1111), [(30, 1111, 10, false)]);
    }
    let mut bench = Bench::new(sack());
    bench.write(10);
    assert_eq!(bench.write(10).len(), 1);
}

#[test]
fn data_with_more_to_follow_waits_for_it_but_no_longer_than_200_ms() {
    let mut bench = Bench::new(sack());
    bench.sender.write(ms(0), Bytes::from(vec![1; 1100]), true, false);
    assert_eq!(bench.poll(), [(0, 1, 1000, false)]);
    bench.at(50).ack(1001);
    assert_eq!(bench.run(199), []);
    assert_eq!(bench.run(200), [(200, 1001, 100, false)]);
    bench.at(300).ack(1101);
    bench.sender.write(ms(300), Bytes::from(vec![1; 10]), true, false);
    assert_eq!(bench.poll(), []);
    assert_eq!(bench.write(10), [(300, 1101, 20, false)]);
}

#[test]
fn what_fits_a_small_window_waits_for_the_override_timer() {
    let mut bench = Bench::with(SenderOptions::default(), sack(), 10_000);
    bench.write(10_000);
    bench.window = 300;
    assert_eq!(bench.at(100).ack(10_001), []);
    assert_eq!(bench.write(2000), []);
    // The sample of 100 ms makes RTO 100 + 4 · 37.5 ms.
    assert_eq!(bench.run(349), []);
    assert_eq!(bench.run(350), [(350, 10_001, 300, false)]);
}

#[test]
fn half_of_the_largest_window_is_worth_sending() {
    let mut bench = Bench::with(SenderOptions::default(), sack(), 800);
    assert_eq!(bench.write(2000), [(0, 1, 800, false)]);
    bench.window = 400;
    assert_eq!(bench.at(100).ack(801), [(100, 801, 400, false)]);
    bench.window = 399;
    assert_eq!(bench.at(200).ack(1201), []);
}
