//! Tasks that wait for something of an association, under the lock that what they wait for is
//! under.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use base::Instant;

use super::{Association, Handle};
use crate::node::{Condition, Node, Phase, WaiterKey};

/// A task's part in the wait for a condition; dropping it ends the wait.
#[derive(Debug)]
pub(super) struct Waiting<'a> {
    handle: &'a Handle,
    condition: Condition,
    key: Option<WaiterKey>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let Handle { shard, ticket, .. } = self.handle;
            shard.look(|node| node.wait_no_more(ticket, self.condition, key));
        }
    }
}

impl Waiting<'_> {
    /// Ready with the answer of a call on the machine; while it is none, the condition wakes the
    /// task. A call without an answer leaves the machine without work.
    pub(super) fn poll<R>(
        &mut self,
        context: &Context<'_>,
        call: impl FnOnce(&mut Node, Instant) -> Option<R>,
    ) -> Poll<R> {
        let answer = self.handle.shard.ask(|node, now| {
            let answer = call(node, now);
            self.note(node, answer.is_some(), context.waker());
            answer
        });
        answer.map_or(Poll::Pending, Poll::Ready)
    }

    /// Polls as [`Waiting::poll`] does, with a call that never makes work for the machine.
    fn poll_look<R>(
        &mut self,
        context: &Context<'_>,
        look: impl FnOnce(&mut Node) -> Option<R>,
    ) -> Poll<R> {
        let answer = self.handle.shard.look(|node| {
            let answer = look(node);
            self.note(node, answer.is_some(), context.waker());
            answer
        });
        answer.map_or(Poll::Pending, Poll::Ready)
    }

    /// Lets the task wait, or notes that it has what it waited for.
    pub(super) fn note(&mut self, node: &mut Node, is_done: bool, waker: &Waker) {
        let ticket = &self.handle.ticket;
        if !is_done {
            node.wait(ticket, self.condition, &mut self.key, waker);
        } else if let Some(key) = self.key.take() {
            node.wait_no_more(ticket, self.condition, key);
        }
    }

    /// The task's name, under which [`Association::waiting_as`] resumes the wait.
    #[cfg(any(feature = "futures", feature = "tokio-io"))]
    pub(super) fn suspend(mut self) -> Option<WaiterKey> {
        self.key.take()
    }
}

impl Association {
    /// Wait of a task that has not called [`Waiting::poll`] yet.
    pub(super) fn waiting(&self, condition: Condition) -> Waiting<'_> {
        self.waiting_as(condition, None)
    }

    /// Wait of a task that may wait already, under the name `key`.
    pub(super) fn waiting_as(&self, condition: Condition, key: Option<WaiterKey>) -> Waiting<'_> {
        Waiting { handle: &self.handle, condition, key }
    }

    /// The answer to `look`, which is asked for now and after each change.
    pub(super) async fn after_changes<R>(&self, mut look: impl FnMut(&mut Node) -> Option<R>) -> R {
        let mut waiting = self.waiting(Condition::Changed);
        poll_fn(move |context| waiting.poll_look(context, &mut look)).await
    }

    pub(super) async fn phase_after(&self, condition: impl Fn(&Phase) -> bool) -> Phase {
        let ticket = &self.handle.ticket;
        self.after_changes(|node| Some(node.phase(ticket)).filter(&condition)).await
    }
}
