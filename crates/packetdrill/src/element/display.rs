//! Elements in the syntax of the language.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use super::shapes::Codec;
use super::{Element, Kind, Value};

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut entries = Vec::new();
        if self.shape.generic {
            let key = if self.shape.kind == Kind::Cause { "code" } else { "type" };
            entries.push(match self.any_code {
                true => format!("{key}=..."),
                false => format!("{key}={:#04x}", self.code),
            });
        }
        if let Some(flags) = self.flags {
            entries.push(format!("flgs={}", self.letters(flags)));
        }
        if let Some(length) = self.length
            && self.shows_length()
        {
            entries.push(format!("len={length}"));
        }
        for (field, value) in self.shape.fields.iter().zip(&self.values) {
            match (field.codec, value) {
                (Codec::Payload | Codec::Reserved16, _) => {}
                (Codec::OptionalU32, Value::Numbers(_)) => {}
                (Codec::Elements(_), Value::Elements(elements)) => {
                    entries.extend(elements.list.iter().map(Element::to_string));
                    entries.extend(elements.open.then(|| "...".to_owned()));
                }
                (
                    Codec::Ipv4 | Codec::Ipv6 | Codec::HostName | Codec::Text,
                    Value::Bytes(bytes),
                ) => {
                    entries.push(format!("{}={}", field.key, text(field.codec, bytes)));
                }
                (Codec::StreamSsn | Codec::StreamMid, Value::Tuples(list)) => {
                    let width = if field.codec == Codec::StreamSsn { 2 } else { 3 };
                    entries.push(format!("{}=[{}]", field.key, tuples(list, width)));
                }
                (_, value) if field.key == "ppid|fsn" => {
                    let first = self.flags.is_none_or(|flags| flags & 2 != 0);
                    entries.push(format!("{}={value}", if first { "ppid" } else { "fsn" }));
                }
                _ => entries.push(format!("{}={value}", field.key)),
            }
        }
        write!(f, "{}[{}]", self.shape.name, entries.join(", "))
    }
}

impl Element {
    fn shows_length(&self) -> bool {
        let sized = |codec| matches!(codec, Codec::Payload | Codec::Raw);
        self.shape.fields.iter().any(|field| sized(field.codec))
    }

    fn letters(&self, flags: u8) -> String {
        let names: &[(u8, char)] = match self.shape.name {
            "DATA" | "I_DATA" => &[(8, 'I'), (4, 'U'), (2, 'B'), (1, 'E')],
            "ABORT" | "SHUTDOWN_COMPLETE" => &[(1, 'T')],
            _ => &[],
        };
        let known = names.iter().fold(0, |all, (bit, _)| all | bit);
        if flags == 0 || flags & !known != 0 {
            return flags.to_string();
        }
        names.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, letter)| *letter).collect()
    }
}

fn text(codec: Codec, bytes: &[u8]) -> String {
    match (codec, bytes.len()) {
        (Codec::Ipv4, 4) => Ipv4Addr::from([bytes[0], bytes[1], bytes[2], bytes[3]]).to_string(),
        (Codec::Ipv6, 16) => {
            let octets: [u8; 16] = bytes.try_into().unwrap_or_default();
            Ipv6Addr::from(octets).to_string()
        }
        _ => format!("{:?}", String::from_utf8_lossy(bytes)),
    }
}

/// Tuples in braces, such as `{1,0}, {2,9}`, each cut to its first `width` numbers.
fn tuples(list: &[[u32; 3]], width: usize) -> String {
    let one = |tuple: &[u32; 3]| {
        let numbers: Vec<_> = tuple.iter().take(width).map(u32::to_string).collect();
        format!("{{{}}}", numbers.join(","))
    };
    list.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Most bytes printed of a value.
const BYTES_MAX: usize = 16;

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |parts: Vec<String>| format!("[{}]", parts.join(", "));
        match self {
            Value::Any => f.write_str("..."),
            Value::Number(number) => write!(f, "{number}"),
            Value::Bytes(bytes) => {
                let more = if bytes.len() > BYTES_MAX { Some("...".to_owned()) } else { None };
                let shown = bytes.iter().take(BYTES_MAX).map(|byte| format!("{byte:#04x}"));
                f.write_str(&join(shown.chain(more).collect()))
            }
            Value::Numbers(list) => f.write_str(&join(list.iter().map(u32::to_string).collect())),
            Value::Tuples(list) => {
                let one = |[a, b, _]: &[u32; 3]| format!("{a}:{b}");
                f.write_str(&join(list.iter().map(one).collect()))
            }
            Value::Elements(elements) => {
                let open = elements.open.then(|| "...".to_owned());
                f.write_str(&join(
                    elements.list.iter().map(Element::to_string).chain(open).collect(),
                ))
            }
        }
    }
}
