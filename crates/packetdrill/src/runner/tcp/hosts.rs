//! Queries of scripts about a system's connections.

use tcp::State;

use crate::sockets::tcp::Sockets;
use crate::stop::Stop;

/// Answers ``sockstat … | grep -c STATE | grep N``: N connections are in that state. Returns false
/// if `command` is not such a query.
///
/// # Errors
/// The number differs, or the query is not understood.
pub(super) fn ask(command: &str, sockets: &Sockets) -> Result<bool, Stop> {
    let words: Vec<&str> = command.split_whitespace().collect();
    if words.first() != Some(&"sockstat") {
        return Ok(false);
    }
    let unknown = || Stop::skip(format!("the command {command} is not supported"));
    let [.., "grep", "-c", name, "|", "grep", wanted] = words.as_slice() else {
        return Err(unknown());
    };
    let wanted: usize = wanted.parse().map_err(|_| unknown())?;
    let state = match *name {
        "SYN_RCVD" => State::SynReceived,
        "TIME_WAIT" => State::TimeWait,
        "CLOSED" => State::Closed,
        "ESTABLISHED" => State::Established,
        _ => return Err(unknown()),
    };
    let found = sockets.count(state);
    if found == wanted {
        return Ok(true);
    }
    Err(Stop::fail(format!("{found} connections in {}, expected {wanted}", state.name())))
}
