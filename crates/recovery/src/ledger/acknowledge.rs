//! The effect of an acknowledgement on the ledger, and what it newly reports.

use base::{Duration, Instant};

use super::repeated::reported_until;
use super::{
    AgainAcked, BundleReport, DeliveredBundle, Flight, Ledger, PacketNumber, PacketState, Traits,
    Trip, UnitState,
};
use crate::feedback::{Feedback, Silence};
use crate::path_id::{PathId, PathTable};

/// News of an acknowledgement about one path.
#[derive(Clone, Debug, Default)]
pub struct PathAck {
    /// Bytes newly acknowledged, cumulatively or by gap.
    pub acked_bytes: u64,
    /// Amount in flight on the path before the acknowledgement.
    pub flight_before: Flight,
    /// Whether the cumulative point passed data of this path.
    pub cumulative: bool,
    /// Number of packets newly found delivered.
    pub delivered: u32,
    /// The latest packet found delivered.
    pub largest_packet: Option<PacketNumber>,
    /// The highest unit newly acknowledged (HTNA of RFC 9260, section 7.2.4).
    pub highest_unit: Option<u64>,
    /// Transmission of the timed packet, if its acknowledgement is unambiguous (Karn's rule).
    pub timed_sent_at: Option<Instant>,
    /// Whether newly acknowledged data had travelled on this path only: then the path works, or
    /// worked when the data was first sent.
    pub proven: bool,
    /// Latest transmission of such data that was neither retransmitted nor declared lost.
    pub certain_sent_at: Option<Instant>,
    /// Units declared lost on this path that had arrived: acknowledged before their
    /// retransmission, or retransmitted needlessly.
    pub spurious: u32,
    /// Transmission of the latest packet found delivered.
    pub largest_sent_at: Option<Instant>,
    /// Transmission of the delivered packet before it.
    pub before_sent_at: Option<Instant>,
    /// Whether the peer was asked to acknowledge that latest packet at once.
    pub largest_asked: bool,
    /// Bytes of data in it, copies included.
    pub largest_bytes: u32,
    /// Whether copies of earlier data rode along in it.
    pub largest_copies: bool,
    /// Whether the data found delivered in it had been sent before.
    pub largest_resent: bool,
    /// Whether none of the data found delivered in it had been sent before or copied to another
    /// path.
    pub largest_fresh: bool,
    /// Whether only part of it was found delivered, and that beyond the cumulative point.
    pub largest_partly: bool,
    /// The timed packet, if later packets carried copies of its data.
    pub timed_bundled: Option<PacketNumber>,
    /// The lowest newly acknowledged unit that had been sent once only.
    pub lowest_once: Option<u64>,
    /// First transmission of newly acknowledged data that was sent once and lies below data
    /// acknowledged earlier, which is evidence of reordering.
    pub reordered: Option<Instant>,
    /// Whether data was newly reported beyond the cumulative point.
    pub by_gap: bool,
    /// Units declared lost on this path and retransmitted that the peer reports as duplicates.
    pub needless: u32,
    /// Round trip of retransmitted data from its first transmission, which is proven to have
    /// arrived.
    pub proven_rtt: Option<Trip>,
    /// Duration of such a round trip, if an acknowledgement may have been lost before this one.
    pub doubtful_rtt: Option<Duration>,
    /// Time from a retransmission to the report that it was needless.
    pub again_took: Option<Duration>,
    /// First transmission of data that was retransmitted although its acknowledgement was already
    /// under way.
    pub early: Option<Instant>,
}

/// Effect of an acknowledgement on the ledger.
#[derive(Clone, Debug, Default)]
pub struct AckReport {
    /// Whether the cumulative point advanced.
    pub advanced: bool,
    /// Units found to have been retransmitted needlessly.
    pub spurious: u32,
    /// News about each path with acknowledged packets.
    pub paths: PathTable<PathAck>,
    /// Fate of copies that rode along.
    pub bundles: BundleReport,
    /// Newly acknowledged units that had been retransmitted.
    pub again: AgainAcked,
}

#[cold]
#[inline(never)]
fn time_by_largest(news: &mut PathAck) {
    news.timed_sent_at = news.largest_sent_at.filter(|_| news.largest_fresh);
}

impl Ledger {
    /// Applies an acknowledgement. One beyond the data sent has no effect, and neither has a
    /// complete one that a later one overtook; where reports add up, an older one may still
    /// bring news.
    #[inline]
    pub fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) -> AckReport {
        // A report is large, and not moved.
        let mut report = AckReport::default();
        self.report(now, feedback, &mut report);
        report
    }

    fn report(&mut self, now: Instant, feedback: &Feedback<'_>, report: &mut AckReport) {
        for (path, list) in self.paths.iter() {
            report.paths.get_or_default(path).flight_before = list.flight;
        }
        let overtaken = feedback.cumulative < self.cumulative;
        if feedback.cumulative > self.next_unit
            || (overtaken && feedback.silence == Silence::Missing)
        {
            return;
        }
        if feedback.cumulative > self.cumulative {
            report.advanced = true;
            self.advance(now, feedback, report);
        }
        match (feedback.ranges, feedback.silence) {
            (None, _) => {}
            (Some(ranges), Silence::Missing) => self.replace_reports(now, ranges, report),
            (Some(ranges), Silence::Nothing) => {
                ranges.iter().for_each(|range| self.add_report(range.clone(), report));
            }
        }
        let (cumulative, reports) = (self.cumulative, &self.reports);
        let reported = |unit: u64| reports.end_of_range_at(unit).is_some();
        report.again = self.repeated.on_ack(now, cumulative, reported);
        self.resent.forget(now);
        for range in feedback.needless {
            self.count_needless(now, range.clone(), report);
        }
        if !report.bundles.delivered.is_empty() {
            let needless = |unit: u64| feedback.needless.iter().any(|range| range.contains(&unit));
            self.judge_bundles(needless, feedback.ranges.is_some(), &mut report.bundles);
        }
        self.settle_timing(report);
        if self.reports.is_empty() {
            self.reported_packets = 0;
        }
        self.forget_settled_packets();
    }

    /// Moves the cumulative point forward, and acknowledges each unit below it.
    fn advance(&mut self, now: Instant, feedback: &Feedback<'_>, report: &mut AckReport) {
        self.cumulative = feedback.cumulative;
        self.judged_below = self.judged_below.max(self.cumulative);
        self.retire_acknowledged(now, report);
        self.retire_part(report);
        let adds_up = feedback.silence == Silence::Nothing && feedback.ranges.is_some();
        if !adds_up {
            self.reports.trim_below(self.cumulative);
        } else if let Some(end) = self.reports.forget_below(self.cumulative) {
            // The peer would acknowledge now what it reported before: it discarded that data.
            self.judged_below = self.cumulative;
            self.renege_range(now, self.cumulative..end);
        }
    }

    /// Handles a timed packet that was copied into later packets and is acknowledged together with
    /// one of them: nothing shows which of them arrived, except that the latest did.
    fn settle_timing(&self, report: &mut AckReport) {
        for news in report.paths.values_mut() {
            if news.timed_bundled.is_some_and(|timed| news.largest_packet != Some(timed)) {
                time_by_largest(news);
            }
        }
    }

    fn retire_acknowledged(&mut self, now: Instant, report: &mut AckReport) {
        while self.units.front().is_some_and(|unit| unit.end() <= self.cumulative) {
            self.acknowledge(0, true, report);
            let Some(unit) = self.units.pop_front() else { break };
            self.unacknowledged = self.unacknowledged.saturating_sub(u64::from(unit.weight));
            self.cuts = self.cuts.saturating_sub(u32::from(unit.traits.has(Traits::CUT)));
            if unit.transmissions > 1 && !unit.traits.has(Traits::COPIED | Traits::BUNDLED) {
                self.remember_resent(now, unit.start, unit.other_path);
            }
        }
    }

    /// A unit that was lost on `path` and sent again is acknowledged: duplicates of it may be
    /// reported.
    #[cold]
    fn remember_resent(&mut self, now: Instant, unit: u64, path: PathId) {
        let first_at = self.repeated.first_sent_at(unit).unwrap_or(now);
        self.resent.push(unit, path, reported_until(first_at, now));
    }

    /// Acknowledges unit `index`: takes it out of flight, finds its packet delivered, and reports
    /// it.
    pub(super) fn acknowledge(&mut self, index: usize, cumulative: bool, report: &mut AckReport) {
        let unit = &mut self.units[index];
        if unit.state == UnitState::Abandoned {
            return;
        }
        let (state, start, number, path) = (unit.state, unit.start, unit.packet, unit.path);
        let (target, copies) = (unit.other_path, core::mem::take(&mut unit.copies));
        let (end, once) = (unit.end(), unit.transmissions == 1);
        let bundled = unit.traits.has(Traits::BUNDLED);
        let fresh = once && !unit.traits.has(Traits::RENEGED | Traits::COPIED);
        let clean = fresh && !bundled;
        let mixed = unit.traits.has(Traits::COPIED | Traits::MIXED);
        let (weight, landed) = (u64::from(unit.weight), unit.land());
        unit.state = UnitState::GapAcked;
        if !copies.is_empty() {
            self.forget_copies(copies, weight);
        }
        let Some(news) = report.paths.get_mut(path) else { return };
        news.cumulative |= cumulative;
        match state {
            UnitState::GapAcked | UnitState::Abandoned => return,
            UnitState::Lost(_) => {
                self.path_mut(target).on_found(start);
                news.spurious += u32::from(!mixed && !bundled);
            }
            UnitState::Outstanding => {
                let list = &mut self.paths[path];
                list.flight.bytes = list.flight.bytes.saturating_sub(landed);
            }
        }
        if bundled {
            report.bundles.copied.push((start, number));
        }
        news.acked_bytes += weight;
        if once && news.lowest_once.is_none_or(|lowest| start < lowest) {
            news.lowest_once = Some(start);
        }
        news.by_gap |= !cumulative;
        news.proven |= !mixed;
        news.highest_unit = news.highest_unit.max(Some(start));
        if state == UnitState::Outstanding {
            let at = self.locate_packet(number);
            let sent_at = at.map(|at| self.packets[at].sent_at);
            if !mixed && clean {
                news.certain_sent_at = news.certain_sent_at.max(sent_at);
            }
            let list = &mut self.paths[path];
            if clean && end < list.forward {
                news.reordered = news.reordered.into_iter().chain(sent_at).min();
            }
            list.forward = list.forward.max(end);
            let settled = at
                .is_none_or(|at| self.deliver_unit(at, fresh, bundled, news, &mut report.bundles));
            if news.largest_packet == Some(number) {
                news.largest_partly = !(cumulative || settled);
                news.largest_resent |= !clean;
                news.largest_fresh &= fresh;
            }
        }
    }

    /// A unit of the packet at `at` arrived. A retransmitted unit may have arrived by an earlier
    /// packet, so a packet is settled only when none of its units is in flight. Returns whether
    /// it is.
    fn deliver_unit(
        &mut self,
        at: usize,
        fresh: bool,
        bundled: bool,
        news: &mut PathAck,
        bundles: &mut BundleReport,
    ) -> bool {
        let packet = &mut self.packets[at];
        let (number, path, sent_at) = (packet.number, packet.path, packet.sent_at);
        let (bytes, asked) = (packet.along.carried, packet.asked);
        let copies = packet.along.bytes > 0;
        packet.live = packet.live.saturating_sub(1);
        let settled = packet.live == 0;
        if settled && packet.along.bytes > 0 {
            let start = packet.along.start;
            let behind = packet.runs.first().is_some_and(|run| run.start < start);
            bundles.delivered.push(DeliveredBundle { packet: number, start, behind });
        }
        if news.largest_packet.is_none_or(|largest| largest < number) {
            news.largest_packet = Some(number);
            news.before_sent_at = news.largest_sent_at.replace(sent_at);
            (news.largest_bytes, news.largest_asked) = (bytes, asked);
            news.largest_copies = copies;
            news.largest_resent = false;
            news.largest_fresh = true;
        }
        if self.paths[path].timed == Some(number) {
            news.timed_sent_at = Some(sent_at).filter(|_| fresh);
            news.timed_bundled = bundled.then_some(number);
            self.paths[path].timed = None;
        }
        if settled {
            news.delivered += 1;
            self.reported_packets = self.reported_packets.saturating_add(1);
            self.settle_at(at, PacketState::Delivered);
        }
        settled
    }
}
