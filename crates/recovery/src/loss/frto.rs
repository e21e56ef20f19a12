//! F-RTO (RFC 5682): finds out whether a retransmission timeout was needless. Data that was merely
//! late is acknowledged without a retransmission, if the sender briefly holds back its further
//! retransmissions.

/// Facts of an acknowledgement after a timeout.
#[derive(Clone, Copy, Debug, Default)]
pub struct AfterTimeout {
    /// The first unit not acknowledged cumulatively.
    pub cumulative: u64,
    /// Whether the cumulative point advanced.
    pub advanced: bool,
    /// Whether data was newly acknowledged, cumulatively or by gap, that was sent before the
    /// timeout and not retransmitted.
    pub original: bool,
    /// Whether data was newly reported beyond the cumulative point.
    pub gap: bool,
    /// Whether new data waits and the peer's window allows it.
    pub has_new: bool,
}

/// Next step after an acknowledgement (RFC 5682, sections 2.1 and 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is decided: the next acknowledgement is awaited.
    Wait,
    /// Send up to two packets of new data instead of retransmissions (step 2b).
    SendNew,
    /// The timeout was spurious (step 3b).
    Spurious,
    /// The timeout was genuine, or nothing shows otherwise: retransmissions continue. If new data
    /// had been sent, the window is three packets at most (step 3a).
    Conventional {
        /// Whether new data had been sent.
        sent_new: bool,
    },
}

/// A timeout suspected to be spurious.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frto {
    /// One past the highest unit sent before the timeout: "recover".
    recover: u64,
    /// Whether the peer reports gaps (section 3) or not (section 2).
    gaps: bool,
    sent_new: bool,
}

impl Frto {
    /// The timer expired with data up to `next_unit` outstanding, of which only the oldest packet
    /// is retransmitted. `gaps`: the peer reports gaps.
    pub fn new(next_unit: u64, gaps: bool) -> Self {
        Frto { recover: next_unit, gaps, sent_new: false }
    }

    /// One past the highest unit sent before the timeout.
    pub fn recover(&self) -> u64 {
        self.recover
    }

    /// Whether new data is to be sent before retransmissions.
    pub fn holds_back(&self) -> bool {
        self.sent_new
    }

    /// Judges an acknowledgement. [`Verdict::Spurious`] and [`Verdict::Conventional`] end the
    /// suspicion.
    pub fn on_ack(&mut self, ack: AfterTimeout) -> Verdict {
        if self.sent_new {
            return self.second(ack);
        }
        if ack.cumulative >= self.recover {
            return Verdict::Conventional { sent_new: false };
        }
        if !ack.advanced {
            // A duplicate: without gap reports it ends the suspicion (section 2.1, step 2a).
            return if self.gaps {
                Verdict::Wait
            } else {
                Verdict::Conventional { sent_new: false }
            };
        }
        if !ack.has_new {
            return Verdict::Conventional { sent_new: false };
        }
        self.sent_new = true;
        Verdict::SendNew
    }

    /// Judges the acknowledgement after new data was sent (step 3).
    fn second(&mut self, ack: AfterTimeout) -> Verdict {
        // Data sent before the timeout and never retransmitted has arrived, so its first
        // transmission was delivered. The first acknowledgement could not show it, since
        // the retransmission may have filled a hole in front of data that had arrived long
        // before.
        if ack.original {
            return Verdict::Spurious;
        }
        let repaired = ack.cumulative >= self.recover;
        if ack.gap || !ack.advanced || repaired {
            return Verdict::Conventional { sent_new: true };
        }
        Verdict::Wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten packets were outstanding, units 0 to 9.
    fn suspicion(gaps: bool) -> Frto {
        Frto::new(10, gaps)
    }

    fn advanced(cumulative: u64) -> AfterTimeout {
        AfterTimeout { cumulative, advanced: true, has_new: true, ..AfterTimeout::default() }
    }

    #[test]
    fn without_gap_reports_two_advances_in_a_row_mean_a_needless_timeout() {
        let mut frto = suspicion(false);
        assert_eq!(frto.on_ack(advanced(1)), Verdict::SendNew);
        assert!(frto.holds_back());
        let second = AfterTimeout { original: true, ..advanced(2) };
        assert_eq!(frto.on_ack(second), Verdict::Spurious);
    }

    #[test]
    fn an_acknowledgement_of_all_that_was_outstanding_ends_the_suspicion() {
        for (cumulative, verdict) in
            [(9, Verdict::Wait), (10, Verdict::Conventional { sent_new: true })]
        {
            let mut frto = suspicion(true);
            frto.on_ack(advanced(1));
            assert_eq!(frto.on_ack(advanced(cumulative)), verdict, "{cumulative}");
        }
    }

    #[test]
    fn the_first_advance_alone_proves_nothing() {
        // The retransmission may have filled a hole in front of data that had arrived.
        let first = AfterTimeout { original: true, ..advanced(4) };
        assert_eq!(suspicion(false).on_ack(first), Verdict::SendNew);
        assert_eq!(suspicion(true).on_ack(first), Verdict::SendNew);
    }

    #[test]
    fn a_duplicate_after_new_data_means_that_the_timeout_was_right() {
        for gaps in [false, true] {
            let mut frto = suspicion(gaps);
            assert_eq!(frto.on_ack(advanced(1)), Verdict::SendNew);
            let duplicate = AfterTimeout { cumulative: 1, gap: gaps, ..AfterTimeout::default() };
            assert_eq!(frto.on_ack(duplicate), Verdict::Conventional { sent_new: true });
        }
    }

    #[test]
    fn a_duplicate_first_ends_it_where_gaps_are_not_reported_and_is_waited_out_where_they_are() {
        let duplicate = AfterTimeout::default();
        assert_eq!(suspicion(false).on_ack(duplicate), Verdict::Conventional { sent_new: false });
        let mut frto = suspicion(true);
        assert_eq!(frto.on_ack(duplicate), Verdict::Wait);
        assert_eq!(frto.on_ack(advanced(1)), Verdict::SendNew);
    }

    #[test]
    fn all_acknowledged_at_once_proves_nothing() {
        for gaps in [false, true] {
            assert_eq!(
                suspicion(gaps).on_ack(advanced(10)),
                Verdict::Conventional { sent_new: false }
            );
        }
    }

    #[test]
    fn with_nothing_new_to_send_retransmissions_go_on() {
        let first = AfterTimeout { has_new: false, ..advanced(1) };
        assert_eq!(suspicion(true).on_ack(first), Verdict::Conventional { sent_new: false });
    }

    #[test]
    fn a_gap_report_of_what_was_never_sent_again_is_proof() {
        let mut frto = suspicion(true);
        assert_eq!(frto.on_ack(advanced(1)), Verdict::SendNew);
        let gap =
            AfterTimeout { cumulative: 1, original: true, gap: true, ..AfterTimeout::default() };
        assert_eq!(frto.on_ack(gap), Verdict::Spurious);
    }

    #[test]
    fn an_advance_over_the_retransmission_alone_is_waited_out() {
        let mut frto = suspicion(true);
        assert_eq!(frto.on_ack(advanced(1)), Verdict::SendNew);
        assert_eq!(frto.on_ack(advanced(2)), Verdict::Wait);
    }
}
