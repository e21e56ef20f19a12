//! Names that scripts may use: calls, levels, options with the fields of their structs, flags and
//! other constants.
//!
//! A name listed here that the runner does not support makes it skip a script. A name that is not
//! listed is a mistake of the script, which then fails: a misspelt name must never pass.

mod constants;
mod names;
mod values;

pub(crate) use self::constants::constant;
use self::names::{
    CALLS, CONVERSIONS, FIELDS, NAMES, PLAIN_OPTIONS, SCRIPT_OPTIONS, STRUCT_OPTIONS,
};
pub(crate) use self::values::is_cut_off;
use crate::expression::{Expression, Field};
use crate::script::{Action, Call, Script};

/// Whether the language has an option `--name`.
pub(crate) fn is_script_option(name: &str) -> bool {
    is_among(SCRIPT_OPTIONS, name)
}

/// Whether a space-separated list contains `name`.
fn is_among(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|word| word == name)
}

/// The level of an option, and the fields of its struct.
fn option(name: &str) -> Option<(&'static str, &'static str)> {
    let plain = PLAIN_OPTIONS.iter().find(|(_, names)| is_among(names, name));
    let with_fields = STRUCT_OPTIONS.iter().find(|(_, option, _)| *option == name);
    plain
        .map(|(level, _)| (*level, ""))
        .or_else(|| with_fields.map(|(level, _, fields)| (*level, *fields)))
}

/// The first unknown name in a script: its line and the error.
pub(crate) fn unknown(script: &Script) -> Option<(usize, String)> {
    script.events.iter().find_map(|event| match &event.action {
        Action::Call(call) => unknown_in_call(call).map(|why| (event.line, why)),
        _ => None,
    })
}

fn unknown_in_call(call: &Call) -> Option<String> {
    let Some((name, counts)) = CALLS.iter().find(|(name, _)| *name == call.name) else {
        return Some(format!("there is no call {}()", call.name));
    };
    if !counts.contains(&call.arguments.len()) {
        let wanted = counts.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ");
        return Some(format!("{name}() wants {wanted} arguments, found {}", call.arguments.len()));
    }
    if let Some(error) = &call.errno
        && !is_errno(error)
    {
        return Some(format!("there is no error {error}"));
    }
    if matches!(call.returns, Expression::Name(_)) {
        return Some(format!("what {name}() returns is a number or ..."));
    }
    if matches!(call.name.as_str(), "getsockopt" | "setsockopt")
        && let [_, level, name, value, size] = call.arguments.as_slice()
    {
        return unknown_option(level, name, value).or_else(|| unknown_in(size));
    }
    call.arguments.iter().find_map(unknown_in)
}

fn unknown_option(level: &Expression, name: &Expression, value: &Expression) -> Option<String> {
    if let Expression::Name(level) = level
        && names_of_level(level).is_none()
    {
        return Some(format!("there is no level {level}"));
    }
    let Expression::Name(name) = name else { return unknown_in(value) };
    let Some((_, fields)) = option(name) else {
        return Some(format!("there is no socket option {name}"));
    };
    let stranger = |field: &&Field| field.name.as_deref().is_some_and(|key| !is_among(fields, key));
    match value.fields().unwrap_or_default().iter().find(stranger) {
        Some(field) => Some(format!("{name} has no field {}", field.name.as_deref().unwrap_or(""))),
        None => values::misshapen(name, value)
            .or_else(|| unknown_in_value(value, fields).map(|why| format!("{name}: {why}"))),
    }
}

/// Whether the option of a getsockopt() or setsockopt() belongs to the call's level, by name or
/// number. A numeric option is not checked.
pub(crate) fn is_of_level(call: &Call) -> bool {
    let family = match call.arguments.get(1) {
        Some(Expression::Name(level)) => names_of_level(level),
        Some(Expression::Integer(level)) => number_of_level(*level),
        _ => return true,
    };
    match call.arguments.get(2) {
        Some(Expression::Name(name)) => option(name).is_none_or(|(of, _)| family == Some(of)),
        _ => true,
    }
}

/// Level of a number: IANA's protocol numbers, and SOL_SOCKET of Linux and FreeBSD.
fn number_of_level(number: i64) -> Option<&'static str> {
    Some(match number {
        1 | 0xffff => "socket",
        132 => "sctp",
        6 => "tcp",
        0 => "ip",
        41 => "ipv6",
        17 => "udp",
        136 => "udplite",
        _ => return None,
    })
}

/// Level of a socket option by its name, such as `SOL_SOCKET`.
fn names_of_level(name: &str) -> Option<&'static str> {
    Some(match name {
        "SOL_SOCKET" => "socket",
        "IPPROTO_SCTP" | "SOL_SCTP" => "sctp",
        "IPPROTO_TCP" | "SOL_TCP" => "tcp",
        "IPPROTO_IP" | "SOL_IP" => "ip",
        "IPPROTO_IPV6" | "SOL_IPV6" => "ipv6",
        "IPPROTO_UDP" | "SOL_UDP" => "udp",
        "IPPROTO_UDPLITE" | "SOL_UDPLITE" => "udplite",
        _ => return None,
    })
}

/// The first unknown field or constant in an expression.
fn unknown_in(expression: &Expression) -> Option<String> {
    unknown_in_value(expression, "")
}

/// The first unknown field or constant in the value of an option whose struct has these fields.
fn unknown_in_value(expression: &Expression, fields: &str) -> Option<String> {
    match expression {
        Expression::Name(name) => {
            let known = constant(name).is_some()
                || is_among(NAMES, name)
                || option(name).is_some()
                || names_of_level(name).is_some();
            (!known).then(|| format!("there is no constant {name}"))
        }
        Expression::Or(list) | Expression::List(list) => {
            list.iter().find_map(|one| unknown_in_value(one, fields))
        }
        Expression::Struct(list) => twice(list).or_else(|| {
            list.iter().find_map(|field| match field.name.as_deref() {
                Some(name) if !is_among(fields, name) && !is_among(FIELDS, name) => {
                    Some(format!("there is no field {name}"))
                }
                Some(name) => values::without_room(name, &field.value)
                    .or_else(|| unknown_in_value(&field.value, fields)),
                None => unknown_in_value(&field.value, fields),
            })
        }),
        Expression::Call(name, _) if !is_among(CONVERSIONS, name) => {
            Some(format!("there is no conversion {name}()"))
        }
        Expression::Call(_, arguments) => {
            arguments.iter().find_map(|one| unknown_in_value(one, fields))
        }
        Expression::Element(name, _) => Some(format!("{name}[...] is no argument of a call")),
        _ => None,
    }
}

/// The first field that is given twice in a struct, of which one would be ignored.
fn twice(list: &[Field]) -> Option<String> {
    list.iter().enumerate().find_map(|(index, field)| {
        let name = field.name.as_deref()?;
        let is_again = list[..index].iter().any(|other| other.name == field.name);
        is_again.then(|| format!("the field {name} is given twice"))
    })
}

/// Whether a name is an error of POSIX (errno.h), or one that systems add.
fn is_errno(name: &str) -> bool {
    is_among(names::ERRORS, name)
}

#[cfg(test)]
mod tests {
    use crate::{Suite, Word};

    fn verdict(line: &str) -> (Word, String) {
        let text = format!("0 socket(..., SOCK_STREAM, IPPROTO_SCTP) = 3\n+0 {line}\n");
        let result = Suite::default().run_text("x.pkt", &text);
        (result.verdict, result.reason)
    }

    #[test]
    fn a_misspelt_call_level_option_field_or_constant_fails_and_is_named() {
        for (line, name) in [
            ("nonsense(99) = -1 EBADF", "nonsense()"),
            ("setsockopt(3, IPPROTO_SCPT, SCTP_NODELAY, [1], 4) = 0", "IPPROTO_SCPT"),
            ("setsockopt(3, IPPROTO_SCTP, SCTP_NODELEY, [1], 4) = 0", "SCTP_NODELEY"),
            (
                "setsockopt(3, IPPROTO_SCTP, SCTP_INITMSG, {nonsense_field=7}, 8) = 0",
                "nonsense_field",
            ),
            ("setsockopt(3, IPPROTO_SCTP, SCTP_INITMSG, {srto_min=7}, 8) = 0", "srto_min"),
            (
                "setsockopt(3, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, {spp_flags=SPP_HB_ON}, 8) = 0",
                "SPP_HB_ON",
            ),
            ("shutdown(3, SHUT_UP) = -1 ENOTCONN", "SHUT_UP"),
            ("getsockopt(3, IPPROTO_SCTP, SCTP_RTOINFO, {srto_nim=7}, [16]) = 0", "srto_nim"),
        ] {
            let (word, reason) = verdict(line);
            assert_eq!(word, Word::Fail, "{line}: {reason}");
            assert!(reason.contains(name), "{line}: {reason}");
        }
    }

    #[test]
    fn an_option_at_the_wrong_level_is_refused_as_systems_refuse_it() {
        let (word, reason) = verdict("setsockopt(3, SOL_SOCKET, SCTP_NODELAY, [1], 4) = 0");
        assert_eq!(word, Word::Fail, "{reason}");
        assert!(reason.contains("ENOPROTOOPT"), "{reason}");
        for (level, expected) in [("132", Word::Pass), ("99", Word::Fail), ("1", Word::Fail)] {
            let (word, reason) =
                verdict(&format!("setsockopt(3, {level}, SCTP_NODELAY, [1], 4) = 0"));
            assert_eq!(word, expected, "{level}: {reason}");
        }
        let (word, reason) =
            verdict("setsockopt(3, SOL_SOCKET, SCTP_NODELAY, [1], 4) = -1 ENOPROTOOPT");
        assert_eq!(word, Word::Pass, "{reason}");
    }

    #[test]
    fn a_known_call_that_is_not_supported_is_skipped_whatever_it_is_called_with() {
        for line in ["epoll_create(1) = 9", "splice(9, NULL, 7, NULL, 1, 0) = -1 EBADF"] {
            let (word, reason) = verdict(line);
            assert_eq!(word, Word::Skip, "{line}: {reason}");
        }
    }

    #[test]
    fn values_that_nothing_heeds_are_skipped_and_impossible_ones_refused() {
        let (word, reason) =
            verdict("setsockopt(3, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, {spp_dscp=8}, 8) = 0");
        assert_eq!(word, Word::Skip, "{reason}");
        let (word, reason) =
            verdict("setsockopt(3, IPPROTO_SCTP, SCTP_FRAGMENT_INTERLEAVE, [3], 4) = -1 EINVAL");
        assert_eq!(word, Word::Pass, "{reason}");
    }
}
