//! Whether what a side saw is what the plan says.

use anyhow::{Context, Result, bail, ensure};
use virtual_peers::{Ending, Reliability};

use super::{Goodbye, Part, Seen};
use crate::plan::EchoPlan;

impl Seen {
    /// Whether everything of `plan` happened to a side with this part: messages, resets, and the end.
    /// `goodbye_may_be_lost` forgives a side that its peer, gone after SHUTDOWN COMPLETE, did not answer any more
    /// when the network had lost that (RFC 9260, section 9.2).
    ///
    /// # Errors
    /// Naming what did not.
    pub fn check(&self, plan: &EchoPlan, part: Part, goodbye_may_be_lost: bool) -> Result<()> {
        ensure!(self.established, "the association was not set up: {:?}", self.end);
        ensure!(self.wrong.is_empty(), "{}", self.wrong.join("; "));
        self.check_messages(plan)?;
        self.check_resets(plan, part)?;
        self.check_end(plan, part, goodbye_may_be_lost)
    }

    /// In short.
    pub fn summary(&self) -> String {
        let Seen { indices, bytes, peer_resets, end, .. } = self;
        let end = end.as_ref().map_or("not over".to_owned(), |end| format!("{end:?}"));
        format!("{} messages, {bytes} bytes, {peer_resets} resets, {end}", indices.len())
    }

    fn check_messages(&self, plan: &EchoPlan) -> Result<()> {
        let (arrived, count) = (self.indices.len(), plan.count);
        if plan.reliability == Reliability::Full {
            ensure!(arrived == count, "{arrived} of {count} messages arrived: {:?}", self.end);
            ensure!(self.bytes == plan.total(), "{} of {} bytes", self.bytes, plan.total());
            return Ok(());
        }
        let last = self.indices.last() == Some(&(count - 1));
        ensure!(last, "the last message, which is reliable, is not there: {:?}", self.end);
        ensure!(arrived < count, "nothing was abandoned");
        ensure!(arrived > count / 4, "{arrived} of {count} messages arrived");
        Ok(())
    }

    fn check_resets(&self, plan: &EchoPlan, part: Part) -> Result<()> {
        if plan.reset_after.is_none() {
            ensure!(self.peer_resets == 0, "the peer reset streams, and nobody asked it to");
            return Ok(());
        }
        ensure!(self.resets_refused.is_empty(), "no reset: {}", self.resets_refused.join("; "));
        ensure!(self.peer_resets > 0, "the peer reset no streams");
        // A server's may be on its way when the client closes.
        ensure!(part == Part::Server || self.resets_done > 0, "the reset was not completed");
        Ok(())
    }

    fn check_end(&self, plan: &EchoPlan, part: Part, goodbye_may_be_lost: bool) -> Result<()> {
        let own = part.ends(plan.end);
        let goodbye = own.or(part.other().ends(plan.end)).context("nobody ends")?;
        let Some(end) = &self.end else {
            let forgiven = goodbye == Goodbye::Shutdown && own.is_none() && goodbye_may_be_lost;
            ensure!(forgiven, "the association is not over");
            return Ok(());
        };
        match (goodbye, own, end) {
            (Goodbye::Shutdown, _, Ending::Closed)
            | (Goodbye::Abort, Some(_), Ending::Aborted)
            | (Goodbye::Abort, None, Ending::AbortedByPeer) => Ok(()),
            (Goodbye::Shutdown, None, Ending::Failed(_)) if goodbye_may_be_lost => Ok(()),
            _ => bail!("the association ended otherwise: {end:?}"),
        }
    }
}
