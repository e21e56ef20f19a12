//! Spans against a naive model that knows single bytes only.

use base::Instant;
use proptest::prelude::*;

use super::super::{Flight, GapRanges, Ledger};
use crate::feedback::Feedback;
use crate::path_id::PathId;
use crate::stats::Cause;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Outstanding,
    Reported,
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Byte {
    fate: Fate,
    transmissions: u32,
    doubled: bool,
}

/// Bytes from 1 on; those below `cumulative` are acknowledged.
#[derive(Default)]
struct Model {
    bytes: Vec<Byte>,
    cumulative: usize,
    judged_below: usize,
}

impl Model {
    fn waiting(&self) -> impl Iterator<Item = (usize, &Byte)> {
        self.bytes.iter().enumerate().skip(self.cumulative)
    }

    fn flight(&self) -> u64 {
        let in_flight = self.waiting().filter(|(_, byte)| byte.fate == Fate::Outstanding);
        in_flight.map(|(_, byte)| 1 + u64::from(byte.doubled)).sum()
    }

    fn lose(&mut self, at: usize) {
        self.bytes[at].fate = Fate::Lost;
        self.bytes[at].doubled = false;
    }

    fn report(&mut self, at: usize) {
        if at >= self.cumulative && at < self.bytes.len() {
            self.bytes[at].fate = Fate::Reported;
            self.bytes[at].doubled = false;
        }
    }

    /// IsLost of RFC 6675, section 4, computed again: ranges and bytes reported above each byte.
    fn is_lost(&self, at: usize, threshold: usize, mss: usize) -> bool {
        let above: Vec<bool> =
            (at..self.bytes.len()).map(|at| self.bytes[at].fate == Fate::Reported).collect();
        let ranges = above.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        let bytes = above.iter().filter(|reported| **reported).count();
        ranges >= threshold || bytes > (threshold - 1) * mss
    }
}

#[derive(Clone, Debug)]
enum Step {
    Send { len: u8 },
    Again { most: u8 },
    Double { from: u8 },
    Ack { advance: u8, blocks: Vec<(u8, u8)> },
    Judge { threshold: u8, mss: u8 },
    Timeout { forget: bool },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (1u8..40).prop_map(|len| Step::Send { len }),
        3 => (1u8..60).prop_map(|most| Step::Again { most }),
        1 => any::<u8>().prop_map(|from| Step::Double { from }),
        5 => (0u8..50, prop::collection::vec((1u8..100, 1u8..40), 0..2))
            .prop_map(|(advance, blocks)| Step::Ack { advance, blocks }),
        3 => (1u8..4, 1u8..40).prop_map(|(threshold, mss)| Step::Judge { threshold, mss }),
        1 => any::<bool>().prop_map(|forget| Step::Timeout { forget }),
    ]
}

/// Ledger and model with the same input.
struct Twin {
    ledger: Ledger,
    model: Model,
    now: Instant,
}

impl Twin {
    fn new() -> Twin {
        let byte = Byte { fate: Fate::Reported, transmissions: 1, doubled: false };
        let model = Model { bytes: vec![byte], cumulative: 1, judged_below: 1 };
        Twin { ledger: Ledger::new(1), model, now: Instant::ZERO }
    }

    fn run(&mut self, step: &Step) {
        self.now += base::Duration::from_millis(1);
        match step {
            Step::Send { len } => {
                self.ledger.draft_new(PathId::FIRST, (*len).into(), (*len).into());
                self.ledger.commit(self.now, PathId::FIRST);
                let byte = Byte { fate: Fate::Outstanding, transmissions: 1, doubled: false };
                self.model.bytes.extend(std::iter::repeat_n(byte, (*len).into()));
            }
            Step::Again { most } => self.again((*most).into()),
            Step::Double { from } => self.double((*from).into()),
            Step::Ack { advance, blocks } => self.ack((*advance).into(), blocks),
            Step::Judge { threshold, mss } => self.judge(*threshold, (*mss).into()),
            Step::Timeout { forget } => {
                self.ledger.lose_sent_by(
                    PathId::FIRST,
                    PathId::FIRST,
                    self.now,
                    Cause::Timeout,
                    Cause::Bundled,
                );
                let fates: Vec<usize> = self.model.waiting().map(|(at, _)| at).collect();
                for at in fates {
                    let fate = self.model.bytes[at].fate;
                    if fate == Fate::Outstanding || (fate == Fate::Reported && *forget) {
                        self.model.lose(at);
                    }
                }
                if *forget {
                    let any = self.ledger.highest_reported().is_some();
                    self.ledger.forget_reports(PathId::FIRST, Cause::Bundled);
                    if any {
                        self.model.judged_below = self.model.cumulative;
                    }
                }
            }
        }
    }

    /// Retransmits up to `most` lost bytes; the lowest unit is cut if it is larger.
    fn again(&mut self, most: u32) {
        let Some((unit, weight)) = self.ledger.next_lost(PathId::FIRST, 0) else { return };
        let len = weight.min(most);
        assert!(len == weight || self.ledger.cut_lost(unit, len));
        assert!(self.ledger.draft_again(PathId::FIRST, unit).is_some());
        self.ledger.commit(self.now, PathId::FIRST);
        for at in unit..unit + u64::from(len) {
            let byte = &mut self.model.bytes[at as usize];
            assert_eq!(byte.fate, Fate::Lost);
            byte.fate = Fate::Outstanding;
            byte.transmissions += 1;
        }
    }

    fn double(&mut self, from: u64) {
        let end = self.ledger.next_unit();
        let from = self.ledger.cumulative() + from;
        let next = self.ledger.next_in_flight(from, end);
        let once = |byte: &Byte| byte.fate == Fate::Outstanding && byte.transmissions == 1;
        let Some((unit, weight)) = next else { return };
        assert!(self.ledger.draft_double(PathId::FIRST, unit).is_some());
        self.ledger.commit(self.now, PathId::FIRST);
        for at in unit..unit + u64::from(weight) {
            let byte = &mut self.model.bytes[at as usize];
            assert!(once(byte));
            (byte.doubled, byte.transmissions) = (true, byte.transmissions + 1);
        }
    }

    fn ack(&mut self, advance: usize, blocks: &[(u8, u8)]) {
        let model = &mut self.model;
        let before = model.cumulative;
        model.cumulative = (before + advance).min(model.bytes.len());
        model.judged_below = model.judged_below.max(model.cumulative);
        let unacked: u64 = (before..model.cumulative)
            .filter(|at| model.bytes[*at].fate != Fate::Reported)
            .count() as u64;
        // The receiver discarded data that it had reported.
        if model.cumulative > before {
            let mut at = model.cumulative;
            if at < model.bytes.len() && model.bytes[at].fate == Fate::Reported {
                model.judged_below = at;
            }
            while at < model.bytes.len() && model.bytes[at].fate == Fate::Reported {
                model.bytes[at].fate = Fate::Outstanding;
                at += 1;
            }
        }
        let mut ranges = GapRanges::new();
        let mut start = model.cumulative + 1;
        let mut reported = 0;
        for (gap, len) in blocks {
            let range = start + usize::from(*gap)..start + usize::from(*gap + *len);
            if range.end > model.bytes.len() {
                break;
            }
            reported += range.clone().filter(|at| model.bytes[*at].fate != Fate::Reported).count();
            range.clone().for_each(|at| model.report(at));
            start = range.end;
            ranges.push(range.start as u64..range.end as u64);
        }
        let ack = Feedback { ranges: Some(&ranges), ..Feedback::up_to(model.cumulative as u64) };
        let report = self.ledger.on_feedback(self.now, &ack);
        let acked: u64 = report.paths.values().map(|path| path.acked_bytes).sum();
        assert_eq!(acked, unacked + reported as u64, "bytes newly acknowledged");
        assert_eq!(report.advanced, self.model.cumulative > before);
    }

    fn judge(&mut self, threshold: u8, mss: u64) {
        let limit = self.ledger.lost_below(threshold, mss);
        // The RFC's definition, for each missing byte.
        for at in self.model.cumulative..self.model.bytes.len() {
            if self.model.bytes[at].fate != Fate::Reported {
                let lost = self.model.is_lost(at, threshold.into(), mss as usize);
                assert_eq!(lost, limit.is_some_and(|limit| (at as u64) < limit), "byte {at}");
            }
        }
        let Some(limit) = limit else { return };
        self.ledger.lose_below(limit, PathId::FIRST, Cause::Fast);
        for at in self.model.judged_below.max(self.model.cumulative)..limit as usize {
            let byte = self.model.bytes[at];
            if byte.fate == Fate::Outstanding && byte.transmissions == 1 {
                self.model.lose(at);
            }
            self.model.bytes[at].doubled = false;
        }
        self.model.judged_below = self.model.judged_below.max(limit as usize);
    }

    fn check(&self) {
        let (ledger, model) = (&self.ledger, &self.model);
        let Flight { packets, bytes } = ledger.flight(PathId::FIRST);
        assert_eq!(bytes, model.flight());
        let outstanding = model.waiting().any(|(_, byte)| byte.fate == Fate::Outstanding);
        assert_eq!(packets > 0, outstanding);
        assert_eq!(ledger.unacknowledged_bytes(), (model.bytes.len() - model.cumulative) as u64);
        let (mut lost, mut from) = (Vec::new(), 0);
        while let Some((unit, weight)) = ledger.next_lost(PathId::FIRST, from) {
            from = unit + u64::from(weight);
            lost.extend(unit as usize..from as usize);
        }
        let expected: Vec<usize> =
            model.waiting().filter(|(_, byte)| byte.fate == Fate::Lost).map(|(at, _)| at).collect();
        assert_eq!(lost, expected);
        let highest = model.waiting().filter(|(_, byte)| byte.fate == Fate::Reported).last();
        assert_eq!(ledger.highest_reported(), highest.map(|(at, _)| at as u64 + 1));
        assert_eq!(ledger.is_empty(), model.cumulative == model.bytes.len());
    }
}

proptest! {
    #[test]
    fn any_sequence_leaves_every_byte_as_the_naive_model_has_it(
        steps in prop::collection::vec(step(), 1..50),
    ) {
        let mut twin = Twin::new();
        for step in &steps {
            twin.run(step);
            twin.check();
        }
    }
}

#[test]
fn a_peer_that_reports_every_other_byte_does_not_make_the_ledger_grow() {
    let mut ledger = Ledger::new(1);
    ledger.draft_new(PathId::FIRST, 60_000, 60_000);
    ledger.commit(Instant::ZERO, PathId::FIRST);
    for at in 0..20_000u64 {
        let blocks = GapRanges::from_iter(core::iter::once(2 * at + 3..2 * at + 4));
        let ack = Feedback { ranges: Some(&blocks), ..Feedback::up_to(1) };
        ledger.on_feedback(Instant::ZERO, &ack);
    }
    assert!(ledger.units.len() < 100, "{} rows", ledger.units.len());
    let reported = 60_000 - ledger.flight(PathId::FIRST).bytes;
    assert!(reported < 100, "{reported} bytes counted as arrived");
}
