//! What the peer says of its addresses (RFC 5061, sections 5.2 and 5.3). Each ASCONF has an effect once:
//! a repeated one gets the answer that it got before.

use core::net::{IpAddr, SocketAddr};

use base::{DatagramMeta, Instant, RandomStream};
use bytes::Bytes;
use smallvec::SmallVec;

use super::AddressChange;
use crate::association::{Association, Control};
use crate::authentication::Verdict;
use crate::event::Event;
use crate::extensions::Extensions;
use crate::paths::addresses::is_meaningful;
use crate::paths::path::Path;
use crate::wire::chunk::{AddressAnswer, AddressRequest, AddressRequests, Asconf, AsconfAck};
use crate::wire::{AsconfSerial, Cause, CauseCode, Chunk, ChunkType, Packet};

/// Requests of one ASCONF that are carried out. The answer to more might not fit a packet.
const REQUESTS_LIMIT: usize = 8;

/// Requests of one ASCONF that are answered. Those behind a refused one count as refused where the answer
/// does not mention them (RFC 5061, section 5.1).
const ANSWERS_LIMIT: usize = 32;

/// Longest part of a refused request that is sent back.
const ECHO_LIMIT: usize = 64;

/// The answer to an ASCONF, owning what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AsconfAnswer {
    serial: AsconfSerial,
    /// In the order of the requests.
    outcomes: Box<[Outcome]>,
}

/// Number of a request and, if it was refused, why, and the request.
type Outcome = (u32, Option<(CauseCode, Bytes)>);

impl AsconfAnswer {
    /// As it is written: nothing but the number where all was done (section 4.2.5).
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

#[derive(Debug)]
pub(super) struct Answers {
    /// The peer's last number.
    last: AsconfSerial,
    given: Option<Box<AsconfAnswer>>,
    /// The peer wants data there, once it is known to be there.
    wanted_primary: Option<IpAddr>,
    /// Addresses that go once the peer is known to be at the one that it speaks from.
    leaving: Option<Box<Leaving>>,
}

/// A peer told from a new address, where it is not known to be yet, that its others are gone: it moved, or
/// its NAT did.
#[derive(Debug)]
struct Leaving {
    /// Where it spoke from.
    source: IpAddr,
    /// Those that go: of paths, so that there are few.
    gone: Vec<IpAddr>,
}

impl Answers {
    pub(super) fn new(before_first: AsconfSerial) -> Self {
        Answers { last: before_first, given: None, wanted_primary: None, leaving: None }
    }
}

/// Whether a packet has ASCONF behind AUTH, as one from an address that the association does not know
/// must (section 5.2).
pub(crate) fn may_come_from_anywhere(packet: &Packet) -> bool {
    let mut types = packet.raw_chunks().map_while(Result::ok).map(|raw| raw.chunk_type);
    types.next() == Some(ChunkType::AUTH) && types.next() == Some(ChunkType::ASCONF)
}

impl Association {
    /// Input: a packet with the right tag from an address that is none of the peer's. Only an
    /// authenticated ASCONF counts, which may make the address one of them.
    pub(crate) fn handle_packet_from_elsewhere(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        packet: &Packet,
        random: &mut RandomStream,
    ) {
        let mut authenticated = false;
        for (index, chunk) in packet.chunks().map_while(Result::ok).enumerate() {
            match (self.judge_authenticity(packet, index, &chunk, &mut authenticated), chunk) {
                (Verdict::Taken, Chunk::Asconf(asconf)) if authenticated => {
                    self.on_life(now);
                    self.on_asconf(now, meta, &asconf);
                }
                (Verdict::Taken | Verdict::Passed, _) => {}
                _ => return,
            }
        }
        self.handle_heartbeat_timers(now, random);
    }

    /// Input: ASCONF, authenticated.
    pub(crate) fn on_asconf(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        asconf: &Asconf<AddressRequests<'_>>,
    ) {
        let takes_part = self.state.sends_data() || self.state.receives_data();
        if !takes_part || !self.extensions.contains(Extensions::ADDRESS_RECONFIGURATION) {
            // Not agreed on, it is of a type that would be reported; who did not agree is not told.
            self.counters.chunks_dropped += 1;
            return;
        }
        let answers = &self.address_reconfiguration().answers;
        if asconf.serial == answers.last {
            // Rule C4: the same again.
            if let Some(given) = answers.given.clone() {
                self.answer_asconf(meta, given);
            }
            return;
        }
        let requests: Result<SmallVec<[_; REQUESTS_LIMIT]>, _> =
            asconf.requests.iter().take(ANSWERS_LIMIT).collect();
        let (Ok(requests), true) = (requests, asconf.serial == answers.last.next()) else {
            // Rule C5.
            self.counters.chunks_dropped += 1;
            return;
        };
        let outcomes = requests.into_iter().enumerate().map(|(index, (request, bytes))| {
            if index >= REQUESTS_LIMIT {
                let refused = (CauseCode::OPERATION_REFUSED, Bytes::new());
                return (correlation_of(bytes), Some(refused));
            }
            let outcome = self.on_address_request(now, meta, request);
            let echoed = &bytes[..bytes.len().min(ECHO_LIMIT)];
            let refused = outcome.err().map(|code| (code, Bytes::copy_from_slice(echoed)));
            (correlation_of(bytes), refused)
        });
        let answer = AsconfAnswer { serial: asconf.serial, outcomes: outcomes.collect() };
        let answer = Box::new(answer);
        let answers = &mut self.address_reconfiguration().answers;
        (answers.last, answers.given) = (asconf.serial, Some(answer.clone()));
        self.answer_asconf(meta, answer);
    }

    /// Rule C6: to where the ASCONF came from, if that is an address of the peer now.
    fn answer_asconf(&mut self, meta: DatagramMeta, answer: Box<AsconfAnswer>) {
        let from = meta.remote.ip();
        let exact = self
            .paths
            .iter()
            .position(|path| path.leads_to(from) && path.local == Some(meta.local));
        let path = exact.or_else(|| self.paths.iter().position(|path| path.leads_to(from)));
        if let Some(path) = path {
            self.push_control(Control::AddressAnswer { path: path as u8, answer });
        }
    }

    fn on_address_request(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        request: AddressRequest<'_>,
    ) -> Result<(), CauseCode> {
        // Section 4.2.1: the unspecified address is where the packet came from, as behind a NAT.
        let source = meta.remote.ip();
        let or_source = |address: IpAddr| if address.is_unspecified() { source } else { address };
        match request {
            AddressRequest::Add { address, .. } => {
                self.on_add_address(now, meta, or_source(address))
            }
            AddressRequest::Delete { address, .. } => self.on_delete_address(now, source, address),
            AddressRequest::SetPrimary { address, .. } => self.on_set_primary(or_source(address)),
            AddressRequest::Unrecognized(_) => Err(CauseCode::UNRECOGNIZED_PARAMETERS),
        }
    }

    fn on_add_address(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        address: IpAddr,
    ) -> Result<(), CauseCode> {
        let primary = self.remote();
        if address.is_ipv4() != primary.is_ipv4() || !is_meaningful(address, primary.ip()) {
            return Err(CauseCode::UNRESOLVABLE_ADDRESS);
        }
        if let Some(leaving) = &mut self.address_reconfiguration().answers.leaving {
            leaving.gone.retain(|gone| *gone != address);
        }
        if self.paths.iter().any(|path| path.leads_to(address)) {
            return Ok(());
        }
        // Rule D1: nothing but heartbeats and the answer goes there before the peer is known to be there.
        if !self.add_remote(now, address) {
            return Err(CauseCode::OPERATION_REFUSED);
        }
        if let Some(path) = self.paths.iter_mut().find(|path| path.leads_to(address)) {
            path.local = path.local.or(Some(meta.local));
            if address == meta.remote.ip() {
                path.remote.set_port(meta.remote.port());
            }
        }
        self.announce_peer(AddressChange::Added, address);
        Ok(())
    }

    fn on_delete_address(
        &mut self,
        now: Instant,
        source: IpAddr,
        address: IpAddr,
    ) -> Result<(), CauseCode> {
        if address == source {
            return Err(CauseCode::DELETE_SOURCE_ADDRESS);
        }
        // Section 4.2.2: the unspecified address is all but the one that the packet came from.
        let goes = |path: &Path| match address.is_unspecified() {
            true => !path.removed && !path.leads_to(source),
            false => path.leads_to(address),
        };
        let mut gone: Vec<IpAddr> = Vec::new();
        for (_, path) in self.live_paths().filter(|(_, path)| goes(path)) {
            if !gone.contains(&path.remote.ip()) {
                gone.push(path.remote.ip());
            }
        }
        if gone.is_empty() && !address.is_unspecified() {
            return Err(CauseCode::UNRESOLVABLE_ADDRESS);
        }
        if self.live_paths().any(|(_, path)| path.confirmed && !goes(path)) {
            self.delete_addresses(now, &gone);
            return Ok(());
        }
        if !self.live_paths().any(|(_, path)| path.leads_to(source)) {
            return Err(CauseCode::DELETE_LAST_ADDRESS);
        }
        // The address that it speaks from now is being asked. Data goes on to the old one until it answered:
        // else whoever repeats the packet from an address of his own leads the association there.
        let leaving = Leaving { source, gone };
        self.address_reconfiguration().answers.leaving = Some(Box::new(leaving));
        Ok(())
    }

    fn delete_addresses(&mut self, now: Instant, gone: &[IpAddr]) {
        let answers = &mut self.address_reconfiguration().answers;
        answers.leaving.take_if(|leaving| gone.contains(&leaving.source));
        for address in gone {
            if self.remove_remote(now, *address) {
                self.announce_peer(AddressChange::Deleted, *address);
            }
        }
    }

    /// The peer is known to be at an address: what waited for that is done.
    pub(crate) fn on_address_confirmed(&mut self, now: Instant, address: IpAddr) {
        self.make_wanted_primary();
        let own = self.address_reconfiguration.as_mut();
        let leaving =
            own.and_then(|own| own.answers.leaving.take_if(|leaving| leaving.source == address));
        if let Some(leaving) = leaving {
            self.delete_addresses(now, &leaving.gone);
        }
    }

    fn on_set_primary(&mut self, address: IpAddr) -> Result<(), CauseCode> {
        if !self.paths.iter().any(|path| path.leads_to(address)) {
            return Err(CauseCode::UNRESOLVABLE_ADDRESS);
        }
        self.address_reconfiguration().answers.wanted_primary = Some(address);
        self.make_wanted_primary();
        Ok(())
    }

    /// Sends data to the address that the peer wants as soon as it is known to be there: an address that it
    /// just added is still being asked.
    fn make_wanted_primary(&mut self) {
        let own = self.address_reconfiguration.as_ref();
        let Some(address) = own.and_then(|own| own.answers.wanted_primary) else { return };
        if self.set_primary(SocketAddr::new(address, 0)) {
            self.address_reconfiguration().answers.wanted_primary = None;
            self.announce_peer(AddressChange::MadePrimary, address);
        }
    }

    fn announce_peer(&mut self, change: AddressChange, address: IpAddr) {
        self.announce(Event::PeerAddressChanged { change, address });
    }
}

/// The number of a request, of whatever kind.
fn correlation_of(request: &[u8]) -> u32 {
    let number = request.get(4..).and_then(|rest| rest.first_chunk());
    number.map_or(0, |number| u32::from_be_bytes(*number))
}
