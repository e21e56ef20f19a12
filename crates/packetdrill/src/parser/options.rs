//! Lines `--name=value` at the head of a script.

use crate::error::ParseError;
use crate::script::ScriptOption;

/// Removes and parses the `--name=value` lines.
///
/// # Errors
/// An option given twice, of which one would be ignored; a word on such a line that is not an
/// option.
pub(super) fn split_options(text: &str) -> Result<(Vec<ScriptOption>, String), ParseError> {
    let mut options: Vec<ScriptOption> = Vec::new();
    let mut rest = String::with_capacity(text.len());
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("--") {
            for word in line.split_whitespace() {
                let option = option(index + 1, word)?;
                if options.iter().any(|other| other.name == option.name) {
                    let message = format!("the option --{} is given twice", option.name);
                    return Err(ParseError::new(index + 1, message));
                }
                options.push(option);
            }
        } else {
            rest.push_str(line);
        }
        rest.push('\n');
    }
    Ok((options, rest))
}

fn option(line: usize, word: &str) -> Result<ScriptOption, ParseError> {
    let text = word.strip_prefix("--").ok_or_else(|| {
        ParseError::new(line, format!("an option --name=value wanted, found {word}"))
    })?;
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    Ok(ScriptOption { line, name: name.to_owned(), value })
}
