//! The policy is replaced during a connection: no data is lost, and the new policy repairs the next
//! loss.

use std::sync::Arc;

use base::{Duration, Instant, Probability};
use netsim::link::ProfileStep;
use netsim::topology::Directions;
use netsim::{LinkConfig, LossModel};
use recovery::RetransmissionCounts;
use recovery::policy::TCP_PRESETS;

use crate::support::{Pair, half};
use crate::{RTT, options, preset};

impl Pair {
    /// Replaces the policy of the client's connection.
    fn switch(&mut self, name: &str) {
        let policy = options(preset(name)).policy;
        self.sim.with_host(self.client, |peer, now| {
            let id = peer.id.unwrap();
            peer.endpoint.connection_mut(id).unwrap().set_policy(now, Arc::clone(&policy));
            assert_eq!(peer.endpoint.connection(id).unwrap().options().policy, policy);
        });
    }
}

#[test]
fn nothing_is_lost_while_policies_follow_each_other_in_a_lossy_transfer() {
    let lossy =
        LinkConfig { loss: LossModel::Bernoulli(Probability::from_ratio(3, 100)), ..half(RTT) };
    let links = Directions { forward: lossy.clone(), backward: lossy };
    for seed in 0..3 {
        let mut pair =
            Pair::new(links.clone(), options(preset("rfc")), options(preset("rfc")), seed);
        pair.exchange(6_000_000, 200_000);
        for (name, _) in TCP_PRESETS.iter().cycle().take(4 * TCP_PRESETS.len()) {
            pair.switch(name);
            pair.run_for(Duration::from_millis(270));
        }
        assert!(pair.server().received < 6_000_000, "all were in the middle of it");
        pair.finish(Duration::from_secs(600));
    }
}

const SCENE: Duration = Duration::from_secs(8);
/// Time from the scene's beginning, when the policy is replaced, to its first lost message.
const LEAD: Duration = Duration::from_secs(4);
const MESSAGE: u32 = 100;

/// Segments after the scene's first loss: milliseconds since then, the first message in the
/// segment, and the number of messages.
type Left = (u64, u32, usize);

/// Units retransmitted by the timer, by evidence in acknowledgements, and by a short timer; and the
/// slow start threshold afterwards, in segments.
type Verdict = ([u64; 3], u64);

/// A connection whose path loses the segments sent 0 and 60 ms after the lead of each of `count`
/// scenes.
fn scenes(count: usize) -> (Pair, Vec<Instant>) {
    let starts: Vec<Instant> =
        (0..count as u64).map(|index| Instant::from_millis(2000) + SCENE * index).collect();
    let mut forward = half(RTT);
    for (start, lost) in starts.iter().flat_map(|start| [(*start, 0), (*start, 60)]) {
        let at = start + LEAD + Duration::from_millis(lost);
        let all = LossModel::Bernoulli(Probability::ONE);
        for (at, loss) in [(at, all), (at + Duration::from_millis(1), LossModel::None)] {
            forward.profile.push(ProfileStep { at, loss: Some(loss), ..ProfileStep::default() });
        }
    }
    let links = Directions { forward, backward: half(RTT) };
    (Pair::new(links, options(preset("rfc")), options(preset("rfc")), 1), starts)
}

impl Pair {
    fn run_until(&mut self, at: Instant) {
        self.run_for(at.since(self.sim.now()));
    }

    /// Replaces the policy; bulk opens the window, and messages follow one by one. Then messages 0
    /// to 4 leave after 0, 20, 60, 130 and 140 ms, of which two are lost.
    fn play(&mut self, name: &str, start: Instant) -> (Vec<Left>, Verdict) {
        self.run_until(start);
        self.switch(name);
        self.write(100_000);
        self.run_for(Duration::from_secs(2));
        for _ in 0..10 {
            self.write(u64::from(MESSAGE));
            self.run_for(RTT);
        }
        let (first, before) = (self.client().to_send as u32, self.info().recovery.retransmissions);
        let begins = start + LEAD;
        for after in [0, 20, 60, 130, 140] {
            self.run_until(begins + Duration::from_millis(after));
            self.write(u64::from(MESSAGE));
        }
        self.run_until(start + SCENE);
        assert_eq!(self.server().received, self.client().to_send, "{name}");
        let sent = self.data_sent().into_iter().filter(|(_, offset, _)| *offset >= first);
        let since = begins.as_nanos() / 1_000_000;
        let told = |(at, offset, length): (u64, u32, usize)| -> Left {
            (at - since, (offset - first) / MESSAGE, length / MESSAGE as usize)
        };
        let info = self.info();
        let after = info.recovery.retransmissions;
        let by_timer = |counts: RetransmissionCounts| counts.timeout + counts.bundled;
        let counts = [
            by_timer(after) - by_timer(before),
            after.fast - before.fast,
            after.early - before.early,
        ];
        (sent.map(told).collect(), (counts, info.path.ssthresh / u64::from(info.send_mss)))
    }
}

/// First transmissions, where no copy rides along and no window limits them.
const FIRST: [Left; 5] = [(0, 0, 1), (20, 1, 1), (60, 2, 1), (130, 3, 1), (140, 4, 1)];

/// The third duplicate arrives at 240 ms, the first at 120; 200 ms is the least timeout of all but
/// the first two.
#[test]
fn each_policy_that_takes_over_repairs_the_same_losses_in_its_own_way() {
    let expected: [(&str, &[Left], Verdict); 14] = [
        // SACK shows both holes at once, and without it one appears per round trip.
        ("rfc", &[(240, 0, 1), (240, 2, 1)], ([0, 2, 0], 2)),
        ("newreno", &[(240, 0, 1), (340, 2, 1)], ([0, 2, 0], 2)),
        // The timer expires first, and all data is retransmitted.
        ("sack", &[(200, 0, 5)], ([5, 0, 0], 2)),
        // The first duplicate of each. By time, the second hole needs no report of its own (RACK).
        ("thin", &[(120, 0, 1), (220, 2, 1)], ([0, 2, 0], 2)),
        // The last segment is retransmitted as well, since there is room (RFC 6675, NextSeg, rule
        // 4).
        ("vegas", &[(120, 0, 1), (220, 2, 1), (220, 4, 1)], ([0, 1, 2], 2)),
        // As before, by the age of the missing data, but of a window of ten segments five remain.
        ("er", &[(120, 0, 1), (220, 2, 1), (220, 4, 1)], ([0, 1, 2], 5)),
        ("thin-rdb", &[], ([0, 0, 0], 5)),
        ("linux", &[], ([0, 2, 0], 7)),
        ("latency", &[], ([0, 0, 0], 2)),
        ("latency-max", &[], ([0, 0, 0], 2)),
        // The timer at a round trip and a millisecond. That probe left behind others, over a line
        // that no probe has passed yet, so that the second hole waits for a report.
        ("latency-lean", &[(101, 0, 1), (230, 2, 1)], ([1, 1, 0], 2)),
        ("thin-paper", &[(120, 0, 1), (220, 4, 1), (230, 2, 1)], ([0, 3, 0], 2)),
        ("thin-rdb-paper", &[], ([0, 0, 0], 2)),
        // As `sack`, but the window counts packets: half of its ten is left, not of the flight.
        ("ns-2", &[(200, 0, 5)], ([5, 0, 0], 5)),
    ];
    assert!(TCP_PRESETS.iter().all(|(name, _)| expected.iter().any(|row| row.0 == *name)));
    let (mut pair, starts) = scenes(expected.len());
    for ((name, again, verdict), start) in expected.into_iter().zip(starts) {
        let mut sent = [&FIRST, again].concat();
        match name {
            // Each segment carries all unacknowledged data: no retransmission is needed, and no
            // window falls. The brake's earlier trials of copies found no queue.
            "thin-rdb" | "thin-rdb-paper" | "latency" => {
                sent = vec![(0, 0, 1), (20, 0, 2), (60, 0, 3), (130, 2, 2), (140, 2, 3)];
            }
            // A segment without a successor for a seventh of the round trip is copied. A repair by
            // a copy lowers the window.
            "latency-max" => {
                sent = vec![
                    (0, 0, 1),
                    (14, 0, 1),
                    (20, 0, 2),
                    (34, 1, 1),
                    (60, 0, 3),
                    (74, 2, 1),
                    (130, 2, 2),
                    (140, 2, 3),
                    (154, 4, 1),
                ];
            }
            // RACK: a quarter of the smoothed round trip after the first report, which includes the
            // receiver's delay: the shortest round trip was forgotten while `thin` was
            // idle.
            "linux" => {
                sent = vec![
                    (0, 0, 1),
                    (20, 1, 1),
                    (60, 2, 1),
                    (130, 3, 1),
                    (140, 4, 1),
                    (175, 0, 1),
                    (230, 2, 1),
                ];
            }
            _ => sent.sort_unstable(),
        }
        assert_eq!(pair.play(name, start), (sent, verdict), "{name}");
    }
}
