//! Parser of packets: IP addresses, ICMP, and SCTP.

use core::net::IpAddr;

use super::Parser;
use crate::element::{self, Kind};
use crate::error::{ParseError, Trouble};
use crate::expression::Expression;
use crate::lexer::Token;
use crate::script::{Checksum, Content, IcmpMessage, Packet, Quoted, SctpBody, SctpPacket};

/// Protocols and headers of the language that this crate does not support.
const OTHER_PROTOCOLS: [&str; 9] =
    ["encap", "gre", "icmpv6", "ipv4", "ipv6", "mpls", "psp", "udp", "udplite"];

const ECN_NAMES: [&str; 6] = ["ect0", "ect1", "ect01", "ce", "noecn", "notect"];

impl Parser<'_> {
    pub(super) fn packet(&mut self) -> Result<Packet, Trouble> {
        let addresses = self.addresses()?;
        let (traffic_class, hop_limit) = self.ip_fields()?;
        let ecn = self.ecn()?;
        let quoted = self.quoted()?;
        let content = match self.peek_token() {
            Some(Token::Name(name)) if name == "sctp" => {
                self.at += 1;
                Content::Sctp(self.sctp()?)
            }
            Some(Token::Name(name)) if name == "icmp" => {
                self.at += 1;
                Content::Icmp(self.icmp(quoted)?)
            }
            Some(Token::Name(name)) if OTHER_PROTOCOLS.contains(&name.as_str()) => {
                return Err(Trouble::Unknown(format!("packets of {name} are not supported")));
            }
            _ => Content::Tcp(self.segment()?),
        };
        Ok(Packet { addresses, ecn, traffic_class, hop_limit, content })
    }

    /// Parses `192.0.2.1 > 192.168.0.1`, with or without a colon after it.
    fn addresses(&mut self) -> Result<Option<(IpAddr, IpAddr)>, Trouble> {
        let Some(Token::Address(source)) = self.peek_token() else { return Ok(None) };
        self.at += 1;
        if self.take_symbol(':') {
            return Err(Trouble::Unknown("ports of a packet are not supported".to_owned()));
        }
        self.expect_symbol('>')?;
        let Some(Token::Address(destination)) = self.next() else {
            self.at -= 1;
            return Err(self.unexpected("the destination address").into());
        };
        if self.take_symbol(':')
            && let Some(Token::Integer(_)) = self.peek_token()
        {
            return Err(Trouble::Unknown("ports of a packet are not supported".to_owned()));
        }
        Ok(Some((*source, *destination)))
    }

    /// `(tos 0x28)`, `(class 0x28)`, `(ttl 4)`, `(hlim 4)`: traffic class and hop limit.
    fn ip_fields(&mut self) -> Result<(Option<u8>, Option<u8>), Trouble> {
        let (mut traffic_class, mut hop_limit) = (None, None);
        while let [open, name, value, close, ..] = &self.words[self.at..]
            && (&open.token, &close.token) == (&Token::Symbol('('), &Token::Symbol(')'))
            && let (Token::Name(name), Token::Integer(value)) = (&name.token, &value.token)
            && let Ok(value) = u8::try_from(*value)
        {
            let field = match name.as_str() {
                "tos" | "class" => &mut traffic_class,
                "ttl" | "hlim" => &mut hop_limit,
                _ => break,
            };
            if field.replace(value).is_some() {
                return Err(ParseError::new(self.line(), format!("{name} is given twice")).into());
            }
            self.at += 4;
        }
        Ok((traffic_class, hop_limit))
    }

    /// ECN codepoint, bare or in brackets: `ect0`, `[ce]` or `(ect0)`.
    fn ecn(&mut self) -> Result<Option<String>, Trouble> {
        let start = self.at;
        let brackets = [('[', ']'), ('(', ')')];
        let bracket = brackets.into_iter().find(|(open, _)| self.take_symbol(*open));
        if let Some(Token::Name(name)) = self.peek_token()
            && ECN_NAMES.contains(&name.as_str())
        {
            self.at += 1;
            if let Some((_, close)) = bracket {
                self.expect_symbol(close)?;
            }
            return Ok(Some(name.clone()));
        }
        self.at = start;
        Ok(None)
    }

    // ---- ICMP ----------------------------------------------------------------------------------

    /// `[sctp(2)]` or `[1:1461(1460)]`: the packet that an ICMP message quotes.
    fn quoted(&mut self) -> Result<Option<Quoted>, Trouble> {
        let start = self.at;
        if self.take_symbol('[') {
            if self.take_name("sctp") && self.take_symbol('(') {
                let Some(tag) = self.peek_token().and_then(tag_of) else {
                    return Err(self.unexpected("a verification tag").into());
                };
                self.at += 1;
                self.expect_symbol(')')?;
                self.expect_symbol(']')?;
                return Ok(Some(Quoted::Tag(tag)));
            }
            if let Some(Token::Integer(_)) = self.peek_token() {
                let (sequence, ..) = self.span()?;
                self.known_symbol(']')?;
                return Ok(sequence.map(Quoted::Sequence));
            }
        }
        self.at = start;
        Ok(None)
    }

    /// Parses `unreachable frag_needed mtu 1200`, before or after the quoted packet.
    fn icmp(&mut self, quoted: Option<Quoted>) -> Result<IcmpMessage, Trouble> {
        let mut words = Vec::new();
        while let Some(Token::Name(_) | Token::Integer(_)) = self.peek_token()
            && self.peek().is_some_and(|word| !word.begins_line)
        {
            words.extend(self.word());
        }
        let quoted = match quoted {
            None => self.quoted()?,
            quoted => quoted,
        };
        words.extend(self.rest_of_line());
        Ok(IcmpMessage { words, quoted })
    }

    fn word(&mut self) -> Option<String> {
        Some(match self.next()? {
            Token::Integer(value) => value.to_string(),
            Token::Name(text) | Token::Decimal(text) | Token::Text(text) => text.clone(),
            Token::Symbol(symbol) => symbol.to_string(),
            other => format!("{other:?}"),
        })
    }

    fn rest_of_line(&mut self) -> Vec<String> {
        let mut words = Vec::new();
        while self.peek().is_some_and(|word| !word.begins_line) {
            words.extend(self.word());
        }
        words
    }

    // ---- SCTP ----------------------------------------------------------------------------------

    fn sctp(&mut self) -> Result<SctpPacket, Trouble> {
        let (mut checksum, mut tag) = (None, None);
        // The encapsulation may precede or follow the common header's fields.
        let mut udp = self.udp()?;
        if self.take_symbol('(') {
            let line = self.line();
            for field in self.fields(')', 0)? {
                let said_twice = match (field.name.as_deref(), &field.value) {
                    (None, Expression::Name(name)) if name == "bad_crc32c" => {
                        checksum.replace(Checksum::Bad).is_some()
                    }
                    (None, Expression::Name(name)) if name == "zero_checksum" => {
                        checksum.replace(Checksum::Zero).is_some()
                    }
                    (Some("tag"), Expression::Integer(value)) if u32::try_from(*value).is_ok() => {
                        tag.replace(*value as u32).is_some()
                    }
                    _ => {
                        let wanted = "bad_crc32c, zero_checksum or tag=N wanted in sctp(...)";
                        return Err(ParseError::new(line, wanted).into());
                    }
                };
                if said_twice {
                    return Err(ParseError::new(line, "sctp(...) says a thing twice").into());
                }
            }
        }
        if udp.is_none() {
            udp = self.udp()?;
        }
        self.expect_symbol(':')?;
        let body = if self.is_symbol('[') { self.raw_body()? } else { self.chunks()? };
        Ok(SctpPacket { udp, checksum: checksum.unwrap_or(Checksum::Good), tag, body })
    }

    /// `/udp(9899>9899)`: source and destination port.
    fn udp(&mut self) -> Result<Option<(u16, u16)>, Trouble> {
        if !self.take_symbol('/') {
            return Ok(None);
        }
        if !self.take_name("udp") {
            return Err(self.unexpected("'udp'").into());
        }
        self.expect_symbol('(')?;
        let source = self.port()?;
        self.expect_symbol('>')?;
        let destination = self.port()?;
        self.expect_symbol(')')?;
        Ok(Some((source, destination)))
    }

    fn port(&mut self) -> Result<u16, Trouble> {
        match self.peek_token() {
            Some(Token::Integer(port)) if (1..=65_535).contains(port) => {
                self.at += 1;
                Ok(*port as u16)
            }
            _ => Err(self.unexpected("a port").into()),
        }
    }

    fn raw_body(&mut self) -> Result<SctpBody, Trouble> {
        let line = self.line();
        let bytes = self.expression()?;
        element::bytes_of(&bytes)
            .map(SctpBody::Raw)
            .ok_or_else(|| ParseError::new(line, "a list of bytes wanted").into())
    }

    fn chunks(&mut self) -> Result<SctpBody, Trouble> {
        let mut chunks = Vec::new();
        loop {
            let line = self.line();
            let chunk = self.expression()?;
            chunks.push(element::lower(&chunk, Kind::Chunk, line)?);
            if !self.take_symbol(';') {
                return Ok(SctpBody::Chunks(chunks));
            }
        }
    }
}

/// Verification tag denoted by a token.
fn tag_of(token: &Token) -> Option<u32> {
    match token {
        Token::Integer(value) => u32::try_from(*value).ok(),
        _ => None,
    }
}
