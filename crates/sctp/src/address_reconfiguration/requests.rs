//! What this side tells the peer of its own addresses (RFC 5061, section 5.1): one ASCONF with one change
//! under way at a time, and its timer T4.

use core::net::{IpAddr, SocketAddr};
use std::collections::VecDeque;

use base::Instant;

use super::AddressChange;
use crate::association::{Association, Control, OwnedCause, State};
use crate::event::{Event, Failure};
use crate::shutdown::backed_off;
use crate::wire::chunk::{AddressAnswer, AddressAnswers, AddressRequest, Asconf, AsconfAck};
use crate::wire::{AsconfSerial, CauseCode};

/// Changes that may wait.
const WAITING_LIMIT: usize = 64;

/// A change of this side's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) change: AddressChange,
    pub(super) local: SocketAddr,
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

#[derive(Debug)]
pub(super) struct Requests {
    next: AsconfSerial,
    waiting: VecDeque<Change>,
    outstanding: Option<Outstanding>,
}

impl Requests {
    pub(super) fn new(first: AsconfSerial) -> Self {
        Requests { next: first, waiting: VecDeque::new(), outstanding: None }
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

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.outstanding.as_ref().map(|outstanding| outstanding.due)
    }
}

impl Association {
    /// Sends the next change if none is under way.
    pub(super) fn advance_address_requests(&mut self, now: Instant) {
        let due = now + self.control_rto();
        let Some(own) = &mut self.address_reconfiguration else { return };
        let requests = &mut own.requests;
        if requests.outstanding.is_some() || self.state != State::Established {
            return;
        }
        let Some(change) = requests.waiting.pop_front() else { return };
        let serial = requests.next;
        requests.next = serial.next();
        requests.outstanding = Some(Outstanding { serial, change, due, attempts: 0 });
        self.push_asconf();
    }

    fn push_asconf(&mut self) {
        if !self.control.contains(&Control::ChangeAddress) {
            self.push_control(Control::ChangeAddress);
        }
    }

    fn asconf_under_way(&self) -> Option<&Outstanding> {
        self.address_reconfiguration.as_ref()?.requests.outstanding.as_ref()
    }

    /// The ASCONF under way, to be written.
    pub(crate) fn asconf(&self) -> Option<Asconf<[AddressRequest<'static>; 1]>> {
        let Outstanding { serial, change, .. } = self.asconf_under_way()?;
        let (correlation, address) = (serial.0, change.local.ip());
        let request = match change.change {
            AddressChange::Added => AddressRequest::Add { correlation, address },
            AddressChange::Deleted => AddressRequest::Delete { correlation, address },
            AddressChange::MadePrimary => AddressRequest::SetPrimary { correlation, address },
        };
        // Any address that the peer knows (section 4.1.1); none is known behind a driver that names none.
        let family = |own: &&SocketAddr| own.is_ipv4() == change.local.is_ipv4();
        let known = self.locals.iter().find(family).map(SocketAddr::ip);
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
    pub(crate) fn source_of(
        &self,
        local: Option<SocketAddr>,
        carries_asconf: bool,
    ) -> Option<SocketAddr> {
        let Some(Outstanding { change, attempts, .. }) = self.asconf_under_way() else {
            return local;
        };
        let works = || self.paths[usize::from(self.control_route())].is_usable();
        match change.change {
            AddressChange::Added if carries_asconf && (!works() || attempts % 2 == 1) => {
                Some(change.local)
            }
            AddressChange::Deleted if local.is_some_and(|own| own.ip() == change.local.ip()) => {
                let other = |own: &&SocketAddr| {
                    own.ip() != change.local.ip() && own.is_ipv4() == change.local.is_ipv4()
                };
                self.locals.iter().find(other).copied().or(local)
            }
            _ => local,
        }
    }

    /// Input: time has come. T4 expired: the ASCONF goes again as it is (section 5.1, rules B1 to B5).
    pub(crate) fn handle_asconf_timer(&mut self, now: Instant) {
        if self.asconf_under_way().is_none_or(|outstanding| outstanding.due > now) {
            return;
        }
        if !self.state.sends_data() {
            self.address_reconfiguration = None;
            return;
        }
        self.on_path_error(now, self.control_route(), true);
        if self.state == State::Closed {
            return;
        }
        self.turn_control_path();
        let (rto, max) = (self.control_rto(), self.options.policy.rto.max);
        let own = self.address_reconfiguration.as_mut();
        if let Some(outstanding) = own.and_then(|own| own.requests.outstanding.as_mut()) {
            outstanding.attempts = outstanding.attempts.saturating_add(1);
            outstanding.due = now + backed_off(rto, outstanding.attempts, max);
            self.push_asconf();
        }
    }

    /// The peer answered.
    pub(crate) fn on_asconf_ack(&mut self, now: Instant, ack: &AsconfAck<AddressAnswers<'_>>) {
        let next = match &self.address_reconfiguration {
            Some(own) => own.requests.next,
            None => AsconfSerial(self.local_initial_tsn.0),
        };
        let expected = self.asconf_under_way().map(|outstanding| outstanding.serial);
        if expected != Some(ack.serial) {
            let never_asked = ack.serial == next || ack.serial.is_after(next);
            if !never_asked || !self.extensions.contains(crate::Extensions::ADDRESS_RECONFIGURATION)
            {
                // An old answer, or one to nobody.
                self.counters.chunks_dropped += 1;
                return;
            }
            let what = "ASCONF-ACK answers what was never asked";
            return self.abort_with(OwnedCause::IllegalAsconfAck, Failure::ProtocolViolation(what));
        }
        let own = self.address_reconfiguration.as_mut();
        let Some(done) = own.and_then(|own| own.requests.outstanding.take()) else { return };
        // Its path works.
        self.error_count = 0;
        self.on_path_alive(now, self.control_route());
        self.control.retain(|control| *control != Control::ChangeAddress);
        match refusal(ack, done.serial.0) {
            Some(cause) => self.announce(Event::AddressRefused {
                change: done.change.change,
                address: done.change.local.ip(),
                cause: cause.0,
            }),
            None => self.on_address_changed(now, done.change),
        }
        self.advance_address_requests(now);
    }

    fn on_address_changed(&mut self, now: Instant, Change { change, local }: Change) {
        match change {
            AddressChange::Added => self.add_local(now, local),
            AddressChange::Deleted => self.remove_local(now, local),
            AddressChange::MadePrimary => {}
        }
        let address = local.ip();
        self.announce(Event::OwnAddressChanged { change, address });
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
