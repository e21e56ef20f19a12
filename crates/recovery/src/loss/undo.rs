//! Taking back what a loss did to the window that was none: told by duplicate reports (RFC 3708), by
//! timestamps (Eifel, RFC 3522), or by F-RTO; what is given back is that of RFC 4015 and RFC 9438,
//! section 4.9.

use crate::congestion::Congestion;

/// What was before the window fell, kept until nobody can find any more that it fell in vain.
#[derive(Clone, Debug)]
pub struct Undo {
    /// The controller.
    before: Congestion,
    /// Units sent again since whose duplicates the peer has not reported.
    resent: u32,
    /// Whether more was sent again than the peer could report: then its reports prove nothing.
    beyond: bool,
    /// What the sender's clock for timestamps said at the first retransmission.
    first_stamp: Option<u32>,
    /// It ends when this unit is acknowledged.
    end: u64,
}

impl Undo {
    /// The window is about to fall; data up to `end` is outstanding.
    pub fn new(before: Congestion, end: u64) -> Self {
        Undo { before, resent: 0, beyond: false, first_stamp: None, end }
    }

    /// Units were sent again; `stamp` is the timestamp that the packet carries, if it does.
    pub fn on_resent(&mut self, units: u32, stamp: Option<u32>) {
        if self.first_stamp.is_none() {
            self.first_stamp = stamp;
        }
        self.beyond |= self.resent.checked_add(units).is_none();
        self.resent = self.resent.saturating_add(units);
    }

    /// The peer reported so many needless retransmissions. True once all of them were: nothing had been
    /// lost (RFC 3708, section 3).
    pub fn on_duplicates(&mut self, units: u32) -> bool {
        if units == 0 || self.resent == 0 || self.beyond {
            return false;
        }
        self.resent = self.resent.saturating_sub(units);
        self.resent == 0
    }

    /// Data that was sent again is acknowledged, and this timestamp echoed. True if that was sent before
    /// the first retransmission: the original had arrived (RFC 3522, section 3.2).
    pub fn is_original(&self, echo: u32) -> bool {
        self.first_stamp.is_some_and(|first| echo.wrapping_sub(first) > u32::MAX / 2)
    }

    /// Whether nothing more can be found: all is acknowledged, and no duplicate is waited for.
    pub fn is_over(&self, cumulative: u64) -> bool {
        cumulative >= self.end && self.resent == 0
    }

    /// What the controller was.
    pub fn into_before(self) -> Congestion {
        self.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::RecoveryPolicy;

    fn undo() -> Undo {
        let mut policy = RecoveryPolicy::rfc().congestion;
        policy.controller = crate::policy::Controller::NewReno;
        Undo::new(Congestion::new(&policy, 1000), 20)
    }

    #[test]
    fn all_that_was_sent_again_must_be_reported_twice() {
        let mut undo = undo();
        undo.on_resent(2, None);
        undo.on_resent(1, None);
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
        assert!(!undo.is_original(99));
        undo.on_resent(1, Some(100));
        undo.on_resent(1, Some(110));
        assert!(undo.is_original(99));
        assert!(!undo.is_original(100));
        assert!(!undo.is_original(105));
    }

    #[test]
    fn timestamps_wrap() {
        let mut undo = undo();
        undo.on_resent(1, Some(3));
        assert!(undo.is_original(u32::MAX - 5));
        assert!(!undo.is_original(4));
    }

    #[test]
    fn what_is_given_back_is_all_of_it_and_never_less_than_there_is() {
        let mut policy = RecoveryPolicy::rfc().congestion;
        policy.controller = crate::policy::Controller::NewReno;
        let mut now = Congestion::new(&policy, 1000);
        now.set_windows(20_000, 30_000);
        let undo = Undo::new(now.clone(), 20);
        now.set_windows(1_000, 10_000);
        now.undo(undo.clone().into_before());
        assert_eq!((now.cwnd(), now.ssthresh()), (20_000, 30_000));
        now.set_windows(40_000, 10_000);
        now.undo(undo.into_before());
        assert_eq!((now.cwnd(), now.ssthresh()), (40_000, 30_000));
    }

    #[test]
    fn it_is_kept_until_all_is_acknowledged_and_reported() {
        let mut undo = undo();
        undo.on_resent(1, None);
        assert!(!undo.is_over(20));
        undo.on_duplicates(1);
        assert!(!undo.is_over(19));
        assert!(undo.is_over(20));
    }
}
