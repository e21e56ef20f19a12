//! TCP segments.

use super::{Parser, Trouble};
use crate::lexer::Token;
use crate::script::{Number, ParseError, Segment, TcpOption};

impl Parser<'_> {
    /// `S. 0:0(0) ack 1 win 5792 <mss 1460,nop,wscale 6>`
    pub(super) fn segment(&mut self) -> Result<Segment, Trouble> {
        let flags = self.flags()?;
        let (sequence, length, absolute) = self.span()?;
        let ack = self.after_name("ack")?;
        let window = self.after_name("win")?;
        let urgent = if self.take_name("urg") { Some(self.sequence_number()?) } else { None };
        let options = if self.is_option_list() { self.options()? } else { Some(Vec::new()) };
        match self.peek() {
            Some(word) if !word.begins_line => Err(self.unknown("a header of this form")),
            _ => Ok(Segment { flags, sequence, absolute, length, ack, window, urgent, options }),
        }
    }

    /// `1:1001(1000)`, with `!` behind it if the first number is that of the header: first number, length,
    /// and whether there was the `!`. The number in the middle must agree with them.
    pub(super) fn span(&mut self) -> Result<(Option<u32>, u32, bool), Trouble> {
        let line = self.line();
        let first = self.number()?;
        // `...(0)` leaves both numbers open.
        let end = if first == Number::Any && self.is_symbol('(') {
            Number::Any
        } else {
            self.known_symbol(':')?;
            self.number()?
        };
        self.known_symbol('(')?;
        let length = self.sequence_number()?;
        self.known_symbol(')')?;
        if let (Number::Is(first), Number::Is(end)) = (first, end)
            && first.wrapping_add(length) != end
        {
            let message = format!("{first}:{end} is not {length} bytes");
            return Err(ParseError::new(line, message).into());
        }
        let first = match first {
            Number::Is(first) => Some(first),
            Number::Any => None,
        };
        Ok((first, length, self.take_symbol('!')))
    }

    fn unknown(&self, what: &str) -> Trouble {
        Trouble::Unknown(format!("{what} is not supported: {}", self.unexpected("something else")))
    }

    pub(super) fn known_symbol(&mut self, symbol: char) -> Result<(), Trouble> {
        if self.take_symbol(symbol) { Ok(()) } else { Err(self.unknown("a segment of this form")) }
    }

    fn flags(&mut self) -> Result<String, Trouble> {
        let mut flags = String::new();
        loop {
            match self.peek_token() {
                Some(Token::Name(letters)) if letters.chars().all(|c| "SFRPEWAU".contains(c)) => {
                    flags.push_str(letters);
                }
                Some(Token::Symbol(symbol @ ('.' | '-'))) => flags.push(*symbol),
                _ if flags.is_empty() => return Err(self.unknown("a packet of this form")),
                _ => return Ok(flags),
            }
            self.at += 1;
        }
    }

    pub(super) fn sequence_number(&mut self) -> Result<u32, Trouble> {
        match self.peek_token() {
            Some(Token::Integer(value)) if u32::try_from(*value).is_ok() => {
                self.at += 1;
                Ok(*value as u32)
            }
            _ => Err(self.unknown("a number of this form")),
        }
    }

    /// A number, or `...`.
    fn number(&mut self) -> Result<Number, Trouble> {
        if self.peek_token() == Some(&Token::Ellipsis) {
            self.at += 1;
            return Ok(Number::Any);
        }
        self.sequence_number().map(Number::Is)
    }

    fn after_name(&mut self, name: &str) -> Result<Option<Number>, Trouble> {
        if self.take_name(name) { self.number().map(Some) } else { Ok(None) }
    }

    fn is_option_list(&self) -> bool {
        self.is_symbol('<') && self.peek().is_some_and(|word| !word.begins_line)
    }

    /// Options between angle brackets; none for `<...>`.
    fn options(&mut self) -> Result<Option<Vec<TcpOption>>, Trouble> {
        self.known_symbol('<')?;
        if self.peek_token() == Some(&Token::Ellipsis) {
            self.at += 1;
            self.known_symbol('>')?;
            return Ok(None);
        }
        let mut options = Vec::new();
        loop {
            if self.take_symbol('>') {
                return Ok(Some(options));
            }
            options.push(self.option()?);
            if !self.take_symbol(',') && !self.is_symbol('>') {
                return Err(self.unknown("a TCP option of this form"));
            }
        }
    }

    fn option(&mut self) -> Result<TcpOption, Trouble> {
        let Some(Token::Name(name)) = self.peek_token() else {
            return Err(self.unknown("a TCP option of this form"));
        };
        self.at += 1;
        Ok(match name.as_str() {
            "nop" => TcpOption::Nop,
            "eol" => TcpOption::End,
            "sackOK" => TcpOption::SackPermitted,
            "mss" => TcpOption::Mss(self.sequence_number()?),
            "wscale" => TcpOption::WindowScale(self.sequence_number()?),
            "sack" => TcpOption::Sack(self.sack_blocks()?),
            "TS" => {
                let value = self.timestamp("val")?;
                TcpOption::Timestamp(value, self.timestamp("ecr")?)
            }
            _ => TcpOption::Other(self.other_option(name)),
        })
    }

    fn timestamp(&mut self, name: &str) -> Result<Option<u32>, Trouble> {
        if !self.take_name(name) {
            return Err(self.unknown("a timestamp of this form"));
        }
        if self.peek_token() == Some(&Token::Ellipsis) {
            self.at += 1;
            return Ok(None);
        }
        self.sequence_number().map(Some)
    }

    fn sack_blocks(&mut self) -> Result<Vec<(u32, u32)>, Trouble> {
        let mut blocks = Vec::new();
        while let Some(Token::Integer(_)) = self.peek_token() {
            let start = self.sequence_number()?;
            self.known_symbol(':')?;
            blocks.push((start, self.sequence_number()?));
        }
        Ok(blocks)
    }

    fn other_option(&mut self, name: &str) -> String {
        let mut text = name.to_owned();
        while let Some(token) = self.peek_token() {
            match token {
                Token::Symbol(',' | '>') => break,
                Token::Integer(value) => text.push_str(&format!(" {value}")),
                Token::Name(word) => text.push_str(&format!(" {word}")),
                _ => text.push_str(" ?"),
            }
            self.at += 1;
        }
        text
    }
}
