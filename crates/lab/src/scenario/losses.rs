//! Messages whose first transmission was lost: what became of them, and which to show.

use base::Duration;

/// Which message: ordered by flow, then by message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loss {
    /// Number of the flow.
    pub flow: u32,
    /// Number of the message within its flow.
    pub message: u64,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossRecord {
    /// The message.
    pub loss: Loss,
    /// From when it was due to its delivery.
    pub latency: Duration,
    /// Retransmissions before its delivery.
    pub retransmissions: u32,
}

/// The loss that shows best how policies differ: of the messages that every policy lost at first, one
/// that took the slowest policy longer than nine of ten others. `records` has a list for each policy,
/// in order.
pub fn pick_loss<'a>(records: impl IntoIterator<Item = &'a [LossRecord]>) -> Option<Loss> {
    let mut records = records.into_iter();
    let of_first = records.next()?.iter().filter(|record| record.retransmissions > 0);
    let mut slowest: Vec<LossRecord> = of_first.copied().collect();
    for others in records {
        slowest.retain_mut(|record| {
            let found = others.binary_search_by_key(&record.loss, |other| other.loss);
            let other = found.ok().map(|index| others[index]);
            let Some(other) = other.filter(|other| other.retransmissions > 0) else { return false };
            record.latency = record.latency.max(other.latency);
            true
        });
    }
    slowest.sort_by_key(|record| (record.latency, record.loss));
    let rank = slowest.len().saturating_sub(1) * 9 / 10;
    slowest.get(rank).map(|record| record.loss)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(message: u64, millis: u64) -> LossRecord {
        let retransmissions = u32::from(millis > 50);
        let loss = Loss { flow: 0, message };
        LossRecord { loss, latency: Duration::from_millis(millis), retransmissions }
    }

    #[test]
    fn the_picked_loss_is_one_of_every_policy_and_slow_for_one() {
        let slow: Vec<_> = (0..10).map(|message| record(message, 1000 + message)).collect();
        // Message 8 was not lost here after all, message 5 is missing.
        let fast: Vec<_> = [0, 1, 2, 3, 4, 6, 7, 8, 9]
            .map(|message| record(message, if message == 8 { 50 } else { 300 }))
            .to_vec();
        let picked = pick_loss([&slow[..], &fast[..]]).unwrap();
        assert_eq!(picked.message, 7);
        assert_eq!(pick_loss([&fast[..], &slow[..]]), Some(picked));
        assert_eq!(pick_loss([&slow[..], &[]]), None);
        assert_eq!(pick_loss([]), None);
    }
}
