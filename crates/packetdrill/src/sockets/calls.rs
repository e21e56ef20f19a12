//! The calls of the socket interface. This file has what they do on sockets of any protocol; each
//! protocol adds its part through [`Calls`], [`Options`] and [`Transfer`].

use base::Instant;

use super::arguments::{integer, refuse_peer_address};
use super::descriptors::{AnySocket, Descriptors, Progress};
use super::{Application, Outcome, Returned};
use crate::expression::Expression;
use crate::script::Call;
use crate::stop::Stop;
use crate::vocabulary;

/// Calls on a descriptor that sockets of any protocol have, besides those that read and write.
const COMMON: [&str; 9] = [
    "accept",
    "bind",
    "close",
    "connect",
    "fcntl",
    "getsockopt",
    "listen",
    "setsockopt",
    "shutdown",
];

/// Options of the sockets of one protocol.
pub(crate) trait Options {
    /// Value of the option `name`, as getsockopt() returns it.
    ///
    /// # Errors
    /// [`Stop::Skip`] if it is not supported.
    fn get_option(
        &mut self,
        now: Instant,
        descriptor: i64,
        name: &str,
        call: &Call,
    ) -> Result<Outcome, Stop>;

    /// Sets the option `name`.
    ///
    /// # Errors
    /// [`Stop::Skip`] if it is not supported.
    fn set_option(
        &mut self,
        now: Instant,
        descriptor: i64,
        name: &str,
        value: Option<&Expression>,
    ) -> Result<Outcome, Stop>;
}

/// Calls of one protocol that carry data.
pub(crate) trait Transfer {
    /// Calls of the protocol that read data.
    const READS: &'static [&'static str];

    /// Calls of the protocol that write data.
    const WRITES: &'static [&'static str];

    /// A call among [`Transfer::READS`].
    ///
    /// # Errors
    /// [`Stop`] if its form is not supported, or what it reads is not what the peer sent.
    fn receive(&mut self, now: Instant, descriptor: i64, call: &Call) -> Result<Outcome, Stop>;

    /// A call among [`Transfer::WRITES`].
    ///
    /// # Errors
    /// [`Stop::Skip`] if its form is not supported.
    fn send(&mut self, now: Instant, descriptor: i64, call: &Call) -> Result<Outcome, Stop>;
}

/// The calls of an application on sockets of one protocol.
pub(crate) trait Calls: Application + Options + Transfer {
    /// State of one socket of the protocol.
    type Socket: AnySocket;

    /// Destination of a call of connect().
    type Destination;

    /// Names of the further calls on a descriptor, which only this protocol has.
    const FURTHER: &'static [&'static str];

    /// All open sockets by descriptor.
    fn descriptors(&mut self) -> &mut Descriptors<Self::Socket>;

    /// The descriptor that a call which opens a socket should return if it is free.
    fn wanted(_call: &Call) -> Option<i64> {
        None
    }

    /// Progress of the socket's connection or association, if it has one.
    fn progress(&mut self, descriptor: i64) -> Option<&mut Progress>;

    /// A call without a descriptor; `None` for one that has a descriptor.
    ///
    /// # Errors
    /// [`Stop::Skip`] if it is not supported.
    fn call_of_host(&mut self, call: &Call) -> Result<Option<Outcome>, Stop>;

    /// A call among [`Calls::FURTHER`].
    ///
    /// # Errors
    /// [`Stop::Skip`] if it is not supported.
    fn call_of_protocol(
        &mut self,
        now: Instant,
        descriptor: i64,
        call: &Call,
    ) -> Result<Outcome, Stop>;

    /// Lets the socket accept; what a full backlog means is the protocol's.
    fn listen(&mut self, descriptor: i64, backlog: i64) -> Outcome;

    /// The socket of the next connection or association that waits for accept(), if there is one.
    ///
    /// # Errors
    /// The outcome on a socket that does not listen.
    fn next_accepted(&mut self, descriptor: i64) -> Result<Option<Self::Socket>, Outcome>;

    /// The destination that a call gives.
    ///
    /// # Errors
    /// [`Stop::Skip`] if it is not supported.
    fn destination(&self, call: &Call) -> Result<Self::Destination, Stop>;

    /// Opens a connection or an association of a socket that has none.
    ///
    /// # Errors
    /// The outcome if that is impossible.
    fn begin_connect(
        &mut self,
        now: Instant,
        descriptor: i64,
        destination: Self::Destination,
    ) -> Result<(), Outcome>;

    /// The application of a connected socket has written everything.
    fn finish_writing(&mut self, now: Instant, descriptor: i64);

    /// A socket without a descriptor ends.
    fn let_go(&mut self, now: Instant, socket: Self::Socket);

    /// Makes a call, as far as it can proceed now.
    ///
    /// # Errors
    /// [`Stop::Skip`] for a call that is not supported.
    fn call(&mut self, now: Instant, call: &Call) -> Result<Outcome, Stop> {
        if let Some(outcome) = self.call_of_host(call)? {
            return Ok(outcome);
        }
        let name = call.name.as_str();
        let supported = [&COMMON[..], Self::READS, Self::WRITES, Self::FURTHER];
        if !supported.iter().any(|names| names.contains(&name)) {
            return Err(Stop::skip(format!("the call {name}() is not supported")));
        }
        let descriptor = integer(name, call.arguments.first())?;
        if let Err(outcome) = self.descriptors().get_mut(descriptor) {
            return Ok(outcome);
        }
        match name {
            "bind" => self.descriptors().bind(descriptor, call.arguments.get(1)),
            "listen" => {
                let backlog = integer(name, call.arguments.get(1))?;
                Ok(self.listen(descriptor, backlog))
            }
            "accept" => {
                refuse_peer_address(call)?;
                Ok(self.accept(descriptor, call))
            }
            "connect" => {
                let destination = self.destination(call)?;
                Ok(self.connect(now, descriptor, destination))
            }
            "fcntl" => self.descriptors().fcntl(descriptor, call),
            "shutdown" => {
                let how = integer(name, call.arguments.get(1))?;
                Ok(self.shutdown(now, descriptor, how))
            }
            "close" => Ok(self.close(now, descriptor)),
            "getsockopt" => self.getsockopt(now, descriptor, call),
            "setsockopt" => self.setsockopt(now, descriptor, call),
            _ if Self::READS.contains(&name) => self.receive(now, descriptor, call),
            _ if Self::WRITES.contains(&name) => self.send(now, descriptor, call),
            _ => self.call_of_protocol(now, descriptor, call),
        }
    }

    /// Opens a descriptor for the next connection or association that waits, or blocks until there
    /// is one.
    fn accept(&mut self, descriptor: i64, call: &Call) -> Outcome {
        match self.next_accepted(descriptor) {
            Ok(Some(socket)) => {
                Returned::value(self.descriptors().open(socket, Self::wanted(call)))
            }
            Ok(None) => self.descriptors().would_block(descriptor),
            Err(outcome) => outcome,
        }
    }

    /// Opens a connection or an association, or says how far an earlier call has come.
    fn connect(
        &mut self,
        now: Instant,
        descriptor: i64,
        destination: Self::Destination,
    ) -> Outcome {
        let nonblocking = self.descriptors().is_nonblocking(descriptor);
        if let Some(progress) = self.progress(descriptor) {
            return progress.of_connect(nonblocking);
        }
        match self.begin_connect(now, descriptor, destination) {
            Ok(()) => self.descriptors().wait_or(descriptor, "EINPROGRESS"),
            Err(outcome) => outcome,
        }
    }

    /// Ends reading, writing or both (`how`: 0, 1, 2). The end of reading is not signalled to the
    /// peer.
    fn shutdown(&mut self, now: Instant, descriptor: i64, how: i64) -> Outcome {
        if !(0..=2).contains(&how) {
            return Returned::error("EINVAL");
        }
        let socket = match self.descriptors().get_mut(descriptor) {
            Ok(socket) => socket,
            Err(outcome) => return outcome,
        };
        if !socket.is_connected() {
            return Returned::error("ENOTCONN");
        }
        let common = socket.common();
        common.read_shut |= how != 1;
        common.write_shut |= how != 0;
        if how != 0 {
            self.finish_writing(now, descriptor);
        }
        Returned::value(0)
    }

    /// Gives the descriptor back and ends the socket.
    fn close(&mut self, now: Instant, descriptor: i64) -> Outcome {
        match self.descriptors().close(descriptor) {
            Ok(socket) => {
                self.let_go(now, socket);
                Returned::value(0)
            }
            Err(outcome) => outcome,
        }
    }

    /// Reads an option, once level and name are known to fit.
    ///
    /// # Errors
    /// [`Stop::Skip`] for an option that is not supported.
    fn getsockopt(&mut self, now: Instant, descriptor: i64, call: &Call) -> Result<Outcome, Stop> {
        let name = option_name(call)?;
        if !vocabulary::is_of_level(call) {
            return Ok(Returned::error("ENOPROTOOPT"));
        }
        self.get_option(now, descriptor, name, call)
    }

    /// Sets an option, once level, name and size are known to fit.
    ///
    /// # Errors
    /// [`Stop::Skip`] for an option or a value that is not supported.
    fn setsockopt(&mut self, now: Instant, descriptor: i64, call: &Call) -> Result<Outcome, Stop> {
        let name = option_name(call)?;
        if !vocabulary::is_of_level(call) {
            return Ok(Returned::error("ENOPROTOOPT"));
        }
        if vocabulary::is_cut_off(call) {
            return Ok(Returned::error("EINVAL"));
        }
        self.set_option(now, descriptor, name, call.arguments.get(3))
    }
}

fn option_name(call: &Call) -> Result<&str, Stop> {
    match call.arguments.get(2) {
        Some(Expression::Name(name)) => Ok(name),
        _ => Err(Stop::skip(format!("{} without an option's name is not supported", call.name))),
    }
}
