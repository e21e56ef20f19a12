//! Arguments of calls common to both protocols: numbers, addresses, fields of structs, and outputs
//! of calls that read.

use core::net::IpAddr;
use std::collections::BTreeMap;

use super::{Output, PORT};
use crate::expression::{Expression, Field};
use crate::script::Call;
use crate::stop::Stop;
use crate::vocabulary::constant;

/// Refuses an accept() that asks for the peer's address.
///
/// # Errors
/// The script is skipped.
pub(super) fn refuse_peer_address(call: &Call) -> Result<(), Stop> {
    match is_usual(call.arguments.get(1), PORT) {
        Ok(true) => Ok(()),
        _ => Err(Stop::skip("the peer's address in accept() is not supported")),
    }
}

/// Whether an argument is this constant.
pub(super) fn is_name(argument: Option<&Expression>, name: &str) -> bool {
    matches!(argument, Some(Expression::Name(given)) if given == name)
}

/// Number denoted by an argument.
///
/// # Errors
/// The script is skipped if the argument is no known number.
pub(super) fn integer(call: &str, argument: Option<&Expression>) -> Result<i64, Stop> {
    argument
        .and_then(|argument| argument.number(&constant))
        .ok_or_else(|| Stop::skip(format!("an argument of {call} is not supported: {argument:?}")))
}

/// Whether a call's address is the default one: `...`, or the same address written out. The caller
/// knows the socket.
///
/// # Errors
/// The script is skipped if it gives another port or something else.
pub(super) fn is_usual(address: Option<&Expression>, port: u16) -> Result<bool, Stop> {
    match address {
        None | Some(Expression::Any) => return Ok(true),
        Some(given) if address_of(given).is_some() => {}
        Some(other) => {
            return Err(Stop::skip(format!("the address {other:?} is not supported")));
        }
    }
    let named = |name| address.and_then(|address| part(address, name));
    let given = named("sin_port").or_else(|| named("sin6_port"));
    match given.map(|given| given.number(&constant)) {
        None => Ok(false),
        Some(given) if given == Some(port.into()) => Ok(false),
        Some(_) => Err(Stop::skip(format!("another port than {port} is not supported"))),
    }
}

/// Parses an address in a script: `192.0.2.1`, or the struct of the socket interface.
pub(crate) fn address_of(expression: &Expression) -> Option<IpAddr> {
    let quoted = |name| match part(expression, name) {
        Some(Expression::Call(_, arguments)) => {
            arguments.iter().find_map(|argument| match argument {
                Expression::Text(text) => text.parse().ok(),
                _ => None,
            })
        }
        _ => None,
    };
    match expression {
        Expression::Address(address) => Some(*address),
        Expression::Struct(_) => quoted("sin_addr").or_else(|| quoted("sin6_addr")),
        _ => None,
    }
}

/// Numbers of a struct in a script, by name; open ones are missing.
pub(super) type Numbers<'a> = BTreeMap<&'a str, i64>;

pub(super) fn numbers(value: &Expression) -> Numbers<'_> {
    let fields = value.fields().unwrap_or_default();
    let number = |field: &Field| field.value.number(&constant);
    fields.iter().filter_map(|field| Some((field.name.as_deref()?, number(field)?))).collect()
}

/// A number, or the first one of a list such as `[1]`.
pub(super) fn single(value: &Expression) -> Option<i64> {
    match value {
        Expression::List(list) => list.first()?.number(&constant),
        other => other.number(&constant),
    }
}

/// The field `name` of a struct.
pub(super) fn part<'e>(of: &'e Expression, name: &str) -> Option<&'e Expression> {
    let field = |field: &&Field| field.name.as_deref() == Some(name);
    of.fields()?.iter().find(field).map(|field| &field.value)
}

/// Refuses a call that gives data to be read: data is compared with the received bytes, not with a
/// text of the script.
pub(super) fn refuse_contents(call: &Call) -> Result<(), Stop> {
    match call.arguments.get(1) {
        Some(Expression::Text(_)) => {
            Err(Stop::skip(format!("{}() with the bytes to be read is not supported", call.name)))
        }
        _ => Ok(()),
    }
}

/// Output of recvmsg() in its struct: a notification, or a message, whose bytes are not compared.
pub(super) fn header(notification: Option<Output>, flags: Output, control: Output) -> Output {
    let base = notification.unwrap_or(Output::Unsupported("iov_base of a message"));
    let length = Output::Unsupported("iov_len");
    let vector = Output::Struct(vec![("iov_base", base), ("iov_len", length)]);
    Output::Struct(vec![
        ("msg_name", Output::Unsupported("msg_name")),
        ("msg_iov", Output::List(vec![vector])),
        ("msg_control", control),
        ("msg_flags", flags),
    ])
}
