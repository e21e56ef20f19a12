//! Expressions: arguments of calls, fields of chunks.

use super::Parser;
use crate::error::ParseError;
use crate::error::Trouble;
use crate::expression::{Expression, Field};
use crate::lexer::Token;

/// Largest depth: more than any script needs, and far from a stack overflow.
const DEPTH_MAX: usize = 24;

impl Parser<'_> {
    /// Parses expressions separated by commas, up to and including `end`.
    pub(super) fn expressions(&mut self, end: char) -> Result<Vec<Expression>, Trouble> {
        let fields = self.fields(end, 0)?;
        Ok(fields.into_iter().map(|field| field.value).collect())
    }

    pub(super) fn expression(&mut self) -> Result<Expression, Trouble> {
        self.nested(0)
    }

    /// Parses `a=1, b, ...` up to and including `end`.
    pub(super) fn fields(&mut self, end: char, depth: usize) -> Result<Vec<Field>, Trouble> {
        let mut fields = Vec::new();
        if self.take_symbol(end) {
            return Ok(fields);
        }
        loop {
            let value = self.nested(depth + 1)?;
            let field = match value {
                // `msg_iov(1)=[…]` means `msg_iov=[…]`.
                Expression::Name(name) | Expression::Call(name, _) if self.is_symbol('=') => {
                    self.at += 1;
                    Field { name: Some(name), value: self.nested(depth + 1)? }
                }
                value => Field { name: None, value },
            };
            fields.push(field);
            if self.take_symbol(end) {
                return Ok(fields);
            }
            if !self.take_symbol(',') {
                return Err(self.unexpected(&format!("',' or '{end}'")).into());
            }
        }
    }

    fn nested(&mut self, depth: usize) -> Result<Expression, Trouble> {
        if depth > DEPTH_MAX {
            return Err(ParseError::new(self.line(), "nested too deeply").into());
        }
        let first = self.primary(depth)?;
        if self.take_symbol(':') {
            let second = self.primary(depth)?;
            return Ok(Expression::Pair(Box::new(first), Box::new(second)));
        }
        if !self.is_symbol('|') {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.take_symbol('|') {
            parts.push(self.primary(depth)?);
        }
        Ok(Expression::Or(parts))
    }

    /// Accepts `I-DATA` for `I_DATA`, since both spellings are in use.
    fn hyphenated(&mut self, first: &str) -> String {
        let mut name = first.to_owned();
        while let [dash, part, ..] = &self.words[self.at..]
            && (dash.adjoins && part.adjoins && dash.token == Token::Symbol('-'))
            && let Token::Name(part) = &part.token
        {
            name = format!("{name}_{part}");
            self.at += 2;
        }
        name
    }

    fn primary(&mut self, depth: usize) -> Result<Expression, Trouble> {
        let start = self.at;
        Ok(match self.next() {
            Some(Token::Ellipsis) => Expression::Any,
            Some(Token::Integer(value)) => Expression::Integer(*value),
            Some(Token::Decimal(text)) => Expression::Decimal(text.clone()),
            Some(Token::Text(text)) => Expression::Text(text.clone()),
            Some(Token::Address(address)) => Expression::Address(*address),
            Some(Token::Symbol('-')) => match self.next() {
                Some(Token::Integer(value)) => Expression::Integer(value.wrapping_neg()),
                _ => {
                    self.at = start + 1;
                    return Err(self.unexpected("a number").into());
                }
            },
            Some(Token::Symbol('[')) => {
                let fields = self.fields(']', depth)?;
                Expression::List(fields.into_iter().map(|field| field.value).collect())
            }
            Some(Token::Symbol('{')) => Expression::Struct(self.fields('}', depth)?),
            Some(Token::Name(name)) if self.take_symbol('(') => {
                let arguments = self.fields(')', depth)?;
                let arguments = arguments.into_iter().map(|field| field.value).collect();
                Expression::Call(name.clone(), arguments)
            }
            Some(Token::Name(name)) => {
                let name = self.hyphenated(name);
                if self.take_symbol('[') {
                    Expression::Element(name, self.fields(']', depth)?)
                } else {
                    Expression::Name(name)
                }
            }
            _ => {
                self.at = start;
                return Err(self.unexpected("a value").into());
            }
        })
    }
}
