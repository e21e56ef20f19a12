//! ICMP errors on their way to every machine that may have sent the packet they are about: they come to any queue.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

use crate::ip::IcmpReport;

/// Reports that wait; what comes when it is full is dropped, as ICMP may be.
#[derive(Debug, Default)]
pub(super) struct Mailbox(Mutex<Content>);

#[derive(Debug, Default)]
struct Content {
    reports: VecDeque<IcmpReport>,
    waker: Option<Waker>,
}

/// Reports kept for a machine that is busy.
const REPORTS_MAX: usize = 256;

impl Mailbox {
    /// Leaves a report and wakes the owner.
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

    /// Takes what is there.
    pub(super) fn take(&self) -> VecDeque<IcmpReport> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).reports)
    }
}
