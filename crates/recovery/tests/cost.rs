//! Allocations of sending and acknowledging: none per packet, however much is outstanding.

use std::sync::Arc;

use base::{Duration, Instant};
use recovery::policy::Protocol;
use recovery::{
    Feedback, GapRanges, Load, PathId, Recovery, RecoveryPolicy, RecoveryStats, Silence,
};

const ORIGIN: u64 = 1 << 32;

/// A sender with `outstanding` packets in flight, each acknowledged one round trip later.
struct Stream {
    recovery: Recovery,
    now: Instant,
    acknowledged: u64,
}

impl Stream {
    fn new(outstanding: u64) -> Stream {
        let policy = Arc::new(RecoveryPolicy::sctp_thin());
        let recovery = Recovery::new(policy, Silence::Missing, 1460, ORIGIN);
        let mut stream = Stream { recovery, now: Instant::ZERO, acknowledged: ORIGIN };
        (0..outstanding).for_each(|_| stream.send());
        stream
    }

    fn send(&mut self) {
        self.now += Duration::from_micros(100);
        self.recovery.begin_burst();
        self.recovery.may_send(self.now, PathId::FIRST, Load::New);
        self.recovery.draft_new(PathId::FIRST, 1, 100);
        self.recovery.on_sent(self.now, PathId::FIRST);
    }

    fn acknowledge(&mut self, gaps: &GapRanges) {
        self.acknowledged += 1;
        let view = Feedback::of_all(self.acknowledged, gaps);
        self.recovery.on_feedback(self.now, &view, 0);
    }
}

#[test]
fn a_packet_and_its_acknowledgement_allocate_nothing_whatever_is_outstanding() {
    for outstanding in [1, 100, 10_000] {
        let mut stream = Stream::new(outstanding);
        let nothing = GapRanges::new();
        // The queues grow to their final size once.
        for _ in 0..2 * outstanding {
            stream.send();
            stream.acknowledge(&nothing);
        }
        let counted = allocation_counter::measure(|| {
            for _ in 0..1_000 {
                stream.send();
                stream.acknowledge(&nothing);
            }
        });
        assert_eq!(counted.count_total, 0, "with {outstanding} outstanding");
    }
}

#[test]
fn a_gap_report_that_stays_costs_nothing_again() {
    let mut stream = Stream::new(1_000);
    let mut gaps = GapRanges::new();
    gaps.push(ORIGIN + 500..ORIGIN + 700);
    stream.acknowledge(&gaps);
    let counted = allocation_counter::measure(|| {
        (0..200).for_each(|_| stream.acknowledge(&gaps));
    });
    assert_eq!(counted.count_total, 0);
    let flight = stream.recovery.ledger().flight(PathId::FIRST);
    assert_eq!((flight.packets, flight.bytes), (1_000 - 201 - 200, 100 * (1_000 - 201 - 200)));
}

#[test]
fn memory_goes_back_when_all_is_acknowledged() {
    let counted = allocation_counter::measure(|| {
        let mut stream = Stream::new(10_000);
        let nothing = GapRanges::new();
        (0..10_000).for_each(|_| stream.acknowledge(&nothing));
        let held = allocation_counter::measure(|| drop(stream));
        assert!(-held.bytes_current < 4_096, "{} bytes held", -held.bytes_current);
    });
    assert_eq!(counted.bytes_current, 0);
}

/// A sender of one message at a time, whose first `lost` messages arrive by their retransmission,
/// and who has sent for minutes since.
fn after_losses(policy: &Arc<RecoveryPolicy>, silence: Silence, lost: u64) -> Recovery {
    let mut recovery = Recovery::new(Arc::clone(policy), silence, 1460, ORIGIN);
    let mut now = Instant::ZERO;
    for message in 0..lost + 300 {
        now += Duration::from_secs(1);
        recovery.begin_burst();
        let unit = recovery.draft_new(PathId::FIRST, 1, 100);
        recovery.on_sent(now, PathId::FIRST);
        while message < lost && recovery.ledger().lost_on(unit).is_some() {
            now = recovery.next_timeout().expect("a timer runs for what was lost");
            recovery.on_timeout(now, false, 0);
            if let Some((unit, weight)) = recovery.next_again(PathId::FIRST, 0) {
                recovery.draft_again(now, PathId::FIRST, unit, weight);
                recovery.on_sent(now, PathId::FIRST);
                break;
            }
        }
        now += Duration::from_millis(50);
        let gaps = GapRanges::new();
        recovery.on_feedback(now, &Feedback::of_all(unit + 1, &gaps), 0);
    }
    recovery
}

/// Bytes that a value holds beside itself.
fn held<T>(value: T) -> i64 {
    -allocation_counter::measure(|| drop(value)).bytes_current
}

#[test]
fn memory_of_losses_goes_back_but_for_their_counts() {
    let counts = size_of::<RecoveryStats>() as i64;
    for protocol in [Protocol::Sctp, Protocol::Tcp] {
        let silence = if protocol == Protocol::Sctp { Silence::Missing } else { Silence::Nothing };
        for (preset, _) in protocol.presets() {
            let policy = Arc::new(RecoveryPolicy::of_preset(protocol, preset).unwrap());
            let lossy = after_losses(&policy, silence, 40);
            assert!(lossy.stats().retransmissions.total() >= 40, "{protocol} {preset}");
            let [none, many] = [after_losses(&policy, silence, 0), lossy].map(held);
            assert!(many <= none + counts, "{protocol} {preset}: {none} and {many} bytes");
        }
    }
}

/// TCP: one segment is lost, and each later one is reported, with as many in flight as before.
#[test]
fn reports_that_add_up_allocate_nothing_whatever_is_outstanding() {
    for outstanding in [10, 10_000] {
        let policy = Arc::new(RecoveryPolicy::tcp_sack());
        let mut recovery = Recovery::new(policy, Silence::Nothing, 1000, 1);
        let mut now = Instant::ZERO;
        let send = |recovery: &mut Recovery, now: &mut Instant| {
            *now += Duration::from_micros(10);
            recovery.draft_new(PathId::FIRST, 1000, 1000);
            recovery.on_sent(*now, PathId::FIRST);
        };
        (0..3 * outstanding).for_each(|_| send(&mut recovery, &mut now));
        let mut reported = 1001;
        let mut report = |recovery: &mut Recovery, now: Instant| {
            reported += 1000;
            let blocks = GapRanges::from_iter(core::iter::once(1001..reported));
            let ranges = Some(&blocks);
            let ack = Feedback { ranges, duplicate: true, ..Feedback::up_to(1) };
            recovery.on_feedback(now, &ack, 0);
        };
        // The first reports reveal the loss, and grow the scoreboard to its size.
        (0..5).for_each(|_| report(&mut recovery, now));
        let counted = allocation_counter::measure(|| {
            (0..outstanding).for_each(|_| report(&mut recovery, now));
        });
        assert_eq!(counted.count_total, 0, "with {outstanding} outstanding");
    }
}
