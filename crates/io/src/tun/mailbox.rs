//! ICMP errors for every machine that may have sent the quoted packet, since they may arrive at any
//! queue.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

use crate::ip::IcmpReport;

/// Waiting reports; further ones are dropped when it is full, since ICMP is unreliable.
#[derive(Debug, Default)]
pub(super) struct Mailbox(Mutex<Content>);

#[derive(Debug, Default)]
struct Content {
    reports: VecDeque<IcmpReport>,
    waker: Option<Waker>,
}

/// Most reports kept for a busy machine.
const REPORTS_MAX: usize = 256;

impl Mailbox {
    /// Adds a report and wakes the owner.
    pub(super) fn leave(&self, report: IcmpReport) {
        let mut content = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if content.reports.len() < REPORTS_MAX {
            content.reports.push_back(report);
        }
        if let Some(waker) = content.waker.take() {
            waker.wake();
        }
    }

    /// Whether there is a report; if not, `waker` is woken when there is.
    pub(super) fn poll(&self, waker: &Waker) -> bool {
        let mut content = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !content.reports.is_empty() {
            return true;
        }
        match &mut content.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        false
    }

    /// Takes the ICMP reports that wait, and leaves none.
    pub(super) fn take(&self) -> VecDeque<IcmpReport> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).reports)
    }
}
