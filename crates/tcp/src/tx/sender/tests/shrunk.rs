//! A window that the peer takes back behind data in flight (RFC 9293, section 3.8.6).

use recovery::policy::TCP_PRESETS;

use super::*;
use crate::tx::WindowProbe;

/// A bench of each preset, which has a round trip of 100 ms and sends each write at once.
fn each_preset() -> impl Iterator<Item = (&'static str, Bench)> {
    TCP_PRESETS.iter().map(|(name, _)| {
        let policy = RecoveryPolicy::tcp_preset(name).unwrap();
        let options = SenderOptions { retries: 3, no_delay: true, ..SenderOptions::default() };
        (*name, Bench::with(options, policy, 100_000))
    })
}

/// Beginnings and lengths of the segments that left.
fn spans(left: &[Left]) -> Vec<(u64, usize)> {
    left.iter().map(|left| (left.1, left.2)).collect()
}

#[test]
fn a_peer_that_closes_its_window_behind_data_in_flight_and_answers_is_never_given_up() {
    for (name, mut bench) in each_preset() {
        bench.write(3000);
        let before = bench.sender.snapshot();
        bench.window = 0;
        let mut probes = Vec::new();
        bench.at(100).ack(1);
        for second in 1..600 {
            probes.extend(bench.run(second * 1000));
            bench.ack(1);
        }
        assert!(spans(&probes).iter().all(|span| *span == (1, 1000)), "{name}: {probes:?}");
        let at: Vec<u64> = probes.iter().map(|probe| probe.0).collect();
        let first = 100 + before.rto.as_millis();
        assert_eq!(at[0], first, "{name}: probed once it was closed for a timeout");
        let mut gap = 2 * before.rto.as_millis();
        let longest = bench.sender.recovery().policy().rto.max.as_millis();
        for pair in at.windows(2) {
            assert_eq!(pair[1] - pair[0], gap, "{name}: doubled, whether thin or not");
            gap = (2 * gap).min(longest);
        }
        // Neither congestion nor back-off: nothing was lost.
        let after = bench.sender.snapshot();
        assert_eq!((after.cwnd, after.ssthresh), (before.cwnd, before.ssthresh), "{name}");
        // A single packet in flight allows for a peer that delays.
        assert!(
            after.rto == before.rto || after.rto == base::Duration::from_millis(325),
            "{name}: {}",
            after.rto
        );
        assert_eq!(bench.sender.timeouts(), 0, "{name}");
        // It opens: all that was dropped goes at once, as far as it takes it.
        bench.window = 2500;
        let now = bench.now.as_nanos() / 1_000_000;
        let opened = bench.ack(1);
        assert_eq!(spans(&opened), [(1, 1000), (1001, 1000), (2001, 500)], "{name}");
        assert!(opened.iter().all(|left| left.0 == now));
        bench.window = 100_000;
        assert_eq!(spans(&bench.ack(2501)), [(2501, 500)], "{name}");
        bench.ack(3001);
        assert!(bench.sender.is_settled());
    }
}

#[test]
fn a_window_that_opens_wide_takes_the_probe_again_too() {
    for (name, mut bench) in each_preset() {
        bench.write(3000);
        bench.window = 0;
        bench.at(100).ack(1);
        let probes = bench.run(5000);
        assert!(probes.len() > 1, "{name}");
        bench.window = 100_000;
        assert_eq!(
            spans(&bench.at(5100).ack(1)),
            [(1, 1000), (1001, 1000), (2001, 1000)],
            "{name}"
        );
        assert_eq!(bench.at(5200).ack(3001), [], "{name}");
        assert_eq!(bench.sender.next_timeout(), None, "{name}");
    }
}

#[test]
fn a_peer_that_closes_its_window_behind_data_in_flight_and_falls_silent_is_given_up() {
    for (name, mut bench) in each_preset() {
        bench.write(1000);
        bench.window = 0;
        bench.at(100).ack(1);
        let probes = bench.run(1_000_000);
        assert_eq!(
            probes.len(),
            5,
            "{name}: as for a window that closed behind nothing: {probes:?}"
        );
        assert!(bench.sender.unanswered_probes() > 3, "{name}");
    }
}

#[test]
fn what_arrived_before_the_window_closed_is_not_sent_again_when_it_opens_soon() {
    for (name, mut bench) in each_preset() {
        bench.write(2000);
        bench.window = 0;
        assert_eq!(bench.at(100).ack(1), [], "{name}");
        bench.window = 50_000;
        assert_eq!(bench.at(150).ack(1), [], "{name}: it is on its way");
        assert_eq!(bench.at(160).ack(2001), [], "{name}");
        assert_eq!(bench.run(5000), [], "{name}");
    }
}

#[test]
fn behind_a_window_that_shrank_to_part_of_the_flight_only_that_part_is_sent_again() {
    for (name, mut bench) in each_preset() {
        bench.write(3000);
        bench.window = 1500;
        bench.at(100).ack(1);
        let again = bench.run(1100);
        assert_eq!(spans(&again)[0], (1, 1000), "{name}");
        assert!(again.iter().all(|left| left.1 + left.2 as u64 <= 1501), "{name}: {again:?}");
        // The peer takes that, and has no more room: what is left waits as behind any closed
        // window.
        bench.window = 500;
        let rest = bench.at(1200).ack(1001);
        assert!(rest.iter().all(|left| left.1 + left.2 as u64 <= 1501), "{name}: {rest:?}");
        bench.window = 0;
        bench.at(1300).ack(1501);
        for second in 1..300 {
            bench.run(1300 + second * 1000);
            bench.ack(1501);
        }
        assert_eq!(bench.sender.timeouts(), 0, "{name}");
        bench.window = 10_000;
        assert_eq!(bench.ack(1501)[0].1, 1501, "{name}");
        bench.ack(3001);
        assert!(bench.sender.is_settled(), "{name}");
    }
}

#[test]
fn an_acknowledgement_of_what_waited_behind_a_closed_window_is_no_round_trip() {
    for (name, mut bench) in each_preset() {
        bench.write(3000);
        bench.window = 0;
        bench.at(100).ack(1);
        bench.run(30_000);
        let before = bench.sender.snapshot().latest_rtt;
        // It had kept what came: all of it is acknowledged half a minute after it was sent.
        bench.window = 10_000;
        bench.at(30_000).ack(3001);
        assert_eq!(bench.sender.snapshot().latest_rtt, before, "{name}");
    }
}

#[test]
fn answers_to_probes_are_no_duplicate_acknowledgements() {
    for (name, mut bench) in each_preset() {
        bench.has_sack = false;
        bench.sender.recovery_mut().set_reports(false);
        bench.write(3000);
        bench.window = 0;
        bench.at(100).ack(1);
        let cwnd = bench.sender.snapshot().cwnd;
        for at in 110..200 {
            assert_eq!(bench.at(at).ack(1), [], "{name}");
        }
        assert_eq!(bench.sender.snapshot().cwnd, cwnd, "{name}");
    }
}

#[test]
fn probes_without_data_probe_a_window_that_closed_behind_data_too() {
    let options =
        SenderOptions { window_probe: WindowProbe::OldSequence, ..SenderOptions::default() };
    let mut bench = Bench::with(options, sack(), 100_000);
    bench.write(1000);
    bench.window = 0;
    bench.at(100).ack(1);
    assert_eq!(bench.run(1000), [(400, 0, 0, false), (1000, 0, 0, false)]);
    bench.window = 10_000;
    assert_eq!(bench.at(1010).ack(1), [(1010, 1, 1000, false)]);
}

#[test]
fn a_fin_behind_a_window_that_closed_is_the_probe() {
    for (name, mut bench) in each_preset() {
        bench.write(100);
        bench.sender.finish();
        bench.poll();
        bench.window = 0;
        bench.at(50).ack(101);
        let probes = bench.run(10_000);
        assert!(probes.iter().all(|probe| (probe.1, probe.2, probe.3) == (101, 0, true)), "{name}");
        assert!(!probes.is_empty(), "{name}");
        bench.ack(102);
        assert!(bench.sender.is_fin_acked(), "{name}");
        assert_eq!(bench.sender.next_timeout(), None, "{name}");
    }
}
