//! This side's changes of its own addresses (RFC 5061, section 5.1): one outstanding ASCONF with
//! one change at a time, and its timer T4.

use core::net::{IpAddr, SocketAddr};
use std::collections::VecDeque;

use base::{Duration, Instant};

use crate::backoff::backed_off;
use crate::event::reconfiguration::AddressChange;
use crate::wire::chunk::{AddressAnswer, AddressAnswers, AddressRequest, Asconf, AsconfAck};
use crate::wire::{AsconfSerial, CauseCode};

/// Most changes that wait for the answer to an earlier one; more are refused.
const WAITING_LIMIT: usize = 64;

/// Most deleted addresses remembered, to which the peer may still send.
const DELETED_KEPT: usize = 8;

/// A change of this side's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) change: AddressChange,
    pub(crate) local: SocketAddr,
}

/// Meaning of an ASCONF-ACK for the outstanding ASCONF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// An answer to an earlier ASCONF, which was answered before.
    Nothing,
    /// An answer to an ASCONF that was never sent.
    NeverAsked,
    /// An answer to the outstanding change, which the peer refused with this cause, or confirmed.
    Change(Change, Option<CauseCode>),
}

/// The outstanding ASCONF, and T4.
#[derive(Debug)]
struct Outstanding {
    serial: AsconfSerial,
    change: Change,
    due: Instant,
    /// Number of consecutive expiries of T4.
    attempts: u8,
}

/// State of this side's requests.
#[derive(Debug)]
pub(crate) struct Requests {
    next: AsconfSerial,
    waiting: VecDeque<Change>,
    outstanding: Option<Outstanding>,
    /// Deleted addresses, the latest at the end; at most [`DELETED_KEPT`]. Each with the instant
    /// until which packets that arrive there count.
    deleted: VecDeque<(IpAddr, Instant)>,
    /// Kinds of requests that the peer does not support: to add or delete, or to make an address
    /// the primary one.
    unknown: Unknown,
}

/// Kinds of requests that the peer reported as unknown: they are not sent any more.
#[derive(Clone, Copy, Debug, Default)]
struct Unknown {
    moves: bool,
    primary: bool,
}

impl Unknown {
    fn includes(self, change: AddressChange) -> bool {
        match change {
            AddressChange::Added | AddressChange::Deleted => self.moves,
            AddressChange::MadePrimary => self.primary,
        }
    }

    fn insert(&mut self, change: AddressChange) {
        match change {
            AddressChange::Added | AddressChange::Deleted => self.moves = true,
            AddressChange::MadePrimary => self.primary = true,
        }
    }
}

impl Requests {
    pub(super) fn new(first: AsconfSerial) -> Self {
        let (waiting, deleted) = (VecDeque::new(), VecDeque::new());
        Requests { next: first, waiting, outstanding: None, deleted, unknown: Unknown::default() }
    }

    /// Whether the peer does not support this change.
    pub(super) fn are_unknown(&self, change: AddressChange) -> bool {
        self.unknown.includes(change)
    }

    /// The peer does not support this change (section 5.3, rules F3a and F3b): removes and returns
    /// the queued ones of its kind.
    pub(crate) fn forget_kind(&mut self, change: AddressChange) -> Vec<Change> {
        self.unknown.insert(change);
        self.give_up_unknown()
    }

    /// The peer does not support ASCONF (section 5.1, rule A9): removes and returns the outstanding
    /// change and the queued ones; empty if none is outstanding.
    pub(crate) fn forget_all(&mut self) -> Vec<Change> {
        let Some(outstanding) = self.outstanding.take() else { return Vec::new() };
        self.unknown = Unknown { moves: true, primary: true };
        let mut given_up = vec![outstanding.change];
        given_up.extend(self.give_up_unknown());
        given_up
    }

    fn give_up_unknown(&mut self) -> Vec<Change> {
        let unknown = self.unknown;
        let waiting = core::mem::take(&mut self.waiting).into_iter();
        let (given_up, kept): (Vec<Change>, Vec<Change>) =
            waiting.partition(|waiting| unknown.includes(waiting.change));
        self.waiting = kept.into();
        given_up
    }

    /// Whether an outstanding or earlier ASCONF deletes this address: an ABORT that arrives there
    /// is a consequence of the deletion and does not concern the association (section 5.3.1).
    /// It may arrive after the answer to the ASCONF, by another path.
    pub(crate) fn delete(&self, local: IpAddr) -> bool {
        let under_way = self.outstanding.as_ref().is_some_and(|outstanding| {
            outstanding.change.change == AddressChange::Deleted
                && outstanding.change.local.ip() == local
        });
        under_way || self.deleted.iter().any(|(deleted, _)| *deleted == local)
    }

    /// Whether packets that arrive at this address do not count any more: it was deleted, it is not
    /// being added again, and the packets that were under way then have arrived (section 5.3
    /// allows two RTOs).
    pub(crate) fn is_gone(&self, now: Instant, local: IpAddr) -> bool {
        let is_past = |(deleted, until): &(IpAddr, Instant)| *deleted == local && *until <= now;
        self.deleted.iter().any(is_past) && !self.adds(local)
    }

    /// Whether this address is being added.
    fn adds(&self, local: IpAddr) -> bool {
        self.outstanding.as_ref().is_some_and(|outstanding| {
            outstanding.change.change == AddressChange::Added
                && outstanding.change.local.ip() == local
        })
    }

    /// The peer confirmed a change. Packets that arrive at a deleted address count until
    /// `valid_until`.
    fn note_done(&mut self, Change { change, local }: Change, valid_until: Instant) {
        match change {
            AddressChange::Added => self.deleted.retain(|(deleted, _)| *deleted != local.ip()),
            AddressChange::Deleted => {
                if self.deleted.len() == DELETED_KEPT {
                    self.deleted.pop_front();
                }
                self.deleted.push_back((local.ip(), valid_until));
            }
            AddressChange::MadePrimary => {}
        }
    }

    /// Queues a change; returns false if too many are queued.
    pub(super) fn want(&mut self, change: Change) -> bool {
        let room = self.waiting.len() < WAITING_LIMIT;
        if room {
            self.waiting.push_back(change);
        }
        room
    }

    /// Applies all unconfirmed changes to a list of this side's addresses.
    pub(super) fn apply(&self, locals: &mut Vec<SocketAddr>) {
        let under_way = self.outstanding.iter().map(|outstanding| outstanding.change);
        for Change { change, local } in under_way.chain(self.waiting.iter().copied()) {
            match change {
                AddressChange::Added => locals.push(local),
                AddressChange::Deleted => locals.retain(|own| own.ip() != local.ip()),
                AddressChange::MadePrimary => {}
            }
        }
    }

    /// Deadline of T4 (RFC 5061, section 5.1); `None` if no ASCONF is outstanding.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.outstanding.as_ref().map(|outstanding| outstanding.due)
    }

    /// Starts the next change if none is outstanding, with T4 expiring at `due`; returns whether an
    /// ASCONF is to be sent.
    pub(crate) fn advance(&mut self, due: Instant) -> bool {
        if self.outstanding.is_some() {
            return false;
        }
        let Some(change) = self.waiting.pop_front() else { return false };
        let serial = self.next;
        self.next = serial.next();
        self.outstanding = Some(Outstanding { serial, change, due, attempts: 0 });
        true
    }

    /// The outstanding ASCONF; `locals` are this side's addresses, as far as they were listed.
    pub(crate) fn asconf(
        &self,
        locals: &[SocketAddr],
    ) -> Option<Asconf<[AddressRequest<'static>; 1]>> {
        let Outstanding { serial, change, .. } = self.outstanding.as_ref()?;
        let (correlation, address) = (serial.0, change.local.ip());
        let request = match change.change {
            AddressChange::Added => AddressRequest::Add { correlation, address },
            AddressChange::Deleted => AddressRequest::Delete { correlation, address },
            AddressChange::MadePrimary => AddressRequest::SetPrimary { correlation, address },
        };
        // Any address that the peer knows (section 4.1.1); none is known if the driver gives none.
        let family = |own: &&SocketAddr| own.is_ipv4() == change.local.is_ipv4();
        let known = locals.iter().find(family).map(SocketAddr::ip);
        let nowhere = || match address {
            IpAddr::V4(_) => IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(core::net::Ipv6Addr::UNSPECIFIED),
        };
        let address = known.unwrap_or_else(nowhere);
        Some(Asconf { serial: *serial, address, requests: [request] })
    }

    /// Source address of a packet on a path that begins at `local`, while a change is outstanding.
    /// A new address is only used for ASCONF, and where the old ones do not work (section 5.3,
    /// rule D1). One that is being deleted is not used (rule D4): the peer may have forgotten
    /// it already and answer with an ABORT. `locals`: this side's addresses, as far as they
    /// were listed; `works`: whether the path of control chunks works.
    pub(crate) fn source_of(
        &self,
        local: Option<SocketAddr>,
        carries_asconf: bool,
        locals: &[SocketAddr],
        works: impl FnOnce() -> bool,
    ) -> Option<SocketAddr> {
        let Some(Outstanding { change, attempts, .. }) = &self.outstanding else { return local };
        match change.change {
            AddressChange::Added if carries_asconf && (!works() || attempts % 2 == 1) => {
                Some(change.local)
            }
            AddressChange::Deleted if local.is_some_and(|own| own.ip() == change.local.ip()) => {
                let other = |own: &&SocketAddr| {
                    own.ip() != change.local.ip() && own.is_ipv4() == change.local.is_ipv4()
                };
                locals.iter().find(other).copied().or(local)
            }
            _ => local,
        }
    }

    /// Whether the deadline of T4 has passed.
    pub(crate) fn has_expired(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|due| due <= now)
    }

    /// T4 expired: the ASCONF is repeated unchanged (section 5.1, rules B1 to B5). Returns false if
    /// none is outstanding.
    pub(crate) fn back_off(&mut self, now: Instant, rto: Duration, max: Duration) -> bool {
        let Some(outstanding) = &mut self.outstanding else { return false };
        outstanding.attempts = outstanding.attempts.saturating_add(1);
        outstanding.due = now + backed_off(rto, outstanding.attempts, max);
        true
    }

    /// Processes the peer's answer. `valid_until`: as in `note_done`.
    pub(crate) fn on_ack(
        &mut self,
        ack: &AsconfAck<AddressAnswers<'_>>,
        valid_until: Instant,
    ) -> Answered {
        let awaited = self.outstanding.take_if(|outstanding| outstanding.serial == ack.serial);
        match awaited {
            Some(done) => {
                let refusal = refusal(ack, done.serial.0);
                if refusal.is_none() {
                    self.note_done(done.change, valid_until);
                }
                Answered::Change(done.change, refusal)
            }
            None if ack.serial == self.next || ack.serial.is_after(self.next) => {
                Answered::NeverAsked
            }
            None => Answered::Nothing,
        }
    }
}

/// The cause of a request's refusal; `None` if it succeeded, as do requests that an ASCONF-ACK does
/// not list.
fn refusal(ack: &AsconfAck<AddressAnswers<'_>>, of: u32) -> Option<CauseCode> {
    ack.answers.iter().map_while(Result::ok).find_map(|answer| match answer {
        AddressAnswer::Error { correlation, causes } if correlation == of => {
            let first = causes.iter().next().and_then(Result::ok);
            Some(first.map_or(CauseCode(0), |cause| cause.code()))
        }
        _ => None,
    })
}
