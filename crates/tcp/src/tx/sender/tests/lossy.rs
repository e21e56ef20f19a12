//! The sending side over a network that loses, delays and overtakes, to a receiver of a few lines:
//! whatever the policy, every byte arrives, and nothing leaves that the windows do not allow.

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

/// Messages that the application writes.
const MESSAGES: u64 = 60;

/// An arrival: a segment's first offset and its length, or an acknowledgement.
type Arrival = Result<(u64, u64), Ack>;

/// A sender, a receiver, and a network that loses and overtakes; times in ms.
struct World {
    bench: Bench,
    receiver: Receiver,
    /// Segments in flight, by arrival and in the order of sending.
    flying: BTreeMap<(u64, u64), Arrival>,
    left: u64,
    random: u64,
    /// Packets lost of 256, each way.
    loss: u64,
    /// Bytes of a message, and the time between two.
    message: usize,
    gap: u64,
    now: u64,
    written: u64,
    delivered: u64,
    /// Sum of the times that the receiver's application waited for its messages.
    waited: u64,
}

impl World {
    fn new(preset: &str, has_sack: bool, seed: u64, loss: u64, message: usize, gap: u64) -> World {
        let mut bench = Bench::new(RecoveryPolicy::tcp_preset(preset).unwrap());
        bench.sender.options.retries = 255;
        let mut got = vec![false; MESSAGES as usize * message + 1];
        got[0] = true;
        let receiver = Receiver { got, next: 1, has_sack, recent: Vec::new(), window: 20_000 };
        let (flying, random) = (BTreeMap::new(), seed | 1);
        let (left, now, written, delivered, waited) = (0, 0, 0, 0, 0);
        World {
            bench,
            receiver,
            flying,
            left,
            random,
            loss,
            message,
            gap,
            now,
            written,
            delivered,
            waited,
        }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % below
    }

    /// A segment or an acknowledgement leaves; it is lost or arrives after 20 ms and up to `jitter`
    /// more.
    fn launch(&mut self, jitter: u64, what: Arrival) {
        self.left += 1;
        if self.random(256) >= self.loss {
            let at = self.now + 20 + self.random(jitter);
            self.flying.insert((at, self.left), what);
        }
    }

    fn write(&mut self) {
        if self.written < MESSAGES && self.now >= self.written * self.gap {
            let data = Bytes::from(vec![1; self.message]);
            let taken = self.bench.sender.write(self.bench.now, data, false, false);
            assert_eq!(taken, self.message);
            self.written += 1;
        }
    }

    fn arrive(&mut self) {
        while let Some(next) = self.flying.first_entry().filter(|next| next.key().0 <= self.now) {
            match next.remove() {
                Ok((start, len)) => {
                    let ack = self.receiver.on_segment(start, len);
                    self.deliver();
                    self.launch(20, Err(ack));
                }
                Err(ack) => self.acknowledge(&ack),
            }
        }
    }

    fn deliver(&mut self) {
        let whole = (self.receiver.next - 1) / self.message as u64;
        for message in self.delivered..whole {
            self.waited += self.now - message * self.gap;
        }
        self.delivered = whole;
    }

    fn acknowledge(&mut self, Ack { ack, sack }: &Ack) {
        let ack = Acknowledgement {
            seq: 1,
            ack: *ack,
            window: self.receiver.window,
            sack,
            has_sack: self.receiver.has_sack,
            has_data: false,
            rtt: None,
            ece: false,
            overtaken: false,
        };
        assert!(ack.ack <= self.bench.sender.snd_max());
        self.bench.sender.on_ack(self.bench.now, &ack);
    }

    fn send(&mut self) {
        if self.bench.sender.next_timeout().is_some_and(|due| due <= self.bench.now) {
            self.bench.sender.on_timeout(self.bench.now);
        }
        for segment in self.bench.poll_all() {
            let (start, len) = (segment.start, segment.bytes as u64);
            let una = self.bench.sender.snd_una();
            assert!(start + len <= una + 100_000, "beyond the window");
            self.launch(30, Ok((start, len)));
        }
    }

    /// Whether all is acknowledged, which then must be true.
    fn is_done(&self) -> bool {
        let sender = &self.bench.sender;
        let done = self.written == MESSAGES && sender.snd_una() == self.receiver.got.len() as u64;
        if done {
            assert_eq!(sender.snapshot().flight, recovery::Flight::default());
            assert_eq!(sender.recovery().ledger().redundant_bytes(PathId::FIRST), 0);
            assert!(self.receiver.got.iter().all(|got| *got));
        }
        done
    }

    /// Time at which something happens next.
    fn next(&self) -> Option<u64> {
        let timer = self.bench.sender.next_timeout();
        let timer = timer.map(|due| due.as_nanos().div_ceil(1_000_000));
        let write_at = (self.written < MESSAGES).then_some(self.written * self.gap);
        let arrival = self.flying.keys().next().map(|(at, _)| *at);
        [timer, write_at, arrival].into_iter().flatten().min()
    }
}

/// Sends messages of `write` bytes, one each `gap` ms, with `loss` of 256 packets lost each way.
/// Answers how long the receiver's application waited for them, in sum, in ms.
fn run(preset: &str, has_sack: bool, seed: u64, loss: u64, write: usize, gap: u64) -> u64 {
    let mut world = World::new(preset, has_sack, seed, loss, write, gap);
    loop {
        world.bench.now = ms(world.now);
        world.write();
        world.arrive();
        world.send();
        if world.is_done() {
            return world.waited;
        }
        let Some(next) = world.next() else { panic!("{preset}: nothing will ever happen") };
        world.now = next.max(world.now + 1);
        assert!(world.now < 50_000_000, "{preset}: no progress");
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
