//! The few numbers that each flow has of its own.

use std::collections::BTreeMap;

use base::{Duration, Instant};

use results::Moments;

use super::{Delivery, GapLimit, GroupMeter, TimeoutTrace, Wishes};

/// Numbers of one flow; a few words unless more is asked for.
#[derive(Clone, Debug)]
pub struct FlowMeter {
    from: Instant,
    until: Instant,
    /// Bytes that the receiving application read in the window.
    pub read: u64,
    /// Packets of the sender in the window, and their bytes with IP headers.
    pub packets: u64,
    /// See `packets`.
    pub bytes: u64,
    /// The rest, where it is asked for.
    pub detail: Option<Box<FlowDetail>>,
}

/// What only some measures need.
#[derive(Clone, Debug, Default)]
pub struct FlowDetail {
    interval: Option<Duration>,
    current: (u64, u64),
    /// Bytes read in an interval, and in how many intervals it was so many.
    pub intervals: BTreeMap<u64, u64>,
    /// The last progress, and the timeout that was armed then.
    progress: Option<(Instant, Duration)>,
    /// Limits, and time without progress in gaps that were longer.
    pub frozen: Vec<(GapLimit, Duration)>,
    last_due: Option<Instant>,
    last_delivery: Option<Instant>,
    /// Of the time between deliveries.
    pub gaps: Moments,
    late: Option<Player>,
    /// The longest latency at the application of a message due in the window.
    pub longest: Duration,
    /// Messages due in the window and delivered.
    pub delivered: u64,
    /// The most retransmissions that one of them took.
    pub most_resent: u32,
    /// Packets with data that left, and those that arrived, from the first to the last.
    pub data_packets: (u64, u64),
    /// Measurements and timeouts, if wanted.
    pub timeouts: Option<Box<TimeoutTrace>>,
    /// When data left the first path, if anybody asks.
    pub leaving: Option<Box<Leaving>>,
}

/// How data left a path that is lost.
#[derive(Clone, Debug)]
pub struct Leaving {
    /// When the path is lost.
    pub lost: Instant,
    /// When data took another one and did not come back before.
    pub at: Option<Instant>,
    /// How often data took another path than before.
    pub moves: u64,
    /// The longest time without a delivery.
    pub gap: Duration,
    /// When that began.
    pub gap_from: Instant,
}

/// A player with several speeds at once.
#[derive(Clone, Debug)]
struct Player {
    pre_buffer: Duration,
    /// Ratio of encoding and play-back rate, and messages that came too late for it.
    speeds: Vec<(f64, u64)>,
    /// The first message's place in the media, and when it was delivered.
    first: Option<(Duration, Instant)>,
    /// The least ratio at which none would have been late.
    needed: f64,
    /// Messages that came in the window.
    played: u64,
}

impl FlowMeter {
    /// The meter of a flow of a group.
    pub fn new(group: &GroupMeter) -> FlowMeter {
        let wishes = group.wishes();
        let Wishes { window, goodput, frozen, late, switchover, .. } = wishes;
        let leaving = |lost| Leaving {
            lost,
            at: None,
            moves: 0,
            gap: Duration::ZERO,
            gap_from: window.start,
        };
        let interval = goodput.and_then(|goodput| goodput.interval);
        let needs_detail = wishes.needs_messages() || interval.is_some();
        let detail = needs_detail.then(|| {
            Box::new(FlowDetail {
                interval,
                frozen: frozen.iter().map(|limit| (*limit, Duration::ZERO)).collect(),
                leaving: switchover.map(|lost| Box::new(leaving(lost))),
                late: late.as_ref().map(|late| Player {
                    pre_buffer: late.pre_buffer,
                    speeds: late.ratios.iter().map(|ratio| (*ratio, 0)).collect(),
                    first: None,
                    needed: 0.0,
                    played: 0,
                }),
                timeouts: wishes
                    .rto
                    .map(|curve| Box::new(TimeoutTrace::new(window.clone(), curve))),
                ..FlowDetail::default()
            })
        });
        let (from, until) = (window.start, window.end);
        FlowMeter { from, until, read: 0, packets: 0, bytes: 0, detail }
    }

    /// Messages that came too late, by ratio of encoding and play-back rate.
    pub fn late(&self) -> &[(f64, u64)] {
        let late = self.detail.as_ref().and_then(|detail| detail.late.as_ref());
        late.map_or(&[], |player| &player.speeds)
    }

    /// Messages that came in the window and could be late.
    pub fn played(&self) -> u64 {
        let late = self.detail.as_ref().and_then(|detail| detail.late.as_ref());
        late.map_or(0, |player| player.played)
    }

    /// The least ratio of encoding and play-back rate at which no message would have come too late.
    pub fn needed_ratio(&self) -> Option<f64> {
        Some(self.detail.as_ref()?.late.as_ref()?.needed)
    }

    fn counts(&self, now: Instant) -> bool {
        self.from <= now && now < self.until
    }

    /// A message was due: how long after the one before it.
    pub fn on_due(&mut self, due: Instant) -> Option<Duration> {
        let before = self.detail.as_mut()?.last_due.replace(due)?;
        Some(due.since(before))
    }

    /// The application read bytes.
    pub fn on_read(&mut self, now: Instant, bytes: u64) {
        if !self.counts(now) {
            return;
        }
        self.read += bytes;
        let Some(detail) = &mut self.detail else { return };
        if let Some(interval) = detail.interval {
            detail.advance(now.since(self.from).as_nanos() / interval.as_nanos().max(1));
            detail.current.1 += bytes;
        }
    }

    /// A packet of the sender left.
    pub fn on_sent(&mut self, now: Instant, bytes: u64) {
        if self.counts(now) {
            self.packets += 1;
            self.bytes += bytes;
        }
    }

    /// A packet with data left the sender.
    pub fn on_data_sent(&mut self) {
        if let Some(detail) = &mut self.detail {
            detail.data_packets.0 += 1;
        }
    }

    /// A packet with data arrived at the receiver.
    pub fn on_data_arrived(&mut self) {
        if let Some(detail) = &mut self.detail {
            detail.data_packets.1 += 1;
        }
    }

    /// The sender measured a round-trip time; its timeout is `rto` now.
    pub fn on_measurement(&mut self, now: Instant, rtt: Duration, rto: Duration) {
        let timeouts = self.detail.as_mut().and_then(|detail| detail.timeouts.as_mut());
        if let Some(timeouts) = timeouts {
            timeouts.on_measurement(now, rtt, rto);
        }
    }

    /// Data takes this path from now on.
    pub fn on_path(&mut self, now: Instant, path: u8) {
        let leaving = self.detail.as_mut().and_then(|detail| detail.leaving.as_mut());
        if let Some(leaving) = leaving {
            leaving.on_path(now, path);
        }
    }

    /// Something new was acknowledged; the sender's timeout is `rto` now.
    pub fn on_progress(&mut self, now: Instant, rto: Duration) {
        let counts = self.counts(now);
        let from = self.from;
        let Some(detail) = &mut self.detail else { return };
        if let Some((before, armed)) = detail.progress.replace((now, rto)).filter(|_| counts) {
            detail.add_gap(now.since(before.max(from)), armed);
        }
    }

    /// A message was delivered.
    pub fn on_delivery(&mut self, delivery: &Delivery) {
        let (is_due, counts) = (self.counts(delivery.due), self.counts(delivery.delivered));
        let Some(detail) = &mut self.detail else { return };
        if is_due {
            detail.delivered += 1;
            detail.longest = detail.longest.max(delivery.delivered.since(delivery.due));
            detail.most_resent = detail.most_resent.max(delivery.retransmissions);
        }
        let before = detail.last_delivery.replace(delivery.delivered);
        if let Some(before) = before.filter(|_| counts) {
            detail.gaps.add(delivery.delivered.since(before).as_secs_f64());
        }
        if let Some(leaving) = &mut detail.leaving {
            let before = before.unwrap_or(self.from).max(self.from);
            leaving.on_silence(before, delivery.delivered.min(self.until));
        }
        if let Some(player) = &mut detail.late {
            player.on_delivery(delivery, counts);
        }
    }

    /// A message due at `due` is not delivered when the run ends, at `now`: it takes at least until then.
    pub fn on_undelivered(&mut self, due: Instant, now: Instant) {
        let counts = self.counts(due);
        if let Some(detail) = self.detail.as_mut().filter(|_| counts) {
            detail.longest = detail.longest.max(now.since(due));
        }
    }

    /// The run ended at `now`.
    pub fn finish(&mut self, now: Instant) {
        let until = self.until.min(now);
        let from = self.from;
        let Some(detail) = &mut self.detail else { return };
        if let Some(leaving) = &mut detail.leaving {
            leaving.on_silence(detail.last_delivery.unwrap_or(from).max(from), until);
        }
        if let Some(interval) = detail.interval {
            detail.advance(until.since(from).as_nanos() / interval.as_nanos().max(1));
        }
        if let Some((before, armed)) = detail.progress {
            detail.add_gap(until.since(before.max(from)), armed);
        }
    }
}

impl Leaving {
    fn on_path(&mut self, now: Instant, path: u8) {
        self.moves += 1;
        match path {
            // It came back: to leave was no answer to the loss.
            0 if now <= self.lost => self.at = None,
            0 => {}
            _ => self.at = self.at.or(Some(now)),
        }
    }

    fn on_silence(&mut self, from: Instant, to: Instant) {
        if to.since(from) > self.gap {
            (self.gap, self.gap_from) = (to.since(from), from);
        }
    }

    /// Seconds from the loss until data took another path; negative if that was before it.
    pub fn seconds(&self) -> Option<f64> {
        let at = self.at?;
        Some(at.since(self.lost).as_secs_f64() - self.lost.since(at).as_secs_f64())
    }
}

impl FlowDetail {
    /// The share of packets with data that were lost; none where none was sent.
    pub fn loss(&self) -> Option<f64> {
        let (sent, arrived) = self.data_packets;
        (sent > 0).then(|| sent.saturating_sub(arrived) as f64 / sent as f64)
    }

    /// So long nothing new was acknowledged, beginning with this timeout.
    fn add_gap(&mut self, gap: Duration, rto: Duration) {
        for (_, sum) in self.frozen.iter_mut().filter(|(limit, _)| limit.is_passed(gap, rto)) {
            *sum += gap;
        }
    }

    /// Closes the intervals before number `to`.
    fn advance(&mut self, to: u64) {
        let (number, bytes) = self.current;
        if to > number {
            *self.intervals.entry(bytes).or_default() += 1;
            if to > number + 1 {
                *self.intervals.entry(0).or_default() += to - number - 1;
            }
            self.current = (to, 0);
        }
    }
}

impl Player {
    fn on_delivery(&mut self, delivery: &Delivery, counts: bool) {
        let (first, delivered) = *self.first.get_or_insert((delivery.media, delivery.delivered));
        if !counts {
            return;
        }
        self.played += 1;
        let media = delivery.media.saturating_sub(first).as_nanos() as f64;
        let waited = delivery.delivered.since(delivered + self.pre_buffer).as_nanos() as f64;
        if media > 0.0 {
            self.needed = self.needed.max(waited / media);
        }
        for (ratio, late) in &mut self.speeds {
            let offset = Duration::from_nanos((media * *ratio).round() as u64);
            if delivery.delivered > delivered + self.pre_buffer + offset {
                *late += 1;
            }
        }
    }
}
