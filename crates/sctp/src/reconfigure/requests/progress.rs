//! Sending, repetition and answers of requests.

use base::{Duration, Instant};

use super::{Numbered, Request, Situation};
use crate::backoff::backed_off;
use crate::event::reconfiguration::{ReconfigurationEvent, ResetDirection};
use crate::reconfigure::answers::Answer;
use crate::reconfigure::streams::Streams;
use crate::reconfigure::{Action, Context, Reconfiguration};
use crate::wire::chunk::ReconfigResult;
use crate::wire::{Rsn, Tsn};

impl Reconfiguration {
    /// Sends the next requests if none is outstanding.
    pub(in crate::reconfigure) fn send_requests(
        &mut self,
        now: Instant,
        context: &mut Context<'_>,
    ) {
        self.requests.note_drained(context.tx);
        if self.requests.is_outstanding() || !context.is_established {
            return;
        }
        let situation = Situation {
            cumulative: context.tx.recovery().ledger().cumulative(),
            settled: context.tx.is_settled(),
            last_tsn: context.tx.last_assigned_tsn(),
            peer_request: self.answers.last_request(),
        };
        let (requests, answered) = self.requests.take_next(&situation);
        if requests.is_empty() {
            return;
        }
        if let Some(request) = answered {
            self.answers.replace(Answer::new(request, ReconfigResult::PERFORMED));
        }
        self.requests.send(requests, now + context.rto);
        context.actions.push(Action::Request);
    }

    /// Whether the reset that the peer requested by `request` leaves at once, so that it is the
    /// answer.
    pub(in crate::reconfigure) fn answers_at_once(
        &mut self,
        request: Rsn,
        context: &Context<'_>,
    ) -> bool {
        self.requests.note_drained(context.tx);
        let cumulative = context.tx.recovery().ledger().cumulative();
        context.is_established && self.requests.can_answer(request, cumulative)
    }

    /// The Re-configuration Timer expired: repeats the requests with back-off. Returns whether that
    /// counts as an error, or `None` if they are not repeated: no data is sent any more, and
    /// the shutdown continues without an answer.
    pub(crate) fn on_request_timeout(
        &mut self,
        now: Instant,
        (rto, max): (Duration, Duration),
        sends_data: bool,
    ) -> Option<bool> {
        let outstanding = self.requests.outstanding.as_mut()?;
        let counts = !core::mem::take(&mut outstanding.in_progress);
        if counts {
            outstanding.attempts = outstanding.attempts.saturating_add(1);
        }
        outstanding.due = now + backed_off(rto, outstanding.attempts, max);
        if !sends_data {
            self.requests.outstanding = None;
            self.requests.postponed = None;
            return None;
        }
        Some(counts)
    }

    /// Whether DATA that arrives now may belong after a reset of the association that this side
    /// does not know yet, because the answer to its request was lost. Such DATA counts as lost;
    /// the peer retransmits it.
    pub(crate) fn refuses_data(&mut self, opens_a_gap: bool) -> bool {
        self.requests.may_be_reset_by_peer(opens_a_gap)
    }

    /// Processes the answer to a request (section 5.2.7).
    pub(in crate::reconfigure) fn on_response(
        &mut self,
        now: Instant,
        response: Rsn,
        (result, next_tsns): (ReconfigResult, Option<(Tsn, Tsn)>),
        context: &mut Context<'_>,
    ) {
        let Some(outstanding) = &self.requests.outstanding else { return };
        if !outstanding.requests.iter().any(|numbered| numbered.number == response) {
            return;
        }
        // It arrived on the present path of control chunks. A peer that repeatedly asks to wait for
        // data does not thereby prove that it receives data.
        if result != ReconfigResult::IN_PROGRESS || outstanding.attempts > 0 {
            context.actions.push(Action::Alive(now));
        }
        if self.requests.reveals_a_gap(now, response, result) {
            return;
        }
        let Some(outstanding) = &mut self.requests.outstanding else { return };
        let mut requests = outstanding.requests.iter();
        let Some(found) = requests.find(|numbered| numbered.number == response) else { return };
        if result == ReconfigResult::IN_PROGRESS {
            return outstanding.on_in_progress(now, context.rto);
        }
        let performed = result == ReconfigResult::PERFORMED;
        if performed && next_tsns.is_none() && matches!(found.request, Request::SsnTsnReset) {
            // Without the TSNs the answer is meaningless.
            return context.actions.push(Action::Dropped);
        }
        let answered = self.requests.answered(now, |numbered| numbered.number == response);
        let Some(Numbered { request, .. }) = answered else { return };
        self.release_due = true;
        let done = performed || result == ReconfigResult::NOTHING_TO_DO;
        match request {
            Request::SsnTsnReset if performed => {
                if let Some(next_tsns) = next_tsns {
                    restart(next_tsns, context);
                }
            }
            request if done => on_done(&request, context),
            refused => context.announce_refusal(refused.describe(), result),
        }
    }
}

/// Executes the consequences of a successful request, except the reset of an association.
fn on_done(request: &Request, context: &mut Context<'_>) {
    match request {
        Request::OutgoingReset { streams, .. } => {
            let queue = context.tx.queue_mut();
            match streams {
                Streams::All => queue.reset_all_streams(),
                Streams::These(streams) => queue.reset_streams(streams),
            }
            let (direction, streams) = (ResetDirection::Outgoing, streams.listed().into());
            context.announce(ReconfigurationEvent::StreamsReset { direction, streams });
        }
        Request::AddOutgoing(count) => {
            context.tx.queue_mut().add_streams(*count);
            context.announce(ReconfigurationEvent::StreamsAdded { outgoing: *count, incoming: 0 });
        }
        // The peer's own request follows, or came before.
        Request::IncomingReset(_) | Request::AddIncoming(_) => {}
        Request::SsnTsnReset => {
            let refused = request.clone().describe();
            context.announce_refusal(refused, ReconfigResult::NOTHING_TO_DO);
        }
    }
}

/// The peer reset the association: resets all streams and TSNs of this side too.
fn restart((peer_tsn, own_tsn): (Tsn, Tsn), context: &mut Context<'_>) {
    if context.rx.went_past(peer_tsn) {
        // The network delayed the request, delivered it again after the peer had asked to wait, and
        // lost the answer: data from after the reset was acknowledged as data from before
        // it, under reused numbers. This cannot be corrected.
        const WHAT: &str = "data from after an association reset was taken for earlier";
        return context.actions.push(Action::Violation(WHAT));
    }
    context.tx.restart_at(own_tsn);
    context.begin_association_again(peer_tsn);
}
