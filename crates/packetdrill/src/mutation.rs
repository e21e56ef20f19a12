//! Scripts that are a little wrong: what a runner must fail, or its passes mean nothing. For tests.

use crate::element::{Element, Value};
use crate::expression::Expression;
use crate::script::{Action, Call, Content, Packet, Script, SctpBody, SctpPacket};

/// Every element of a pattern with one thing in it changed.
fn mutants(element: &Element) -> Vec<Element> {
    let mut mutants = Vec::new();
    let mut with = |change: &dyn Fn(&mut Element)| {
        let mut mutant = element.clone();
        change(&mut mutant);
        if mutant != *element {
            mutants.push(mutant);
        }
    };
    with(&|mutant| mutant.flags = mutant.flags.map(|flags| flags ^ 0x80));
    with(&|mutant| mutant.length = mutant.length.map(|length| length + 4));
    if !element.any_code {
        with(&|mutant| mutant.code += 1);
    }
    let is_setup = matches!(element.name(), "INIT" | "INIT_ACK");
    for (index, field) in element.shape.fields.iter().enumerate() {
        if is_setup && matches!(field.key, "tag" | "tsn") {
            // What a script calls the first tag and TSN is up to it.
            continue;
        }
        match &element.values[index] {
            Value::Any => {}
            Value::Number(number) => {
                with(&|mutant| mutant.values[index] = Value::Number(number ^ 1));
            }
            Value::Bytes(bytes) => {
                let bytes: Vec<u8> = bytes.iter().map(|byte| byte ^ 1).collect();
                with(&|mutant| mutant.values[index] = Value::Bytes(bytes.clone()));
            }
            Value::Numbers(numbers) => {
                let numbers: Vec<u32> = numbers.iter().chain(&[77]).copied().collect();
                with(&|mutant| mutant.values[index] = Value::Numbers(numbers.clone()));
            }
            Value::Tuples(tuples) => {
                let tuples: Vec<[u32; 3]> = tuples.iter().chain(&[[9, 9, 0]]).copied().collect();
                with(&|mutant| mutant.values[index] = Value::Tuples(tuples.clone()));
            }
            Value::Elements(elements) => {
                for (inner, nested) in elements.list.iter().enumerate() {
                    for nested in self::mutants(nested) {
                        let mut elements = elements.clone();
                        elements.list[inner] = nested;
                        with(&|mutant| mutant.values[index] = Value::Elements(elements.clone()));
                    }
                }
                if !elements.list.is_empty() {
                    let mut fewer = elements.clone();
                    fewer.list.pop();
                    with(&|mutant| mutant.values[index] = Value::Elements(fewer.clone()));
                }
            }
        }
    }
    mutants
}

/// The script with its event `index` changed.
pub(crate) fn with_action(script: &Script, index: usize, action: Action) -> Script {
    let mut mutant = script.clone();
    mutant.events[index].action = action;
    mutant
}

/// The scripts that expect something a little different from what `script` does, with their lines.
pub(crate) fn mutant_scripts(script: &Script) -> Vec<(Script, String)> {
    let mut all = Vec::new();
    for (index, event) in script.events.iter().enumerate() {
        let Action::Expect(packet) = &event.action else { continue };
        let Content::Sctp(sctp) = &packet.content else { continue };
        let SctpBody::Chunks(chunks) = &sctp.body else { continue };
        for (at, chunk) in chunks.iter().enumerate() {
            for mutant in mutants(chunk) {
                let name = format!("line {}: {mutant}", event.line);
                let mut chunks = chunks.clone();
                chunks[at] = mutant;
                let sctp = SctpPacket { body: SctpBody::Chunks(chunks), ..sctp.clone() };
                let content = Content::Sctp(sctp);
                let packet = Packet { content, ..packet.clone() };
                all.push((with_action(script, index, Action::Expect(packet)), name));
            }
        }
    }
    all
}

/// The scripts that want something a little different from the calls of `script`, with their lines.
pub(crate) fn call_mutants(script: &Script) -> Vec<(Script, String)> {
    let mut all = Vec::new();
    for (index, event) in script.events.iter().enumerate() {
        let Action::Call(call) = &event.action else { continue };
        let mut with = |mutant: Call, what: &str| {
            let name = format!("line {}: {what} of {}", event.line, call.name);
            all.push((with_action(script, index, Action::Call(mutant)), name));
        };
        with(Call { returns: Expression::Integer(-7), ..call.clone() }, "result");
        if call.errno.is_some() {
            with(Call { errno: Some("EXDEV".to_owned()), ..call.clone() }, "error");
        }
        let written = match call.name.as_str() {
            "getsockopt" => 3,
            "recvmsg" => 1,
            "sctp_recvmsg" => 5,
            _ => continue,
        };
        for mutant in call.arguments.get(written).map(other_outputs).unwrap_or_default() {
            let mut call = call.clone();
            let what = format!("{mutant:?}");
            call.arguments[written] = mutant;
            with(call, &what);
        }
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
