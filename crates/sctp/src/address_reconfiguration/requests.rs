//! What this side tells the peer of its own addresses (RFC 5061, section 5.1): one ASCONF with one change
//! under way at a time, and its timer T4.

use core::net::{IpAddr, SocketAddr};
use std::collections::VecDeque;

use base::{Duration, Instant};

use crate::backoff::backed_off;
use crate::event::addresses::AddressChange;
use crate::wire::chunk::{AddressAnswer, AddressAnswers, AddressRequest, Asconf, AsconfAck};
use crate::wire::{AsconfSerial, CauseCode};

/// Changes that may wait.
const WAITING_LIMIT: usize = 64;

/// Deleted addresses that are kept in mind.
const DELETED_KEPT: usize = 8;

/// A change of this side's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) change: AddressChange,
    pub(crate) local: SocketAddr,
}

/// What an ASCONF-ACK answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// An earlier ASCONF, which was answered before.
    Nothing,
    /// An ASCONF that was never sent.
    NeverAsked,
    /// The change under way, which the peer refused for this cause, or took note of.
    Change(Change, Option<CauseCode>),
}

/// The ASCONF under way, and T4.
#[derive(Debug)]
struct Outstanding {
    serial: AsconfSerial,
    change: Change,
    due: Instant,
    /// Expiries in a row.
    attempts: u8,
}

/// What this side asks of the peer.
#[derive(Debug)]
pub(crate) struct Requests {
    next: AsconfSerial,
    waiting: VecDeque<Change>,
    outstanding: Option<Outstanding>,
    /// Addresses that were deleted, the last of them at the end; at most [`DELETED_KEPT`].
    deleted: VecDeque<IpAddr>,
    /// The peer does not know requests to add or delete, or to make an address the primary one.
    unknown: Unknown,
}

/// Requests that the peer said it does not know: none of them is sent any more.
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

    /// Whether the peer said that it does not know how to make this change.
    pub(super) fn are_unknown(&self, change: AddressChange) -> bool {
        self.unknown.includes(change)
    }

    /// The peer does not know how to make this change (section 5.3, rules F3a and F3b): those that waited and are given
    /// up for that.
    pub(crate) fn forget_kind(&mut self, change: AddressChange) -> Vec<Change> {
        self.unknown.insert(change);
        self.give_up_unknown()
    }

    /// The peer does not know ASCONF (section 5.1, rule A9): the change under way and those that waited, which are given
    /// up. None if none is under way.
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

    /// Whether an ASCONF under way deletes this address, or an earlier one did: an ABORT that comes there tells of the
    /// deletion, not of the association (section 5.3.1). It may come after the answer to the ASCONF, by another path.
    pub(crate) fn delete(&self, local: IpAddr) -> bool {
        let under_way = self.outstanding.as_ref().is_some_and(|outstanding| {
            outstanding.change.change == AddressChange::Deleted
                && outstanding.change.local.ip() == local
        });
        under_way || self.deleted.contains(&local)
    }

    /// The peer took note of a change.
    fn note_done(&mut self, Change { change, local }: Change) {
        match change {
            AddressChange::Added => self.deleted.retain(|deleted| *deleted != local.ip()),
            AddressChange::Deleted => {
                if self.deleted.len() == DELETED_KEPT {
                    self.deleted.pop_front();
                }
                self.deleted.push_back(local.ip());
            }
            AddressChange::MadePrimary => {}
        }
    }

    /// False if too many wait.
    pub(super) fn want(&mut self, change: Change) -> bool {
        let room = self.waiting.len() < WAITING_LIMIT;
        if room {
            self.waiting.push_back(change);
        }
        room
    }

    /// Makes of this side's addresses what they will be once the peer took note of every change.
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

    /// When T4 expires.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.outstanding.as_ref().map(|outstanding| outstanding.due)
    }

    /// Asks for the next change if none is under way, until `due` for the first time: whether an ASCONF is to be sent.
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

    /// The ASCONF under way, to be written; `locals` are this side's addresses, as far as they were named.
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
        // Any address that the peer knows (section 4.1.1); none is known behind a driver that names none.
        let family = |own: &&SocketAddr| own.is_ipv4() == change.local.is_ipv4();
        let known = locals.iter().find(family).map(SocketAddr::ip);
        let nowhere = || match address {
            IpAddr::V4(_) => IpAddr::V4(core::net::Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(core::net::Ipv6Addr::UNSPECIFIED),
        };
        let address = known.unwrap_or_else(nowhere);
        Some(Asconf { serial: *serial, address, requests: [request] })
    }

    /// Where a packet leaves from whose path begins at `local`, while a change is under way. A new address
    /// serves for ASCONF alone, and where the old ones do not work (section 5.3, rule D1). One that goes
    /// serves for nothing (rule D4): the peer may have forgotten it already, and answer with an ABORT.
    /// `locals`: this side's addresses, as far as they were named; `works`: whether the path of control chunks does.
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

    /// Whether T4 has expired.
    pub(crate) fn has_expired(&self, now: Instant) -> bool {
        self.deadline().is_some_and(|due| due <= now)
    }

    /// T4 expired: the ASCONF goes again as it is (section 5.1, rules B1 to B5). False if none is under way.
    pub(crate) fn back_off(&mut self, now: Instant, rto: Duration, max: Duration) -> bool {
        let Some(outstanding) = &mut self.outstanding else { return false };
        outstanding.attempts = outstanding.attempts.saturating_add(1);
        outstanding.due = now + backed_off(rto, outstanding.attempts, max);
        true
    }

    /// Input: the peer answered.
    pub(crate) fn on_ack(&mut self, ack: &AsconfAck<AddressAnswers<'_>>) -> Answered {
        let awaited = self.outstanding.take_if(|outstanding| outstanding.serial == ack.serial);
        match awaited {
            Some(done) => {
                let refusal = refusal(ack, done.serial.0);
                if refusal.is_none() {
                    self.note_done(done.change);
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

/// Why a request was refused, if it was: what an ASCONF-ACK does not mention was done.
fn refusal(ack: &AsconfAck<AddressAnswers<'_>>, of: u32) -> Option<CauseCode> {
    ack.answers.iter().map_while(Result::ok).find_map(|answer| match answer {
        AddressAnswer::Error { correlation, causes } if correlation == of => {
            let first = causes.iter().next().and_then(Result::ok);
            Some(first.map_or(CauseCode(0), |cause| cause.code()))
        }
        _ => None,
    })
}
