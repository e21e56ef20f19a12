//! Undo of a window reduction when nothing was lost: shown by duplicate reports (RFC 3708),
//! timestamps (Eifel, RFC 3522) or F-RTO. The restored windows follow RFC 4015 and RFC 9438,
//! section 4.9.

use base::{Duration, Instant};

use super::fallen::Fallen;
use crate::congestion::Congestion;
use crate::ledger::PacketNumber;
use crate::policy::CongestionPolicy;

/// The state that an undo restores.
#[derive(Clone, Debug)]
pub(crate) struct Before {
    /// Controller with the windows from before the reduction.
    pub(crate) congestion: Congestion,
    /// The data for which the window had fallen before: if the present fall was needless, its data
    /// has not been dealt with.
    pub(crate) fallen: Fallen,
}

/// State from before a window reduction, kept until the reduction can no longer prove needless.
#[derive(Clone, Debug)]
pub struct Undo {
    before: Before,
    /// Retransmitted units whose duplicates the peer has not reported yet.
    resent: u32,
    /// Whether more was retransmitted than the peer can report, so that its reports prove nothing.
    beyond: bool,
    /// The first retransmitted unit, and the instant of its retransmission.
    first: Option<(u64, Instant)>,
    /// Recovery ends when this unit is acknowledged.
    end: u64,
    /// The packet whose delivery ends all reports about this recovery; set once recovery has
    /// ended.
    last_word: Option<PacketNumber>,
}

impl Undo {
    /// The window is about to fall; data up to `end` is outstanding.
    pub(crate) fn new(before: Before, end: u64) -> Self {
        Undo { before, resent: 0, beyond: false, first: None, end, last_word: None }
    }

    /// Applies a replaced policy to the state that an undo restores.
    pub fn set_policy(&mut self, policy: &CongestionPolicy) {
        self.before.congestion.set_policy(policy);
    }

    /// A mark confirms the reduction: an undo restores no more than the state `now`.
    pub(crate) fn on_mark(&mut self, now: Before) {
        self.before = now;
    }

    /// Records that `unit` was retransmitted at `now`.
    pub fn on_resent(&mut self, now: Instant, unit: u64) {
        self.first.get_or_insert((unit, now));
        self.beyond |= self.resent == u32::MAX;
        self.resent = self.resent.saturating_add(1);
    }

    /// The peer reported `units` needless retransmissions. Returns whether all were needless, so
    /// that nothing was lost (RFC 3708, section 3).
    pub fn on_duplicates(&mut self, units: u32) -> bool {
        if units == 0 || self.resent == 0 || self.beyond {
            return false;
        }
        self.resent = self.resent.saturating_sub(units);
        self.resent == 0
    }

    /// The cumulative point advanced to `cumulative`, and the echoed timestamp is from `echoed`.
    /// Returns whether the first retransmitted unit is acknowledged and was sent before its
    /// retransmission, so that the original arrived (RFC 3522, section 3.2). `tick`:
    /// granularity of timestamps.
    pub fn is_original(&self, cumulative: u64, echoed: Instant, tick: Duration) -> bool {
        self.first.is_some_and(|(unit, at)| cumulative > unit && echoed + tick <= at)
    }

    /// Whether everything is acknowledged without a retransmission: data declared lost arrived
    /// before it could be retransmitted.
    pub fn is_idle(&self, cumulative: u64) -> bool {
        self.first.is_none() && cumulative >= self.end
    }

    /// Whether all data outstanding at the reduction is acknowledged: the next loss is independent
    /// of it.
    pub fn is_past(&self, cumulative: u64) -> bool {
        cumulative >= self.end
    }

    /// Whether no further report can concern this recovery: the data outstanding at the reduction
    /// is acknowledged, and a packet sent after that, `delivered`, has arrived. Later reports
    /// of needless retransmissions concern others. `next_packet` is the number of the next
    /// packet.
    pub fn is_closed(
        &mut self,
        cumulative: u64,
        delivered: Option<PacketNumber>,
        next_packet: PacketNumber,
    ) -> bool {
        if !self.is_past(cumulative) {
            return false;
        }
        let last_word = *self.last_word.get_or_insert(next_packet);
        delivered.is_some_and(|delivered| delivered >= last_word)
    }

    /// The state before the reduction.
    pub(crate) fn into_before(self) -> Before {
        self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::RecoveryPolicy;

    fn of(congestion: Congestion) -> Undo {
        Undo::new(Before { congestion, fallen: Fallen::default() }, 20)
    }

    fn undo() -> Undo {
        let mut policy = RecoveryPolicy::sctp_rfc().congestion;
        policy.controller = crate::policy::Controller::NewReno;
        of(Congestion::new(&policy, 1000))
    }

    const TICK: Duration = Duration::from_millis(1);

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn all_that_was_sent_again_must_be_reported_twice() {
        let mut undo = undo();
        (10..13).for_each(|unit| undo.on_resent(at(0), unit));
        assert!(!undo.on_duplicates(2));
        assert!(!undo.on_duplicates(0));
        assert!(undo.on_duplicates(1));
    }

    #[test]
    fn a_report_before_anything_was_sent_again_proves_nothing() {
        assert!(!undo().on_duplicates(1));
    }

    #[test]
    fn an_echo_from_before_the_first_retransmission_proves_the_original() {
        let mut undo = undo();
        assert!(!undo.is_original(20, at(0), TICK));
        undo.on_resent(at(100), 10);
        undo.on_resent(at(110), 11);
        assert!(undo.is_original(11, at(99), TICK));
        assert!(!undo.is_original(10, at(99), TICK), "what was sent again is not acknowledged");
        assert!(!undo.is_original(11, Instant::from_nanos(99_000_001), TICK), "the same tick");
        assert!(!undo.is_original(11, at(105), TICK));
    }

    #[test]
    fn what_came_before_its_turn_was_not_lost() {
        let mut undo = undo();
        assert!(!undo.is_idle(19));
        assert!(undo.is_idle(20));
        undo.on_resent(at(0), 10);
        assert!(!undo.is_idle(20));
        assert!(undo.is_past(20) && !undo.is_past(19));
    }

    #[test]
    fn it_is_closed_once_something_arrived_that_left_after_its_end() {
        let mut undo = undo();
        assert!(!undo.is_closed(19, Some(9), 10));
        assert!(!undo.is_closed(20, Some(9), 10));
        assert!(!undo.is_closed(21, None, 11));
        assert!(!undo.is_closed(21, Some(9), 12));
        assert!(undo.is_closed(22, Some(10), 12));
    }

    #[test]
    fn what_is_given_back_is_all_of_it_and_never_less_than_there_is() {
        let mut policy = RecoveryPolicy::sctp_rfc().congestion;
        policy.controller = crate::policy::Controller::NewReno;
        let mut now = Congestion::new(&policy, 1000);
        now.set_windows(20_000, 30_000);
        let undo = of(now.clone());
        now.set_windows(1_000, 10_000);
        now.undo(undo.clone().into_before().congestion);
        assert_eq!((now.cwnd(), now.ssthresh()), (20_000, 30_000));
        now.set_windows(40_000, 10_000);
        now.undo(undo.into_before().congestion);
        assert_eq!((now.cwnd(), now.ssthresh()), (40_000, 30_000));
    }
}
