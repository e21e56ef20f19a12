//! The bound on bytes to an address that has not proved that it receives.

use core::net::SocketAddr;

/// Most bytes sent for each byte received before the address is proved (RFC 9147, section 5.1, and
/// RFC 9000, section 8).
const FACTOR: u64 = 3;

/// The account of the address that the peer is at.
///
/// A check of ICE shows that its sender knows the session, not that it receives at the address from
/// which the check came. A page could otherwise have the server send its handshakes, or after one
/// check from a forged address all of its data, to an address that never asked for them.
#[derive(Debug)]
pub(super) struct Budget {
    /// Additional bytes that may be sent for those of the peer's description, which count like
    /// those of a check.
    credit: u64,
    remote: Option<SocketAddr>,
    received: u64,
    sent: u64,
    proved: bool,
}

impl Budget {
    /// The account of a peer whose description had this many bytes.
    pub(super) fn new(description: usize) -> Budget {
        let credit = FACTOR * description as u64;
        Budget { credit, remote: None, received: 0, sent: 0, proved: false }
    }

    /// Notes a datagram from `remote`; `selected` is the peer's current address.
    pub(super) fn note_received(
        &mut self,
        selected: Option<SocketAddr>,
        remote: SocketAddr,
        bytes: usize,
    ) {
        if self.remote != selected {
            // What was sent to the address before on credit cannot be sent again.
            let spent =
                if self.proved { 0 } else { self.sent.saturating_sub(FACTOR * self.received) };
            self.credit = self.credit.saturating_sub(spent);
            (self.remote, self.received, self.sent, self.proved) = (selected, 0, 0, false);
        }
        if self.remote == Some(remote) {
            self.received += bytes as u64;
        }
    }

    /// Notes a datagram sent to `remote`.
    pub(super) fn note_sent(&mut self, remote: SocketAddr, bytes: usize) {
        if self.remote == Some(remote) {
            self.sent += bytes as u64;
        }
    }

    /// Notes proof that the peer receives at `remote`: it returned data that only a receiver of
    /// this side's packets there can know.
    pub(super) fn prove(&mut self, remote: SocketAddr) {
        self.proved |= self.remote == Some(remote);
    }

    /// Whether the budget permits a datagram of `bytes`.
    pub(super) fn affords(&self, bytes: usize) -> bool {
        self.proved || self.sent + bytes as u64 <= FACTOR * self.received + self.credit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gets_three_times_its_bytes_until_it_is_proved() {
        let (here, there) = ("192.0.2.1:1".parse().unwrap(), "192.0.2.1:2".parse().unwrap());
        let mut budget = Budget::new(0);
        assert!(!budget.affords(1));
        budget.note_received(Some(here), here, 100);
        budget.note_received(Some(here), there, 500);
        assert!(budget.affords(300) && !budget.affords(301));
        budget.note_sent(here, 300);
        budget.note_sent(there, 10);
        assert!(!budget.affords(1));
        budget.prove(there);
        assert!(!budget.affords(1));
        budget.prove(here);
        assert!(budget.affords(1_000_000));
        // Another address begins again.
        budget.note_received(Some(there), there, 1);
        assert!(budget.affords(3) && !budget.affords(4));
    }

    #[test]
    fn the_offer_is_spent_once() {
        let (here, there) = ("192.0.2.1:1".parse().unwrap(), "192.0.2.1:2".parse().unwrap());
        let mut budget = Budget::new(1000);
        budget.note_received(Some(here), here, 100);
        assert!(budget.affords(3300) && !budget.affords(3301));
        budget.note_sent(here, 2900);
        budget.note_received(Some(there), there, 100);
        assert!(budget.affords(700) && !budget.affords(701));
    }
}
