//! Facts from a direction's acknowledgements: latency, round trips, needless retransmissions.

use base::{Duration, Instant};
use smallvec::SmallVec;

use super::counts::Counts;
use super::fates::{Answer, Fates};
use super::history::Sent;
use super::{REPORTS, Report, Sender};

/// Contents of an acknowledgement, in the numbers of the data that it acknowledges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgement<'a> {
    pub(crate) at: Instant,
    /// Cumulative acknowledgement: all numbers below arrived.
    pub(crate) cumulative: u64,
    /// Ranges that arrived above it.
    pub(crate) blocks: &'a [(u64, u64)],
    /// Ranges reported to have arrived again (D-SACK, or duplicate TSNs).
    pub(crate) duplicates: &'a [(u64, u64)],
    /// Whether it is a duplicate acknowledgement (RFC 5681, section 2).
    pub(crate) is_repeated: bool,
    /// TSecr of TCP's timestamp option (RFC 7323), if it has one.
    pub(crate) echo: Option<u32>,
}

/// A range was acknowledged cumulatively.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) first: Instant,
    pub(crate) latency: Duration,
    pub(crate) retransmissions: u16,
    pub(crate) bytes: u32,
}

impl Sender {
    /// Notes an acknowledgement; calls `told` with each range that it acknowledges cumulatively.
    pub(crate) fn on_acknowledgement(
        &mut self,
        ack: &Acknowledgement<'_>,
        mut told: impl FnMut(Acknowledged),
    ) {
        let at = ack.at;
        self.count_repeated(ack);
        let before = self.history.next();
        if ack.cumulative > before && !self.history.is_empty() {
            self.counts.unseen_bytes += ack.cumulative - before;
        }
        let una = self.history.una();
        let answer = Answer { at, echo: ack.echo, una, shortest: self.shortest };
        let mut news = News::default();
        let (latencies, fates, counts) = (&mut self.latencies, &mut self.fates, &mut self.counts);
        self.history.acknowledge(ack.cumulative, |sent, is_new| {
            if is_new {
                news.note(fates, sent, counts);
            }
            let latency = at.since(sent.first);
            let [all, by_order @ ..] = &mut *latencies;
            all.record(latency.as_nanos());
            let place = usize::from(sent.again).min(by_order.len() - 1);
            if let Some(some) = by_order.get_mut(place) {
                some.record(latency.as_nanos());
            }
            let Sent { first, again: retransmissions, bytes, .. } = *sent;
            told(Acknowledged { first, latency, retransmissions, bytes });
        });
        let mut highest: Option<(u64, Instant)> = None;
        for (start, end) in ack.blocks {
            self.history.acknowledge_selectively(*start, *end, |sent| {
                news.note(fates, sent, counts);
                if highest.is_none_or(|(start, _)| sent.start > start) {
                    highest = Some((sent.start, sent.last));
                }
            });
        }
        self.blocks_seen |= !ack.blocks.is_empty();
        self.note_report(ack, highest);
        self.settle(&mut news, ack.duplicates, &answer);
        if let Some(latest) = news.latest {
            self.on_round_trip(at.since(latest));
        }
        self.note_duplicates(ack.duplicates, &answer);
        if self.recovery.is_some_and(|it| self.history.una() >= it.point) {
            self.recovery = None;
        }
        self.forget();
    }

    /// Decides which packets brought data that are acknowledged now and were sent more than once.
    fn settle(&mut self, news: &mut News, duplicates: &[(u64, u64)], answer: &Answer) {
        if news.shared.is_empty() {
            return;
        }
        let mut duplicates: SmallVec<[(u64, u64); 2]> = SmallVec::from_slice(duplicates);
        duplicates.sort_unstable();
        let (fates, counts) = (&mut self.fates, &mut self.counts);
        let mut trigger = news.trigger;
        for (start, end) in &news.shared {
            self.history
                .visit(*start, *end, |sent| trigger = trigger.max(fates.latest(sent, answer)));
        }
        for (start, end) in &news.shared {
            self.history.visit(*start, *end, |sent| {
                // Sorted by where runs begin, which hardly overlap.
                let place = duplicates.partition_point(|(_, end)| *end <= sent.start);
                let reported = duplicates.get(place).is_some_and(|(start, _)| *start < sent.end);
                if !reported {
                    let sent_at = fates.settle(sent, trigger, answer, counts);
                    news.latest = news.latest.max(sent_at);
                }
            });
        }
    }

    fn count_repeated(&mut self, ack: &Acknowledgement<'_>) {
        if !ack.is_repeated {
            if ack.cumulative > self.history.una() {
                self.run_of_repeats = 0;
            }
            return;
        }
        let last = self.counts.repeated.len() - 1;
        if let Some(count) = self.counts.repeated.get_mut((self.run_of_repeats as usize).min(last))
        {
            *count += 1;
        }
        self.run_of_repeats = self.run_of_repeats.saturating_add(1);
    }

    fn note_report(&mut self, ack: &Acknowledgement<'_>, highest: Option<(u64, Instant)>) {
        let report = match highest {
            Some((highest, sent)) => Report { at: ack.at, highest, sent },
            // A receiver that cannot report selectively repeats itself for each packet out of
            // order.
            None if ack.is_repeated && !self.blocks_seen && ack.duplicates.is_empty() => {
                let sent = ack.at.before(self.srtt.unwrap_or_default());
                Report { at: ack.at, highest: u64::MAX, sent }
            }
            None => return,
        };
        if self.reports.len() >= REPORTS {
            self.reports.remove(0);
        }
        self.reports.push(report);
    }

    /// The receiver got something twice: a retransmission or a copy was in vain.
    fn note_duplicates(&mut self, duplicates: &[(u64, u64)], answer: &Answer) {
        let (fates, counts) = (&mut self.fates, &mut self.counts);
        for (start, end) in duplicates {
            let mut is_found = false;
            self.history.visit(*start, *end, |sent| {
                is_found |= fates.report(sent, answer, counts);
            });
            counts.duplicates_reported += 1;
            counts.other_duplicates += u64::from(!is_found);
        }
    }

    /// Updates the estimates with a round trip, as RFC 6298, section 2, says.
    pub(crate) fn on_round_trip(&mut self, sample: Duration) {
        self.round_trips.record(sample.as_nanos());
        self.shortest = Some(self.shortest.map_or(sample, |shortest| shortest.min(sample)));
        match self.srtt {
            None => {
                self.srtt = Some(sample);
                self.variation = sample / 2;
            }
            Some(srtt) => {
                self.variation = (self.variation * 3 + srtt.abs_diff(sample)) / 4;
                self.srtt = Some((srtt * 7 + sample) / 8);
            }
        }
    }

    /// The least delay between something sent and its acknowledgement.
    pub(crate) fn shortest_round_trip(&self) -> Option<Duration> {
        self.shortest
    }
}

/// Ranges that an acknowledgement is the first to acknowledge.
#[derive(Default)]
struct News {
    /// Ranges that were in more than one packet.
    shared: SmallVec<[(u64, u64); 4]>,
    /// The latest packet that brought something of the rest.
    trigger: Option<u64>,
    /// Latest departure of those packets that certainly brought something.
    latest: Option<Instant>,
}

impl News {
    fn note(&mut self, fates: &mut Fates, sent: &mut Sent, counts: &mut Counts) {
        fates.note_acknowledged(sent);
        if let Some((packet, at)) = fates.settle_only(sent, counts) {
            self.trigger = self.trigger.max(Some(packet));
            self.latest = self.latest.max(at);
            return;
        }
        match self.shared.last_mut() {
            Some((_, last)) if *last == sent.start => *last = sent.end,
            _ => self.shared.push((sent.start, sent.end)),
        }
    }
}
