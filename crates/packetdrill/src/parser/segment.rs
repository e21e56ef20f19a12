//! Parser of TCP segments: flags, numbers and options.

use super::Parser;
use crate::error::{ParseError, Trouble};
use crate::lexer::Token;
use crate::script::{Number, Segment, TcpOption};

/// Most bytes of options in a header.
const OPTIONS_MAX: u32 = 40;

/// Options of the language that this crate does not support.
const OTHER_OPTIONS: [&str; 4] = ["ECN", "FO", "FOEXP", "md5"];

impl Parser<'_> {
    /// `S. 0:0(0) ack 1 win 5792 <mss 1460,nop,wscale 6>`
    pub(super) fn segment(&mut self) -> Result<Segment, Trouble> {
        let flags = self.flags()?;
        let (sequence, length, absolute) = self.span()?;
        let ack = self.after_name("ack")?;
        let window = self.after_name("win")?;
        self.check_size("a window", window, u16::MAX.into())?;
        let urgent = if self.take_name("urg") { Some(self.sequence_number()?) } else { None };
        self.check_size("an urgent pointer", urgent.map(Number::Is), u16::MAX.into())?;
        let options = if self.is_option_list() { self.options()? } else { Some(Vec::new()) };
        match self.peek() {
            // Encapsulation as in FreeBSD.
            Some(word) if !word.begins_line && word.token == Token::Symbol('/') => {
                Err(self.unknown("a header of this form"))
            }
            Some(word) if !word.begins_line => {
                Err(self.unexpected("ack, win, urg, <options> or the end of the segment").into())
            }
            _ => Ok(Segment { flags, sequence, absolute, length, ack, window, urgent, options }),
        }
    }

    /// Parses `1:1001(1000)`, followed by `!` if the first number is that of the header: first
    /// number, length, and whether there was a `!`. The middle number must agree with them.
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

    /// Parses letters, each at most once, or `-` alone.
    fn flags(&mut self) -> Result<String, Trouble> {
        let mut flags = String::new();
        loop {
            match self.peek_token() {
                Some(Token::Name(letters)) if letters.chars().all(|c| "SFRPEWAU".contains(c)) => {
                    flags.push_str(letters);
                }
                Some(Token::Symbol(symbol @ ('.' | '-'))) => flags.push(*symbol),
                _ if flags.is_empty() => {
                    return Err(self.unexpected("a protocol, or flags of TCP").into());
                }
                _ => break,
            }
            self.at += 1;
        }
        let is_twice = |letter: char| flags.matches(letter).count() > 1;
        if flags.chars().any(is_twice) || (flags.len() > 1 && flags.contains('-')) {
            let message = format!("the flags {flags} say a thing twice, or '-' beside others");
            return Err(ParseError::new(self.line(), message).into());
        }
        Ok(flags)
    }

    /// # Errors
    /// The number does not fit into its field of the header.
    fn check_size(&self, what: &str, number: Option<Number>, largest: u32) -> Result<(), Trouble> {
        match number {
            Some(Number::Is(number)) if number > largest => {
                let message = format!("{what} of at most {largest} wanted, found {number}");
                Err(ParseError::new(self.line(), message).into())
            }
            _ => Ok(()),
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

    /// Reads a number, or `...`, which stands for any.
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

    /// Parses options between angle brackets; `None` for `<...>`.
    fn options(&mut self) -> Result<Option<Vec<TcpOption>>, Trouble> {
        self.known_symbol('<')?;
        if self.peek_token() == Some(&Token::Ellipsis) {
            self.at += 1;
            self.known_symbol('>')?;
            return Ok(None);
        }
        let mut options = Vec::new();
        loop {
            options.push(self.option()?);
            if self.take_symbol('>') {
                let length: usize = options.iter().map(TcpOption::length).sum();
                self.check_size("options", Some(Number::Is(length as u32)), OPTIONS_MAX)?;
                return Ok(Some(options));
            }
            self.expect_symbol(',')?;
        }
    }

    fn option(&mut self) -> Result<TcpOption, Trouble> {
        let Some(Token::Name(name)) = self.peek_token() else {
            return Err(self.unexpected("a TCP option").into());
        };
        self.at += 1;
        Ok(match name.as_str() {
            "nop" => TcpOption::Nop,
            "eol" => TcpOption::End,
            "sackOK" => TcpOption::SackPermitted,
            "mss" => TcpOption::Mss(self.number_up_to("an MSS", u16::MAX.into())?),
            "wscale" => {
                TcpOption::WindowScale(self.number_up_to("a window scale", u8::MAX.into())?)
            }
            "sack" => TcpOption::Sack(self.sack_blocks()?),
            "TS" => {
                let value = self.timestamp("val")?;
                TcpOption::Timestamp(value, self.timestamp("ecr")?)
            }
            name if OTHER_OPTIONS.contains(&name) => TcpOption::Other(self.other_option(name)),
            _ => {
                self.at -= 1;
                return Err(self.unexpected("a TCP option").into());
            }
        })
    }

    fn number_up_to(&mut self, what: &str, largest: u32) -> Result<u32, Trouble> {
        let number = self.sequence_number()?;
        self.check_size(what, Some(Number::Is(number)), largest)?;
        Ok(number)
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
