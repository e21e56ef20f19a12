//! Rust sources as tokens: names and punctuation, without comments, texts, and what only tests
//! compile.

use std::ops::Range;

/// A token of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// A name or a keyword; a raw name stands here without its `r#`.
    Name(String),
    /// `::`.
    Join,
    /// Any other mark of punctuation.
    Mark(char),
    /// A literal text as it is written, with its quotes.
    Text(String),
}

impl Token {
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }

    pub(crate) fn is(&self, mark: char) -> bool {
        *self == Self::Mark(mark)
    }
}

/// The tokens of a source, without items below `#[cfg(test)]`.
pub(crate) fn of(source: &str) -> Vec<Token> {
    with_lines(source).into_iter().map(|(token, _)| token).collect()
}

/// The lines of the literal texts of a source, those of tests among them, each with its number from
/// 1.
pub(crate) fn lines_of_texts(source: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    for (token, first) in scan(source) {
        let Token::Text(text) = token else { continue };
        lines.extend((first..).zip(text.lines().map(str::to_owned)));
    }
    lines
}

/// The tokens of a source, without texts and items below `#[cfg(test)]`, each with its line from 1.
pub(crate) fn with_lines(source: &str) -> Vec<(Token, usize)> {
    let all = all(source);
    let mut tests = tests_of(&all).into_iter().peekable();
    let mut kept = Vec::new();
    for (at, token) in all.into_iter().enumerate() {
        while tests.next_if(|range| range.end <= at).is_some() {}
        if tests.peek().is_none_or(|range| !range.contains(&at)) {
            kept.push(token);
        }
    }
    kept
}

/// The names in a source, those of tests among them.
pub(crate) fn names(source: &str) -> Vec<String> {
    let name = |(token, _): (Token, usize)| token.name().map(str::to_owned);
    all(source).into_iter().filter_map(name).collect()
}

/// Lines of a source, without those of items below `#[cfg(test)]`.
pub(crate) fn lines_without_tests(source: &str) -> usize {
    let all = all(source);
    let lines_of = |range: Range<usize>| all[range.end - 1].1 + 1 - all[range.start].1;
    let of_tests: usize = tests_of(&all).into_iter().map(lines_of).sum();
    source.lines().count() - of_tests
}

fn all(source: &str) -> Vec<(Token, usize)> {
    scan(source).into_iter().filter(|(token, _)| !matches!(token, Token::Text(_))).collect()
}

/// All tokens, texts among them.
fn scan(source: &str) -> Vec<(Token, usize)> {
    let mut tokens = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let skipped = text_or_comment(rest);
        let length = if skipped > 0 {
            if rest[..skipped].ends_with(['"', '#']) && !rest.starts_with('/') {
                tokens.push((Token::Text(rest[..skipped].to_owned()), line));
            }
            skipped
        } else if first.is_alphabetic() || first == '_' {
            let raw = if rest.starts_with("r#") { 2 } else { 0 };
            let end = raw + end_of_name(&rest[raw..]);
            tokens.push((Token::Name(rest[raw..end].to_owned()), line));
            end
        } else if rest.starts_with("::") {
            tokens.push((Token::Join, line));
            2
        } else if first.is_ascii_digit() {
            end_of_name(rest)
        } else {
            if !first.is_whitespace() {
                tokens.push((Token::Mark(first), line));
            }
            first.len_utf8()
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

fn end_of_name(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// Length in bytes of a comment, a literal text, a character or a lifetime at the beginning; 0 if
/// none is there.
fn text_or_comment(rest: &str) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    let quoted = rest.trim_start_matches(['b', 'c']);
    let marks = rest.len() - quoted.len();
    if let Some(raw) = quoted.strip_prefix('r').filter(|_| marks < 2) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let begin = marks + 1 + hashes + 1;
            return rest[begin..].find(&end).map_or(rest.len(), |at| begin + at + end.len());
        }
    }
    match quoted.chars().next() {
        Some('"') if marks < 2 => marks + literal(quoted, '"'),
        Some('\'') if marks < 2 => marks + character_or_lifetime(quoted),
        _ => 0,
    }
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let step = match rest.as_bytes()[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                2
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a literal that begins and ends with `mark`, in which a backslash escapes.
fn literal(text: &str, mark: char) -> usize {
    let mut escaped = false;
    let end = text[1..].find(|c: char| {
        let ends = c == mark && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

fn character_or_lifetime(text: &str) -> usize {
    let mut letters = text.chars().skip(1);
    let (first, second) = (letters.next(), letters.next());
    if first == Some('\\') || second == Some('\'') {
        return literal(text, '\'');
    }
    1 + end_of_name(&text[1..])
}

/// The ranges of tokens of the items that `#[cfg(test)]` stands before, with the attribute.
fn tests_of(tokens: &[(Token, usize)]) -> Vec<Range<usize>> {
    let attribute: Vec<Token> = all("#[cfg(test)]").into_iter().map(|(token, _)| token).collect();
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, window) in tokens.windows(attribute.len()).enumerate() {
        let inside = found.last().is_some_and(|range| range.contains(&at));
        if !inside && window.iter().map(|(token, _)| token).eq(&attribute) {
            found.push(at..end_of_item(tokens, at + attribute.len()));
        }
    }
    found
}

/// End of the item that begins at `from`: behind its braces, or behind its semicolon or comma
/// outside of any bracket.
fn end_of_item(tokens: &[(Token, usize)], from: usize) -> usize {
    let mut depth = 0_i32;
    for (at, (token, _)) in tokens.iter().enumerate().skip(from) {
        match token {
            Token::Mark('{' | '(' | '[') => depth += 1,
            Token::Mark('}') => {
                depth -= 1;
                if depth < 0 {
                    return at;
                }
                let open_list = tokens.get(at + 1).is_some_and(|(next, _)| next.is(';'));
                if depth == 0 && !open_list {
                    return at + 1;
                }
            }
            Token::Mark(')' | ']') => depth -= 1,
            Token::Mark(';' | ',') if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_outside_of_tests(source: &str) -> Vec<String> {
        of(source).iter().filter_map(|token| token.name().map(str::to_owned)).collect()
    }

    #[test]
    fn names_stand_between_comments_texts_and_lifetimes() {
        let source = r##"a /* b /* c */ d */ "e \" f" r#"g "h" "# b"i" 'j' '\'' &'k l, r#type 0x1f 1_u8 // m
            '"' n"##;
        assert_eq!(names(source), ["a", "l", "type", "n"]);
        assert_eq!(of("a::b"), [Token::Name("a".into()), Token::Join, Token::Name("b".into())]);
    }

    #[test]
    fn texts_are_told_from_comments_characters_and_lifetimes() {
        let source = "a(\"b\nc\") // \"d\"\n/* \"e\" */ '\"' &'f r#\"g\"# b\"h\"";
        let found = lines_of_texts(source);
        let found: Vec<_> = found.iter().map(|(line, text)| (*line, text.as_str())).collect();
        assert_eq!(found, [(1, "\"b"), (2, "c\""), (3, "r#\"g\"#"), (3, "b\"h\"")]);
    }

    #[test]
    fn what_only_tests_compile_is_left_out_and_no_more() {
        let source = "a; #[cfg(test)] mod tests { b; fn c() { d } } e; #[cfg(test)] mod f; g
            #[cfg(test)] use h::{i, j}; k; struct L { #[cfg(test)] m: M<N>, o: P }
            #[cfg(test)] fn q(r: [u8; 2]) -> S { t } u";
        assert_eq!(
            names_outside_of_tests(source),
            ["a", "e", "g", "k", "struct", "L", "o", "P", "u"]
        );
    }
}
