//! Calls that want something a little different.

use crate::expression::Expression;
use crate::script::Call;

/// The calls that want something a little different from what this one does, and what.
pub(super) fn changed(call: &Call) -> Vec<(Call, String)> {
    let mut all = Vec::new();
    let mut with =
        |mutant: Call, what: &str| all.push((mutant, format!("{what} of {}", call.name)));
    with(Call { returns: Expression::Integer(-7), ..call.clone() }, "result");
    if call.errno.is_some() {
        with(Call { errno: Some("EXDEV".to_owned()), ..call.clone() }, "error");
    }
    let written = match call.name.as_str() {
        "getsockopt" => 3,
        "ioctl" => 2,
        "recvmsg" => 1,
        "sctp_recvmsg" | "sctp_recvv" => 5,
        _ => return all,
    };
    for mutant in call.arguments.get(written).map(other_outputs).unwrap_or_default() {
        let mut call = call.clone();
        let what = format!("{mutant:?}");
        call.arguments[written] = mutant;
        with(call, &what);
    }
    all
}

/// What a call might have written instead: each number in it one more.
fn other_outputs(output: &Expression) -> Vec<Expression> {
    match output {
        Expression::Integer(number) => vec![Expression::Integer(number + 1)],
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
            // How much room there was is up to the script.
            let compared = |name: &Option<String>| name.as_deref() != Some("iov_len");
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
