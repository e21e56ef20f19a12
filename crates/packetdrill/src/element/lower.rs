//! Conversion of expressions to elements.

use super::shapes::{Codec, FieldShape, Shape, shape_of_name, type_number};
use super::{Element, Elements, Kind, Value};
use crate::error::{ParseError, Trouble};
use crate::expression::{Expression, Field};

/// Converts `NAME[field=value, …]` to an element of this kind.
pub(crate) fn lower(expression: &Expression, kind: Kind, line: usize) -> Result<Element, Trouble> {
    let Expression::Element(name, fields) = expression else {
        return Err(ParseError::new(line, format!("a {kind:?} wanted")).into());
    };
    let shape = shape_of_name(kind, name)
        .ok_or_else(|| ParseError::new(line, format!("there is no {kind:?} {name}")))?;
    let mut element = Element {
        shape,
        code: shape.code,
        any_code: false,
        // A chunk without flags in the script has none set.
        flags: (kind == Kind::Chunk).then_some(0),
        length: None,
        values: shape.fields.iter().map(initial).collect(),
    };
    let mut given = vec![false; shape.fields.len()];
    for (index, field) in fields.iter().enumerate() {
        if field.name.is_some() && fields[..index].iter().any(|other| other.name == field.name) {
            let key = field.name.as_deref().unwrap_or_default();
            return Err(ParseError::new(line, format!("{name} has the field {key} twice")).into());
        }
        if let Some(index) = set(&mut element, field, line)? {
            given[index] = true;
        }
    }
    let mentions = |key: &str| fields.iter().any(|field| field.name.as_deref() == Some(key));
    if matches!(shape.name, "DATA" | "I_DATA") && !mentions("len") {
        return Err(ParseError::new(line, format!("{name} wants the field len")).into());
    }
    if shape.generic && !mentions("type") && !mentions("code") {
        return Err(ParseError::new(line, format!("{name} wants its type")).into());
    }
    for (field, given) in shape.fields.iter().zip(given) {
        if !given && must_be_given(field.codec) {
            let message = format!("{name} wants the field {}", field.key);
            return Err(ParseError::new(line, message).into());
        }
    }
    Ok(element)
}

/// Value of a field that the script does not mention.
fn initial(field: &FieldShape) -> Value {
    match field.codec {
        Codec::Elements(_) | Codec::Reflected(_) => Value::Elements(Elements::default()),
        Codec::OptionalU32 | Codec::OptionalU16List => Value::Numbers(Vec::new()),
        _ => Value::Any,
    }
}

fn must_be_given(codec: Codec) -> bool {
    !matches!(
        codec,
        Codec::Elements(_)
            | Codec::Reflected(_)
            | Codec::Payload
            | Codec::Reserved16
            | Codec::OptionalU32
            | Codec::OptionalU16List
    )
}

/// Sets `field`; returns its index in the shape, if it has one.
fn set(element: &mut Element, field: &Field, line: usize) -> Result<Option<usize>, Trouble> {
    let error = |what: String| Trouble::from(ParseError::new(line, what));
    match field.name.as_deref() {
        None => return add(element, &field.value, line),
        Some("flgs") if element.shape.kind == Kind::Chunk => {
            element.flags = flags(&field.value, element.shape).map_err(error)?;
            return Ok(None);
        }
        Some("len") => {
            element.length = optional(&field.value).map_err(error)?;
            return Ok(None);
        }
        Some("type" | "code") if element.shape.generic && field.value == Expression::Any => {
            element.any_code = true;
            return Ok(None);
        }
        Some("type" | "code") if element.shape.generic => {
            element.code = number(&field.value)
                .and_then(|code| u16::try_from(code).ok())
                .ok_or_else(|| error("a type wanted".to_owned()))?;
            return Ok(None);
        }
        Some(_) => {}
    }
    let key = field.name.as_deref().unwrap_or_default();
    let named = |shape: &FieldShape| !key.is_empty() && shape.key.split('|').any(|one| one == key);
    let index = element.shape.fields.iter().position(named);
    let index = index.ok_or_else(|| error(format!("{} has no field {key}", element.name())))?;
    element.values[index] = value(&field.value, element.shape.fields[index].codec, line)?;
    Ok(Some(index))
}

/// Adds an entry without a name: a parameter or cause, or `...` for any further ones.
fn add(element: &mut Element, entry: &Expression, line: usize) -> Result<Option<usize>, Trouble> {
    let unwanted = ParseError::new(line, format!("{} has no such entry", element.shape.name));
    for (index, (field, value)) in element.shape.fields.iter().zip(&mut element.values).enumerate()
    {
        let (Codec::Elements(kind), Value::Elements(elements)) = (field.codec, value) else {
            continue;
        };
        if *entry == Expression::Any {
            elements.open = true;
        } else {
            elements.list.push(lower(entry, kind, line)?);
        }
        return Ok(Some(index));
    }
    Err(unwanted.into())
}

fn value(expression: &Expression, codec: Codec, line: usize) -> Result<Value, Trouble> {
    if *expression == Expression::Any {
        return Ok(match codec {
            Codec::Elements(_) | Codec::Reflected(_) => {
                Value::Elements(Elements { list: Vec::new(), open: true })
            }
            _ => Value::Any,
        });
    }
    if let Codec::Elements(kind) | Codec::Reflected(kind) = codec {
        let entries = match expression {
            Expression::List(entries) => entries.as_slice(),
            one => core::slice::from_ref(one),
        };
        let mut elements = Elements::default();
        for entry in entries {
            match entry {
                Expression::Any => elements.open = true,
                entry => elements.list.push(lower(entry, kind, line)?),
            }
        }
        return Ok(Value::Elements(elements));
    }
    let value = plain_value(expression, codec);
    value.ok_or_else(|| ParseError::new(line, format!("no value for {codec:?}")).into())
}

fn plain_value(expression: &Expression, codec: Codec) -> Option<Value> {
    let list = || match expression {
        Expression::List(entries) => Some(entries),
        _ => None,
    };
    Some(match codec {
        Codec::U16 => Value::Number(number(expression).filter(|n| *n <= 0xffff)?),
        Codec::U32 | Codec::OptionalU32 => Value::Number(number(expression)?),
        Codec::Ipv4 | Codec::Ipv6 => Value::Bytes(address(expression, codec)?),
        Codec::HostName | Codec::Text => match expression {
            Expression::Text(text) => Value::Bytes(text.clone().into_bytes()),
            _ => return None,
        },
        Codec::Raw => Value::Bytes(bytes_of(expression)?),
        Codec::U8List
        | Codec::U16List
        | Codec::OptionalU16List
        | Codec::CountedU16List
        | Codec::Duplicates => {
            let is_small = |number: &u32| *number <= largest_entry(codec);
            let entry = |entry: &Expression| number(entry).filter(is_small);
            Value::Numbers(list()?.iter().map(entry).collect::<Option<_>>()?)
        }
        Codec::Gaps => Value::Tuples(list()?.iter().map(gap).collect::<Option<_>>()?),
        Codec::StreamSsn | Codec::StreamMid => {
            let width = if codec == Codec::StreamSsn { 2 } else { 3 };
            Value::Tuples(list()?.iter().map(|ids| tuple(ids, width)).collect::<Option<_>>()?)
        }
        Codec::Reserved16 | Codec::Payload | Codec::Elements(_) | Codec::Reflected(_) => {
            return None;
        }
    })
}

fn number(expression: &Expression) -> Option<u32> {
    let value = expression.number(&|name| type_number(name).map(i64::from))?;
    u32::try_from(value).ok()
}

fn optional(expression: &Expression) -> Result<Option<u16>, String> {
    if *expression == Expression::Any {
        return Ok(None);
    }
    let value = number(expression).and_then(|value| u16::try_from(value).ok());
    value.map(Some).ok_or_else(|| "a length below 65536 wanted".to_owned())
}

fn address(expression: &Expression, codec: Codec) -> Option<Vec<u8>> {
    match (expression, codec) {
        (Expression::Address(core::net::IpAddr::V4(address)), Codec::Ipv4) => {
            Some(address.octets().to_vec())
        }
        (Expression::Address(core::net::IpAddr::V6(address)), Codec::Ipv6) => {
            Some(address.octets().to_vec())
        }
        _ => None,
    }
}

/// Largest value of an entry in a list.
fn largest_entry(codec: Codec) -> u32 {
    match codec {
        Codec::U8List => u8::MAX.into(),
        Codec::Duplicates => u32::MAX,
        _ => u16::MAX.into(),
    }
}

fn half(expression: &Expression) -> Option<u32> {
    number(expression).filter(|number| *number <= u16::MAX.into())
}

/// A gap ack block, such as `2:3`, with a third number of 0.
fn gap(expression: &Expression) -> Option<[u32; 3]> {
    match expression {
        Expression::Pair(start, end) => Some([half(start)?, half(end)?, 0]),
        _ => None,
    }
}

/// A tuple of `width` numbers, such as `{1,0}` or `{1,0,7}`.
fn tuple(expression: &Expression, width: usize) -> Option<[u32; 3]> {
    let fields = expression.fields().filter(|fields| fields.len() == width)?;
    let mut tuple = [0; 3];
    for (index, (slot, field)) in tuple.iter_mut().zip(fields).enumerate() {
        *slot = if index < 2 { half(&field.value)? } else { number(&field.value)? };
    }
    Some(tuple)
}

/// Bytes of a list such as `[0x01, 0x02]`; none if an entry is no byte.
pub(crate) fn bytes_of(expression: &Expression) -> Option<Vec<u8>> {
    match expression {
        Expression::List(entries) => entries
            .iter()
            .map(|entry| number(entry).and_then(|byte| u8::try_from(byte).ok()))
            .collect(),
        _ => None,
    }
}

/// Parses flags: a number, or letters of this chunk's flags.
fn flags(expression: &Expression, shape: &Shape) -> Result<Option<u8>, String> {
    let bit = |letter| match (shape.name, letter) {
        ("DATA" | "I_DATA", 'E') => Some(1),
        ("DATA" | "I_DATA", 'B') => Some(2),
        ("DATA" | "I_DATA", 'U') => Some(4),
        ("DATA" | "I_DATA", 'I') => Some(8),
        ("ABORT" | "SHUTDOWN_COMPLETE", 'T') => Some(1),
        ("NR_SACK", 'A') => Some(1),
        _ => None,
    };
    match expression {
        Expression::Any => Ok(None),
        Expression::Integer(value) => {
            u8::try_from(*value).map(Some).map_err(|_| "flags beyond 8 bits".to_owned())
        }
        Expression::Name(letters) => letters
            .chars()
            .try_fold(0, |all, letter| {
                bit(letter).filter(|bit| all & bit == 0).map(|bit| all | bit)
            })
            .map(Some)
            .ok_or_else(|| format!("{} has no flags {letters}", shape.name)),
        _ => Err("flags wanted".to_owned()),
    }
}
