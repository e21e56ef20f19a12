//! The ledger against a naive model that keeps everything in plain vectors and recomputes every
//! answer.

use core::ops::Range;

use proptest::prelude::*;

use super::super::*;
use super::lost_count;
use crate::feedback::Feedback;

/// Both paths on which generated operations send.
const PATHS: [PathId; 2] = [PathId::FIRST, PathId::at(1)];

/// A unit as the model sees it.
#[derive(Clone, Copy, Debug)]
struct ModelUnit {
    start: u64,
    len: u32,
    weight: u32,
    fate: Fate,
    /// Index of the latest packet that carried it.
    packet: usize,
    transmissions: u32,
    fast: bool,
    reneged: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Outstanding,
    GapAcked,
    Lost(Cause),
    Acked,
}

/// The model's packet: only the units that it carried.
#[derive(Clone, Debug)]
struct ModelPacket {
    path: PathId,
    sent_at: Instant,
    units: Vec<u64>,
    misses: u32,
    /// All its units were sent for the first time.
    clean: bool,
}

#[derive(Debug, Default)]
struct Model {
    units: Vec<ModelUnit>,
    packets: Vec<ModelPacket>,
}

impl Model {
    fn is_live(&self, packet: usize) -> bool {
        self.units.iter().any(|unit| unit.packet == packet && unit.fate == Fate::Outstanding)
    }

    fn live(&self, path: PathId) -> Vec<usize> {
        (0..self.packets.len())
            .filter(|packet| self.packets[*packet].path == path && self.is_live(*packet))
            .collect()
    }

    fn flight(&self, path: PathId) -> Flight {
        let on_path = |unit: &&ModelUnit| {
            unit.fate == Fate::Outstanding && self.packets[unit.packet].path == path
        };
        Flight {
            packets: self.live(path).len() as u32,
            bytes: self.units.iter().filter(on_path).map(|unit| u64::from(unit.weight)).sum(),
        }
    }

    fn lost(&self) -> Vec<u64> {
        let lost = self.units.iter().filter(|unit| matches!(unit.fate, Fate::Lost(_)));
        lost.map(|unit| unit.start).collect()
    }

    fn unit(&mut self, start: u64) -> &mut ModelUnit {
        self.units.iter_mut().find(|unit| unit.start == start).unwrap()
    }

    fn lose(&mut self, packet: usize, repeat: bool, cause: Cause) -> bool {
        let mut any = false;
        for unit in &mut self.units {
            let eligible = !unit.fast || repeat;
            if unit.packet == packet && unit.fate == Fate::Outstanding && eligible {
                unit.fate = Fate::Lost(cause);
                any = true;
            }
        }
        any
    }
}

/// Ledger and model with the same input.
struct Twin {
    ledger: Ledger,
    model: Model,
    now: Instant,
    last_ack: AckReport,
    /// The model's number of the latest packet that the last acknowledgement found delivered, per
    /// path.
    last_largest: [Option<usize>; 2],
    reneged: bool,
}

/// One step of a run. Numbers are choices, brought into range where they are used.
#[derive(Clone, Debug)]
enum Step {
    /// A packet: up to `again` retransmissions of lost units, then `new` new units of `len` steps.
    Send {
        path: PathId,
        again: u8,
        new: u8,
        len: u8,
        weight: u16,
    },
    /// The cumulative point advances by up to `advance` units; each set bit of `gaps` is a unit
    /// that arrived beyond it. If `renege`, earlier reports that are not in `gaps` are revoked.
    Ack {
        advance: u8,
        gaps: u32,
        renege: bool,
        duplicates: u8,
    },
    /// The last acknowledgement again, without news.
    Repeat,
    Misses {
        threshold: u8,
        repeat: bool,
    },
    Timeout {
        path: PathId,
        age: u8,
    },
}

fn path() -> impl Strategy<Value = PathId> {
    prop::sample::select(&PATHS[..])
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (path(), 0u8..4, 0u8..4, 1u8..4, 1u16..1500).prop_map(
            |(path, again, new, len, weight)| Step::Send { path, again, new, len, weight }
        ),
        4 => (0u8..5, any::<u32>(), prop::bool::weighted(0.2), any::<u8>()).prop_map(
            |(advance, gaps, renege, duplicates)| Step::Ack { advance, gaps, renege, duplicates }
        ),
        1 => Just(Step::Repeat),
        3 => (1u8..4, any::<bool>())
            .prop_map(|(threshold, repeat)| Step::Misses { threshold, repeat }),
        1 => (path(), 0u8..20).prop_map(|(path, age)| Step::Timeout { path, age }),
    ]
}

impl Twin {
    fn new(first_unit: u64) -> Twin {
        Twin {
            ledger: Ledger::new(first_unit),
            model: Model::default(),
            now: Instant::ZERO,
            last_ack: AckReport::default(),
            last_largest: [None; 2],
            reneged: false,
        }
    }

    fn run(&mut self, step: &Step) {
        self.now += base::Duration::from_millis(1);
        match *step {
            Step::Send { path, again, new, len, weight } => {
                self.send(path, usize::from(again), new, u32::from(len), u32::from(weight));
            }
            Step::Ack { advance, gaps, renege, duplicates } => {
                self.ack(usize::from(advance), gaps, renege, duplicates);
            }
            Step::Repeat => {
                let gaps = self.ledger.reports.iter().collect();
                let view = Feedback::of_all(self.ledger.cumulative(), &gaps);
                let report = self.ledger.on_feedback(self.now, &view);
                assert!(!report.advanced && report.spurious == 0);
                assert!(
                    report.paths.values().all(|news| news.acked_bytes == 0 && news.delivered == 0)
                );
            }
            Step::Misses { threshold, repeat } => self.indicate_misses(threshold, repeat),
            Step::Timeout { path, age } => self.time_out(path, age),
        }
    }

    fn send(&mut self, path: PathId, again: usize, new: u8, len: u32, weight: u32) {
        let packet = self.model.packets.len();
        let mut carried: Vec<u64> = self.model.lost().into_iter().take(again).collect();
        let clean = carried.is_empty();
        for start in &carried {
            let unit = self.model.unit(*start);
            let Fate::Lost(cause) = unit.fate else { panic!("{unit:?} is not lost") };
            let (why, order) = self.ledger.draft_again(path, *start).unwrap();
            assert_eq!(why, cause);
            // A duplicate report removes one transmission from the count.
            assert!((1..=unit.transmissions).contains(&order.into()), "order {order}");
            unit.fate = Fate::Outstanding;
            unit.packet = packet;
            unit.transmissions += 1;
            unit.fast |= cause.is_fast();
        }
        for _ in 0..new {
            let start = self.ledger.draft_new(path, len, weight);
            carried.push(start);
            self.model.units.push(ModelUnit {
                start,
                len,
                weight,
                fate: Fate::Outstanding,
                packet,
                transmissions: 1,
                fast: false,
                reneged: false,
            });
        }
        if !carried.is_empty() {
            let number = self.ledger.commit(self.now, path);
            assert_eq!(number + 1, self.ledger.next_packet);
            let sent_at = self.now;
            self.model.packets.push(ModelPacket {
                path,
                sent_at,
                units: carried,
                misses: 0,
                clean,
            });
        }
    }

    fn ack(&mut self, advance: usize, gap_bits: u32, renege: bool, duplicates: u8) {
        let open = |unit: &&ModelUnit| unit.fate != Fate::Acked;
        let waiting: Vec<ModelUnit> = self.model.units.iter().filter(open).copied().collect();
        let advance = advance.min(waiting.len());
        let rest = &waiting[advance..];
        let cumulative = rest.first().map_or(self.ledger.next_unit(), |unit| unit.start);
        let mut gaps = GapRanges::new();
        // The first unit beyond the cumulative point is missing, or the point would be beyond it.
        for (index, unit) in rest.iter().enumerate().skip(1) {
            let chosen = gap_bits & (1 << (index % 32)) != 0;
            if !(chosen || (unit.fate == Fate::GapAcked && !renege)) {
                continue;
            }
            let end = unit.start + u64::from(unit.len);
            match gaps.last_mut() {
                Some(before) if before.end == unit.start => before.end = end,
                _ => gaps.push(unit.start..end),
            }
        }
        let lowest = self.model.units.first().map_or(0, |unit| unit.start);
        let unit = |index| lowest + index * 3..lowest + index * 3 + 1;
        let needless: Vec<Range<u64>> = (0..u64::from(duplicates % 8)).map(unit).collect();
        let view = Feedback { needless: &needless, ..Feedback::of_all(cumulative, &gaps) };
        let before = [self.model.flight(PathId::FIRST), self.model.flight(PathId::at(1))];
        let believed = self.believed(&gaps, cumulative);
        let report = self.ledger.on_feedback(self.now, &view);
        self.judge_ack(&report, before, advance > 0, cumulative, &believed);
        assert!(report.spurious as usize <= needless.len());
        self.last_ack = report;
    }

    /// The part of these reports that the ledger believes.
    fn believed(&self, gaps: &GapRanges, cumulative: u64) -> GapRanges {
        let from = self.ledger.distrusted_below.max(cumulative);
        let known = gaps.iter().map(|gap| gap.start.max(from)..gap.end);
        known.filter(|gap| gap.start < gap.end).collect()
    }

    /// Applies the acknowledgement to the model and compares what the ledger reported.
    fn judge_ack(
        &mut self,
        report: &AckReport,
        flight_before: [Flight; 2],
        advanced: bool,
        cumulative: u64,
        gaps: &GapRanges,
    ) {
        assert_eq!(report.advanced, advanced);
        let live_before = PATHS.map(|path| self.model.live(path));
        let mut acked = [0u64; 2];
        let mut highest: [Option<u64>; 2] = [None; 2];
        let mut largest: [Option<usize>; 2] = [None; 2];
        let mut revoked = Vec::new();
        for unit in &mut self.model.units {
            let path = self.model.packets[unit.packet].path.row();
            let reported = gaps.iter().any(|gap| gap.contains(&unit.start));
            let arrived = unit.start < cumulative || reported;
            match unit.fate {
                Fate::Acked => continue,
                Fate::GapAcked if !arrived => revoked.push(unit.start),
                Fate::Outstanding | Fate::Lost(_) if arrived => {
                    acked[path] += u64::from(unit.weight);
                    highest[path] = highest[path].max(Some(unit.start));
                    if unit.fate == Fate::Outstanding {
                        largest[path] = largest[path].max(Some(unit.packet));
                    }
                }
                _ => {}
            }
            if arrived {
                let passed = unit.start < cumulative;
                unit.fate = if passed { Fate::Acked } else { Fate::GapAcked };
            }
        }
        for (index, news) in report.paths.values().enumerate() {
            assert_eq!(news.flight_before, flight_before[index]);
            assert_eq!(news.acked_bytes, acked[index], "bytes acknowledged");
            assert_eq!(news.highest_unit, highest[index], "highest newly acknowledged");
            assert_eq!(news.largest_packet.is_some(), largest[index].is_some());
            self.judge_packets(&live_before[index], news);
        }
        self.last_largest = largest;
        self.take_back(revoked);
    }

    /// Compares what the ledger reported of packets that were in flight on a path.
    fn judge_packets(&self, live_before: &[usize], news: &PathAck) {
        let left = live_before.iter().filter(|packet| !self.model.is_live(**packet));
        assert_eq!(news.delivered as usize, left.count(), "packets delivered");
        if let Some(sent_at) = news.timed_sent_at {
            let unambiguous = |packet: &usize| {
                let packet = &self.model.packets[*packet];
                packet.sent_at == sent_at && packet.clean
            };
            assert!(live_before.iter().any(unambiguous), "Karn: {sent_at:?}");
        }
    }

    /// The peer revoked the reports of these units: units of the same packet are in flight together
    /// again.
    fn take_back(&mut self, revoked: Vec<u64>) {
        let mut last = None;
        for start in revoked {
            self.reneged = true;
            let (packet, now) = (self.model.packets.len(), self.now);
            let unit = self.model.unit(start);
            unit.fate = Fate::Outstanding;
            unit.reneged = true;
            let rode_in = unit.packet;
            let joins = last == Some((rode_in, start));
            last = Some((rode_in, start + u64::from(unit.len)));
            unit.packet = if joins { packet - 1 } else { packet };
            if joins {
                self.model.packets[packet - 1].units.push(start);
                continue;
            }
            let path = self.model.packets[rode_in].path;
            let units = vec![start];
            self.model.packets.push(ModelPacket {
                path,
                sent_at: now,
                units,
                misses: 0,
                clean: false,
            });
        }
    }

    fn indicate_misses(&mut self, threshold: u8, repeat: bool) {
        for path in PATHS {
            let Some(news) = self.last_ack.paths.get(path) else { continue };
            let (Some(before), Some(below)) = (news.largest_packet, news.highest_unit) else {
                continue;
            };
            let Some(model_before) = self.last_largest[path.row()] else { continue };
            let found = self.ledger.indicate_misses(
                path,
                target(path),
                before,
                below,
                threshold,
                repeat,
                Cause::Fast,
            );
            let mut expected = Misses::default();
            for packet in self.model.live(path) {
                if packet >= model_before || self.model.packets[packet].units[0] >= below {
                    continue;
                }
                expected.indicated += 1;
                self.model.packets[packet].misses += 1;
                if self.model.packets[packet].misses >= u32::from(threshold) {
                    expected.lost += u32::from(self.model.lose(packet, repeat, Cause::Fast));
                }
            }
            assert_eq!(found, expected);
        }
        // The numbers of an acknowledgement are valid for one judgement only.
        self.last_ack = AckReport::default();
    }

    fn time_out(&mut self, path: PathId, age: u8) {
        let sent_by = self.now.before(base::Duration::from_millis(age.into()));
        let lost =
            self.ledger.lose_sent_by(path, target(path), sent_by, Cause::Timeout, Cause::Bundled);
        let mut expected = 0;
        for packet in self.model.live(path) {
            if expected > 0 && self.model.packets[packet].sent_at > sent_by {
                continue;
            }
            let cause = if expected == 0 { Cause::Timeout } else { Cause::Bundled };
            expected += u32::from(self.model.lose(packet, true, cause));
        }
        assert_eq!(lost, expected);
        self.last_ack = AckReport::default();
    }

    /// Lets the peer revoke and repeat one gap report until the ledger compacts its packets.
    fn force_compaction(&mut self) -> bool {
        let Some(last) = self.ledger.reports.iter().last() else { return false };
        let Some(unit) = self.model.units.iter().find(|unit| unit.start == last.start).copied()
        else {
            return false;
        };
        let cumulative = self.ledger.cumulative();
        let with = self.ledger.reports.iter().collect::<GapRanges>();
        let mut without = with.clone();
        without.pop();
        if unit.start + u64::from(unit.len) != last.end {
            return false;
        }
        for _ in 0..300 {
            for gaps in [&without, &with] {
                let now = self.now;
                let view = Feedback::of_all(cumulative, gaps);
                let before = [self.model.flight(PathId::FIRST), self.model.flight(PathId::at(1))];
                // As if enough packets were sent in between for the peer to be believed.
                self.ledger.reneged = 0;
                let believed = self.believed(gaps, cumulative);
                let report = self.ledger.on_feedback(now, &view);
                self.judge_ack(&report, before, false, cumulative, &believed);
            }
        }
        self.last_ack = AckReport::default();
        true
    }

    /// Compares every answer of the ledger with the model's, and the ledger's lists with each
    /// other.
    fn compare(&self) {
        for path in PATHS {
            assert_eq!(self.ledger.flight(path), self.model.flight(path), "path {path}");
            let oldest = self.model.live(path).first().map(|p| self.model.packets[*p].sent_at);
            assert_eq!(self.ledger.oldest_sent_at(path), oldest, "oldest on path {path}");
            self.check_list(path);
        }
        let mut lost = Vec::new();
        for path in PATHS {
            let mut from = 0;
            while let Some((start, _)) = self.ledger.next_lost(path, from) {
                lost.push(start);
                from = start + 1;
            }
        }
        lost.sort_unstable();
        assert_eq!(lost, self.model.lost());
        assert_eq!(lost_count(&self.ledger), lost.len());
        self.check_units();
        if !self.reneged {
            assert_eq!(self.ledger.outstanding_packets(usize::MAX), self.model_outstanding());
        }
    }

    /// No unit is forgotten: each unit that the cumulative point has not passed is in a packet in
    /// flight, reported by gap, or waiting for retransmission.
    fn check_units(&self) {
        let open: Vec<&ModelUnit> =
            self.model.units.iter().filter(|unit| unit.fate != Fate::Acked).collect();
        assert_eq!(self.ledger.units.len(), open.len());
        for (unit, expected) in self.ledger.units.iter().zip(open) {
            assert_eq!(unit.start, expected.start);
            match (unit.state, expected.fate) {
                (UnitState::GapAcked, Fate::GapAcked) => {}
                (UnitState::Lost(cause), Fate::Lost(why)) => assert_eq!(cause, why),
                (UnitState::Outstanding, Fate::Outstanding) => {
                    let packet = self.ledger.packet(unit.packet).unwrap();
                    assert_eq!(packet.state, PacketState::InFlight);
                }
                other => panic!("unit {}: {other:?}", unit.start),
            }
        }
        for packet in &self.ledger.packets {
            let number = packet.number;
            let riding =
                |unit: &&Unit| unit.packet == number && unit.state == UnitState::Outstanding;
            let live = self.ledger.units.iter().filter(riding).count();
            assert_eq!(usize::from(packet.live), live, "packet {number}");
            assert_eq!(packet.state == PacketState::InFlight, live > 0, "packet {number}");
        }
    }

    /// The list of packets in flight is the same from both ends, and in sending order.
    fn check_list(&self, path: PathId) {
        let Some(list) = self.ledger.paths.get(path) else { return };
        let (mut forward, mut cursor) = (Vec::new(), list.head());
        while let Some(number) = cursor {
            forward.push(number);
            let packet = self.ledger.packet(number).unwrap();
            cursor = (Some(number) != list.tail()).then_some(packet.next);
        }
        let (mut backward, mut cursor) = (Vec::new(), list.tail());
        while let Some(number) = cursor {
            backward.push(number);
            let packet = self.ledger.packet(number).unwrap();
            cursor = (Some(number) != list.head()).then_some(packet.previous);
        }
        backward.reverse();
        assert_eq!(forward, backward);
        assert!(forward.is_sorted());
        assert_eq!(forward.len(), list.flight.packets as usize);
    }

    /// Number of packets since the oldest in flight of which not everything was lost.
    fn model_outstanding(&self) -> usize {
        let Some(oldest) =
            PATHS.iter().filter_map(|path| self.model.live(*path).first().copied()).min()
        else {
            return 0;
        };
        let count = self.ledger.packets.iter().filter(|packet| packet.state != PacketState::Lost);
        assert_eq!(self.ledger.packets.len(), self.model.packets.len() - oldest);
        count.count()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_operations_leaves_the_ledger_as_the_naive_model_has_it(
        steps in prop::collection::vec(step(), 1..60),
        near_wrap in any::<bool>(),
        compact_at in 0usize..80
    ) {
        let mut twin = Twin::new(if near_wrap { (1 << 33) - 5 } else { 1 << 32 });
        for (index, step) in steps.iter().enumerate() {
            twin.run(step);
            twin.compare();
            if index == compact_at && twin.force_compaction() {
                twin.compare();
            }
        }
        // Acknowledging everything leaves nothing behind.
        let (cumulative, now) = (twin.ledger.next_unit(), twin.now);
        let nothing = GapRanges::new();
        let all = Feedback::of_all(cumulative, &nothing);
        twin.ledger.on_feedback(now, &all);
        prop_assert!(twin.ledger.is_empty() && twin.ledger.packets.is_empty());
        prop_assert_eq!(twin.ledger.flight_bytes(), 0);
        prop_assert_eq!(lost_count(&twin.ledger), 0);
    }
}

/// Path on which the model retransmits losses of `path`: the other of the two.
fn target(path: PathId) -> PathId {
    PathId::at(1 - path.row())
}
