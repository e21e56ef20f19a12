//! Parser of scripts: text to [`Script`].
//!
//! Malformed text is an error with its line. Well-formed text that this crate does not know (a
//! protocol, a chunk, a header) becomes an [`Action::Unsupported`], so that the rest of the script
//! is parsed and the runner can say why it skips the script.

mod expression;
mod options;
mod packet;
mod rules;
mod segment;

use base::Duration;

use self::options::split_options;
use crate::error::{ParseError, Trouble};
use crate::lexer::{self, Token, Word};
use crate::script::{Action, Call, Event, Script, When};
use crate::text::{self, Defines};

/// Parses a script without defined names.
///
/// # Errors
/// [`ParseError`], with the line.
pub fn parse(text: &str) -> Result<Script, ParseError> {
    parse_with(text, &Defines::new())
}

/// Parses a script with the names in `defines` defined (`#ifdef`). A name with a text is replaced
/// by it everywhere except in strings, commands and code.
///
/// # Errors
/// [`ParseError`], with the line.
pub fn parse_with(text: &str, defines: &Defines) -> Result<Script, ParseError> {
    let text = text::select(text, defines)?;
    let (options, text) = split_options(&text)?;
    let words = substitute(lexer::words(&text)?, defines)?;
    let mut parser = Parser { words: &words, at: 0 };
    let mut events = Vec::new();
    while let Some(word) = parser.peek() {
        let line = word.line;
        let shell = matches!(word.token, Token::Shell(_) | Token::Code(_));
        let when = if shell { When::Any } else { parser.when()? };
        let start = parser.at;
        let action = match parser.action() {
            Ok(action) => action,
            Err(Trouble::Unknown(what)) => {
                parser.at = start;
                parser.skip_event();
                Action::Unsupported(what)
            }
            Err(Trouble::Syntax(error)) => return Err(error),
        };
        parser.end_of_event()?;
        events.push(Event { line, when, action });
    }
    let script = Script { options, events };
    rules::check(&script)?;
    Ok(script)
}

/// Replaces the name of a definition by its words.
fn substitute(words: Vec<Word>, defines: &Defines) -> Result<Vec<Word>, ParseError> {
    if defines.values().all(Option::is_none) {
        return Ok(words);
    }
    let mut replaced = Vec::with_capacity(words.len());
    for word in words {
        let text = match &word.token {
            Token::Name(name) => defines.get(name).and_then(Option::as_deref),
            _ => None,
        };
        let Some(text) = text else {
            replaced.push(word);
            continue;
        };
        for (index, part) in lexer::words(text)?.into_iter().enumerate() {
            let first = index == 0;
            replaced.push(Word {
                token: part.token,
                line: word.line,
                begins_line: first && word.begins_line,
                adjoins: if first { word.adjoins } else { part.adjoins },
            });
        }
    }
    Ok(replaced)
}

struct Parser<'a> {
    words: &'a [Word],
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Word> {
        self.words.get(self.at)
    }

    fn peek_token(&self) -> Option<&'a Token> {
        self.peek().map(|word| &word.token)
    }

    fn next(&mut self) -> Option<&'a Token> {
        let word = self.words.get(self.at)?;
        self.at += 1;
        Some(&word.token)
    }

    fn line(&self) -> usize {
        self.words.get(self.at).or(self.words.last()).map_or(1, |word| word.line)
    }

    fn is_symbol(&self, symbol: char) -> bool {
        self.peek_token() == Some(&Token::Symbol(symbol))
    }

    fn take_symbol(&mut self, symbol: char) -> bool {
        let found = self.is_symbol(symbol);
        self.at += usize::from(found);
        found
    }

    fn take_name(&mut self, name: &str) -> bool {
        let found = matches!(self.peek_token(), Some(Token::Name(found)) if found == name);
        self.at += usize::from(found);
        found
    }

    fn expect_symbol(&mut self, symbol: char) -> Result<(), ParseError> {
        if self.take_symbol(symbol) { Ok(()) } else { Err(self.unexpected(&format!("'{symbol}'"))) }
    }

    fn unexpected(&self, wanted: &str) -> ParseError {
        let found = match self.peek_token() {
            None => "the end of the script".to_owned(),
            Some(token) => token.to_string(),
        };
        ParseError::new(self.line(), format!("{wanted} wanted, found {found}"))
    }

    // ---- time ----------------------------------------------------------------------------------

    fn when(&mut self) -> Result<When, ParseError> {
        if self.take_symbol('*') {
            return Ok(When::Any);
        }
        let relative = self.take_symbol('+');
        let from = self.seconds()?;
        let mut to = None;
        let mut until = None;
        if self.take_symbol('~') {
            // Both ends are relative to the previous event, or neither is.
            if self.take_symbol('+') != relative {
                self.at -= usize::from(!relative);
                return Err(self.unexpected(if relative { "'+'" } else { "a time in seconds" }));
            }
            to = Some(self.seconds()?);
        } else if self.peek_token() == Some(&Token::Ellipsis) {
            self.at += 1;
            self.take_symbol('+');
            until = Some(self.seconds()?);
        }
        Ok(When::At { relative, from, to, until })
    }

    fn seconds(&mut self) -> Result<Duration, ParseError> {
        let span = match self.peek_token() {
            Some(Token::Integer(seconds)) if *seconds >= 0 => Duration::from_secs(*seconds as u64),
            Some(Token::Decimal(text)) => {
                decimal_seconds(text).ok_or_else(|| self.unexpected("a time in seconds"))?
            }
            _ => return Err(self.unexpected("a time in seconds")),
        };
        self.at += 1;
        Ok(span)
    }

    // ---- actions -------------------------------------------------------------------------------

    fn action(&mut self) -> Result<Action, Trouble> {
        match self.peek_token() {
            Some(Token::Symbol('<')) => {
                self.at += 1;
                self.packet().map(Action::Inject)
            }
            Some(Token::Symbol('>')) => {
                self.at += 1;
                self.packet().map(Action::Expect)
            }
            Some(Token::Shell(command)) => {
                self.at += 1;
                Ok(Action::Shell(command.clone()))
            }
            Some(Token::Code(code)) => {
                self.at += 1;
                Ok(Action::Code(code.clone()))
            }
            Some(Token::Name(_)) => self.call().map(Action::Call),
            _ => Err(self.unexpected("'<', '>', a call or a command").into()),
        }
    }

    fn call(&mut self) -> Result<Call, Trouble> {
        let Some(Token::Name(name)) = self.next() else {
            return Err(self.unexpected("the name of a call").into());
        };
        self.expect_symbol('(')?;
        let arguments = self.expressions(')')?;
        self.expect_symbol('=')?;
        let returns = self.expression()?;
        let mut errno = None;
        if let Some(Word { token: Token::Name(error), begins_line: false, .. }) = self.peek() {
            errno = Some(error.clone());
            self.at += 1;
        }
        if self.is_symbol('(') {
            self.skip_note()?;
        }
        Ok(Call { name: name.clone(), arguments, returns, errno })
    }

    /// Skips a note `(meaning of an error or number)`, which ends on its line so that it cannot
    /// hide the events after it.
    fn skip_note(&mut self) -> Result<(), ParseError> {
        let line = self.line();
        let mut depth = 0;
        while let Some(word) = self.peek().filter(|word| !word.begins_line) {
            match &word.token {
                Token::Symbol('(') => depth += 1,
                Token::Symbol(')') => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
        Err(ParseError::new(line, "a note in parentheses does not end on its line"))
    }

    /// Skips text that could not be parsed, up to the line on which the next event begins.
    fn skip_event(&mut self) {
        let mut depth = 0_i32;
        self.at += 1;
        while let Some(word) = self.peek() {
            let begins = match &word.token {
                Token::Symbol(symbol) => matches!(symbol, '+' | '*'),
                Token::Integer(_) | Token::Decimal(_) | Token::Shell(_) | Token::Code(_) => true,
                _ => false,
            };
            if word.begins_line && begins && depth <= 0 {
                return;
            }
            match &word.token {
                Token::Symbol('(' | '[' | '{') => depth += 1,
                Token::Symbol(')' | ']' | '}') => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn end_of_event(&self) -> Result<(), ParseError> {
        match self.peek() {
            Some(word) if !word.begins_line => Err(self.unexpected("the end of the event")),
            _ => Ok(()),
        }
    }
}

/// Converts seconds such as `1.25` exactly; digits beyond nanoseconds are dropped.
fn decimal_seconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.')?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    Some(Duration::from_secs(whole) + Duration::from_nanos(digits.parse().ok()?))
}

#[cfg(test)]
mod tests;
