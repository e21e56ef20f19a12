//! Lengths of files and functions, in lines, and of comments' lines, in characters.

use super::tokens;

/// Lines of a file, tests aside.
pub(crate) const FILE: usize = 500;
/// Lines of a function, from its first to its last.
pub(crate) const FUNCTION: usize = 70;
/// Characters of a line with a comment, as rustfmt's `max_width` for code.
pub(crate) const COMMENT: usize = 100;

/// Functions with their lines: name, and how many there are from the line of `fn` to that of the
/// last brace. Closures and functions within count as lines of theirs.
pub(crate) fn functions(source: &str) -> Vec<(String, usize)> {
    let mut open: Vec<(String, usize, usize)> = Vec::new();
    let mut found = Vec::new();
    let (mut depth, mut brackets) = (0_usize, 0_usize);
    let mut announced: Option<(String, usize, usize)> = None;
    let all = tokens::with_lines(source);
    for (at, (token, line)) in all.iter().enumerate() {
        if token.name() == Some("fn") {
            // A type of functions has no name.
            if let Some(name) = all.get(at + 1).and_then(|(next, _)| next.name()) {
                announced = Some((name.to_owned(), *line, brackets));
            }
        } else if token.is('(') || token.is('[') {
            brackets += 1;
        } else if token.is(')') || token.is(']') {
            brackets = brackets.saturating_sub(1);
        } else if token.is(';') {
            // A function of a trait without a body; a semicolon of an array's type stands in
            // brackets.
            announced = announced.filter(|(.., outside)| brackets > *outside);
        } else if token.is('{') {
            depth += 1;
            if announced.as_ref().is_some_and(|(.., outside)| brackets == *outside) {
                open.extend(announced.take().map(|(name, begin, _)| (name, begin, depth)));
            }
        } else if token.is('}') {
            if let Some((name, begin, _)) = open.pop_if(|(.., inside)| *inside == depth) {
                found.push((name, line + 1 - begin));
            }
            depth = depth.saturating_sub(1);
        }
    }
    found
}

/// Items of a file that exceed the limits; `name` is used in the text.
pub(crate) fn faults(name: &str, source: &str) -> Vec<String> {
    let lines = tokens::lines_without_tests(source);
    let long = (lines > FILE).then(|| format!("{name} has {lines} lines"));
    let functions = functions(source).into_iter().filter(|(_, lines)| *lines > FUNCTION);
    let functions =
        functions.map(|(function, lines)| format!("{name}: {function} has {lines} lines"));
    long.into_iter().chain(functions).collect()
}

/// Numbers of the lines whose comment is too wide, with their characters. Rows of tables and code
/// in doc comments have no place at which they could be broken.
pub(crate) fn wide_comments(source: &str) -> Vec<(usize, usize)> {
    let mut in_code = false;
    let mut found = Vec::new();
    for (at, line) in source.lines().enumerate() {
        let Some(text) = line.trim_start().strip_prefix("//") else {
            in_code = false;
            continue;
        };
        let text = text.trim_start_matches(['/', '!']).trim_start();
        let fence = text.starts_with("```");
        let breaks = !in_code && !fence && !text.starts_with('|');
        in_code ^= fence;
        let width = line.chars().count();
        if breaks && width > COMMENT {
            found.push((at + 1, width));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_comments_are_found_outside_of_code_and_tables() {
        let wide = "x ".repeat(50);
        let lines =
            ["fn a() {}", "/// ```", "/// ```", "//! | a |"].map(|line| format!("{line} {wide}"));
        assert!(wide_comments(&lines.join("\n")).is_empty());
        assert_eq!(wide_comments(&format!("//\n  /// {wide}")), [(2, 106)]);
        let inside = format!("/// ```\n/// {wide}\n/// ```\n// {wide}");
        assert_eq!(wide_comments(&inside), [(4, 103)]);
        assert!(wide_comments(&format!("// {}", "x".repeat(COMMENT - 3))).is_empty());
    }

    #[test]
    fn functions_have_the_lines_from_their_first_to_their_last() {
        let source = "fn a() {}\ntrait T {\n fn none(x: [u8; 2]);\n fn b(\n  x: fn(u8) -> u8,\n ) -> [u8; 2] {\n  fn c() {\n  }\n  let d = |y| { y };\n }\n}
            const E: fn() = f;\n#[cfg(test)]\nmod tests {\n fn g() {\n\n }\n}";
        let expected = [("a", 1), ("c", 2), ("b", 7)];
        assert_eq!(functions(source), expected.map(|(name, lines)| (name.to_owned(), lines)));
    }

    #[test]
    fn what_is_too_long_is_found_and_tests_are_not_counted() {
        let body = "\n".repeat(FUNCTION);
        assert_eq!(faults("x", &format!("fn a() {{{body}}}")), ["x: a has 71 lines"]);
        assert!(faults("x", &format!("fn a() {{{}}}", "\n".repeat(FUNCTION - 1))).is_empty());
        let tests = format!("#[cfg(test)]\nmod tests {{{}}}\n", "\n".repeat(FILE));
        assert!(faults("x", &format!("fn a() {{}}\n{tests}")).is_empty());
        assert_eq!(faults("x", &"\n".repeat(FILE + 1)), ["x has 501 lines"]);
    }
}
