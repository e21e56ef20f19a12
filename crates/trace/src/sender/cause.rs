//! The cause of a retransmission. The capture does not show it, but acknowledgements before it, and
//! the time since the last transmission, nearly determine it.

use base::{Duration, Instant};

/// No timer of a sender is believed to be shorter, unless the round trip is longer (Linux' minimum
/// RTO).
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(200);
/// Least time after a report within which a retransmission counts as following it at once.
const AT_ONCE: Duration = Duration::from_millis(10);
/// Reports that let a fast retransmission begin (RFC 5681, section 3.2; RFC 9260, section 7.2.4).
pub(super) const THRESHOLD: u32 = 3;

/// The reason of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A retransmission timer expired, or it followed from such an expiry.
    Timeout,
    /// Three reports of data that were sent later, or the consequence of such a loss.
    Fast,
    /// One or two reports of data that were sent later.
    Early,
    /// The chunk was bundled with another retransmission (SCTP).
    Bundled,
    /// Nothing was reported, and no timer of a round trip and its variation can have expired; or
    /// the tail was sent while something before it was outstanding.
    Probe,
    /// Before any report can have arrived.
    Unknown,
}

/// A recovery that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recovery {
    pub(crate) cause: Cause,
    /// Time at which it began.
    pub(crate) began: Instant,
    /// The end of the data sent by then: the recovery ends when all of them are acknowledged.
    pub(crate) point: u64,
}

/// Evidence about the cause of a retransmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evidence {
    pub(crate) now: Instant,
    /// The first number of the data.
    pub(crate) start: u64,
    /// Time of the transmission before.
    pub(crate) last: Instant,
    /// Reports since, of something that was sent after it.
    pub(crate) reports: u32,
    /// Time at which there were enough of these for a fast retransmission, else that of the last.
    pub(crate) reported: Option<Instant>,
    /// Whether the data is the first that is outstanding.
    pub(crate) is_first: bool,
    /// Cause for which the first in its packet was sent again, if that is another.
    pub(crate) leader: Option<Cause>,
    pub(crate) srtt: Option<Duration>,
    /// SRTT + 4 RTTVAR (RFC 6298, section 2), without a minimum.
    pub(crate) timeout: Option<Duration>,
    pub(crate) recovery: Option<Recovery>,
}

/// The cause that fits best.
pub(crate) fn judge(evidence: &Evidence) -> Cause {
    let Evidence { now, start, last, .. } = *evidence;
    let age = now.since(last);
    let recovery = evidence.recovery.filter(|it| start < it.point && last < it.began);
    if let Some(Recovery { cause: Cause::Timeout, .. }) = recovery {
        return Cause::Timeout;
    }
    let timeout = evidence.timeout.unwrap_or_default().max(SHORTEST_TIMEOUT);
    // A tenth less: the clock of a sender may be coarse, and of the capture, too.
    let may_be_timeout = evidence.is_first && age >= timeout * 9 / 10;
    if let Some(leader) = evidence.leader {
        return match evidence.reports {
            THRESHOLD.. => Cause::Fast,
            1.. if leader == Cause::Early => Cause::Early,
            _ => Cause::Bundled,
        };
    }
    if evidence.reports > 0 {
        let patience = evidence.srtt.unwrap_or_default() / 2;
        let follows = evidence.reported.is_some_and(|at| now.since(at) <= patience.max(AT_ONCE));
        return match recovery {
            // What had been reported often enough long before was lost again, or could not be sent.
            None if may_be_timeout && !follows => Cause::Timeout,
            _ if evidence.reports >= THRESHOLD => Cause::Fast,
            Some(recovery) => recovery.cause,
            None => Cause::Early,
        };
    }
    match recovery {
        _ if may_be_timeout => Cause::Timeout,
        Some(recovery) => recovery.cause,
        None if evidence.srtt.is_some_and(|srtt| age >= srtt) => Cause::Probe,
        None => Cause::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// Sent at 1 s over a path of 100 ms, judged at `now`.
    fn at(now: u64) -> Evidence {
        Evidence {
            now: ms(now),
            start: 10,
            last: ms(1000),
            reports: 0,
            reported: None,
            is_first: true,
            leader: None,
            srtt: Some(Duration::from_millis(100)),
            timeout: Some(Duration::from_millis(120)),
            recovery: None,
        }
    }

    fn reported(now: u64, reports: u32, at_ms: u64) -> Evidence {
        Evidence { reports, reported: Some(ms(at_ms)), ..at(now) }
    }

    #[test]
    fn silence_and_age_tell_a_timeout_from_a_probe() {
        assert_eq!(judge(&at(1300)), Cause::Timeout);
        assert_eq!(judge(&at(1180)), Cause::Timeout);
        assert_eq!(judge(&at(1150)), Cause::Probe);
        assert_eq!(judge(&at(1050)), Cause::Unknown);
        assert_eq!(judge(&Evidence { is_first: false, ..at(1300) }), Cause::Probe, "the tail");
    }

    #[test]
    fn three_reports_are_fast_and_fewer_are_early() {
        assert_eq!(judge(&reported(1201, 3, 1200)), Cause::Fast);
        assert_eq!(judge(&reported(1201, 2, 1200)), Cause::Early);
        assert_eq!(judge(&reported(1201, 1, 1200)), Cause::Early);
    }

    #[test]
    fn a_report_that_nothing_followed_leaves_a_timeout() {
        assert_eq!(judge(&reported(1400, 2, 1150)), Cause::Timeout);
        assert_eq!(judge(&reported(1400, 3, 1150)), Cause::Timeout);
        assert_eq!(judge(&Evidence { is_first: false, ..reported(1400, 1, 1150) }), Cause::Early);
    }

    #[test]
    fn what_follows_in_a_recovery_has_its_cause() {
        let recovery = |cause| Some(Recovery { cause, began: ms(1040), point: 20 });
        let in_recovery = |cause, now| Evidence { recovery: recovery(cause), ..at(now) };
        assert_eq!(judge(&in_recovery(Cause::Timeout, 1050)), Cause::Timeout);
        assert_eq!(judge(&in_recovery(Cause::Fast, 1050)), Cause::Fast);
        assert_eq!(judge(&in_recovery(Cause::Fast, 1300)), Cause::Timeout, "it was lost again");
        let later = Evidence { start: 20, ..in_recovery(Cause::Timeout, 1050) };
        assert_eq!(judge(&later), Cause::Unknown, "it was sent after the recovery began");
    }

    #[test]
    fn what_rides_behind_another_retransmission_is_bundled() {
        let behind = |leader, evidence| judge(&Evidence { leader: Some(leader), ..evidence });
        assert_eq!(behind(Cause::Timeout, at(1300)), Cause::Bundled);
        assert_eq!(behind(Cause::Fast, reported(1300, 2, 1300)), Cause::Bundled);
        assert_eq!(behind(Cause::Fast, reported(1300, 3, 1300)), Cause::Fast);
        assert_eq!(behind(Cause::Early, reported(1300, 1, 1300)), Cause::Early);
    }
}
