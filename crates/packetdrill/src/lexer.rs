//! Tokens of the script language.

use core::fmt;
use core::net::IpAddr;

use crate::error::ParseError;

/// A token of a script.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A whole number, decimal or hexadecimal.
    Integer(i64),
    /// A number with a fraction, or too long for an integer, as text.
    Decimal(String),
    /// A word that is not a number.
    Name(String),
    /// Text in quotation marks, without them.
    Text(String),
    /// An IP address, of either family.
    Address(IpAddr),
    /// A shell command between backticks, without them.
    Shell(String),
    /// Code between `%{` and `}%`.
    Code(String),
    /// Wildcard `...`.
    Ellipsis,
    /// Any other character, alone.
    Symbol(char),
}

/// A token as the script writes it, with its kind where the text does not tell it.
impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Integer(number) => write!(f, "{number}"),
            Token::Decimal(text) | Token::Name(text) => write!(f, "\"{text}\""),
            Token::Text(text) => write!(f, "the text \"{text}\""),
            Token::Address(address) => write!(f, "{address}"),
            Token::Shell(command) => write!(f, "the command `{command}`"),
            Token::Code(_) => f.write_str("code"),
            Token::Ellipsis => f.write_str("..."),
            Token::Symbol(symbol) => write!(f, "'{symbol}'"),
        }
    }
}

/// A token and its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    pub(crate) token: Token,
    pub(crate) line: usize,
    /// Whether it is the first token of its line.
    pub(crate) begins_line: bool,
    /// Whether it follows the previous token without a space.
    pub(crate) adjoins: bool,
}

/// Splits a script without comments into tokens.
///
/// # Errors
/// A string, a command or code without an end; a number out of range.
pub(crate) fn words(text: &str) -> Result<Vec<Word>, ParseError> {
    let mut words: Vec<Word> = Vec::new();
    let (mut rest, mut line) = (text, 1);
    let (mut begins_line, mut adjoins) = (true, false);
    while let Some(first) = rest.chars().next() {
        if first.is_whitespace() {
            (line, begins_line) =
                if first == '\n' { (line + 1, true) } else { (line, begins_line) };
            adjoins = false;
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (token, length) = next_token(rest, line)?;
        words.push(Word { token, line, begins_line, adjoins });
        line += rest[..length].matches('\n').count();
        (begins_line, adjoins) = (false, true);
        rest = &rest[length..];
    }
    Ok(words)
}

fn next_token(rest: &str, line: usize) -> Result<(Token, usize), ParseError> {
    let first = rest.chars().next().unwrap_or_default();
    let second = rest[first.len_utf8()..].chars().next().unwrap_or_default();
    if rest.starts_with("...") {
        return Ok((Token::Ellipsis, 3));
    }
    if rest.starts_with("%{") {
        let end = rest.find("}%").ok_or_else(|| ParseError::new(line, "%{ without }%"))?;
        return Ok((Token::Code(rest[2..end].to_owned()), end + 2));
    }
    if first == '"' || first == '`' {
        let end = rest[1..].find(first);
        let end = end.ok_or_else(|| ParseError::new(line, format!("{first} without its end")))? + 1;
        let inner = rest[1..end].to_owned();
        if first == '"' && inner.contains('\n') {
            return Err(ParseError::new(
                line,
                "a text in quotation marks that goes on in another line",
            ));
        }
        let token = if first == '`' { Token::Shell(inner) } else { Token::Text(inner) };
        return Ok((token, end + 1));
    }
    if let Some(found) = address(rest) {
        return Ok(found);
    }
    if first.is_ascii_digit() || (first == '.' && second.is_ascii_digit()) {
        return number(rest, line);
    }
    if first.is_ascii_alphabetic() || first == '_' {
        let length = run(rest, |c| c.is_ascii_alphanumeric() || c == '_');
        return Ok((Token::Name(rest[..length].to_owned()), length));
    }
    Ok((Token::Symbol(first), first.len_utf8()))
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// The IP address at the start of `rest`: a text with three dots, or two consecutive colons, that
/// is an address.
fn address(rest: &str) -> Option<(Token, usize)> {
    let candidate = &rest[..run(rest, |c| c.is_ascii_hexdigit() || c == ':' || c == '.')];
    let looks_like = candidate.matches('.').count() == 3 || candidate.matches(':').count() >= 2;
    let address = looks_like.then(|| candidate.parse().ok())??;
    Some((Token::Address(address), candidate.len()))
}

fn number(rest: &str, line: usize) -> Result<(Token, usize), ParseError> {
    let out_of_range = |text: &str| ParseError::new(line, format!("number out of range: {text}"));
    if let Some(digits) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
        let length = run(digits, |c| c.is_ascii_hexdigit());
        let value = u64::from_str_radix(&digits[..length], 16);
        let value = value.map_err(|_| out_of_range(&rest[..length + 2]))?;
        return Ok((Token::Integer(value as i64), length + 2));
    }
    let whole = run(rest, |c| c.is_ascii_digit());
    let fraction = rest[whole..].strip_prefix('.').map_or(0, |f| run(f, |c| c.is_ascii_digit()));
    if fraction > 0 {
        let length = whole + 1 + fraction;
        return Ok((Token::Decimal(rest[..length].to_owned()), length));
    }
    // Bytes of TCP options may form one long row of digits.
    let digits = &rest[..whole];
    let token = digits.parse().map_or_else(|_| Token::Decimal(digits.to_owned()), Token::Integer);
    Ok((token, whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        words(text).unwrap().into_iter().map(|word| word.token).collect()
    }

    #[test]
    fn times_ranges_and_sequence_numbers_fall_apart_in_the_right_places() {
        let decimal = |text: &str| Token::Decimal(text.to_owned());
        let symbol = Token::Symbol;
        assert_eq!(tokens("+.1"), [symbol('+'), decimal(".1")]);
        assert_eq!(tokens("0...0.1"), [Token::Integer(0), Token::Ellipsis, decimal("0.1")]);
        assert_eq!(
            tokens("1:1001(1000)"),
            [
                Token::Integer(1),
                symbol(':'),
                Token::Integer(1001),
                symbol('('),
                Token::Integer(1000),
                symbol(')')
            ]
        );
        assert_eq!(tokens("0x2F"), [Token::Integer(47)]);
    }

    #[test]
    fn addresses_of_both_families_are_words() {
        let address = |text: &str| Token::Address(text.parse().unwrap());
        assert_eq!(tokens("1.1.1.1"), [address("1.1.1.1")]);
        assert_eq!(tokens("fe80::1 2:2").first(), Some(&address("fe80::1")));
        assert_eq!(tokens("2:2").len(), 3);
    }

    #[test]
    fn lines_are_counted_through_commands_of_several_lines() {
        let words = words("`a\nb`\nx").unwrap();
        assert_eq!((words[0].line, words[1].line, words[1].begins_line), (1, 3, true));
    }

    #[test]
    fn what_does_not_end_is_an_error() {
        for text in ["\"a", "`a", "%{ a", "\"a\n\""] {
            assert!(words(text).is_err(), "{text}");
        }
        assert!(words("0x99999999999999999").is_err());
    }
}
