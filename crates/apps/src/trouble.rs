//! Recovery's events that explain why a message was late, in words.

use recovery::{Cause, Event, TimedEvent};

/// Describes an event that explains lateness; `None` for others. DATA chunks are counted from 0.
pub(crate) fn describe(first_unit: u64, (at, event): &TimedEvent) -> Option<String> {
    let text = match event {
        Event::Resent { unit, cause, order } => {
            let chunk = unit.saturating_sub(first_unit);
            format!(
                "chunk {chunk} sent again ({}, {}), {}",
                cause.name(),
                ordinal(*order),
                why(*cause)
            )
        }
        Event::Timeout { next_rto, thin, linear, .. } => {
            let thick = if *thin { "thin" } else { "thick" };
            let doubled = if *linear { ", not doubled" } else { "" };
            let next = next_rto.rounded();
            format!("retransmission timer expired; next after {next}{doubled} ({thick} stream)")
        }
        Event::Lost { packets, cause, .. } => {
            format!("{} declared lost ({})", counted(*packets, "packet", "packets"), cause.name())
        }
        Event::Spurious { units: 1 } => "1 retransmission was needless".to_owned(),
        Event::Spurious { units } => format!("{units} retransmissions were needless"),
        Event::Probed { new, .. } => {
            let what = if *new { "new data" } else { "the last packet again" };
            format!("a probe for a lost tail: {what}")
        }
        Event::Repaired { units, .. } => {
            format!("{} repaired by copies in later packets", counted(*units, "loss", "losses"))
        }
        Event::Sent { .. }
        | Event::Acknowledged { .. }
        | Event::TimerSet { .. }
        | Event::Window { .. } => return None,
    };
    Some(format!("{at} s: {text}"))
}

fn counted(count: impl Into<u64>, one: &str, several: &str) -> String {
    let count = count.into();
    format!("{count} {}", if count == 1 { one } else { several })
}

fn ordinal(order: u8) -> String {
    match order {
        1 => "1st time".to_owned(),
        2 => "2nd time".to_owned(),
        3 => "3rd time".to_owned(),
        n => format!("{n}th time"),
    }
}

fn why(cause: Cause) -> &'static str {
    match cause {
        Cause::Timeout => "its timer expired",
        Cause::Fast => "SACKs report it missing",
        Cause::Bundled => "along with an older one",
        Cause::Early => "early, for want of SACKs to come",
        Cause::Probe => "to provoke a SACK",
        Cause::Copy => "as a copy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{Duration, Instant};
    use recovery::PathId;

    #[test]
    fn retransmissions_and_timeouts_are_told_and_routine_is_not() {
        let at = Instant::from_millis(1500);
        let resent = Event::Resent { unit: 107, cause: Cause::Timeout, order: 2 };
        assert_eq!(
            describe(100, &(at, resent)).unwrap(),
            "1.500000 s: chunk 7 sent again (timeout, 2nd time), its timer expired"
        );
        let next_rto = Duration::from_millis(400);
        let path = PathId::FIRST;
        let timeout = Event::Timeout { path, next_rto, thin: true, linear: true, doublings: 0 };
        assert!(describe(0, &(at, timeout)).unwrap().contains("400ms, not doubled (thin stream)"));
        for (packets, words) in
            [(1, "1 packet declared lost (early)"), (2, "2 packets declared lost (early)")]
        {
            let lost = Event::Lost { path, packets, cause: Cause::Early };
            assert_eq!(describe(0, &(at, lost)).unwrap(), format!("1.500000 s: {words}"));
        }
        let needless = describe(0, &(at, Event::Spurious { units: 1 })).unwrap();
        assert!(needless.ends_with("1 retransmission was needless"), "{needless}");
        let due = Event::TimerSet { path, due: at };
        assert_eq!(describe(0, &(at, due)), None);
    }
}
