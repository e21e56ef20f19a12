//! The preset `linux`: RACK-TLP, F-RTO, undo.

use base::{Duration, Instant};
use netsim::link::ProfileStep;
use netsim::topology::Directions;
use netsim::{LinkConfig, LossModel};

use crate::support::{Pair, half};
use crate::{RTT, options, preset};

/// Two messages of 100 bytes at 1 s, both lost: SYN and ACK come first.
fn two_lost(name: &str) -> Pair {
    let links = Directions {
        forward: LinkConfig { loss: LossModel::List(vec![3, 4]), ..half(RTT) },
        backward: half(RTT),
    };
    let mut pair = Pair::new(links, options(preset(name)), options(preset(name)), 1);
    pair.run_for(Duration::from_secs(1));
    pair.write(100);
    pair.write(100);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.server().received, 200);
    pair
}

#[test]
fn a_lost_tail_is_probed_for_after_two_round_trips_and_its_acknowledgement_shows_the_rest() {
    let pair = two_lost("linux");
    assert_eq!(
        pair.data_sent(),
        [
            (1000, 0, 100),
            (1000, 100, 100),
            (1200, 100, 100), // the probe: 2 · 100 ms after the last
            (1300, 0, 100),   // what its SACK shows to be missing
        ]
    );
    let stats = pair.info().recovery;
    assert_eq!((stats.probes, stats.timeouts, stats.retransmissions.fast), (1, 0, 1));
}

#[test]
fn without_probes_the_timer_has_to_expire() {
    let pair = two_lost("sack");
    // RTO = 100 + 4 · 50 ms.
    assert_eq!(pair.data_sent()[2], (1300, 0, 200));
    assert_eq!(pair.info().recovery.timeouts, 1);
}

/// A stream of segments, one each 10 ms, over a path that becomes longer by 400 ms at 3 s.
fn longer(name: &str) -> Pair {
    let mut link = half(RTT);
    link.profile = vec![ProfileStep {
        at: Instant::from_millis(3000),
        delay: Some(RTT / 2 + Duration::from_millis(400)),
        ..ProfileStep::default()
    }];
    let links = Directions { forward: link, backward: half(RTT) };
    let mut pair = Pair::new(links, options(preset(name)), options(preset(name)), 1);
    pair.run_for(Duration::from_secs(1));
    for _ in 0..400 {
        pair.write(1000);
        pair.run_for(Duration::from_millis(10));
    }
    pair.run_for(Duration::from_secs(10));
    assert_eq!(pair.server().received, 400_000);
    pair
}

#[test]
fn a_timeout_that_a_longer_path_caused_is_found_out_and_taken_back() {
    let linux = longer("linux").info().recovery;
    assert!(linux.timeouts + linux.probes >= 1, "{linux:?}");
    assert!(linux.undone >= linux.timeouts.min(1), "{linux:?}");
    let plain = longer("sack").info().recovery;
    assert!(plain.timeouts >= 1 && plain.undone == 0, "{plain:?}");
    let (with, without) = (linux.retransmissions.total(), plain.retransmissions.total());
    assert!(with * 4 < without, "{with} retransmissions, {without} without");
}
