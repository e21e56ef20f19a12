//! Scripts that are a little wrong: what a runner must fail, or its passes mean nothing. For tests.

use crate::element::{Element, Value};
use crate::expression::Expression;
use crate::script::{
    Action, Call, Content, Number, Packet, Script, SctpBody, SctpPacket, Segment, TcpOption,
};

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
        if let Content::Tcp(segment) = &packet.content {
            for (content, what) in segment_mutants(segment) {
                let name = format!("line {}: {what}", event.line);
                let packet = Packet { content: Content::Tcp(content), ..packet.clone() };
                all.push((with_action(script, index, Action::Expect(packet)), name));
            }
            continue;
        }
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

/// Every segment of a pattern with one thing in it changed, and what.
fn segment_mutants(segment: &Segment) -> Vec<(Segment, &'static str)> {
    let mut mutants = Vec::new();
    let mut with = |what: &'static str, change: &dyn Fn(&mut Segment)| {
        let mut mutant = segment.clone();
        change(&mut mutant);
        if mutant != *segment {
            mutants.push((mutant, what));
        }
    };
    for letter in ['S', 'F', 'R', 'P', '.', 'U', 'E', 'W'] {
        with("flags", &|mutant| match mutant.flags.find(letter) {
            Some(at) => drop(mutant.flags.remove(at)),
            None => mutant.flags.push(letter),
        });
    }
    // What a script calls the first sequence number is up to it.
    if !segment.flags.contains('S') {
        with("sequence", &|mutant| {
            mutant.sequence = mutant.sequence.map(|number| number.wrapping_add(1));
        });
    }
    with("length", &|mutant| mutant.length += 1);
    let other = |number: Option<Number>| match number {
        Some(Number::Is(number)) => Some(Number::Is(number ^ 1)),
        other => other,
    };
    with("ack", &|mutant| mutant.ack = other(mutant.ack));
    with("window", &|mutant| mutant.window = other(mutant.window));
    with("urgent", &|mutant| mutant.urgent = mutant.urgent.map(|urgent| urgent + 1));
    let Some(options) = &segment.options else { return mutants };
    with("options", &|mutant| mutant.options.iter_mut().for_each(|list| list.push(TcpOption::Nop)));
    for (index, option) in options.iter().enumerate() {
        let instead = match option {
            TcpOption::Mss(mss) => TcpOption::Mss(mss + 1),
            TcpOption::WindowScale(shift) => TcpOption::WindowScale(shift + 1),
            TcpOption::Sack(blocks) => {
                TcpOption::Sack(blocks.iter().map(|(start, end)| (*start, end + 1)).collect())
            }
            TcpOption::Timestamp(value, echo) => {
                TcpOption::Timestamp(*value, echo.map(|echo| echo + 1))
            }
            TcpOption::Nop => TcpOption::End,
            _ => TcpOption::Nop,
        };
        with("option", &|mutant| {
            mutant.options.iter_mut().for_each(|list| list[index] = instead.clone());
        });
    }
    mutants
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
            "ioctl" => 2,
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
