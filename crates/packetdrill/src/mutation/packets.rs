//! Packets of a script with one change each, for the test of the runner.

use crate::element::{Element, Value};
use crate::script::{Content, Number, Packet, SctpBody, SctpPacket, Segment, TcpOption};

/// Variants of a packet with one change, each with its description.
pub(super) fn changed(packet: &Packet) -> Vec<(Packet, String)> {
    match &packet.content {
        Content::Tcp(segment) => {
            let with = |(segment, what): (Segment, &str)| {
                (Packet { content: Content::Tcp(segment), ..packet.clone() }, what.to_owned())
            };
            segment_mutants(segment).into_iter().map(with).collect()
        }
        Content::Sctp(sctp) => match &sctp.body {
            SctpBody::Chunks(chunks) => changed_chunks(packet, sctp, chunks),
            SctpBody::Raw(_) => Vec::new(),
        },
        Content::Icmp(_) => Vec::new(),
    }
}

fn changed_chunks(packet: &Packet, sctp: &SctpPacket, chunks: &[Element]) -> Vec<(Packet, String)> {
    let with = |chunks: Vec<Element>, what: String| {
        let sctp = SctpPacket { body: SctpBody::Chunks(chunks), ..sctp.clone() };
        (Packet { content: Content::Sctp(sctp), ..packet.clone() }, what)
    };
    let mut all = Vec::new();
    for (at, chunk) in chunks.iter().enumerate() {
        for mutant in mutants(chunk) {
            let what = mutant.to_string();
            let mut chunks = chunks.to_vec();
            chunks[at] = mutant;
            all.push(with(chunks, what));
        }
        let mut fewer = chunks.to_vec();
        fewer.remove(at);
        if !fewer.is_empty() {
            all.push(with(fewer, format!("without {}", chunk.name())));
        }
        let mut more = chunks.to_vec();
        more.insert(at, chunk.clone());
        all.push(with(more, format!("{} twice", chunk.name())));
        if at + 1 < chunks.len() && chunks[at] != chunks[at + 1] {
            let mut swapped = chunks.to_vec();
            swapped.swap(at, at + 1);
            all.push(with(swapped, format!("{} behind the next", chunk.name())));
        }
    }
    all
}

/// Variants of a pattern with one change.
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
            // The first tag and TSN are the script's choice.
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

/// Variants of a segment's pattern with one change, each with its description.
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
    // The first sequence number is the script's choice.
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
