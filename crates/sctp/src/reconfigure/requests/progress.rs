//! Requests on their way: sent, sent again, answered.

use base::Instant;

use super::{Numbered, Outstanding, Request, Situation};
use crate::association::{Association, Control, OwnedCause, State};
use crate::event::{Event, Failure};
use crate::reconfigure::streams::Streams;
use crate::reconfigure::{Reconfiguration, ResetDirection};
use crate::shutdown::backed_off;
use crate::wire::chunk::ReconfigResult;
use crate::wire::{Rsn, StreamId, Tsn};

impl Association {
    /// Sends the next requests if none is under way.
    pub(in crate::reconfigure) fn send_requests(
        &mut self,
        now: Instant,
        own: &mut Reconfiguration,
    ) {
        own.requests.note_drained(&self.queue, &self.tx);
        if own.requests.is_outstanding() || self.state != State::Established {
            return;
        }
        let situation = Situation {
            cumulative: self.tx.recovery.ledger().cumulative(),
            settled: self.queue.is_empty() && self.tx.is_settled(),
            last_tsn: self.tx.last_assigned_tsn(),
            peer_request: own.answers.last_request(),
        };
        let (requests, answered) = own.requests.take_next(&situation);
        if requests.is_empty() {
            return;
        }
        if let Some(request) = answered {
            own.answers.update(request, ReconfigResult::PERFORMED);
        }
        own.requests.send(requests, now + self.control_rto());
        self.push_request();
    }

    /// The requests under way are to be written, once.
    fn push_request(&mut self) {
        if !self.control.contains(&Control::Reconfigure) {
            self.push_control(Control::Reconfigure);
        }
    }

    /// Whether the reset that the peer asked for in `request` goes at once, so that it is the answer.
    pub(in crate::reconfigure) fn answers_at_once(
        &self,
        own: &mut Reconfiguration,
        request: Rsn,
    ) -> bool {
        own.requests.note_drained(&self.queue, &self.tx);
        self.state == State::Established
            && own.requests.can_answer(request, self.tx.recovery.ledger().cumulative())
    }

    /// The Re-configuration Timer expired: the requests go again, with the timer backed off.
    pub(in crate::reconfigure) fn on_request_timeout(&mut self, now: Instant) {
        let Some(outstanding) = self.outstanding_requests() else { return };
        let counts = !core::mem::take(&mut outstanding.in_progress);
        if counts {
            outstanding.attempts = outstanding.attempts.saturating_add(1);
        }
        let attempts = outstanding.attempts;
        let wait = backed_off(self.control_rto(), attempts, self.options.policy.rto.max);
        if let Some(outstanding) = self.outstanding_requests() {
            outstanding.due = now + wait;
        }
        if !self.state.sends_data() {
            // The shutdown goes on without an answer.
            if let Some(own) = &mut self.reconfiguration {
                own.requests.outstanding = None;
                own.requests.postponed = None;
            }
            return;
        }
        if counts {
            self.on_path_error(now, self.control_route(), true);
        }
        if counts && self.state != State::Closed {
            self.turn_control_path();
        }
        if self.state != State::Closed {
            self.push_request();
        }
    }

    fn outstanding_requests(&mut self) -> Option<&mut Outstanding> {
        self.reconfiguration.as_mut()?.requests.outstanding.as_mut()
    }

    /// Whether DATA that comes now may belong after a reset of the association of which this side does
    /// not know yet: the answer to its request may have been lost. Such DATA counts as lost too; the
    /// peer sends it again.
    pub(crate) fn refuses_data(&mut self) -> bool {
        let own = self.reconfiguration.as_mut();
        own.is_some_and(|own| own.requests.may_be_reset_by_peer())
    }

    /// The peer answered a request (section 5.2.7).
    pub(in crate::reconfigure) fn on_reconfiguration_response(
        &mut self,
        now: Instant,
        own: &mut Reconfiguration,
        response: Rsn,
        result: ReconfigResult,
        next_tsns: Option<(Tsn, Tsn)>,
    ) {
        let rto = self.control_rto();
        let Some(outstanding) = &own.requests.outstanding else { return };
        if !outstanding.requests.iter().any(|numbered| numbered.number == response) {
            return;
        }
        // It came where control chunks go from now on. A peer that says again and again that it waits for
        // data is not thereby one that gets it.
        if result != ReconfigResult::IN_PROGRESS || outstanding.attempts > 0 {
            self.error_count = 0;
            self.on_path_alive(now, self.control_route());
        }
        if own.requests.reveals_a_gap(now, response, result) {
            return;
        }
        let Some(outstanding) = &mut own.requests.outstanding else { return };
        let mut requests = outstanding.requests.iter();
        let Some(found) = requests.find(|numbered| numbered.number == response) else { return };
        if result == ReconfigResult::IN_PROGRESS {
            return outstanding.on_in_progress(now, rto);
        }
        let performed = result == ReconfigResult::PERFORMED;
        if performed && next_tsns.is_none() && matches!(found.request, Request::SsnTsnReset) {
            // Without the TSNs the answer means nothing.
            self.counters.chunks_dropped += 1;
            return;
        }
        let answered = own.requests.answered(now, |numbered| numbered.number == response);
        let Some(Numbered { request, .. }) = answered else { return };
        own.release_due = true;
        let done = performed || result == ReconfigResult::NOTHING_TO_DO;
        match request {
            Request::OutgoingReset { streams, .. } if done => {
                match &streams {
                    Streams::All => self.queue.reset_all_streams(),
                    Streams::These(streams) => self.queue.reset_streams(streams),
                }
                let (direction, streams) = (ResetDirection::Outgoing, streams.listed().into());
                self.announce(Event::StreamsReset { direction, streams });
            }
            Request::SsnTsnReset if performed => {
                let Some((peer_tsn, own_tsn)) = next_tsns else { return };
                if self.rx.as_ref().is_some_and(|rx| rx.went_past(peer_tsn)) {
                    // The network kept the request, gave it once more after the peer had asked to wait, and
                    // lost the answer: data of after was acknowledged as data of before, under numbers that
                    // begin again. Nobody can put that right.
                    const WHAT: &str = "data from after an association reset was taken for earlier";
                    let cause = OwnedCause::ProtocolViolation(WHAT);
                    return self.abort_with(cause, Failure::ProtocolViolation(WHAT));
                }
                self.tx.restart_at(own_tsn);
                self.begin_association_again(peer_tsn);
            }
            Request::AddOutgoing(count) if done => {
                self.queue.add_streams(count);
                self.announce(Event::StreamsAdded { outgoing: count, incoming: 0 });
            }
            // The peer's own request follows, or came before.
            Request::IncomingReset(_) | Request::AddIncoming(_) if done => {}
            refused => self.announce_refusal(refused.describe(), result),
        }
    }

    /// Both sides begin again: the peer with `peer_tsn`, this side with its next TSN.
    pub(in crate::reconfigure) fn begin_association_again(&mut self, peer_tsn: Tsn) {
        if let Some(Err(fault)) = self.rx.as_mut().map(|rx| rx.restart_at(peer_tsn)) {
            self.answer(fault.into(), peer_tsn, StreamId(0));
        }
        self.queue.reset_all_streams();
        let local_tsn = self.tx.last_assigned_tsn().next();
        self.announce(Event::AssociationReset { local_tsn, peer_tsn });
    }

    /// Whether a SACK for `tsn`, which was never sent, may be one from before the TSNs began anew, half
    /// the space away.
    pub(crate) fn is_from_before_reset(&self, tsn: Tsn) -> bool {
        let ahead = tsn.distance_from(self.tx.last_assigned_tsn());
        self.reconfiguration.is_some() && ahead > 1 << 30
    }
}
