//! One-to-many sockets (RFC 6458, section 3): one descriptor for all associations of an endpoint;
//! sending opens associations.

use crate::sockets::arguments::integer;
use core::net::IpAddr;

use base::Instant;
use sctp::AssociationId;

use super::sending::Outgoing;
use super::{EPHEMERAL_PORT, Outcome, Returned, Role, Socket, Sockets, Status};
use crate::script::Call;
use crate::stop::Stop;

/// Id of the first association: 0 to 2 denote future, current and all associations.
pub(super) const FIRST_NUMBER: i64 = 3;

impl Sockets {
    /// The association of a call on a one-to-many socket: the one with the id, otherwise the last
    /// one created.
    pub(super) fn association_of(&self, role: Role, number: Option<i64>) -> Role {
        let Role::Many(stack) = role else { return role };
        let own = &self.stacks[stack];
        let is_own = |id: &&AssociationId| {
            own.associations
                .get(*id)
                .is_some_and(|status| !status.progress.ended && !status.peeled_off)
        };
        let index = number
            .filter(|number| *number >= FIRST_NUMBER)
            .map(|number| (number - FIRST_NUMBER) as usize);
        let found = match index {
            Some(index) => own.numbered.get(index).filter(is_own),
            None => own.numbered.iter().rev().find(is_own),
        };
        found.map_or(role, |id| Role::Association(stack, *id))
    }

    /// The association of a sent message, by its id or by the peer's address, otherwise the last
    /// one created; sending opens one.
    pub(super) fn open_to_send(
        &mut self,
        now: Instant,
        descriptor: i64,
        outgoing: &Outgoing,
    ) -> Result<Role, Outcome> {
        let socket = self.socket(descriptor)?;
        if !socket.many {
            let opens = socket.role == Role::Fresh && outgoing.remote.is_some();
            let opened =
                if opens { self.open_for(now, descriptor, outgoing)? } else { socket.role };
            self.socket(descriptor)?.role = opened;
            return Ok(opened);
        }
        let role = self.many(descriptor)?;
        let number = outgoing.association.filter(|number| *number >= FIRST_NUMBER);
        let found = match (number, outgoing.remote) {
            (None, Some(remote)) => self.association_with(role, remote),
            _ => self.association_of(role, number),
        };
        if found != role {
            return Ok(found);
        }
        if number.is_some() {
            return Err(Returned::error("ENOENT"));
        }
        self.open_for(now, descriptor, outgoing)
    }

    /// Opens the association of a sent message, with an endpoint if the socket has none yet.
    fn open_for(
        &mut self,
        now: Instant,
        descriptor: i64,
        outgoing: &Outgoing,
    ) -> Result<Role, Outcome> {
        let role = self.many(descriptor)?;
        let remote = outgoing.remote.unwrap_or(self.hosts.remote);
        let options = outgoing.with_set_up(self.socket(descriptor)?.options.clone());
        self.begin_with(now, descriptor, role, &[remote], options)
    }

    /// The association of a one-to-many socket with the peer at an address.
    fn association_with(&self, role: Role, remote: IpAddr) -> Role {
        let Role::Many(stack) = role else { return role };
        let own = &self.stacks[stack];
        let is_there = |id: &&AssociationId| {
            let is_own = own
                .associations
                .get(*id)
                .is_some_and(|status| !status.progress.ended && !status.peeled_off);
            let paths = own.endpoint.association(**id).map(|found| found.stats().paths);
            is_own && paths.is_some_and(|paths| paths.iter().any(|path| path.remote.ip() == remote))
        };
        let found = own.numbered.iter().rev().find(is_there);
        found.map_or(role, |id| Role::Association(stack, *id))
    }

    /// Creates the endpoint of a one-to-many socket, if it has none yet.
    pub(super) fn many(&mut self, descriptor: i64) -> Result<Role, Outcome> {
        let socket = self.socket(descriptor)?;
        if socket.role != Role::Fresh {
            return Ok(socket.role);
        }
        let port = socket.common.port.unwrap_or(EPHEMERAL_PORT);
        let (own, options) = (socket.addresses.clone(), socket.options.clone());
        let role = Role::Many(self.add_stack(port, false, &own, &options));
        self.socket(descriptor)?.role = role;
        Ok(role)
    }

    /// The associations of an endpoint whose messages a one-to-many socket reads.
    pub(super) fn readable(&self, stack: usize) -> Vec<AssociationId> {
        let own = &self.stacks[stack];
        let is_own = |id: &AssociationId| {
            !own.associations.get(id).is_some_and(|status: &Status| status.peeled_off)
        };
        own.numbered.iter().copied().filter(is_own).collect()
    }

    /// Ids of a one-to-many socket's associations; `None` for another socket.
    pub(super) fn association_numbers(&mut self, descriptor: i64) -> Option<Vec<i64>> {
        let socket = self.socket(descriptor).ok().filter(|socket| socket.many)?;
        let Role::Many(stack) = socket.role else { return Some(Vec::new()) };
        let own = &self.stacks[stack];
        let is_there = |id: &AssociationId| {
            let status = own.associations.get(id);
            status.is_some_and(|status| !status.progress.ended && !status.peeled_off)
        };
        let numbers = (FIRST_NUMBER..).zip(&own.numbered);
        Some(numbers.filter(|(_, id)| is_there(id)).map(|(number, _)| number).collect())
    }

    /// sctp_peeloff(): gives an association a one-to-one socket of its own (RFC 6458, section 9.2).
    pub(super) fn peel_off(
        &mut self,
        descriptor: i64,
        role: Role,
        call: &Call,
    ) -> Result<Outcome, Stop> {
        let number = integer("sctp_peeloff", call.arguments.get(1))?;
        // As on other systems, a one-to-one socket may be addressed with its association's id.
        let found = match role {
            Role::Association(stack, id) if self.stacks[stack].number(id) == number => role,
            Role::Many(_) => self.association_of(role, Some(number)),
            _ => Role::Fresh,
        };
        let Role::Association(stack, id) = found else {
            return Ok(Returned::error("EINVAL"));
        };
        let (port, options) = match self.socket(descriptor) {
            Ok(socket) => (socket.common.port, socket.options.clone()),
            Err(outcome) => return Ok(outcome),
        };
        self.stacks[stack].associations.entry(id).or_default().peeled_off = true;
        let role = Role::Association(stack, id);
        let socket = Socket::new(role, options).with_port(port);
        Ok(Returned::value(self.sockets.open(socket, None)))
    }
}
