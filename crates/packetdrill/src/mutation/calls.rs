//! Calls that expect a slightly different result.

use core::net::{IpAddr, Ipv4Addr};

use crate::expression::Expression;
use crate::script::Call;

/// A name that no call outputs.
const OTHER_NAME: &str = "SCTP_FUTURE_ASSOC";

/// Variants of a call that expect a different result, each with its description.
pub(super) fn changed(call: &Call) -> Vec<(Call, String)> {
    let mut all = Vec::new();
    let mut with =
        |mutant: Call, what: &str| all.push((mutant, format!("{what} of {}", call.name)));
    with(Call { returns: Expression::Integer(-7), ..call.clone() }, "result");
    if call.errno.is_some() {
        with(Call { errno: Some("EXDEV".to_owned()), ..call.clone() }, "error");
    }
    let written: &[usize] = match call.name.as_str() {
        // The size of a numeric option is compared.
        "getsockopt" if matches!(call.arguments.get(3), Some(Expression::List(_))) => &[3, 4],
        "getsockopt" => &[3],
        "ioctl" => &[2],
        "recvmsg" => &[1],
        "sctp_getladdrs" | "sctp_getpaddrs" => &[2],
        "sctp_recvmsg" => &[1, 5, 6],
        "sctp_recvv" => &[1, 5, 6, 7, 8],
        _ => return all,
    };
    for place in written.iter().copied() {
        for mutant in other_arguments(call, place) {
            let mut call = call.clone();
            let what = format!("{mutant:?}");
            call.arguments[place] = mutant;
            with(call, &what);
        }
    }
    all
}

/// Variants of an argument that the call outputs.
fn other_arguments(call: &Call, place: usize) -> Vec<Expression> {
    match call.arguments.get(place) {
        // NULL receives no output.
        Some(Expression::Name(name)) if name == "NULL" => Vec::new(),
        Some(argument) => other_outputs(argument),
        None => Vec::new(),
    }
}

/// Variants of an output: each number plus one, another name or address, one flag less.
fn other_outputs(output: &Expression) -> Vec<Expression> {
    match output {
        Expression::Integer(number) => vec![Expression::Integer(number + 1)],
        Expression::Call(name, arguments) => match arguments.as_slice() {
            [Expression::Integer(number)] => {
                vec![Expression::Call(name.clone(), vec![Expression::Integer(number + 1)])]
            }
            _ => Vec::new(),
        },
        Expression::Name(name) if name != OTHER_NAME => {
            vec![Expression::Name(OTHER_NAME.to_owned())]
        }
        Expression::Address(IpAddr::V4(address)) => {
            let other = Ipv4Addr::from_bits(address.to_bits() ^ 1);
            vec![Expression::Address(IpAddr::V4(other))]
        }
        Expression::Or(flags) => vec![Expression::Or(flags.iter().skip(1).cloned().collect())],
        Expression::List(list) => {
            let instead = |index: usize, one: &Expression| {
                let with = |other| {
                    let mut list = list.clone();
                    list[index] = other;
                    Expression::List(list)
                };
                other_outputs(one).into_iter().map(with).collect::<Vec<_>>()
            };
            list.iter().enumerate().flat_map(|(index, one)| instead(index, one)).collect()
        }
        Expression::Struct(fields) => {
            // The script chooses the size of the buffer and the question.
            let compared =
                |name: &Option<String>| !matches!(name.as_deref(), Some("iov_len" | "se_type"));
            let instead = |index: usize, value: &Expression| {
                let with = |other| {
                    let mut fields = fields.clone();
                    fields[index].value = other;
                    Expression::Struct(fields)
                };
                other_outputs(value).into_iter().map(with).collect::<Vec<_>>()
            };
            let fields = fields.iter().enumerate().filter(|(_, field)| compared(&field.name));
            fields.flat_map(|(index, field)| instead(index, &field.value)).collect()
        }
        _ => Vec::new(),
    }
}
