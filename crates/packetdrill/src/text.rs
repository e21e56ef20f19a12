//! The first pass over a script: removes comments and conditions, and preserves line numbers.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::ParseError;

/// Names in the script's `#ifdef` and `#ifndef` lines.
pub fn conditions(text: &str) -> BTreeSet<String> {
    let name = |line: &str| match directive(line)? {
        Directive::If { name, .. } => Some(name.to_owned()),
        _ => None,
    };
    text.lines().filter_map(name).collect()
}

/// Defined names, each with its replacement if it has one.
pub type Defines = BTreeMap<String, Option<String>>;

enum Directive<'a> {
    If { name: &'a str, defined: bool },
    Else,
    End,
}

fn directive(line: &str) -> Option<Directive<'_>> {
    let mut words = line.trim_start().strip_prefix('#')?.split_whitespace();
    match (words.next()?, words.next()) {
        ("ifdef", Some(name)) => Some(Directive::If { name, defined: true }),
        ("ifndef", Some(name)) => Some(Directive::If { name, defined: false }),
        ("else", _) => Some(Directive::Else),
        ("endif", _) => Some(Directive::End),
        _ => None,
    }
}

/// Blanks comments, and the lines whose conditions do not hold under `defines`.
///
/// # Errors
/// An `#else` or `#endif` without its `#ifdef`, or an `#ifdef` without `#endif`; a comment without
/// an end.
pub(crate) fn select(text: &str, defines: &Defines) -> Result<String, ParseError> {
    let mut out = String::with_capacity(text.len());
    // Whether the lines of a condition hold, and whether its #else was seen.
    let mut open: Vec<(bool, bool)> = Vec::new();
    let mut last = 0;
    for (index, line) in text.lines().enumerate() {
        last = index + 1;
        match directive(line) {
            Some(Directive::If { name, defined }) => {
                open.push((defines.contains_key(name) == defined, false))
            }
            Some(Directive::Else) => {
                let top = open.last_mut().filter(|(_, had_else)| !had_else);
                let top = top.ok_or_else(|| ParseError::new(last, "#else without #ifdef"))?;
                *top = (!top.0, true);
            }
            Some(Directive::End) => {
                open.pop().ok_or_else(|| ParseError::new(last, "#endif without #ifdef"))?;
            }
            None if open.iter().all(|(holds, _)| *holds) => out.push_str(line),
            None => {}
        }
        out.push('\n');
    }
    if !open.is_empty() {
        return Err(ParseError::new(last, "#ifdef without #endif"));
    }
    // Comments go last, so that a comment without an end in an excluded part does no harm.
    strip_comments(&out)
}

/// Replaces `// …` and `/* … */` by blanks, except inside strings, shell commands and code.
fn strip_comments(text: &str) -> Result<String, ParseError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let token = if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            rest = &rest[length..];
            continue;
        } else if rest.starts_with("/*") {
            // A comment without an end would swallow the rest of the script.
            let line = 1 + out.matches('\n').count();
            let end = rest.find("*/").ok_or_else(|| ParseError::new(line, "/* without */"))?;
            let length = end + 2;
            out.extend(rest[..length].chars().filter(|c| *c == '\n'));
            rest = &rest[length..];
            continue;
        } else if rest.starts_with("%{") {
            rest.find("}%").map_or(rest.len(), |at| at + 2)
        } else if first == '"' || first == '`' {
            rest[1..].find(first).map_or(rest.len(), |at| at + 2)
        } else {
            first.len_utf8()
        };
        out.push_str(&rest[..token]);
        rest = &rest[token..];
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(text: &str, defines: &[&str]) -> String {
        select(text, &defines.iter().map(|name| ((*name).to_owned(), None)).collect()).unwrap()
    }

    #[test]
    fn only_the_lines_whose_conditions_hold_remain_and_keep_their_numbers() {
        let text = "a\n#ifdef X\nb\n#ifndef Y\nc\n#endif\n#else\nd\n#endif\ne";
        assert_eq!(selected(text, &[]), "a\n\n\n\n\n\n\nd\n\ne\n");
        assert_eq!(selected(text, &["X"]), "a\n\nb\n\nc\n\n\n\n\ne\n");
        assert_eq!(selected(text, &["X", "Y"]), "a\n\nb\n\n\n\n\n\n\ne\n");
        assert_eq!(conditions(text), ["X", "Y"].map(String::from).into());
    }

    #[test]
    fn comments_go_but_not_what_looks_like_one_in_a_string_or_command() {
        assert_eq!(selected("a // b\nc /* d\ne */ f", &[]), "a \nc \n f\n");
        assert_eq!(selected("#ifdef X\n`a\n#endif\nb // c", &[]), "\n\n\nb \n");
        assert_eq!(selected("`x // y` \"//z\"", &[]), "`x // y` \"//z\"\n");
    }

    #[test]
    fn unbalanced_conditions_are_errors_with_their_line() {
        let line = |text: &str| select(text, &Defines::new()).unwrap_err().line;
        assert_eq!(line("a\n#endif"), 2);
        assert_eq!(line("#else"), 1);
        assert_eq!(line("#ifdef X\na"), 2);
        assert_eq!(line("#ifdef X\n#else\n#else\n#endif"), 3);
    }

    #[test]
    fn a_comment_without_an_end_is_an_error_with_its_line() {
        assert_eq!(select("a\n /* b\nc", &Defines::new()).unwrap_err().line, 2);
    }
}
