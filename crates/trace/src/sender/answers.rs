//! What a direction's acknowledgements tell: latency, round trips, what was needless.

use base::{Duration, Instant};

use super::history::Sent;
use super::{REPORTS, Report, Sender};

/// What came back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgement<'a> {
    pub(crate) at: Instant,
    /// Everything below it arrived.
    pub(crate) cumulative: u64,
    /// What arrived above it.
    pub(crate) blocks: &'a [(u64, u64)],
    /// What arrived again.
    pub(crate) duplicates: &'a [(u64, u64)],
    /// It repeats what was said, since something arrived out of order (RFC 5681, section 2).
    pub(crate) is_repeated: bool,
    /// TSecr.
    pub(crate) echo: Option<u32>,
}

/// A range was acknowledged cumulatively.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) first: Instant,
    pub(crate) latency: Duration,
    pub(crate) retransmissions: u16,
}

impl Sender {
    /// Takes note of an acknowledgement; `told` hears of each range that it acknowledges cumulatively.
    pub(crate) fn on_acknowledgement(
        &mut self,
        ack: &Acknowledgement<'_>,
        mut told: impl FnMut(Acknowledged),
    ) {
        let at = ack.at;
        self.count_repeated(ack);
        self.note_duplicates(ack.duplicates);
        let before = self.history.next();
        if ack.cumulative > before && !self.history.is_empty() {
            self.counts.unseen_bytes += ack.cumulative - before;
        }
        let mut arrival = Arrival::new(at, ack.echo, self);
        let latencies = &mut self.latencies;
        self.history.acknowledge(ack.cumulative, |sent, is_new| {
            if is_new {
                arrival.note(sent);
            }
            let latency = at.since(sent.first);
            let [all, by_order @ ..] = &mut *latencies;
            all.record(latency.as_nanos());
            let place = usize::from(sent.again).min(by_order.len() - 1);
            if let Some(some) = by_order.get_mut(place) {
                some.record(latency.as_nanos());
            }
            told(Acknowledged { first: sent.first, latency, retransmissions: sent.again });
        });
        let mut highest: Option<(u64, Instant)> = None;
        for (start, end) in ack.blocks {
            self.history.acknowledge_selectively(*start, *end, |sent| {
                arrival.note(sent);
                if highest.is_none_or(|(start, _)| sent.start > start) {
                    highest = Some((sent.start, sent.last));
                }
            });
        }
        self.blocks_seen |= !ack.blocks.is_empty();
        self.note_report(ack, highest);
        self.counts.needless += arrival.needless;
        self.counts.needless_inferred += arrival.needless;
        if let Some(sample) = arrival.sample() {
            self.on_round_trip(sample);
        }
        if self.recovery.is_some_and(|it| self.history.una() >= it.point) {
            self.recovery = None;
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
            // Who cannot report selectively repeats itself for each packet that arrives out of order.
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
    fn note_duplicates(&mut self, duplicates: &[(u64, u64)]) {
        let counts = &mut self.counts;
        for (start, end) in duplicates {
            let mut known = false;
            // One packet came twice, whatever it was put together of.
            let mut told = false;
            self.history.visit(*start, *end, |sent| {
                known = true;
                if sent.reported < sent.again {
                    // What was inferred of it was this.
                    let is_counted = sent.needless && sent.reported == 0;
                    counts.needless += u64::from(!is_counted && !told);
                    counts.needless_reported += u64::from(!told);
                    told = true;
                } else if sent.reported < sent.again.saturating_add(sent.along) {
                    counts.redundant_reported += 1;
                } else {
                    counts.other_duplicates += 1;
                }
                sent.reported = sent.reported.saturating_add(1);
            });
            counts.other_duplicates += u64::from(!known);
        }
    }

    /// RFC 6298, section 2.
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

/// What an acknowledgement tells of the round trip and of needless retransmissions.
struct Arrival {
    at: Instant,
    echo: Option<u32>,
    shortest: Option<Duration>,
    latest: Option<Instant>,
    needless: u64,
    /// What is retransmitted in one packet counts as one, which was sent then.
    packet: Option<Instant>,
    in_units: bool,
}

impl Arrival {
    fn new(at: Instant, echo: Option<u32>, sender: &Sender) -> Arrival {
        let (shortest, in_units) = (sender.shortest, sender.in_units);
        Arrival { at, echo, shortest, latest: None, needless: 0, packet: None, in_units }
    }

    /// A range is acknowledged for the first time.
    fn note(&mut self, sent: &mut Sent) {
        if sent.is_unambiguous() {
            self.latest = self.latest.max(Some(sent.last));
        }
        if sent.again == 0 {
            return;
        }
        // RFC 3522: what is echoed is older than the retransmission, so an earlier one had arrived.
        let is_echo_older = match (self.echo, sent.stamp) {
            (Some(echo), Some(stamp)) => (echo.wrapping_sub(stamp) as i32) < 0,
            _ => false,
        };
        let is_too_early = self.shortest.is_some_and(|shortest| sent.age(self.at) < shortest / 2);
        if (is_echo_older || is_too_early) && !sent.needless {
            sent.needless = true;
            let is_same = !self.in_units && self.packet == Some(sent.last);
            self.needless += u64::from(sent.reported == 0 && !is_same);
            self.packet = Some(sent.last);
        }
    }

    fn sample(&self) -> Option<Duration> {
        self.latest.map(|latest| self.at.since(latest))
    }
}
