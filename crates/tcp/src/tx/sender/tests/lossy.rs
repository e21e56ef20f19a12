//! The sending side over a network that loses, delays and overtakes, to a receiver of a few lines: whatever
//! the policy, every byte arrives, and nothing leaves that the windows do not allow.

use std::collections::BTreeMap;

use core::ops::Range;
use proptest::prelude::*;
use recovery::TCP_PRESETS;

use super::*;

/// A receiver that acknowledges every segment at once.
struct Receiver {
    got: Vec<bool>,
    next: u64,
    has_sack: bool,
    recent: Vec<u64>,
    window: u64,
}

struct Ack {
    ack: u64,
    sack: Vec<Range<u64>>,
}

impl Receiver {
    fn on_segment(&mut self, start: u64, len: u64) -> Ack {
        let duplicate = (start..start + len).take_while(|at| self.got[*at as usize]).count() as u64;
        for at in start..start + len {
            self.got[at as usize] = true;
        }
        while self.got.get(self.next as usize) == Some(&true) {
            self.next += 1;
        }
        let mut sack = Vec::new();
        if self.has_sack {
            if duplicate > 0 {
                sack.push(start..start + duplicate);
            }
            self.recent.retain(|at| *at != start);
            self.recent.insert(0, start);
            self.recent.truncate(8);
            for at in &self.recent {
                if sack.len() == 3 {
                    break;
                }
                let block = self.block_at(*at);
                if *at >= self.next && !sack.contains(&block) {
                    sack.push(block);
                }
            }
        }
        Ack { ack: self.next, sack }
    }

    fn block_at(&self, at: u64) -> Range<u64> {
        let (mut start, mut end) = (at, at);
        while start > self.next && self.got[start as usize - 1] {
            start -= 1;
        }
        while self.got.get(end as usize) == Some(&true) {
            end += 1;
        }
        start..end
    }
}

/// Sends `total` bytes, `write` at a time each `gap` ms, with `loss` of 256 packets lost each way. Answers
/// how long the receiver's application waited for them, in sum, in ms.
fn run(preset: &str, has_sack: bool, seed: u64, loss: u64, write: usize, gap: u64) -> u64 {
    let mut state = seed | 1;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    };
    let total = 60 * write as u64;
    let mut bench = Bench::new(RecoveryPolicy::tcp_preset(preset).unwrap());
    bench.sender.options.retries = 255;
    let got = vec![false; total as usize + 1];
    let mut receiver = Receiver { got, next: 1, has_sack, recent: Vec::new(), window: 20_000 };
    receiver.got[0] = true;
    let mut events: BTreeMap<(u64, u64), Result<(u64, u64), Ack>> = BTreeMap::new();
    let (mut written, mut count, mut now, mut delivered, mut waited) = (0, 0, 0, 0, 0);
    loop {
        bench.now = ms(now);
        if written < 60 && now >= written * gap {
            let data = Bytes::from(vec![1; write]);
            assert_eq!(bench.sender.write(bench.now, data, false, false), write);
            written += 1;
        }
        while let Some((at, _)) = events.keys().next().copied()
            && at <= now
        {
            let Some((_, event)) = events.pop_first() else { break };
            let ack = match event {
                Ok((start, len)) => {
                    let ack = receiver.on_segment(start, len);
                    count += 1;
                    while (delivered + 1) * (write as u64) < receiver.next && delivered < 60 {
                        waited += now - delivered * gap;
                        delivered += 1;
                    }
                    if random(256) >= loss {
                        events.insert((now + 20 + random(20), count), Err(ack));
                    }
                    continue;
                }
                Err(ack) => ack,
            };
            let ack = Acknowledgement {
                seq: 1,
                ack: ack.ack,
                window: receiver.window,
                sack: &ack.sack,
                has_sack,
                has_data: false,
                rtt: None,
                ece: false,
            };
            assert!(ack.ack <= bench.sender.snd_max());
            bench.sender.on_ack(bench.now, &ack);
        }
        if bench.sender.next_timeout().is_some_and(|due| due <= bench.now) {
            bench.sender.on_timeout(bench.now);
        }
        for segment in bench.poll_all() {
            let (start, len) = (segment.start, segment.len() as u64);
            assert!(start + len <= bench.sender.snd_una() + 100_000, "beyond the window");
            count += 1;
            if random(256) >= loss {
                events.insert((now + 20 + random(30), count), Ok((start, len)));
            }
        }
        if written == 60 && bench.sender.snd_una() == total + 1 {
            assert_eq!(bench.sender.snapshot().flight, recovery::Flight::default());
            assert_eq!(bench.sender.recovery().ledger().redundant_bytes(0), 0);
            assert!(receiver.got.iter().all(|got| *got));
            return waited;
        }
        let timer = bench.sender.next_timeout().map(|due| due.as_nanos().div_ceil(1_000_000));
        let write_at = (written < 60).then_some(written * gap);
        let event = events.keys().next().map(|(at, _)| *at);
        let next = [timer, write_at, event].into_iter().flatten().min();
        let Some(next) = next else { panic!("{preset}: nothing will ever happen") };
        now = next.max(now + 1);
        assert!(now < 50_000_000, "{preset}: no progress");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_byte_arrives_whatever_the_policy_and_the_network_do(
        seed in any::<u64>(),
        loss in 0u64..80,
        write in prop_oneof![Just(30usize), 1usize..2500],
        gap in prop_oneof![Just(0u64), Just(24), 0u64..300],
        has_sack in any::<bool>(),
    ) {
        for (preset, _) in TCP_PRESETS {
            run(preset, has_sack, seed, loss, write, gap);
        }
    }
}

#[test]
fn bundling_repairs_losses_of_a_thin_stream_sooner_than_anything_else() {
    let sum = |preset| (1..20).map(|seed| run(preset, true, seed, 12, 30, 24)).sum::<u64>();
    let (plain, bundled) = (sum("sack"), sum("thin-rdb"));
    assert!(bundled < plain * 3 / 4, "{bundled} ms against {plain} ms");
}
