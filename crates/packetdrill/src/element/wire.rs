//! Elements on the wire: encoding and decoding.

use super::shapes::{Codec, FieldShape, Shape, shape_of_code};
use super::{Element, Elements, Kind, Value};
use crate::mapping::{Mapping, Perspective, Side};

/// Values of `...` in a packet to send: the stack's last ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// The cookie of its last INIT ACK.
    pub(crate) cookie: Vec<u8>,
    /// The information of its last HEARTBEAT, as an entire parameter.
    pub(crate) heartbeat: Vec<u8>,
}

const HEADER: usize = 4;

/// Whether the padding of elements to a multiple of 4 bytes is zero (RFC 9260, sections 3.2 and
/// 3.2.1).
pub(crate) fn is_padded_with_zeros(mut rest: &[u8]) -> bool {
    while let [_, _, high, low, ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low])).max(HEADER);
        let end = length.next_multiple_of(4).min(rest.len());
        if rest.get(length..end).is_some_and(|padding| padding.iter().any(|byte| *byte != 0)) {
            return false;
        }
        rest = &rest[end..];
    }
    true
}

/// Splits bytes into elements, each with its header and without its padding.
///
/// # Errors
/// The error of the first malformed element.
pub(crate) fn split(mut rest: &[u8]) -> Result<Vec<&[u8]>, String> {
    let mut elements = Vec::new();
    while !rest.is_empty() {
        let [_, _, high, low, ..] = rest else { return Err("a header is cut off".to_owned()) };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if length < HEADER {
            return Err(format!("a length of {length}"));
        }
        let element = rest.get(..length).ok_or_else(|| format!("a length of {length}"))?;
        elements.push(element);
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(elements)
}

// ---- encoding ----------------------------------------------------------------------------------

/// Appends an element with its padding to `out`.
pub(crate) fn encode(
    element: &Element,
    perspective: Perspective<'_>,
    memory: &Memory,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    match element.shape.kind {
        Kind::Chunk => out.extend([element.code as u8, element.flags.unwrap_or(0)]),
        Kind::Parameter | Kind::Cause => out.extend(element.code.to_be_bytes()),
    }
    out.extend([0, 0]);
    if element.name() == "HEARTBEAT_ACK" && has_open_information(element) {
        out.extend(&memory.heartbeat);
    } else {
        for (field, value) in element.shape.fields.iter().zip(&element.values) {
            let room = element.length.map(|length| usize::from(length) + start);
            if (field.codec, value) == (Codec::Payload, &Value::Any) {
                let missing = room.map_or(0, |end| end.saturating_sub(out.len()));
                let tsn = element.number("tsn").unwrap_or(0);
                out.extend((0..missing).map(|index| chunk_byte(tsn, index)));
                continue;
            }
            if element.name() == "AUTH" && field.key == "hmac" && *value == Value::Any {
                // The runner writes the HMAC here: 20 bytes for SHA-1, 32 for SHA-256.
                let length = if element.number("hmac_id") == Some(1) { 20 } else { 32 };
                out.extend((0..length).map(|_| 0));
                continue;
            }
            let remembered = remembered(element, memory);
            encode_field(field, value, perspective, room, remembered, out);
            encode_nested(field, value, perspective, memory, out);
            if element.name() == "NR_SACK" && field.key == "a_rwnd" {
                encode_nr_counts(element, out);
            } else if element.name() == "SACK" && field.key == "a_rwnd" {
                encode_sack_counts(element, out);
            }
        }
    }
    let length = element.length.unwrap_or((out.len() - start) as u16);
    out[start + 2..start + HEADER].copy_from_slice(&length.to_be_bytes());
    out.resize(start + (out.len() - start).next_multiple_of(4), 0);
}

fn count(element: &Element, key: &str) -> u16 {
    match element.value(key) {
        Some(Value::Tuples(list)) => list.len() as u16,
        Some(Value::Numbers(list)) => list.len() as u16,
        _ => 0,
    }
}

fn encode_sack_counts(element: &Element, out: &mut Vec<u8>) {
    out.extend(count(element, "gaps").to_be_bytes());
    out.extend(count(element, "dups").to_be_bytes());
}

fn encode_nr_counts(element: &Element, out: &mut Vec<u8>) {
    out.extend(count(element, "gaps").to_be_bytes());
    out.extend(count(element, "nr_gaps").to_be_bytes());
    out.extend(count(element, "dups").to_be_bytes());
    out.extend([0, 0]);
}

fn has_open_information(element: &Element) -> bool {
    match element.values.first() {
        Some(Value::Elements(elements)) => match elements.list.first() {
            Some(information) => {
                information.length.is_none() && information.values.first() == Some(&Value::Any)
            }
            None => elements.open,
        },
        _ => false,
    }
}

/// The bytes of `...` in this element.
fn remembered<'a>(element: &Element, memory: &'a Memory) -> &'a [u8] {
    if element.name() == "COOKIE_ECHO" { &memory.cookie } else { &[] }
}

fn encode_nested(
    field: &FieldShape,
    value: &Value,
    perspective: Perspective<'_>,
    memory: &Memory,
    out: &mut Vec<u8>,
) {
    let Value::Elements(elements) = value else { return };
    let perspective = match field.codec {
        Codec::Reflected(_) => perspective.reflected(),
        _ => perspective,
    };
    for (index, element) in elements.list.iter().enumerate() {
        let start = out.len();
        encode(element, perspective, memory, out);
        if index + 1 == elements.list.len() {
            // The padding of the last element belongs to the enclosing one.
            let length = element.length.map_or(out.len() - start, usize::from);
            let header = u16::from_be_bytes([out[start + 2], out[start + 3]]);
            out.truncate(start + length.min(usize::from(header)).max(HEADER));
        }
    }
}

/// Appends a field. `room` is the end of the element if the script gives its length.
fn encode_field(
    field: &FieldShape,
    value: &Value,
    perspective: Perspective<'_>,
    room: Option<usize>,
    remembered: &[u8],
    out: &mut Vec<u8>,
) {
    let role = field.role;
    match (field.codec, value) {
        (Codec::U16, Value::Number(number)) => out.extend((*number as u16).to_be_bytes()),
        (Codec::U32 | Codec::OptionalU32, Value::Number(number)) => {
            out.extend(perspective.live(role, *number).to_be_bytes());
        }
        (Codec::U16 | Codec::Reserved16, _) => out.extend([0; 2]),
        (Codec::U32 | Codec::Ipv4, Value::Any) => out.extend([0; 4]),
        (Codec::HostName, Value::Bytes(bytes)) => {
            out.extend(bytes);
            out.push(0);
        }
        (Codec::Raw, Value::Any) => {
            let missing = room.map(|end| end.saturating_sub(out.len()));
            match missing {
                Some(missing) => out.extend((0..missing).map(|index| index as u8)),
                None => out.extend(remembered),
            }
        }
        (_, Value::Bytes(bytes)) => out.extend(bytes),
        (Codec::U8List, Value::Numbers(list)) => out.extend(list.iter().map(|n| *n as u8)),
        (Codec::U16List | Codec::OptionalU16List, Value::Numbers(list)) => {
            out.extend(list.iter().flat_map(|n| (*n as u16).to_be_bytes()));
        }
        (Codec::CountedU16List, Value::Numbers(list)) => {
            out.extend((list.len() as u32).to_be_bytes());
            out.extend(list.iter().flat_map(|n| (*n as u16).to_be_bytes()));
        }
        (Codec::Duplicates, Value::Numbers(list)) => {
            out.extend(list.iter().flat_map(|n| perspective.live(role, *n).to_be_bytes()));
        }
        (Codec::Gaps | Codec::StreamSsn, Value::Tuples(list)) => {
            out.extend(list.iter().flat_map(|[a, b, _]| ((a << 16) | (b & 0xffff)).to_be_bytes()));
        }
        (Codec::StreamMid, Value::Tuples(list)) => {
            let words = |[a, b, c]: &[u32; 3]| [(a << 16) | (b & 0xffff), *c];
            out.extend(list.iter().flat_map(words).flat_map(u32::to_be_bytes));
        }
        _ => {}
    }
}

/// The chunks in these bytes, if they are whole chunks and nothing else.
pub(crate) fn chunks_of(bytes: &[u8]) -> Option<Vec<Element>> {
    let mapping = Mapping::new(0, 0);
    let perspective = mapping.perspective(Side::Script);
    let chunks = split(bytes).ok()?.into_iter();
    let chunks = chunks.map(|chunk| decode(chunk, Kind::Chunk, perspective).ok());
    let chunks: Vec<Element> = chunks.collect::<Option<_>>()?;
    let mut again = Vec::new();
    for chunk in &chunks {
        encode(chunk, perspective, &Memory::default(), &mut again);
    }
    (again == bytes).then_some(chunks)
}

// ---- decoding ----------------------------------------------------------------------------------

/// Decodes an element by its code, in the script's numbers.
///
/// # Errors
/// The malformed part.
pub(crate) fn decode(
    bytes: &[u8],
    kind: Kind,
    perspective: Perspective<'_>,
) -> Result<Element, String> {
    let code = code_of(bytes, kind);
    decode_as(shape_of_code(kind, code), bytes, perspective)
}

pub(super) fn code_of(bytes: &[u8], kind: Kind) -> u16 {
    match (bytes, kind) {
        ([code, ..], Kind::Chunk) => (*code).into(),
        ([high, low, ..], _) => u16::from_be_bytes([*high, *low]),
        _ => 0,
    }
}

/// Decodes an element as a `shape`.
pub(super) fn decode_as(
    shape: &'static Shape,
    bytes: &[u8],
    perspective: Perspective<'_>,
) -> Result<Element, String> {
    let [first, second, high, low, body @ ..] = bytes else {
        return Err("an element is cut off".to_owned());
    };
    let is_chunk = shape.kind == Kind::Chunk;
    let code = if is_chunk { (*first).into() } else { u16::from_be_bytes([*first, *second]) };
    let mut reader = Reader { rest: body, counts: [0; 3], list: 0 };
    let mut values = Vec::with_capacity(shape.fields.len());
    for field in shape.fields {
        values.push(reader.field(field, perspective).ok_or_else(|| {
            format!("{} ({} bytes) ends before {}", shape.name, bytes.len(), field.key)
        })??);
        if field.key == "a_rwnd" && matches!(shape.name, "SACK" | "NR_SACK") {
            reader.counts(shape.name == "NR_SACK").ok_or("SACK ends before its counts")?;
        }
    }
    if !reader.rest.is_empty() {
        return Err(format!("{} has {} bytes behind its end", shape.name, reader.rest.len()));
    }
    Ok(Element {
        shape,
        code,
        any_code: false,
        flags: is_chunk.then_some(*second),
        length: Some(u16::from_be_bytes([*high, *low])),
        values,
    })
}

struct Reader<'a> {
    rest: &'a [u8],
    /// Number of entries of each list of a SACK, in the order of the lists.
    counts: [usize; 3],
    list: usize,
}

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*head)
    }

    fn u16(&mut self) -> Option<u32> {
        self.take().map(|bytes| u16::from_be_bytes(bytes).into())
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn all(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.rest)
    }

    /// Reads the counts before the lists of a SACK or NR-SACK.
    fn counts(&mut self, non_renegable: bool) -> Option<()> {
        let count = if non_renegable { 3 } else { 2 };
        for index in 0..count {
            self.counts[index] = self.u16()? as usize;
        }
        if non_renegable {
            self.u16()?;
        }
        Some(())
    }

    fn next_count(&mut self) -> usize {
        self.list += 1;
        self.counts.get(self.list - 1).copied().unwrap_or(0)
    }

    fn rest_of<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut list = Vec::new();
        while !self.rest.is_empty() {
            list.push(one(self)?);
        }
        Some(list)
    }

    fn field(
        &mut self,
        field: &FieldShape,
        perspective: Perspective<'_>,
    ) -> Option<Result<Value, String>> {
        let script = |number| perspective.script(field.role, number);
        let triple = |pair: u32| [pair >> 16, pair & 0xffff, 0];
        Some(Ok(match field.codec {
            Codec::U16 | Codec::Reserved16 => Value::Number(self.u16()?),
            Codec::U32 => Value::Number(script(self.u32()?)),
            Codec::OptionalU32 if self.rest.is_empty() => Value::Numbers(Vec::new()),
            Codec::OptionalU32 => Value::Number(script(self.u32()?)),
            Codec::Ipv4 => Value::Bytes(self.take::<4>()?.to_vec()),
            Codec::Ipv6 => Value::Bytes(self.take::<16>()?.to_vec()),
            Codec::HostName => {
                let bytes = self.all();
                Value::Bytes(bytes.strip_suffix(&[0]).unwrap_or(bytes).to_vec())
            }
            Codec::Text | Codec::Raw | Codec::Payload => Value::Bytes(self.all().to_vec()),
            Codec::U8List => Value::Numbers(self.all().iter().map(|n| (*n).into()).collect()),
            Codec::U16List | Codec::OptionalU16List => Value::Numbers(self.rest_of(Reader::u16)?),
            Codec::CountedU16List => {
                let count = self.u32()? as usize;
                let list = self.rest_of(Reader::u16)?;
                if list.len() != count {
                    return Some(Err(format!("{} numbers where {count} are said", list.len())));
                }
                Value::Numbers(list)
            }
            Codec::Gaps => {
                let count = self.next_count();
                Value::Tuples((0..count).map(|_| self.u32().map(triple)).collect::<Option<_>>()?)
            }
            Codec::Duplicates => {
                let count = self.next_count();
                Value::Numbers((0..count).map(|_| self.u32().map(script)).collect::<Option<_>>()?)
            }
            Codec::StreamSsn => Value::Tuples(self.rest_of(|all| all.u32().map(triple))?),
            Codec::StreamMid => Value::Tuples(self.rest_of(|all| {
                let [stream, flags, _] = triple(all.u32()?);
                Some([stream, flags, all.u32()?])
            })?),
            Codec::Elements(kind) => return Some(self.elements(kind, perspective)),
            Codec::Reflected(kind) => return Some(self.elements(kind, perspective.reflected())),
        }))
    }

    fn elements(&mut self, kind: Kind, perspective: Perspective<'_>) -> Result<Value, String> {
        let list = split(self.all())?;
        let list = list.iter().map(|bytes| decode(bytes, kind, perspective));
        Ok(Value::Elements(Elements { list: list.collect::<Result<_, _>>()?, open: false }))
    }
}

/// The byte at `offset` of the user data in the chunk with this TSN of the script.
pub(crate) fn chunk_byte(tsn: u32, offset: usize) -> u8 {
    let place =
        tsn.wrapping_mul(0xc2b2_ae3d).wrapping_add((offset as u32).wrapping_mul(0x27d4_eb2f));
    (place >> 21) as u8
}
