//! Latency by how often a message had to be retransmitted, as in figure 8 of Petlund et al. (2009).

use base::Duration;
use serde::Serialize;

use crate::recorder::LatencyRecorder;

/// Columns: messages delivered by their first transmission, by the first retransmission, the
/// second, the third, and later ones.
const COLUMNS: usize = 5;

/// Latencies of messages, apart by the number of retransmissions each took.
#[derive(Clone, Debug, Default)]
pub struct LatencyByRetransmissions {
    columns: [LatencyRecorder; COLUMNS],
}

/// Numbers of one column as the paper shows them. Times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RetransmissionLatency {
    /// Number of messages, above zero.
    pub count: u64,
    /// Arithmetic mean of the latencies.
    pub mean: f64,
    /// 99 of 100 messages took no longer.
    pub p99: f64,
    /// The longest latency, exact.
    pub max: f64,
}

/// Latency by number of retransmissions. A column without messages is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RetransmissionLatencies {
    /// Latency of messages that were never retransmitted.
    pub none: Option<RetransmissionLatency>,
    /// Latency of messages that were retransmitted once.
    pub first: Option<RetransmissionLatency>,
    /// Latency of messages that were retransmitted twice.
    pub second: Option<RetransmissionLatency>,
    /// Latency of messages that were retransmitted three times.
    pub third: Option<RetransmissionLatency>,
    /// Latency of messages that were retransmitted more than three times.
    pub more: Option<RetransmissionLatency>,
    /// All messages that were retransmitted at all.
    pub retransmitted: Option<RetransmissionLatency>,
}

impl LatencyByRetransmissions {
    /// Counts a message that was delivered after `retransmissions` retransmissions of it.
    pub fn record(&mut self, retransmissions: u32, latency: Duration) {
        let column = (retransmissions as usize).min(COLUMNS - 1);
        self.columns[column].record(latency);
    }

    /// Adds all that `other` recorded.
    pub fn merge(&mut self, other: &LatencyByRetransmissions) {
        for (mine, theirs) in self.columns.iter_mut().zip(&other.columns) {
            mine.merge(theirs);
        }
    }

    /// Latency of all messages, however often they were retransmitted.
    pub fn all(&self) -> LatencyRecorder {
        merged(&self.columns)
    }

    /// The distributions of messages retransmitted not at all, once, twice, three times, and more
    /// often.
    pub fn columns(&self) -> &[LatencyRecorder] {
        &self.columns
    }

    /// Latency of the messages that were retransmitted at all.
    pub fn retransmitted(&self) -> LatencyRecorder {
        merged(&self.columns[1..])
    }

    /// The distribution by number of retransmissions in a few numbers.
    pub fn summary(&self) -> RetransmissionLatencies {
        let [none, first, second, third, more] = &self.columns;
        RetransmissionLatencies {
            none: summarise(none),
            first: summarise(first),
            second: summarise(second),
            third: summarise(third),
            more: summarise(more),
            retransmitted: summarise(&self.retransmitted()),
        }
    }
}

fn merged(recorders: &[LatencyRecorder]) -> LatencyRecorder {
    recorders.iter().fold(LatencyRecorder::new(), |mut all, one| {
        all.merge(one);
        all
    })
}

fn summarise(recorder: &LatencyRecorder) -> Option<RetransmissionLatency> {
    let all = recorder.summary()?;
    Some(RetransmissionLatency { count: all.count, mean: all.mean, p99: all.p99, max: all.max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stand_in_the_column_of_their_retransmissions() {
        let mut latencies = LatencyByRetransmissions::default();
        for (retransmissions, millis) in [(0, 50), (0, 52), (1, 300), (2, 700), (4, 900), (9, 1900)]
        {
            latencies.record(retransmissions, Duration::from_millis(millis));
        }
        let summary = latencies.summary();
        let mean = |column: Option<RetransmissionLatency>| column.map(|one| (one.count, one.mean));
        assert_eq!(mean(summary.none), Some((2, 51.0)));
        assert_eq!(mean(summary.first), Some((1, 300.0)));
        assert_eq!(mean(summary.second), Some((1, 700.0)));
        assert_eq!(mean(summary.third), None);
        assert_eq!(mean(summary.more), Some((2, 1400.0)));
        assert_eq!(mean(summary.retransmitted), Some((4, 950.0)));
        assert_eq!(latencies.all().count(), 6);
    }

    #[test]
    fn merging_keeps_the_columns_apart() {
        let mut one = LatencyByRetransmissions::default();
        let mut other = LatencyByRetransmissions::default();
        one.record(1, Duration::from_millis(100));
        other.record(1, Duration::from_millis(200));
        other.record(2, Duration::from_millis(400));
        one.merge(&other);
        assert_eq!(one.summary().first.unwrap().mean, 150.0);
        assert_eq!(one.summary().second.unwrap().max, 400.0);
    }
}
