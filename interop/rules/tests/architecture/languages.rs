//! Comments and texts of sources in TypeScript and in Python.

/// Kind of a piece of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A doc comment or a docstring.
    Doc,
    /// A comment that documents no item.
    Comment,
    /// A literal text, without the code inside of a template.
    Text,
}

/// A comment or a literal text of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) kind: Kind,
    /// Line on which the piece begins, from 1.
    pub(crate) line: usize,
    /// Lines without the marks of the comment or the quotes, and without the space around them.
    pub(crate) lines: Vec<String>,
}

/// Pieces of a source in TypeScript.
pub(crate) fn of_typescript(source: &str) -> Vec<Piece> {
    let mut scanner = Scanner::new(source);
    while !scanner.rest.is_empty() {
        scanner.typescript();
    }
    scanner.pieces
}

/// Comments, docstrings and texts of a program in Python.
pub(crate) fn of_python(source: &str) -> Vec<Piece> {
    let mut scanner = Scanner::new(source);
    while !scanner.rest.is_empty() {
        scanner.python();
    }
    scanner.pieces
}

/// Signs after which a slash of TypeScript begins a regular expression: a value ends with none of
/// them.
const BEFORE_A_PATTERN: &str = "(,=:[!&|?{};+>";

/// A source that is read from its beginning to its end.
struct Scanner<'a> {
    rest: &'a str,
    /// Line at which `rest` begins, from 1.
    line: usize,
    /// Last sign of code other than white space.
    before: char,
    /// Whether a line of code has only white space before `rest`.
    at_line_start: bool,
    /// Brackets of Python that are open.
    depth: usize,
    pieces: Vec<Piece>,
}

impl<'a> Scanner<'a> {
    fn new(source: &'a str) -> Self {
        let pieces = Vec::new();
        Self { rest: source, line: 1, before: ';', at_line_start: true, depth: 0, pieces }
    }

    /// Passes over a number of bytes and returns them.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    /// Passes over one sign of code.
    fn sign(&mut self) -> Option<char> {
        let sign = self.rest.chars().next()?;
        self.take(sign.len_utf8());
        if sign == '\n' {
            self.at_line_start = true;
        } else if !sign.is_whitespace() {
            self.at_line_start = false;
            self.before = sign;
        }
        Some(sign)
    }

    fn add(&mut self, kind: Kind, line: usize, text: &str, mark: &str) {
        let bare = |line: &str| line.trim().trim_start_matches(mark).trim().to_owned();
        self.pieces.push(Piece { kind, line, lines: text.lines().map(bare).collect() });
    }

    /// Bytes up to the end of `end`, or all.
    fn up_to(&self, from: usize, end: &str) -> usize {
        let found = self.rest.get(from..).and_then(|rest| rest.find(end));
        found.map_or(self.rest.len(), |at| from + at + end.len())
    }

    /// Bytes up to the end of a mark that no backslash escapes, or all.
    fn literal(&self, mark: &str) -> usize {
        let mut at = mark.len();
        while at < self.rest.len() && !self.rest[at..].starts_with(mark) {
            let escaped = usize::from(self.rest[at..].starts_with('\\'));
            let signs = self.rest[at..].chars().take(1 + escaped);
            at += signs.map(char::len_utf8).sum::<usize>();
        }
        (at + mark.len()).min(self.rest.len())
    }

    /// The next comment, text or sign of TypeScript.
    fn typescript(&mut self) {
        let line = self.line;
        if self.rest.starts_with("//") {
            let text = self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            self.add(Kind::Comment, line, text, "/");
        } else if self.rest.starts_with("/*") {
            let kind = if self.rest.starts_with("/**") { Kind::Doc } else { Kind::Comment };
            let text = self.take(self.up_to(2, "*/"));
            let text = text.trim_start_matches('/').trim_end_matches('/').trim_end_matches('*');
            self.add(kind, line, text, "*");
        } else if let Some(mark) = ["\"", "'"].into_iter().find(|mark| self.rest.starts_with(mark))
        {
            let text = self.take(self.literal(mark));
            self.add(Kind::Text, line, text.trim_matches(['"', '\'']), "");
            self.before = '"';
        } else if self.rest.starts_with('`') {
            self.template();
        } else if self.rest.starts_with('/') && BEFORE_A_PATTERN.contains(self.before) {
            self.pattern();
        } else {
            self.sign();
        }
    }

    /// A template, whose code is read like any other and stands as `{}` in its text.
    fn template(&mut self) {
        let line = self.line;
        let mut text = String::new();
        self.take(1);
        while !self.rest.is_empty() && !self.rest.starts_with('`') {
            if self.rest.starts_with("${") {
                self.take(2);
                text.push_str("{}");
                self.code_of_template();
            } else {
                let escaped = usize::from(self.rest.starts_with('\\'));
                let signs = self.rest.chars().take(1 + escaped);
                text.push_str(self.take(signs.map(char::len_utf8).sum()));
            }
        }
        self.take(1.min(self.rest.len()));
        self.add(Kind::Text, line, &text, "");
        self.before = '`';
    }

    /// Code up to the brace that closes it.
    fn code_of_template(&mut self) {
        let mut depth = 1;
        self.before = '{';
        while depth > 0 && !self.rest.is_empty() {
            depth += usize::from(self.rest.starts_with('{'));
            depth -= usize::from(self.rest.starts_with('}'));
            self.typescript();
        }
    }

    /// A regular expression, whose quotes begin no text.
    fn pattern(&mut self) {
        let mut within_class = false;
        self.take(1);
        while let Some(sign) = self.sign().filter(|sign| *sign != '\n') {
            match sign {
                '\\' => _ = self.sign(),
                '[' => within_class = true,
                ']' => within_class = false,
                '/' if !within_class => break,
                _ => {}
            }
        }
    }

    /// The next comment, text or sign of Python.
    fn python(&mut self) {
        let line = self.line;
        let marks = ["\"\"\"", "'''", "\"", "'"];
        if self.rest.starts_with('#') {
            let text = self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            self.add(Kind::Comment, line, text, "#");
        } else if let Some(mark) = marks.into_iter().find(|mark| self.rest.starts_with(mark)) {
            let is_doc = self.at_line_start && self.depth == 0;
            let text = self.take(self.literal(mark)).trim_matches(['"', '\'']);
            self.add(if is_doc { Kind::Doc } else { Kind::Text }, line, text, "");
            self.at_line_start = false;
        } else {
            match self.sign() {
                Some('(' | '[' | '{') => self.depth += 1,
                Some(')' | ']' | '}') => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Kind::{Comment, Doc, Text};

    fn check(found: &[Piece], expected: &[(Kind, usize, &str)]) {
        let found: Vec<_> = found.iter().map(|p| (p.kind, p.line, p.lines.join("|"))).collect();
        let expected = expected.iter().map(|(kind, line, text)| (*kind, *line, (*text).to_owned()));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[test]
    fn comments_and_texts_of_typescript_are_told_from_code() {
        let source = "/** A doc\n * of two.\n */\nlet a = 'b\\'s'; // c \"d\"\n/* e */ f(`g ${h(\"i\", `j`, { k })} l\nm`) / 2 / n;\no = /\"[/']/; p(\"q\");";
        check(
            &of_typescript(source),
            &[
                (Doc, 1, "A doc|of two.|"),
                (Text, 4, "b\\'s"),
                (Comment, 4, "c \"d\""),
                (Comment, 5, "e"),
                (Text, 5, "i"),
                (Text, 5, "j"),
                (Text, 5, "g {} l|m"),
                (Text, 7, "q"),
            ],
        );
    }

    #[test]
    fn comments_docstrings_and_texts_of_python_are_told_from_code() {
        let source = "\"\"\"A module.\n\nOf two.\"\"\"\n\ndef a(b='c'):  # d 'e'\n    \"\"\"Doc.\"\"\"\n    f(\n        \"g\",\n        r'''h\n        # i'''\n    )\n";
        check(
            &of_python(source),
            &[
                (Doc, 1, "A module.||Of two."),
                (Text, 5, "c"),
                (Comment, 5, "d 'e'"),
                (Doc, 6, "Doc."),
                (Text, 8, "g"),
                (Text, 9, "h|# i"),
            ],
        );
    }
}
