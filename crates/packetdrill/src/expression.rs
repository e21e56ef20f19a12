//! The expressions of the language, shared by arguments of calls and fields of SCTP chunks.

use core::net::IpAddr;

/// An argument or a result of a call in a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// `...`
    Any,
    /// A whole number.
    Integer(i64),
    /// A number with a fraction, as text.
    Decimal(String),
    /// A name: a constant, or flags such as `BE`.
    Name(String),
    /// Text in quotation marks.
    Text(String),
    /// An IP address.
    Address(IpAddr),
    /// `a:b`
    Pair(Box<Expression>, Box<Expression>),
    /// `A|B`
    Or(Vec<Expression>),
    /// `[a, b]`
    List(Vec<Expression>),
    /// `{a=1, b=2}`, or without names.
    Struct(Vec<Field>),
    /// `htonl(1)`
    Call(String, Vec<Expression>),
    /// `NAME[a=1, b, ...]`
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
