//! A closed window: probes, and their end.

use super::*;
use crate::tx::WindowProbe;

#[test]
fn a_closed_window_is_probed_at_doubled_intervals_as_long_as_the_peer_answers() {
    let options = SenderOptions { retries: 3, ..SenderOptions::default() };
    let mut bench = Bench::with(options, sack(), 0);
    assert_eq!(bench.write(2000), []);
    let mut probes = Vec::new();
    for end in 1..400 {
        for probe in bench.run(end * 1000) {
            probes.push(probe.0);
            assert_eq!((probe.1, probe.2), (1, 1));
        }
        bench.ack(1);
    }
    assert_eq!(&probes[..6], [300, 900, 2100, 4500, 9300, 18_900]);
    assert!(probes.windows(2).all(|pair| pair[1] - pair[0] <= 60_000));
    bench.window = 10_000;
    let at = bench.now.as_nanos() / 1_000_000;
    assert_eq!(bench.ack(1), [(at, 1, 1000, false), (at, 1001, 1000, false)]);
}

#[test]
fn a_closed_window_whose_probes_nobody_answers_is_given_up() {
    let options = SenderOptions { retries: 3, ..SenderOptions::default() };
    let mut bench = Bench::with(options, sack(), 0);
    bench.write(10);
    let probes = bench.run(100_000);
    assert_eq!(
        probes.iter().map(|probe| probe.0).collect::<Vec<_>>(),
        [300, 900, 2100, 4500, 9300]
    );
    assert_eq!(bench.sender.unanswered_probes(), 5);
}

#[test]
fn a_byte_that_probed_and_was_taken_counts_as_sent() {
    let mut bench = Bench::with(SenderOptions::default(), sack(), 0);
    bench.write(2000);
    assert_eq!(bench.run(300), [(300, 1, 1, false)]);
    assert_eq!((bench.sender.snd_nxt(), bench.sender.snd_max()), (1, 2));
    bench.window = 5000;
    assert_eq!(bench.at(350).ack(2), [(350, 2, 1000, false), (350, 1002, 999, false)]);
    assert_eq!(bench.sender.snd_una(), 2);
    // The probe gave no round-trip time.
    assert_eq!(bench.sender.snapshot().latest_rtt, Some(millis(100)));
}

#[test]
fn a_byte_that_probed_may_be_acknowledged_while_what_follows_waits_for_more() {
    let mut bench = Bench::with(SenderOptions::default(), sack(), 0);
    bench.write(10);
    assert_eq!(bench.run(300), [(300, 1, 1, false)]);
    // The window opens before the peer says that it took the byte, and the application announces
    // more.
    bench.window = 5000;
    bench.sender.write(bench.now, Bytes::from_static(b"more"), true, false);
    assert_eq!(bench.at(310).ack(1), []);
    assert_eq!(bench.sender.snd_max(), 2, "the byte may still be acknowledged");
    assert_eq!(bench.at(320).ack(2), []);
    assert_eq!((bench.sender.snd_una(), bench.sender.snd_max()), (2, 2));
    // The hold ends 200 ms after it was asked for; nothing else was due.
    assert_eq!(bench.run(499), []);
    assert_eq!(bench.run(700), [(500, 2, 13, false)]);
}

#[test]
fn a_window_that_closes_again_while_more_is_awaited_is_probed_anew() {
    let mut bench = Bench::with(SenderOptions::default(), sack(), 0);
    bench.write(10);
    assert_eq!(bench.run(300), [(300, 1, 1, false)]);
    bench.window = 5000;
    bench.sender.write(bench.now, Bytes::from_static(b"more"), true, false);
    assert_eq!(bench.at(310).ack(1), []);
    bench.window = 0;
    assert_eq!(bench.at(320).ack(1), []);
    assert_eq!(bench.sender.snd_max(), 2);
    assert_eq!(bench.run(700), [(620, 1, 1, false)]);
}

#[test]
fn linux_probes_with_an_old_sequence_number_and_fin_is_probed_with_itself() {
    let options =
        SenderOptions { window_probe: WindowProbe::OldSequence, ..SenderOptions::default() };
    let mut bench = Bench::with(options, sack(), 0);
    bench.write(10);
    assert_eq!(bench.run(300), [(300, 0, 0, false)]);
    let mut bench = Bench::with(SenderOptions::default(), sack(), 0);
    bench.sender.finish();
    assert_eq!(bench.poll(), []);
    assert_eq!(bench.run(300), [(300, 1, 0, true)]);
    bench.at(310).ack(2);
    assert!(bench.sender.is_fin_acked());
    assert_eq!(bench.sender.next_timeout(), None);
}

#[test]
fn an_acknowledgement_of_what_was_never_sent_changes_nothing() {
    let mut bench = Bench::with(SenderOptions::default(), sack(), 1000);
    bench.write(100);
    let ack = Acknowledgement {
        seq: 100,
        ack: 102,
        window: 5000,
        sack: &[],
        has_sack: false,
        has_data: false,
        rtt: None,
        ece: false,
        overtaken: false,
    };
    assert_eq!(bench.sender.on_ack(ms(1), &ack), crate::tx::AckResult::default());
    assert_eq!((bench.sender.snd_una(), bench.sender.snd_wnd()), (1, 1000));
}

#[test]
fn an_older_segment_does_not_set_the_window_back() {
    let mut bench = Bench::with(SenderOptions::default(), sack(), 1000);
    let mut ack = Acknowledgement {
        seq: 100,
        ack: 1,
        window: 5000,
        sack: &[],
        has_sack: false,
        has_data: false,
        rtt: None,
        ece: false,
        overtaken: false,
    };
    bench.sender.on_ack(ms(0), &ack);
    ack = Acknowledgement { seq: 50, window: 10, ..ack };
    bench.sender.on_ack(ms(1), &ack);
    assert_eq!(bench.sender.snd_wnd(), 5000);
}
