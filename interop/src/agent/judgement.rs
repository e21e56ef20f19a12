//! Whether what a side saw is what the plan says.

use anyhow::{Context, Result, bail, ensure};
use virtual_peers::{Ending, Reliability};

use super::{Goodbye, Observed, Part};
use crate::plan::{EchoPlan, Reset};

impl Observed {
    /// Whether everything of `plan` happened to a side with this part: messages, resets, and the
    /// end. `goodbye_may_be_lost` forgives a side whose SHUTDOWN ACK its peer did not answer
    /// any more: gone after SHUTDOWN COMPLETE, when the network had lost that (RFC 9260,
    /// section 9.2).
    ///
    /// # Errors
    /// Naming what did not.
    pub fn check(&self, plan: &EchoPlan, part: Part, goodbye_may_be_lost: bool) -> Result<()> {
        ensure!(self.established, "the association was not set up: {:?}", self.end);
        ensure!(self.wrong.is_empty(), "{}", self.wrong.join("; "));
        self.check_messages(plan)?;
        self.check_resets(plan, part)?;
        self.check_addresses(plan, part)?;
        self.check_end(plan, part, goodbye_may_be_lost)
    }

    /// Counts of the observations and the end, in one line.
    pub fn summary(&self) -> String {
        let Observed { indices, bytes, peer_resets, end, .. } = self;
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
        ensure!(self.refused.is_empty(), "refused: {}", self.refused.join("; "));
        let (by_peer, done) = (self.peer_resets > 0, self.resets_done > 0);
        match (plan.reset, part) {
            (None, _) => ensure!(!by_peer, "the peer reset streams without being asked to"),
            // The answer to a server's reset may be on its way when the client closes.
            (Some((_, Reset::EachItsOwn | Reset::Association)), Part::Server) => {
                ensure!(by_peer, "the peer reset no streams");
            }
            (Some((_, Reset::Association)), Part::Client) => {
                ensure!(done, "the association was not reset");
            }
            (Some((_, Reset::EachItsOwn)), Part::Client) => {
                ensure!(by_peer && done, "resets: by the peer {by_peer}, by itself {done}");
            }
            (Some((_, Reset::AskedFor)), Part::Client) => {
                ensure!(by_peer && !done, "resets: by the peer {by_peer}, by itself {done}");
            }
            (Some((_, Reset::AskedFor)), Part::Server) => {
                ensure!(done && !by_peer, "resets: by the peer {by_peer}, by itself {done}");
            }
        }
        let added = plan.added_streams.map_or(0, |(_, added)| added);
        ensure!(self.streams_added == [added; 2], "streams added: {:?}", self.streams_added);
        Ok(())
    }

    fn check_addresses(&self, plan: &EchoPlan, part: Part) -> Result<()> {
        let changed = plan.address_changes.iter();
        let changed = changed.map(|(_, change, ip)| (part == Part::Client, *change, (*ip).into()));
        ensure!(changed.eq(self.addresses.iter().copied()), "addresses: {:?}", self.addresses);
        Ok(())
    }

    fn check_end(&self, plan: &EchoPlan, part: Part, goodbye_may_be_lost: bool) -> Result<()> {
        let own = part.ends(plan.end);
        let goodbye = own.or(part.other().ends(plan.end)).context("no side ends")?;
        match (goodbye, own, &self.end) {
            (Goodbye::Shutdown, _, Some(Ending::Closed))
            | (Goodbye::Abort, Some(_), Some(Ending::Aborted))
            | (Goodbye::Abort, None, Some(Ending::AbortedByPeer)) => Ok(()),
            (Goodbye::Shutdown, None, None | Some(Ending::Unanswered)) if goodbye_may_be_lost => {
                Ok(())
            }
            (.., None) => bail!("the association is not over"),
            (.., Some(end)) => bail!("the association ended otherwise: {end:?}"),
        }
    }
}
