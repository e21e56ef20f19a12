//! Packets of the script with one change that the stack must act on.
//!
//! Values that a receiver may ignore are not changed: PSH, reserved bits, payload protocol
//! identifiers, a timestamp's value, the identifier of an unknown stream. All other changes must
//! show in the answer, at once or later, unless the packet as a whole has no effect.

use core::net::IpAddr;
use std::collections::BTreeSet;

use crate::element::{Element, Elements, Value};
use crate::script::{
    Action, Content, Number, Packet, Script, SctpBody, SctpPacket, Segment, TcpOption,
};
use crate::sockets::REMOTE;

/// Variants of a sent packet with one change, each with its description.
pub(super) fn changed(script: &Script, index: usize) -> Vec<(Packet, String)> {
    let Action::Inject(packet) = &script.events[index].action else { return Vec::new() };
    let context = Context::of(script, index);
    let with = |content: Content, what: String| (Packet { content, ..packet.clone() }, what);
    match &packet.content {
        Content::Tcp(segment) => segments(segment, &context)
            .into_iter()
            .map(|(segment, what)| with(Content::Tcp(segment), format!("sent with another {what}")))
            .collect(),
        Content::Sctp(sctp) => match &sctp.body {
            SctpBody::Chunks(chunks) => bodies(chunks, &context)
                .into_iter()
                .map(|(chunks, what)| {
                    let body = SctpBody::Chunks(chunks);
                    let sctp = SctpPacket { body, ..sctp.clone() };
                    with(Content::Sctp(sctp), format!("sent {what}"))
                })
                .collect(),
            SctpBody::Raw(_) => Vec::new(),
        },
        Content::Icmp(_) => Vec::new(),
    }
}

/// Description of the mutant whose segment lies outside the window.
pub(super) const UNACCEPTABLE: &str = "sent with another sequence";

/// Circumstances of a sent packet, which decide what in it must be acted on.
#[derive(Debug, Default)]
struct Context {
    /// Whether the stack sends anything afterwards.
    answers_follow: bool,
    /// Whether the stack sends new user data in more than one piece before the next packet is sent
    /// to it.
    new_data_follows: bool,
    /// Whether the application reads data later.
    is_read: bool,
    /// Longest payload of a segment that the stack sends later.
    longest: u32,
    /// Increase of the acknowledgement number over all earlier ones.
    acknowledges: u32,
    /// Acknowledgement number of the stack's next segment.
    acknowledged: Option<u32>,
}

impl Context {
    fn of(script: &Script, index: usize) -> Context {
        let (before, rest) = script.events.split_at(index);
        let later = || rest.iter().skip(1).map(|event| &event.action);
        let is_sent = |action: &&Action| matches!(action, Action::Inject(_));
        let known: Vec<u32> = before.iter().flat_map(|event| numbers_sent(&event.action)).collect();
        let news = later().take_while(|action| !is_sent(action)).flat_map(numbers_sent);
        let mut context = Context {
            answers_follow: later().any(|action| matches!(action, Action::Expect(_))),
            new_data_follows: news
                .filter(|number| !known.contains(number))
                .collect::<BTreeSet<u32>>()
                .len()
                > 1,
            is_read: later().any(reads),
            ..Context::default()
        };
        let expected =
            || later().filter_map(|action| segment_of(action).filter(|_| !is_sent(&action)));
        context.longest = expected().map(|segment| segment.length).max().unwrap_or(0);
        context.acknowledged = expected().next().and_then(ack_of);
        if let Some(ack) = rest.first().and_then(|event| segment_of(&event.action)).and_then(ack_of)
        {
            let earlier = before.iter().map(|event| &event.action).filter(|action| is_sent(action));
            let highest = earlier.filter_map(segment_of).filter_map(ack_of).max();
            context.acknowledges = ack.saturating_sub(highest.unwrap_or(0));
        }
        context
    }
}

/// Whether the application receives data.
fn reads(action: &Action) -> bool {
    match action {
        Action::Call(call) => {
            let reads = call.name.contains("read") || call.name.contains("recv");
            reads && call.returns.number(&|_| None).is_some_and(|length| length > 0)
        }
        _ => false,
    }
}

fn ack_of(segment: &Segment) -> Option<u32> {
    match segment.ack {
        Some(Number::Is(number)) => Some(number),
        _ => None,
    }
}

/// TSNs, or the first sequence number, of user data that the stack sends.
fn numbers_sent(action: &Action) -> Vec<u32> {
    let Action::Expect(packet) = action else { return Vec::new() };
    match &packet.content {
        Content::Tcp(segment) if segment.length > 0 => segment.sequence.into_iter().collect(),
        Content::Sctp(SctpPacket { body: SctpBody::Chunks(chunks), .. }) => {
            let data = chunks.iter().filter(|chunk| is_user_data(chunk));
            data.filter_map(|chunk| chunk.number("tsn")).collect()
        }
        _ => Vec::new(),
    }
}

fn is_user_data(chunk: &Element) -> bool {
    matches!(chunk.name(), "DATA" | "I_DATA")
}

fn segment_of(action: &Action) -> Option<&Segment> {
    match action {
        Action::Inject(packet) | Action::Expect(packet) => match &packet.content {
            Content::Tcp(segment) => Some(segment),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a packet carries data that must be acknowledged each time it arrives.
pub(super) fn must_be_acknowledged(packet: &Packet) -> bool {
    match &packet.content {
        Content::Tcp(segment) => segment.length > 0,
        Content::Sctp(SctpPacket { body: SctpBody::Chunks(chunks), .. }) => {
            chunks.iter().any(is_user_data)
        }
        _ => false,
    }
}

// ---- TCP ---------------------------------------------------------------------------------------

/// A quarter of the number space: outside any window.
const FAR: u32 = 1 << 30;

fn segments(segment: &Segment, context: &Context) -> Vec<(Segment, &'static str)> {
    let mut mutants = Vec::new();
    let mut with = |what: &'static str, change: &dyn Fn(&mut Segment)| {
        let mut mutant = segment.clone();
        change(&mut mutant);
        if mutant != *segment {
            mutants.push((mutant, what));
        }
    };
    let has = |letter: char| segment.flags.contains(letter);
    for (letter, what) in [('S', "SYN"), ('F', "FIN"), ('E', "ECE"), ('W', "CWR"), ('U', "URG")] {
        with(what, &|mutant| mutant.flags = mutant.flags.replace(letter, ""));
    }
    if !has('R') {
        with("ACK", &|mutant| mutant.flags = mutant.flags.replace('.', ""));
    }
    if has('R') || context.answers_follow {
        with("RST", &|mutant| match mutant.flags.find('R') {
            Some(at) => drop(mutant.flags.remove(at)),
            None => mutant.flags.push('R'),
        });
    }
    // The first sequence number is the script's choice.
    if !has('S') {
        with("sequence", &|mutant| {
            mutant.sequence = mutant.sequence.map(|number| number.wrapping_add(FAR));
        });
    }
    let end = segment.sequence.map(|first| first.wrapping_add(segment.length));
    if segment.length > 0 && end == context.acknowledged {
        with("length", &|mutant| mutant.length += 1);
    }
    let shifted = |number: Option<Number>, by: u32| match number {
        Some(Number::Is(number)) => Some(Number::Is(number.wrapping_add(by))),
        other => other,
    };
    let half = context.acknowledges.div_ceil(2);
    with("ack, of half as much", &|mutant| mutant.ack = shifted(mutant.ack, half.wrapping_neg()));
    with("ack of what was never sent", &|mutant| mutant.ack = shifted(mutant.ack, FAR));
    if context.new_data_follows {
        with("window", &|mutant| mutant.window = mutant.window.map(|_| Number::Is(0)));
    }
    with("urgent", &|mutant| mutant.urgent = mutant.urgent.map(|urgent| urgent ^ 1));
    for (index, option) in segment.options.iter().flatten().enumerate() {
        let put = |mutant: &mut Segment, instead: TcpOption| {
            mutant.options.iter_mut().for_each(|list| list[index] = instead.clone());
        };
        match option {
            TcpOption::Mss(mss) if context.longest > mss / 2 => {
                with("MSS", &|mutant| put(mutant, TcpOption::Mss(mss / 2)));
            }
            TcpOption::Timestamp(Some(value), echo) if !has('S') => {
                let old = TcpOption::Timestamp(Some(value.wrapping_sub(FAR)), *echo);
                with("timestamp", &|mutant| put(mutant, old.clone()));
            }
            _ => {}
        }
        match option {
            TcpOption::WindowScale(_)
            | TcpOption::SackPermitted
            | TcpOption::Sack(_)
            | TcpOption::Timestamp(..) => {
                with("option left out", &|mutant| put(mutant, TcpOption::Nop));
            }
            _ => {}
        }
    }
    mutants
}

// ---- SCTP --------------------------------------------------------------------------------------

fn bodies(chunks: &[Element], context: &Context) -> Vec<(Vec<Element>, String)> {
    let mut all = Vec::new();
    for (at, chunk) in chunks.iter().enumerate() {
        let mut with = |mutant: Element, what: String| {
            let mut chunks = chunks.to_vec();
            chunks[at] = mutant;
            all.push((chunks, what));
        };
        for (mutant, what) in elements(chunk, context) {
            with(mutant, format!("with another {what} of {}", chunk.name()));
        }
        if chunks.len() > 1 {
            let mut fewer = chunks.to_vec();
            fewer.remove(at);
            all.push((fewer, format!("without {}", chunk.name())));
        }
        if at + 1 < chunks.len() && chunks[at] != chunks[at + 1] {
            let mut swapped = chunks.to_vec();
            swapped.swap(at, at + 1);
            all.push((swapped, format!("with {} behind the next", chunk.name())));
        }
    }
    all
}

/// Fields whose value a receiver passes on or ignores.
const OVERLOOKED: [&str; 5] = ["ppid", "dups", "adaptation_code_point", "info", "resp_sn"];

/// Whether a parameter repeats the source address of packets (RFC 9260, section 3.3.2.1).
fn says_the_source(element: &Element) -> bool {
    let IpAddr::V4(remote) = REMOTE else { return false };
    element.value("addr") == Some(&Value::Bytes(remote.octets().to_vec()))
}

fn elements(element: &Element, context: &Context) -> Vec<(Element, String)> {
    let mut mutants = Vec::new();
    let mut with = |what: &str, change: &dyn Fn(&mut Element)| {
        let mut mutant = element.clone();
        change(&mut mutant);
        if mutant != *element {
            mutants.push((mutant, what.to_owned()));
        }
    };
    let is_data = matches!(element.name(), "DATA" | "I_DATA");
    if is_data {
        for (bit, what) in [(1, "E bit"), (2, "B bit")] {
            if context.is_read {
                with(what, &|mutant| mutant.flags = mutant.flags.map(|flags| flags ^ bit));
            }
        }
        with("length", &|mutant| mutant.length = mutant.length.map(|length| length + 4));
    }
    for (index, field) in element.shape.fields.iter().enumerate() {
        let is_setup = matches!(element.name(), "INIT" | "INIT_ACK");
        if OVERLOOKED.contains(&field.key) || (is_setup && matches!(field.key, "tag" | "tsn")) {
            continue;
        }
        match &element.values[index] {
            Value::Any => {}
            Value::Number(number) => {
                if let Some(other) = other_number(element, field.key, *number, context) {
                    with(field.key, &|mutant| mutant.values[index] = Value::Number(other));
                }
            }
            Value::Bytes(bytes) => {
                let bytes: Vec<u8> = bytes.iter().map(|byte| byte ^ 1).collect();
                with(field.key, &|mutant| mutant.values[index] = Value::Bytes(bytes.clone()));
            }
            Value::Numbers(numbers) => {
                // An empty list means all streams, not none.
                let fewer = match field.key {
                    "sids" => vec![u16::MAX.into()],
                    _ => numbers.get(1..).unwrap_or_default().to_vec(),
                };
                with(field.key, &|mutant| mutant.values[index] = Value::Numbers(fewer.clone()));
            }
            Value::Tuples(tuples) => {
                let fewer = tuples.get(1..).unwrap_or_default().to_vec();
                with(field.key, &|mutant| mutant.values[index] = Value::Tuples(fewer.clone()));
            }
            Value::Elements(elements) => {
                for (other, what) in other_lists(elements, context) {
                    with(&what, &|mutant| mutant.values[index] = Value::Elements(other.clone()));
                }
            }
        }
    }
    mutants
}

/// Another number for a field that must be acted on here.
fn other_number(element: &Element, key: &str, number: u32, context: &Context) -> Option<u32> {
    let begins = element.flags.is_some_and(|flags| flags & 2 != 0);
    Some(match key {
        "a_rwnd" if !context.new_data_follows => return None,
        "ssn" | "mid" | "ppid|fsn" if !context.is_read => return None,
        // In the first fragment it is the payload protocol identifier.
        "ppid|fsn" if begins => return None,
        "a_rwnd" | "os" | "is" => 0,
        // A stream that does not exist.
        "sid" => u16::MAX.into(),
        "last_tsn" => number.wrapping_add(FAR),
        // *Denied* instead of a success, and vice versa (RFC 6525, section 4.4).
        "result" if number < 2 => 2,
        "result" => 1,
        _ => number ^ 1,
    })
}

/// Variants of a list of parameters or causes with one of them changed or omitted.
fn other_lists(elements: &Elements, context: &Context) -> Vec<(Elements, String)> {
    let mut all = Vec::new();
    for (inner, nested) in elements.list.iter().enumerate() {
        for (mutant, what) in self::elements(nested, context) {
            let mut elements = elements.clone();
            elements.list[inner] = mutant;
            all.push((elements, format!("{what} of {}", nested.name())));
        }
        if !says_the_source(nested) {
            let mut fewer = elements.clone();
            let name = fewer.list.remove(inner).name();
            all.push((fewer, format!("list, without {name},")));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes of the packet that the script sends as event `index`.
    fn kinds(text: &str, index: usize) -> Vec<String> {
        let script = crate::parse(text).unwrap();
        changed(&script, index).into_iter().map(|(_, what)| what).collect()
    }

    #[test]
    fn what_a_segment_says_is_changed_where_it_must_be_heeded() {
        let text = "+0 < . 1:1(0) ack 1 win 1000\n\
                    +0 < F. 1:101(100) ack 3001 win 1000 <nop,nop,TS val 1 ecr 2>\n\
                    +0 > . 1:1(0) ack 101\n\
                    +0 > . 3001:4001(1000) ack 101\n+0 > . 4001:5001(1000) ack 101\n";
        let found = kinds(text, 1);
        for what in [
            "FIN",
            "ACK",
            "RST",
            "sequence",
            "length",
            "ack, of half as much",
            "window",
            "timestamp",
            "option left out",
            "ack of what was never sent",
        ] {
            assert!(found.contains(&format!("sent with another {what}")), "{what}: {found:?}");
        }
        assert!(!found.iter().any(|what| what.contains("SYN")), "{found:?}");
        let (alone, _) = text.split_once("+0 > ").unwrap();
        let found = kinds(alone, 1);
        assert!(!found.iter().any(|what| what.contains("window")), "no data follows: {found:?}");
    }

    #[test]
    fn what_a_chunk_says_is_changed_but_for_what_a_receiver_hands_on() {
        let text = "+0 < sctp: DATA[flgs=BE, len=116, tsn=1, sid=0, ssn=0, ppid=7]; \
                    SACK[flgs=0, cum_tsn=3, a_rwnd=9000, gaps=[2:2], dups=[1]]\n\
                    +0 read(3, ..., 100) = 100\n";
        let found = kinds(text, 0);
        for what in [
            "with another E bit of DATA",
            "with another length of DATA",
            "with another tsn of DATA",
            "with another sid of DATA",
            "with another ssn of DATA",
            "with another cum_tsn of SACK",
            "with another gaps of SACK",
            "without DATA",
            "with DATA behind the next",
        ] {
            assert!(found.contains(&format!("sent {what}")), "{what}: {found:?}");
        }
        for what in ["ppid", "dups", "a_rwnd"] {
            assert!(!found.iter().any(|found| found.contains(what)), "{what}: {found:?}");
        }
    }
}
