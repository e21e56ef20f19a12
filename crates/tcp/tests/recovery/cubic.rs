//! CUBIC's window over a connection against its closed form (RFC 9438, equation 1).

use base::{Duration, Instant};
use netsim::topology::Directions;
use netsim::{LinkConfig, LossModel};
use recovery::congestion::cubic::{cubic_window, time_to_plateau};

use crate::support::{Pair, half};
use crate::{options, preset};

const LONG: Duration = Duration::from_millis(200);

#[test]
fn the_window_of_a_connection_follows_the_closed_form() {
    // The 200th packet is lost, in slow start. The round trip of 200 ms is so long that Reno is
    // slower.
    let links = Directions {
        forward: LinkConfig { loss: LossModel::List(vec![200]), ..half(LONG) },
        backward: half(LONG),
    };
    let mut pair = Pair::new(links, options(preset("linux")), options(preset("linux")), 1);
    pair.write(1 << 40);
    // Until the window has fallen and recovery is over.
    let limit = pair.sim.now() + Duration::from_secs(10);
    while pair.info().recovery.fast_recoveries == 0 {
        pair.run_for(Duration::from_millis(1));
        assert!(pair.sim.now() < limit, "nothing was lost");
    }
    // Seven tenths of the earlier window.
    let after = pair.info().path.ssthresh;
    let before = after * 10 / 7;
    assert_eq!(pair.info().recovery.fast_recoveries, 1);
    pair.run_for(LONG + LONG / 2);
    // Congestion avoidance began when the retransmission was acknowledged, about a round trip
    // later.
    let smss = u64::from(pair.info().send_mss);
    let epoch = pair.sim.now().before(LONG / 2);
    let k = time_to_plateau(before, after, smss);
    let mut checked = 0;
    for _ in 0..20 {
        pair.run_for(Duration::from_millis(500));
        let elapsed: Duration = pair.sim.now().since(epoch);
        let cwnd = pair.info().path.cwnd;
        let (low, high) = (
            cubic_window(before, k, elapsed.saturating_sub(LONG * 2), smss),
            cubic_window(before, k, elapsed + LONG * 2, smss),
        );
        let range = low.saturating_sub(2 * smss)..=high + 2 * smss;
        assert!(range.contains(&cwnd), "after {elapsed:?}: {cwnd} not in {range:?}");
        checked += 1;
    }
    assert_eq!(checked, 20);
    assert!(pair.sim.now() > Instant::ZERO + Duration::from_secs(10));
}
