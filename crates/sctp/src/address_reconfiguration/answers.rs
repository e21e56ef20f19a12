//! The peer's changes of its addresses (RFC 5061, sections 5.2 and 5.3). Each ASCONF takes effect
//! once: a repeated one gets the same answer again.

use core::net::IpAddr;

use base::{DatagramMeta, Instant};
use bytes::Bytes;
use smallvec::SmallVec;

use crate::event::reconfiguration::{AddressChange, ReconfigurationEvent};
use crate::paths::Paths;
use crate::paths::action::Action;
use crate::paths::addresses::is_meaningful;
use crate::paths::context::Context;
use crate::paths::path::Path;
use crate::wire::chunk::{AddressAnswer, AddressRequest, AddressRequests, Asconf, AsconfAck};
use crate::wire::{AsconfSerial, Cause, CauseCode, ChunkType, Packet};

/// Most requests of one ASCONF that are executed. The answer to more might not fit a packet.
const REQUESTS_LIMIT: usize = 8;

/// Most requests of one ASCONF that are answered. Requests after a refused one count as refused
/// even if the answer does not list them (RFC 5061, section 5.1).
const ANSWERS_LIMIT: usize = 32;

/// Longest part of a refused request that is returned.
const ECHO_LIMIT: usize = 64;

/// The answer to an ASCONF, with its own copy of the contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AsconfAnswer {
    serial: AsconfSerial,
    /// Outcomes in the order of the requests.
    outcomes: Box<[Outcome]>,
}

/// Number of a request and, if it was refused, the cause and the request.
type Outcome = (u32, Option<(CauseCode, Bytes)>);

impl AsconfAnswer {
    /// The chunk: only the serial number if all requests succeeded (section 4.2.5).
    pub(crate) fn chunk(
        &self,
    ) -> AsconfAck<impl Iterator<Item = AddressAnswer<core::option::IntoIter<Cause<'_>>>>> {
        let any_error = self.outcomes.iter().any(|(_, refused)| refused.is_some());
        let outcomes = self.outcomes.iter().filter(move |_| any_error);
        let answers = outcomes.map(|(correlation, refused)| {
            let correlation = *correlation;
            match refused {
                None => AddressAnswer::Success { correlation },
                Some((code, request)) => {
                    let cause = Cause::Unrecognized { code: *code, value: request };
                    AddressAnswer::Error { correlation, causes: Some(cause).into_iter() }
                }
            }
        });
        AsconfAck { serial: self.serial, answers }
    }
}

/// Treatment of an ASCONF (RFC 5061, section 5.2).
#[derive(Debug)]
pub(crate) enum Asked {
    /// The ASCONF-ACK to send, new or repeated.
    Answer(Box<AsconfAnswer>),
    /// The number is the last one, whose answer is no longer stored.
    Forgotten,
    /// The number is not the next one, or a request is malformed (rule C5).
    Dropped,
}

/// State of the peer's address changes.
#[derive(Debug)]
pub(crate) struct Answers {
    /// The peer's last serial number.
    last: AsconfSerial,
    given: Option<Box<AsconfAnswer>>,
    /// Address that the peer wants as primary, once it is confirmed.
    wanted_primary: Option<IpAddr>,
    /// Addresses to be deleted once the peer's source address is confirmed.
    leaving: Option<Box<Leaving>>,
}

/// A request from a new, unconfirmed address to delete all others: the peer moved, or its NAT did.
#[derive(Debug)]
struct Leaving {
    /// Source address of the request.
    source: IpAddr,
    /// Addresses to be deleted: those of paths, so that there are few.
    gone: Vec<IpAddr>,
}

impl Answers {
    pub(super) fn new(before_first: AsconfSerial) -> Self {
        Answers { last: before_first, given: None, wanted_primary: None, leaving: None }
    }
}

/// Whether a packet has ASCONF after AUTH, as required of one from an address unknown to the
/// association (section 5.2).
pub(crate) fn may_come_from_anywhere(packet: &Packet) -> bool {
    let mut types = packet.raw_chunks().map_while(Result::ok).map(|raw| raw.chunk_type);
    types.next() == Some(ChunkType::AUTH) && types.next() == Some(ChunkType::ASCONF)
}

impl Answers {
    /// Input: an authenticated ASCONF, whose requests are executed in order.
    pub(crate) fn on_asconf(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        asconf: &Asconf<AddressRequests<'_>>,
        (paths, context): (&mut Paths, &mut Context<'_>),
    ) -> Asked {
        if asconf.serial == self.last {
            // Rule C4: a repetition.
            return self.given.clone().map_or(Asked::Forgotten, Asked::Answer);
        }
        let requests: Result<SmallVec<[_; REQUESTS_LIMIT]>, _> =
            asconf.requests.iter().take(ANSWERS_LIMIT).collect();
        let (Ok(requests), true) = (requests, asconf.serial == self.last.next()) else {
            return Asked::Dropped;
        };
        // Rule F11: after the first failed addition or deletion, all others fail.
        let mut failed = false;
        let outcomes = requests.into_iter().enumerate().map(|(index, (request, bytes))| {
            let moves =
                matches!(request, AddressRequest::Add { .. } | AddressRequest::Delete { .. });
            if index >= REQUESTS_LIMIT || (moves && failed) {
                let refused = (CauseCode::OPERATION_REFUSED, Bytes::new());
                return (correlation_of(bytes), Some(refused));
            }
            let outcome = self.on_address_request(now, meta, request, (paths, context));
            failed |= moves && outcome.is_err();
            let echoed = &bytes[..bytes.len().min(ECHO_LIMIT)];
            let refused = outcome.err().map(|code| (code, Bytes::copy_from_slice(echoed)));
            (correlation_of(bytes), refused)
        });
        let answer = AsconfAnswer { serial: asconf.serial, outcomes: outcomes.collect() };
        let answer = Box::new(answer);
        (self.last, self.given) = (asconf.serial, Some(answer.clone()));
        Asked::Answer(answer)
    }

    fn on_address_request(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        request: AddressRequest<'_>,
        (paths, context): (&mut Paths, &mut Context<'_>),
    ) -> Result<(), CauseCode> {
        // Section 4.2.1: the unspecified address means the packet's source, as behind a NAT.
        let source = meta.remote.ip();
        let or_source = |address: IpAddr| if address.is_unspecified() { source } else { address };
        match request {
            AddressRequest::Add { address, .. } => {
                self.on_add_address(now, meta, or_source(address), (paths, context))
            }
            AddressRequest::Delete { address, .. } => {
                self.on_delete_address(now, source, address, (paths, context))
            }
            AddressRequest::SetPrimary { address, .. } => {
                self.on_set_primary(or_source(address), (paths, context))
            }
            AddressRequest::Unrecognized(_) => Err(CauseCode::UNRECOGNIZED_PARAMETERS),
        }
    }

    fn on_add_address(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        address: IpAddr,
        (paths, context): (&mut Paths, &mut Context<'_>),
    ) -> Result<(), CauseCode> {
        let primary = paths.remote();
        if address.is_ipv4() != primary.is_ipv4() || !is_meaningful(address, primary.ip()) {
            return Err(CauseCode::UNRESOLVABLE_ADDRESS);
        }
        if let Some(leaving) = &mut self.leaving {
            leaving.gone.retain(|gone| *gone != address);
        }
        if paths.lead_to(address) {
            return Ok(());
        }
        // Rule D1: only heartbeats and the answer are sent there until the peer is confirmed to be
        // there.
        if !paths.add_remote(now, context, address) {
            return Err(CauseCode::OPERATION_REFUSED);
        }
        paths.complete_added(address, meta);
        announce(context, AddressChange::Added, address);
        Ok(())
    }

    fn on_delete_address(
        &mut self,
        now: Instant,
        source: IpAddr,
        address: IpAddr,
        (paths, context): (&mut Paths, &mut Context<'_>),
    ) -> Result<(), CauseCode> {
        if address == source {
            // Rule F8: being the last address is the graver fault.
            let others = paths.live().any(|(_, path)| !path.leads_to(source));
            return Err(match others {
                true => CauseCode::DELETE_SOURCE_ADDRESS,
                false => CauseCode::DELETE_LAST_ADDRESS,
            });
        }
        // Section 4.2.2: the unspecified address means all except the packet's source.
        let goes = |path: &Path| match address.is_unspecified() {
            true => !path.is_removed() && !path.leads_to(source),
            false => path.leads_to(address),
        };
        let mut gone: Vec<IpAddr> = Vec::new();
        for (_, path) in paths.live().filter(|(_, path)| goes(path)) {
            if !gone.contains(&path.remote().ip()) {
                gone.push(path.remote().ip());
            }
        }
        if gone.is_empty() && !address.is_unspecified() {
            return Err(CauseCode::UNRESOLVABLE_ADDRESS);
        }
        if paths.live().any(|(_, path)| path.is_confirmed() && !goes(path)) {
            self.delete_addresses(now, &gone, (paths, context));
            return Ok(());
        }
        if !paths.live().any(|(_, path)| path.leads_to(source)) {
            return Err(CauseCode::DELETE_LAST_ADDRESS);
        }
        // The source address is being probed. Data stays on the old one until it answers: otherwise
        // an attacker that repeats the packet from another address would redirect the
        // association there.
        let leaving = Leaving { source, gone };
        self.leaving = Some(Box::new(leaving));
        Ok(())
    }

    fn delete_addresses(
        &mut self,
        now: Instant,
        gone: &[IpAddr],
        (paths, context): (&mut Paths, &mut Context<'_>),
    ) {
        self.leaving.take_if(|leaving| gone.contains(&leaving.source));
        for address in gone {
            if paths.remove_remote(now, context, *address) {
                announce(context, AddressChange::Deleted, *address);
            }
        }
    }

    /// The peer is confirmed to be at an address: executes what waited for that.
    pub(crate) fn on_address_confirmed(
        &mut self,
        now: Instant,
        address: IpAddr,
        (paths, context): (&mut Paths, &mut Context<'_>),
    ) {
        self.make_wanted_primary((paths, context));
        if let Some(leaving) = self.leaving.take_if(|leaving| leaving.source == address) {
            self.delete_addresses(now, &leaving.gone, (paths, context));
        }
    }

    fn on_set_primary(
        &mut self,
        address: IpAddr,
        (paths, context): (&mut Paths, &mut Context<'_>),
    ) -> Result<(), CauseCode> {
        if !paths.lead_to(address) {
            return Err(CauseCode::UNRESOLVABLE_ADDRESS);
        }
        self.wanted_primary = Some(address);
        self.make_wanted_primary((paths, context));
        Ok(())
    }

    /// Makes the address that the peer wants the primary one as soon as it is confirmed: a newly
    /// added address is still being probed.
    fn make_wanted_primary(&mut self, (paths, context): (&mut Paths, &mut Context<'_>)) {
        let Some(address) = self.wanted_primary else { return };
        if paths.set_primary(context, address) {
            self.wanted_primary = None;
            announce(context, AddressChange::MadePrimary, address);
        }
    }
}

fn announce(context: &mut Context<'_>, change: AddressChange, address: IpAddr) {
    let event = ReconfigurationEvent::PeerAddress { change, address };
    context.actions.push(Action::Announce(event.into()));
}

/// The number of a request, of whatever kind.
fn correlation_of(request: &[u8]) -> u32 {
    let number = request.get(4..).and_then(|rest| rest.first_chunk());
    number.map_or(0, |number| u32::from_be_bytes(*number))
}
