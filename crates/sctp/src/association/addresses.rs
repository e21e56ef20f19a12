//! Changes of either side's addresses (RFC 5061), and their consequences for the association.

use core::net::{IpAddr, SocketAddr};

use base::{DatagramMeta, Instant, RandomStream};

use super::Association;
use crate::address_reconfiguration::AddressReconfiguration;
use crate::address_reconfiguration::answers::{Answers, Asked};
use crate::address_reconfiguration::error::AddressError;
use crate::address_reconfiguration::requests::{Answered, Change};
use crate::authentication::Verdict;
use crate::control::{Control, OwnedCause};
use crate::event::Failure;
use crate::event::reconfiguration::{AddressChange, ReconfigurationEvent};
use crate::extensions::Extensions;
use crate::paths::Paths;
use crate::paths::context::Context;
use crate::paths::path::Path;
use crate::wire::chunk::{AddressAnswers, AddressRequest, AddressRequests, Asconf, AsconfAck};
use crate::wire::{AsconfSerial, CauseCode, Chunk, Packet};

impl Association {
    // ---- requests of this side -----------------------------------------------------------------

    /// Requests a change of this side's addresses from the peer.
    pub(crate) fn change_address(
        &mut self,
        now: Instant,
        change: AddressChange,
        local: SocketAddr,
    ) -> Result<(), AddressError> {
        if !self.is_established() {
            return Err(AddressError::NotEstablished);
        }
        if !self.extensions.contains(Extensions::ADDRESS_RECONFIGURATION) {
            return Err(AddressError::NotNegotiated);
        }
        let own = self.extensions.begin_addresses(&self.identity);
        own.change(change, local, &mut self.paths)?;
        self.advance_addresses(now);
        Ok(())
    }

    /// Starts the next change if none is outstanding.
    fn advance_addresses(&mut self, now: Instant) {
        if !self.is_established() {
            return;
        }
        let due = now + self.request_rto();
        let own = self.extensions.addresses_mut();
        if own.is_some_and(|own| own.requests_mut().advance(due)) {
            self.control.push_once(Control::ChangeAddress);
        }
    }

    /// The outstanding ASCONF chunk, to be sent or repeated.
    pub(super) fn asconf(&self) -> Option<Asconf<[AddressRequest<'static>; 1]>> {
        self.extensions.addresses()?.requests().asconf(self.paths.named_locals())
    }

    /// Source address of a packet on a path that begins at `local`, while a change of addresses is
    /// outstanding.
    pub(super) fn source_of(
        &self,
        local: Option<SocketAddr>,
        carries_asconf: bool,
    ) -> Option<SocketAddr> {
        let Some(own) = self.extensions.addresses() else { return local };
        self.source_during_change(own, local, carries_asconf)
    }

    #[inline(never)]
    fn source_during_change(
        &self,
        own: &AddressReconfiguration,
        local: Option<SocketAddr>,
        carries_asconf: bool,
    ) -> Option<SocketAddr> {
        let works = || self.paths[self.control_route()].is_usable();
        own.requests().source_of(local, carries_asconf, self.paths.named_locals(), works)
    }

    /// Runs T4: on expiry the ASCONF is repeated.
    pub(super) fn handle_asconf_timer(&mut self, now: Instant) {
        let own = self.extensions.addresses();
        if own.is_none_or(|own| !own.requests().has_expired(now)) {
            return;
        }
        if !self.state().sends_data() {
            return self.extensions.end_addresses();
        }
        self.on_path_error(now, self.control_route(), true);
        if self.is_closed() {
            return;
        }
        self.switch_control_path();
        let (rto, max) = (self.request_rto(), self.options.policy.rto.max);
        let own = self.extensions.addresses_mut();
        if own.is_some_and(|own| own.requests_mut().back_off(now, rto, max)) {
            self.control.push_once(Control::ChangeAddress);
        }
    }

    /// Processes the peer's answer to an ASCONF.
    pub(super) fn on_asconf_ack(&mut self, now: Instant, ack: &AsconfAck<AddressAnswers<'_>>) {
        // RFC 5061, section 5.3: a deleted address is valid for two RTOs at most.
        let valid_until = now + self.control_rto() * 2;
        let answered = match self.extensions.addresses_mut() {
            Some(own) => own.requests_mut().on_ack(ack, valid_until),
            None => {
                let first = AsconfSerial(self.identity.local_initial_tsn.0);
                let asked = !(ack.serial == first || ack.serial.is_after(first));
                if asked { Answered::Nothing } else { Answered::NeverAsked }
            }
        };
        let (change, refusal) = match answered {
            Answered::Change(change, refusal) => (change, refusal),
            Answered::NeverAsked
                if self.extensions.contains(Extensions::ADDRESS_RECONFIGURATION) =>
            {
                let what = "ASCONF-ACK answers what was never asked";
                let failure = Failure::ProtocolViolation(what);
                return self.abort_with(OwnedCause::IllegalAsconfAck, failure);
            }
            Answered::NeverAsked | Answered::Nothing => {
                self.counters.chunks_dropped += 1;
                return;
            }
        };
        // Its path works.
        self.liveness.clear_errors();
        self.on_path_alive(now, self.control_route());
        self.control.retain(|control| *control != Control::ChangeAddress);
        let Change { change, local } = change;
        match refusal {
            Some(cause) => {
                if cause == CauseCode::UNRECOGNIZED_PARAMETERS {
                    let own = self.extensions.addresses_mut();
                    let given_up = own.map(|own| own.requests_mut().forget_kind(change));
                    self.announce_refused(&given_up.unwrap_or_default(), cause);
                }
                self.announce_refused(&[Change { change, local }], cause);
            }
            None => self.on_own_address_changed(now, change, local),
        }
        self.advance_addresses(now);
    }

    /// The peer does not support ASCONF: none is sent any more (section 5.1, rule A9).
    pub(super) fn on_asconf_unknown(&mut self, now: Instant) {
        let own = self.extensions.addresses_mut();
        let given_up = own.map(|own| own.requests_mut().forget_all()).unwrap_or_default();
        if !given_up.is_empty() {
            self.control.retain(|control| *control != Control::ChangeAddress);
            self.announce_refused(&given_up, CauseCode::UNRECOGNIZED_CHUNK_TYPE);
            self.advance_addresses(now);
        }
    }

    fn announce_refused(&mut self, refused: &[Change], cause: CauseCode) {
        for Change { change, local } in refused.iter().copied() {
            let (address, cause) = (local.ip(), cause.0);
            self.announce(ReconfigurationEvent::AddressRefused { change, address, cause }.into());
        }
    }

    /// Whether an outstanding or earlier ASCONF deletes this address of this side.
    pub(super) fn is_deleted(&self, local: IpAddr) -> bool {
        self.extensions.addresses().is_some_and(|own| own.requests().delete(local))
    }

    /// Whether packets that arrive at this address of this side do not count any more, since it was
    /// deleted.
    pub(super) fn is_gone(&self, now: Instant, local: IpAddr) -> bool {
        self.extensions.addresses().is_some_and(|own| own.requests().is_gone(now, local))
    }

    /// The peer confirmed a change of this side's addresses.
    fn on_own_address_changed(&mut self, now: Instant, change: AddressChange, local: SocketAddr) {
        self.decide(|paths, context| match change {
            AddressChange::Added => paths.add_local(now, context, local),
            AddressChange::Deleted => paths.remove_local(now, context, local),
            AddressChange::MadePrimary => {}
        });
        self.fit_fragments();
        self.drop_orphaned_controls();
        self.announce(ReconfigurationEvent::OwnAddress { change, address: local.ip() }.into());
    }

    // ---- requests of the peer ------------------------------------------------------------------

    /// Processes a packet with the right tag from an address that is not the peer's. Only an
    /// authenticated ASCONF counts, which may make the address one of the peer's.
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
                (Verdict::Taken | Verdict::Proved | Verdict::Lacking, _) => {}
                _ => return,
            }
        }
        self.handle_heartbeat_timers(now, random);
    }

    /// Processes an authenticated ASCONF; one without agreement on the extension is dropped.
    pub(super) fn on_asconf(
        &mut self,
        now: Instant,
        meta: DatagramMeta,
        asconf: &Asconf<AddressRequests<'_>>,
    ) {
        let takes_part = self.state().sends_data() || self.state().receives_data();
        if !takes_part || !self.extensions.contains(Extensions::ADDRESS_RECONFIGURATION) {
            // Without agreement it is of a type to report; a peer that did not agree is not
            // answered.
            self.counters.chunks_dropped += 1;
            return;
        }
        self.extensions.begin_addresses(&self.identity);
        let asked = self.decide_addresses(|answers, at| answers.on_asconf(now, meta, asconf, at));
        match asked.unwrap_or(Asked::Dropped) {
            Asked::Answer(answer) => {
                // Rule C6: sent to the source of the ASCONF, if that is an address of the peer now.
                let from = meta.remote.ip();
                let from_here =
                    |path: &Path| path.leads_to(from) && path.local() == Some(meta.local);
                let exact = self.paths.all().find(|(_, path)| from_here(path));
                let path = exact.map(|(path, _)| path).or_else(|| self.paths.to(from));
                if let Some(path) = path {
                    self.control.push_answer(
                        self.tx.fragment_size(),
                        Control::AddressAnswer { path, answer },
                    );
                }
            }
            Asked::Forgotten => {}
            Asked::Dropped => self.counters.chunks_dropped += 1,
        }
    }

    /// The peer is confirmed to be at an address: executes what waited for that.
    pub(super) fn on_address_confirmed(&mut self, now: Instant, address: IpAddr) {
        self.decide_addresses(|answers, at| answers.on_address_confirmed(now, address, at));
    }

    /// Lets the peer's requests decide about the paths; `None` while neither side has asked for a
    /// change.
    fn decide_addresses<T>(
        &mut self,
        decision: impl FnOnce(&mut Answers, (&mut Paths, &mut Context<'_>)) -> T,
    ) -> Option<T> {
        let decided = self.decide_with(|extensions, paths, context| {
            let own = extensions.addresses_mut()?;
            Some(decision(own.answers_mut(), (paths, context)))
        })?;
        self.fit_fragments();
        self.drop_orphaned_controls();
        Some(decided)
    }
}
