//! Sockets of both protocols as the application sees them: descriptors, blocking and non-blocking
//! calls, and the progress of connect().

use crate::sockets::arguments::integer;
use crate::vocabulary::constant;
use std::collections::BTreeMap;

use super::{Outcome, PORT, Returned};
use crate::expression::Expression;
use crate::script::Call;
use crate::stop::Stop;

const O_NONBLOCK: i64 = 0x800;

/// State of a socket, whatever its protocol.
#[derive(Debug, Default)]
pub(crate) struct Common {
    /// Whether calls return an error instead of waiting (O_NONBLOCK).
    pub(super) nonblocking: bool,
    /// The local port; `None` before bind().
    pub(super) port: Option<u16>,
    /// Whether shutdown() has ended reading.
    pub(super) read_shut: bool,
    /// Whether shutdown() has ended writing.
    pub(super) write_shut: bool,
}

/// A socket of any protocol.
pub(crate) trait AnySocket {
    /// The state that sockets of all protocols have.
    fn common(&mut self) -> &mut Common;

    /// Whether the socket is that of one connection or association.
    fn is_connected(&self) -> bool;
}

/// The open descriptors, from 3 on.
#[derive(Debug)]
pub(crate) struct Descriptors<S>(BTreeMap<i64, S>);

impl<S> Default for Descriptors<S> {
    fn default() -> Self {
        Descriptors(BTreeMap::new())
    }
}

impl<S: AnySocket> Descriptors<S> {
    /// The socket of a descriptor, or the error of a call on an unknown one.
    pub(super) fn get_mut(&mut self, descriptor: i64) -> Result<&mut S, Outcome> {
        self.0.get_mut(&descriptor).ok_or(Returned::error("EBADF"))
    }

    pub(super) fn get(&self, descriptor: i64) -> Option<&S> {
        self.0.get(&descriptor)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &S> {
        self.0.values()
    }

    /// Opens the descriptor `wanted` if it is free, otherwise the lowest free one.
    pub(super) fn open(&mut self, socket: S, wanted: Option<i64>) -> i64 {
        let is_free = |descriptor: &i64| !self.0.contains_key(descriptor);
        let wanted = wanted.filter(|wanted| *wanted >= 3 && is_free(wanted));
        let descriptor = wanted.or_else(|| (3..).find(is_free)).unwrap_or(3);
        self.0.insert(descriptor, socket);
        descriptor
    }

    pub(super) fn close(&mut self, descriptor: i64) -> Result<S, Outcome> {
        self.0.remove(&descriptor).ok_or(Returned::error("EBADF"))
    }

    /// bind() to the address and port of the stack.
    ///
    /// # Errors
    /// [`Stop::Skip`] for a given address.
    pub(super) fn bind(
        &mut self,
        descriptor: i64,
        address: Option<&Expression>,
    ) -> Result<Outcome, Stop> {
        if address != Some(&Expression::Any) {
            return Err(Stop::skip("bind() to a given address is not supported"));
        }
        if let Ok(socket) = self.get_mut(descriptor) {
            socket.common().port = Some(PORT);
        }
        Ok(Returned::value(0))
    }

    /// Outcome of a call that cannot proceed now.
    pub(super) fn would_block(&mut self, descriptor: i64) -> Outcome {
        self.wait_or(descriptor, "EAGAIN")
    }

    /// Whether calls on a descriptor return an error instead of waiting.
    pub(super) fn is_nonblocking(&mut self, descriptor: i64) -> bool {
        self.get_mut(descriptor).is_ok_and(|socket| socket.common().nonblocking)
    }

    /// F_GETFL and F_SETFL, of which only O_NONBLOCK is supported.
    ///
    /// # Errors
    /// [`Stop::Skip`] for others.
    pub(super) fn fcntl(&mut self, descriptor: i64, call: &Call) -> Result<Outcome, Stop> {
        let Ok(socket) = self.get_mut(descriptor) else { return Ok(Returned::error("EBADF")) };
        match call.arguments.get(1) {
            Some(Expression::Name(name)) if name == "F_GETFL" => {
                let nonblocking = if socket.common().nonblocking { O_NONBLOCK } else { 0 };
                Ok(Returned::value(constant("O_RDWR").unwrap_or(0) | nonblocking))
            }
            Some(Expression::Name(name)) if name == "F_SETFL" => {
                let flags = integer("fcntl", call.arguments.get(2))?;
                socket.common().nonblocking = flags & O_NONBLOCK != 0;
                Ok(Returned::value(0))
            }
            _ => Err(Stop::skip("fcntl() of this sort is not supported")),
        }
    }

    /// Outcome of a call that cannot proceed now, with the error of a non-blocking one.
    pub(super) fn wait_or(&mut self, descriptor: i64, errno: &'static str) -> Outcome {
        match self.get_mut(descriptor).map(|socket| socket.common().nonblocking) {
            Ok(true) => Returned::error(errno),
            Ok(false) => Outcome::Blocks,
            Err(outcome) => outcome,
        }
    }
}

/// Progress of a connection or an association.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    pub(super) established: bool,
    pub(super) ended: bool,
    /// Error with which it ended, until the application was told.
    pub(super) error: Option<&'static str>,
}

impl Progress {
    /// Outcome of a connect() that is called again: done, failed or in progress.
    pub(super) fn of_connect(&mut self, nonblocking: bool) -> Outcome {
        if self.ended {
            return Returned::error(self.error.take().unwrap_or("ECONNABORTED"));
        }
        match (self.established, nonblocking) {
            (true, true) => Returned::error("EISCONN"),
            (true, false) => Returned::value(0),
            (false, true) => Returned::error("EALREADY"),
            (false, false) => Outcome::Blocks,
        }
    }
}
