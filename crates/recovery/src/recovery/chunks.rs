//! Recovery by SCTP's SACK chunks (RFC 9260, section 7.2.4): what they do not name is missing.

use base::{Duration, Instant};

use super::{AckOutcome, Lost, Recovery, Said};
use crate::ledger::{AckReport, AckView, PacketNumber, PathAck, PathIndex, Repetition};
use crate::loss;
use crate::policy::RttSamples;
use crate::stats::Cause;

impl Recovery {
    /// Takes an acknowledgement in. `unsent_packets` is how many packets the data would fill that
    /// waits to be sent and may be, as far as the peer's window goes.
    pub fn on_ack(&mut self, now: Instant, view: &AckView<'_>, unsent_packets: u32) -> AckOutcome {
        let report = self.ledger.on_ack(now, view);
        let mut outcome = AckOutcome { advanced: report.advanced, ..AckOutcome::default() };
        if report.spurious > 0 {
            self.on_spurious(now, report.spurious);
        }
        for (index, news) in report.paths.iter().enumerate() {
            let path = index as PathIndex;
            if news.spurious > 0 {
                outcome.spurious |= 1 << index;
                self.paths[index].loss.on_spurious();
            }
            self.watch_delivery(now, path, news);
            if news.acked_bytes > 0 {
                outcome.acked_bytes += news.acked_bytes;
                outcome.paths |= u64::from(news.proven) << index;
                outcome.certain |= u64::from(news.certain) << index;
                outcome.sampled |= u64::from(news.timed_sent_at.is_some()) << index;
                self.on_path_acked(now, path, news, report.advanced);
            }
        }
        let original = self.take_proven(now, &report);
        let bundled = report.paths.iter().position(|news| news.acked_bytes > 0);
        self.on_bundles(now, bundled.unwrap_or(0) as PathIndex, &report);
        let cumulative = self.ledger.cumulative();
        for (index, news) in report.paths.iter().enumerate() {
            let path = index as PathIndex;
            let episode = &mut self.paths[index].episode;
            let (was_recovering, was_heard) = (episode.is_recovering(), episode.is_heard());
            episode.on_cumulative(cumulative);
            let said = Said { advanced: report.advanced, echo_age: original, unsent_packets };
            self.judge(now, path, news, said);
            let lost = self.detect_loss(now, path, news, &report, was_recovering, unsent_packets);
            self.update_timer(now, path, news, unsent_packets);
            self.settle_ack(now, path, news, report.advanced, lost, was_heard);
        }
        outcome
    }

    /// Measures the round trip of what was sent again and is proven to have arrived when it was sent first. Answers how
    /// long ago that was if the acknowledgement came too soon to be for the second transmission.
    fn take_proven(&mut self, now: Instant, report: &AckReport) -> Option<Duration> {
        let proven = self.policy.rto.samples == RttSamples::Proven;
        for (index, news) in report.paths.iter().enumerate() {
            if !proven {
                continue;
            }
            // One may be a SACK that was lost; two in a row are a peer that delays its SACKs by as much as the timeout.
            let watch = self.paths[index].watch.as_deref_mut();
            let doubts = watch.map_or(0, |watch| watch.doubt(news.doubtful_rtt.is_some()));
            let believed = news.doubtful_rtt.filter(|_| doubts > 1);
            if let Some(sample) = news.proven_rtt.or(believed) {
                self.on_rtt_sample(index as PathIndex, sample);
            }
        }
        let Repetition { first_at, again_at } = report.repetition?;
        let path = report.paths.iter().position(|news| news.largest_resent)?;
        let watch = self.paths[path].watch.as_deref()?;
        if now.since(again_at) >= watch.min_rtt.get()? {
            return None;
        }
        let age = now.since(first_at);
        if proven {
            self.on_rtt_sample(path as PathIndex, age);
        }
        Some(age)
    }

    fn detect_loss(
        &mut self,
        now: Instant,
        path: PathIndex,
        news: &PathAck,
        report: &AckReport,
        was_recovering: bool,
        unsent_packets: u32,
    ) -> bool {
        if self.detects_by_time() {
            let flight_before = self.counted(path, news.flight_before);
            return self.detect_by_time(now, path, flight_before);
        }
        let Some((before, below)) = self.evidence(news, report.advanced && was_recovering) else {
            return false;
        };
        let thin = self.is_thin(path);
        let policy = self.policy.loss;
        let threshold = loss::dup_threshold(&policy, thin);
        let repeat = policy.repeat_fast_retransmit.applies(thin);
        let to = self.paths[usize::from(path)].routes.fast;
        let strikes = self.ledger.strike(path, to, before, below, threshold, repeat, Cause::Fast);
        let flight_before = self.counted(path, news.flight_before);
        let (packets, cause) = (strikes.lost, Cause::Fast);
        let mut lost = Lost { packets, cause, resent: None, flight_before };
        if lost.packets == 0 && strikes.struck > 0 {
            let in_flight = self.ledger.flight(path).packets;
            let outstanding = self.ledger.outstanding_packets(4);
            if loss::early_retransmit(&policy, in_flight, outstanding, unsent_packets > 0) {
                let strikes = self.ledger.strike(path, to, before, below, 1, repeat, Cause::Early);
                lost = Lost { packets: strikes.lost, cause: Cause::Early, ..lost };
            } else if let aged @ 1.. = self.lose_by_age(now, path, before) {
                lost = Lost { packets: aged, cause: Cause::Early, ..lost };
            } else if self.policy.congestion.limited_transmit && !was_recovering {
                self.paths[usize::from(path)].episode.on_miss();
            }
        }
        if lost.packets > 0 {
            self.on_loss(now, path, lost);
        }
        lost.packets > 0
    }

    /// Below which packet and unit an acknowledgement is evidence of loss: what it newly acknowledges
    /// (HTNA); in fast recovery, when the cumulative point advances, all that it reports missing.
    fn evidence(&self, news: &PathAck, recovering: bool) -> Option<(PacketNumber, u64)> {
        let (packet, unit) = (news.largest_packet?, news.highest_unit?);
        let highest_gap = self.ledger.highest_gap_end().filter(|_| recovering);
        Some((packet, highest_gap.map_or(unit, |gap| unit.max(gap))))
    }
}
