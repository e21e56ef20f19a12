//! The view that is shown while the demo runs.

use base::Duration;
use lab::Limit;
use results::LatencySummary;
use results::text_table::Table;

/// Latest latencies shown of each policy.
pub(super) const RECENT: usize = 48;

/// Heading of the latest messages.
const LATEST: &str = "latest messages";

/// Space between the numbers and the latest messages.
const GAP: &str = "  ";

/// State of all policies at one time, for the screen.
#[derive(Clone, Debug)]
pub struct LiveView {
    /// Time since the first message could be due.
    pub elapsed: Duration,
    /// Limit after which messages end.
    pub planned: Limit,
    /// Whether all messages were due: what is missing is on its way.
    pub all_sent: bool,
    /// The policies in their order.
    pub policies: Vec<LivePolicy>,
    /// Events since the last view, a line each, if they were requested.
    pub news: Vec<String>,
}

/// Latest numbers of one policy, for the screen.
#[derive(Clone, Debug)]
pub struct LivePolicy {
    /// Name in reports: a preset, with what is changed of it.
    pub name: String,
    /// Messages that were due until now.
    pub sent: u64,
    /// Messages that reached the application.
    pub delivered: u64,
    /// Chunks retransmitted until now.
    pub retransmissions: u64,
    /// One-way latency of the messages delivered so far; none before the first.
    pub latency: Option<LatencySummary>,
    /// One-way latency of the messages delivered last, the oldest first.
    pub recent: Vec<Duration>,
}

impl LiveView {
    /// A line of headings and one for each policy, aligned; the last column draws the messages
    /// delivered last, a bar each, whose height grows with the logarithm of the latency: as
    /// many as a terminal of `columns` has room for.
    pub fn lines(&self, columns: Option<usize>) -> Vec<String> {
        let planned = match self.planned {
            Limit::Time(span) => format!(" of {span}"),
            Limit::Count(_) | Limit::Unlimited => String::new(),
        };
        let state = if self.all_sent { ", waiting for the last messages" } else { "" };
        let elapsed = self.elapsed.as_secs_f64();
        let mut table = Table::new(1).dense();
        // Headings as wide as most numbers, so that columns stay in place while numbers grow.
        table.row(["policy", "  sent", " there", " again", "    p50", "    p99", "    max"]);
        self.policies.iter().for_each(|policy| table.row(policy.cells()));
        let numbers = table.lines();
        let width = numbers.first().map_or(0, |heading| heading.chars().count() + GAP.len());
        let bars = columns.map_or(RECENT, |all| all.saturating_sub(width));
        let last = self.policies.iter().map(|policy| policy.bars(bars));
        let last = std::iter::once(LATEST.to_owned()).chain(last);
        let mut lines = vec![format!("{elapsed:.1} s{planned}{state}; one-way latency in ms")];
        lines.extend(
            numbers.iter().zip(last).map(|(numbers, last)| format!("{numbers}{GAP}{last}")),
        );
        lines
    }
}

impl LivePolicy {
    /// Name and numbers, in the order of the headings.
    fn cells(&self) -> [String; 7] {
        let LivePolicy { name, sent, delivered, retransmissions, .. } = self;
        let number = |value: fn(&LatencySummary) -> f64| {
            self.latency.map_or("-".to_owned(), |latency| format!("{:.0}", value(&latency)))
        };
        let [sent, delivered, again] = [sent, delivered, retransmissions].map(u64::to_string);
        let [p50, p99, max] = [number(|l| l.p50), number(|l| l.p99), number(|l| l.max)];
        [name.clone(), sent, delivered, again, p50, p99, max]
    }

    /// Latencies of the latest messages, at most `most` bars.
    fn bars(&self, most: usize) -> String {
        let recent = &self.recent[self.recent.len().saturating_sub(most)..];
        recent.iter().map(|latency| bar(*latency)).collect()
    }
}

/// A bar: the lowest up to 100 ms, the highest from 3.2 s on, a step for each factor of √2 × √2
/// between.
fn bar(latency: Duration) -> char {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    // Upper bounds of all but the last, in milliseconds.
    const BOUNDS: [u64; 7] = [100, 200, 350, 600, 1_000, 1_800, 3_200];
    BARS[BOUNDS.iter().filter(|bound| latency.as_millis() >= **bound).count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_aligned_and_slow_messages_stand_out() {
        let policy = |name: &str, latency| LivePolicy {
            name: name.to_owned(),
            sent: 100,
            delivered: 98,
            retransmissions: 7,
            latency,
            recent: [50, 50, 3_200, 250].map(Duration::from_millis).to_vec(),
        };
        let summary = LatencySummary {
            count: 98,
            mean: 60.0,
            p50: 50.2,
            p90: 51.0,
            p99: 1_150.4,
            p999: 3_200.0,
            max: 3_200.0,
        };
        let view = LiveView {
            elapsed: Duration::from_millis(3_449),
            planned: Limit::Time(Duration::from_secs(20)),
            all_sent: false,
            policies: vec![policy("lksctp", Some(summary)), policy("thin", None)],
            news: Vec::new(),
        };
        let lines = view.lines(None);
        assert_eq!(lines[0], "3.4 s of 20s; one-way latency in ms");
        assert!(lines[2].contains("    50    1150    3200  ▁▁█▃"), "{}", lines[2]);
        let ends = lines[1..].iter().map(|line| line.chars().take(50).count());
        assert!(ends.clone().all(|end| end == 50));
        assert_eq!(lines[2].find('▁'), lines[3].find('▁'));
        let narrow = view.lines(Some(lines[1].len() - LATEST.len() + 3));
        assert!(narrow[2].ends_with("  ▁█▃"), "the latest stay: {}", narrow[2]);
    }
}
