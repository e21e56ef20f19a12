//! Random loss, outages and switchovers on both paths: every message once and in order.

use base::{Duration, Probability};
use netsim::topology::Directions;
use netsim::{LinkConfig, LossModel};
use recovery::policy::RetransmissionPath;
use sctp::{AssociationOptions, PathHint, Redundancy, RisingRtt, SwitchoverPolicy};

use super::paths::{SERVERS, Two};
use crate::support::{T0, address, options, preset};

/// Two lossy paths of different length with outages in turn, sometimes of both.
fn weather(seed: u64) -> [Directions<LinkConfig>; 2] {
    [30, 70].map(|delay| {
        let mut link = LinkConfig::with_delay(Duration::from_millis(delay));
        link.loss = LossModel::Bernoulli(Probability::from_ratio(5, 100));
        let offset = Duration::from_millis(delay * (seed + 3) * 40);
        for round in 1..6u64 {
            let from = T0 + offset + Duration::from_secs(round * (4 + delay / 10));
            link.blackouts.push(from..from + Duration::from_millis(1_500 + delay * 20));
        }
        Directions::both(link)
    })
}

#[test]
fn every_policy_delivers_every_message_once_and_in_order() {
    let rising = SwitchoverPolicy { rising_rtt: Some(RisingRtt::default()), ..Default::default() };
    let redundant =
        SwitchoverPolicy { redundancy: Redundancy::ALL_PATHS, ..SwitchoverPolicy::EVIDENCE };
    let policies = [
        SwitchoverPolicy::TIMEOUTS,
        SwitchoverPolicy::POTENTIALLY_FAILED,
        SwitchoverPolicy::EVIDENCE,
        rising,
        redundant,
    ];
    for (index, switchover) in policies.into_iter().enumerate() {
        for (seed, name) in [(1, "rfc"), (2, "thin"), (3, "freebsd-efr"), (4, "thin")] {
            let mut policy = preset(name);
            if seed % 2 == 0 {
                policy.retransmission_path = RetransmissionPath::Same;
            }
            let options = AssociationOptions {
                switchover,
                heartbeat_interval: Some(Duration::from_secs(2)),
                association_max_retrans: 200,
                ..options(policy)
            };
            let mut two = Two::new(&weather(seed), options);
            for message in 0..300u64 {
                two.at(message * 130);
                two.send(50 + (message as usize * 37) % 2_500);
                if message % 50 == 49 {
                    let hints = [PathHint::Down, PathHint::Up, PathHint::Weak, PathHint::Up];
                    let hint = hints[(message / 50) as usize % 4];
                    let id = two.id;
                    two.sim.with_host(two.client, |peer, now| {
                        peer.endpoint.association_mut(id).unwrap().path_hint(
                            now,
                            address(SERVERS[0]),
                            hint,
                        );
                    });
                }
            }
            two.at(400_000);
            let sizes: Vec<usize> =
                two.server().messages.iter().map(|(_, message)| message.payload.len()).collect();
            let expected: Vec<usize> =
                (0..300).map(|message| 50 + (message * 37) % 2_500).collect();
            assert_eq!(sizes, expected, "policy {index}, {name}");
            let stats = two.stats();
            assert_eq!((stats.outstanding_bytes, stats.queued_bytes), (0, 0));
            let idle = |path: &sctp::PathStats| {
                path.redundant_bytes == 0 && path.recovery.flight.bytes == 0
            };
            assert!(stats.paths.iter().all(idle), "{:?}", stats.paths);
        }
    }
}
