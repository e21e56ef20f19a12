//! The expressions of the language, shared by arguments of calls and fields of SCTP chunks.

use core::net::IpAddr;

/// An argument or a result of a call in a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// Wildcard `...`, which any value matches.
    Any,
    /// A whole number, decimal or hexadecimal.
    Integer(i64),
    /// A number with a fraction, as text.
    Decimal(String),
    /// A name: a constant, or flags such as `BE`.
    Name(String),
    /// Text in quotation marks, without them.
    Text(String),
    /// An IP address, of either family.
    Address(IpAddr),
    /// A pair such as `a:b`.
    Pair(Box<Expression>, Box<Expression>),
    /// Alternatives or flags such as `A|B`.
    Or(Vec<Expression>),
    /// A list such as `[a, b]`.
    List(Vec<Expression>),
    /// `{a=1, b=2}`, or without names.
    Struct(Vec<Field>),
    /// A call such as `htonl(1)`, by its name and arguments.
    Call(String, Vec<Expression>),
    /// An element such as `NAME[a=1, b, ...]`, by its name and fields.
    Element(String, Vec<Field>),
}

/// An entry of a struct or an element, with its name if it has one.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Text before the equals sign.
    pub name: Option<String>,
    /// Value after the equals sign.
    pub value: Expression,
}

impl Expression {
    /// The number that the expression denotes, if any: numbers, `htonl(n)`, and constants that
    /// `constant` knows, also joined by `|`.
    pub(crate) fn number(&self, constant: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        match self {
            Expression::Integer(value) => Some(*value),
            Expression::Name(name) => constant(name),
            Expression::Or(parts) => {
                parts.iter().try_fold(0, |all, part| Some(all | part.number(constant)?))
            }
            Expression::Call(name, arguments) => match (name.as_str(), arguments.as_slice()) {
                // All numbers are in host byte order, and so are those of the socket layer.
                ("htonl" | "htons", [argument]) => argument.number(constant),
                _ => None,
            },
            _ => None,
        }
    }

    /// The fields of a struct.
    pub(crate) fn fields(&self) -> Option<&[Field]> {
        match self {
            Expression::Struct(fields) => Some(fields),
            _ => None,
        }
    }
}
