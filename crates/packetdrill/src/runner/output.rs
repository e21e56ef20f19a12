//! Comparison of a call's outputs with the script.

use core::fmt::Display;
use core::net::IpAddr;
use std::collections::BTreeSet;

use crate::expression::{Expression, Field};
use crate::sockets::address_of;
use crate::sockets::{Output, PORT};
use crate::stop::Stop;
use crate::vocabulary::constant;

/// Translates a symbolic output of a call to the script's number.
pub(super) type Symbolic<'a> = &'a dyn Fn(&Output) -> Option<u32>;

/// Compares an output of a call with the script.
pub(super) fn check(
    expected: &Expression,
    output: &Output,
    symbolic: Symbolic<'_>,
) -> Result<(), Stop> {
    match (expected, output) {
        (Expression::Any, _) => Ok(()),
        // An input of the call that it leaves unchanged.
        (Expression::Integer(_), Output::Unsupported("iov_len")) => Ok(()),
        (Expression::List(list), Output::Unsupported(_)) if list.is_empty() => Ok(()),
        (_, Output::Unsupported(what)) => Err(Stop::Skip(format!("{what} is not supported"))),
        (Expression::List(list), Output::List(found)) if list.len() != found.len() => {
            differs(expected, &format_args!("{} entries", found.len()))
        }
        (Expression::List(list), Output::List(found)) => {
            let mut pairs = list.iter().zip(found);
            pairs.try_for_each(|(one, found)| check(one, found, symbolic))
        }
        // A single flag may be given as its number.
        (Expression::Integer(wanted), Output::Names([one])) if numbers_of(one).contains(wanted) => {
            Ok(())
        }
        (expected, Output::Names(found)) => {
            let same = flag_names(expected) == Some(BTreeSet::from_iter(found.iter().copied()));
            if same { Ok(()) } else { differs(expected, &found.join("|")) }
        }
        (Expression::List(list), output) => match list.as_slice() {
            [one] => check(one, output, symbolic),
            _ => Err(Stop::Skip(format!("{} is not supported", show(expected)))),
        },
        (Expression::Struct(fields), Output::Struct(found)) => {
            fields.iter().try_for_each(|field| check_field(field, found, symbolic))
        }
        (expected, output) => check_single(expected, output, symbolic),
    }
}

/// Compares a field of a struct with the output, by name.
fn check_field(
    field: &Field,
    found: &[(&'static str, Output)],
    symbolic: Symbolic<'_>,
) -> Result<(), Stop> {
    let name = field.name.as_deref().unwrap_or_default();
    match found.iter().find(|(key, _)| *key == name) {
        Some((_, value)) => check(&field.value, value, symbolic).map_err(|stop| match stop {
            Stop::Fail(why) => Stop::Fail(format!("{name}: {why}")),
            skip => skip,
        }),
        // Associations have no ids on one-to-one sockets (RFC 6458, section 8).
        None if field.value == Expression::Any || name.ends_with("assoc_id") => Ok(()),
        None => Err(Stop::Skip(format!("the field {name} is not supported"))),
    }
}

/// Compares a value without parts.
fn check_single(
    expected: &Expression,
    output: &Output,
    symbolic: Symbolic<'_>,
) -> Result<(), Stop> {
    let found: &dyn Display = match output {
        Output::Address(found) if is_address(expected, *found) => return Ok(()),
        Output::Name(found) if *expected == Expression::Name((*found).to_owned()) => return Ok(()),
        // No flag is set.
        Output::Name("0") if *expected == Expression::Integer(0) => return Ok(()),
        // A kind may be given as its number.
        Output::Name(found)
            if matches!(expected, Expression::Integer(number)
                if numbers_of(found).contains(number)) =>
        {
            return Ok(());
        }
        Output::OneOf(found) => {
            let wanted = expected.number(&constant);
            let found = match found.iter().find(|found| Some(**found) == wanted) {
                Some(_) => return Ok(()),
                None => found.first().copied().unwrap_or(0),
            };
            return differs(expected, &found);
        }
        Output::Number(found) if expected.number(&constant) == Some(*found) => return Ok(()),
        Output::Tsn(_) | Output::OwnTsn(_) => {
            let Some(found) = symbolic(output) else { return differs(expected, &"a number") };
            let same = expected.number(&|_| None) == Some(i64::from(found));
            return if same { Ok(()) } else { differs(expected, &found) };
        }
        Output::Address(found) => found,
        Output::Number(found) | Output::Size(found) => found,
        Output::Name(found) => found,
        Output::Struct(_) => &"a struct",
        Output::List(_) => &"a list",
        Output::Names(_) | Output::Unsupported(_) => &"something else",
    };
    differs(expected, found)
}

/// Whether an expression is the address of a host of the script; family and port are compared if
/// given.
fn is_address(expected: &Expression, found: IpAddr) -> bool {
    let field = |names: [&str; 3]| {
        let fields = expected.fields().unwrap_or_default();
        let is_named =
            |field: &&Field| field.name.as_deref().is_some_and(|name| names.contains(&name));
        fields.iter().find(is_named).map(|field| &field.value)
    };
    let family = if found.is_ipv4() { "AF_INET" } else { "AF_INET6" };
    let is_family = match field(["sa_family", "sin_family", "sin6_family"]) {
        Some(Expression::Name(name)) => name == family,
        _ => true,
    };
    let is_port = match field(["sin_port", "sin6_port", "port"]) {
        None | Some(Expression::Any) => true,
        Some(port) => port.number(&constant) == Some(PORT.into()),
    };
    address_of(expected) == Some(found) && is_family && is_port
}

fn differs(expected: &Expression, found: &dyn Display) -> Result<(), Stop> {
    Err(Stop::Fail(format!("expected {}, found {found}", show(expected))))
}

/// Numbers of a name, on one system or another.
fn numbers_of(name: &str) -> Vec<i64> {
    match name {
        "MSG_EOR" => vec![0x8, 0x80],
        name => constant(name).into_iter().collect(),
    }
}

/// Flag names joined by `|`.
fn flag_names(expression: &Expression) -> Option<BTreeSet<&str>> {
    match expression {
        Expression::Or(parts) => {
            let names = parts.iter().map(flag_names);
            names.collect::<Option<Vec<_>>>().map(|names| names.into_iter().flatten().collect())
        }
        Expression::Name(name) => Some(BTreeSet::from([name.as_str()])),
        Expression::List(list) => match list.as_slice() {
            [one] => flag_names(one),
            _ => None,
        },
        _ => None,
    }
}

/// An expression as text for messages.
pub(super) fn show(expression: &Expression) -> String {
    match expression {
        Expression::Integer(value) => value.to_string(),
        Expression::Name(name) => name.clone(),
        Expression::List(list) => list.iter().map(show).collect::<Vec<_>>().join(", "),
        other => format!("{other:?}"),
    }
}
