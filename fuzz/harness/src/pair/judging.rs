//! The end of a run: the network works, and whatever was sent arrives, or its sender knows that it
//! will not.

use bytes::Bytes;

use super::{PATIENCE, STREAMS, Sent, World};
use crate::network::next_timeout;

impl World {
    /// No application asked for the associations that an old cookie opened: their peer believes to
    /// be in the first one, and would send again for ever what had arrived there.
    fn end_later(&mut self) {
        for at in 0..2 {
            for id in core::mem::take(&mut self.later[at]) {
                if let Some(mut own) = self.ends[at].association_mut(id) {
                    own.abort(Bytes::new());
                }
            }
        }
        self.drain();
    }

    /// The network works until nothing is outstanding, or for long enough.
    fn settle(&mut self) {
        let end = self.now + PATIENCE;
        while (!self.is_settled() || self.has_open() || !self.are_layers_settled())
            && self.now < end
        {
            self.close_open();
            self.end_later();
            // A peer that refuses all data and answers HEARTBEATs is never given up (RFC 9260,
            // section 8.1).
            self.agree_on_keys();
            self.trip();
            if self.air.is_empty()
                && let Some(at) = next_timeout(&self.ends)
            {
                self.pass(at.since(self.now));
            }
        }
    }

    /// The network works again: whatever was sent arrives now, or its sender knows that it will
    /// not.
    pub(super) fn judge(&mut self) {
        self.broken = [false; 2];
        self.mtu = [1_500; 2];
        self.settle();
        // Whatever was reset, every stream works.
        for (at, stream) in (0..2).flat_map(|at| (0..STREAMS).map(move |stream| (at, stream))) {
            if !self.over[at] {
                self.send(at, stream as u8, 100, false, 255);
            }
        }
        self.settle();
        // A last acknowledgement may have closed one end only; its peer finds out. What was under
        // way at the end may have begun more: the timers get their time.
        (0..4).for_each(|_| self.trip());
        self.settle();
        self.check();
        let states = |at: usize| self.ids[at].and_then(|id| self.ends[at].association(id));
        assert!(
            self.is_settled(),
            "neither settled nor failed: {:?}",
            [0, 1].map(|at| states(at).map(sctp::Association::stats))
        );
        for at in 0..2 {
            self.judge_layers(at);
            let is_missing = |sent: &Sent| !sent.arrived && sent.given_up.is_none();
            let missing = self.sent[at].iter().position(is_missing);
            let count = self.sent[at].iter().filter(|sent| is_missing(sent)).count() as u64;
            assert!(
                count <= self.further[at] || self.failed[at],
                "message {missing:?} of end {at} is missing: {:?}",
                self.ids[at]
                    .and_then(|id| self.ends[at].association(id))
                    .map(sctp::Association::stats)
            );
        }
    }
}
