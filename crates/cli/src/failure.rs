//! Failures of the command: one line with the wrong input and the reason, and an exit code.

use std::fmt::{self, Display};
use std::path::Path;

/// The reason why the command ends without success.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A check failed (exit code 1).
    Check(String),
    /// Wrong usage: an argument, or a file that it names (2).
    Usage(String),
    /// The network, or this machine's part of it, failed (3).
    Network(String),
    /// Results cannot be written to a file, a folder or standard output (2, as an unusable file
    /// that an argument names).
    File(String),
    /// The user asked the command to end before there was a result (130, as shells have it).
    Interrupted(String),
}

impl Failure {
    pub(crate) fn check(what: impl Display) -> Failure {
        Failure::Check(what.to_string())
    }

    pub(crate) fn usage(what: impl Display) -> Failure {
        Failure::Usage(what.to_string())
    }

    pub(crate) fn network(what: impl Display) -> Failure {
        Failure::Network(what.to_string())
    }

    /// This file or folder cannot be written.
    pub(crate) fn file(path: &Path, why: impl Display) -> Failure {
        Failure::File(format!("cannot write \"{}\": {why}", path.display()))
    }

    /// Exit code of the process.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Check(_) => 1,
            Failure::Usage(_) | Failure::File(_) => 2,
            Failure::Network(_) => 3,
            Failure::Interrupted(_) => 130,
        }
    }
}

/// The reason on one line.
impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Check(text)
        | Failure::Usage(text)
        | Failure::Network(text)
        | Failure::File(text)
        | Failure::Interrupted(text)) = self;
        f.write_str(&one_line(text))
    }
}

/// The failure that the parser of arguments reports; help and version are none.
pub(crate) fn from_arguments(error: &clap::Error) -> Result<(), Failure> {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A reader that goes away early has read enough.
            let _ = error.print();
            Ok(())
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            Err(Failure::usage("no command given; try \"thinstream demo --virtual\""))
        }
        ErrorKind::UnknownArgument => Err(Failure::Usage(unknown(error))),
        ErrorKind::InvalidSubcommand => Err(Failure::Usage(no_command(error))),
        _ => Err(Failure::Usage(summary(&error.render().to_string()))),
    }
}

/// The message about a word that is no command; a capture where a command of `trace` is expected
/// has its advice.
fn no_command(error: &clap::Error) -> String {
    use clap::error::{ContextKind, ContextValue};
    let said = summary(&error.render().to_string());
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word))
            if usage.contains(" trace ") && Path::new(word).is_file() =>
        {
            format!("{said}; to read a capture: thinstream trace summary {word}")
        }
        _ => said,
    }
}

/// The message about an unknown argument; `on` or `off` alone is taken for the value of a switch.
/// Where the parser knows no similar option, it suggests to pass the word as a value, which an
/// option rarely is.
fn unknown(error: &clap::Error) -> String {
    use clap::error::{ContextKind, ContextValue};
    let said = summary(&error.render().to_string());
    let has_poor_tip = said.contains(" as a value, use ") && !said.contains(" exists");
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) if word == "on" || word == "off" => format!(
            "\"{word}\" is not an argument; the value of a switch follows an equals sign, such as --frto={word}"
        ),
        Some(ContextValue::String(word)) if has_poor_tip => {
            let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
            let command = command_in(&usage);
            format!("there is no option '{word}'; \"{command} --help\" lists the options")
        }
        _ => said,
    }
}

/// The command in a line of usage, such as `thinstream lab run` in `Usage: thinstream lab run
/// [OPTIONS] <PLAN>`.
fn command_in(usage: &str) -> String {
    let words = usage.split_whitespace().skip_while(|word| *word == "Usage:");
    words.take_while(|word| !word.starts_with(['[', '<', '-'])).collect::<Vec<_>>().join(" ")
}

/// The parser's message without its hints on several lines of usage.
fn summary(rendered: &str) -> String {
    let paragraphs = rendered.split("\n\n").map(str::trim);
    let said = paragraphs.take_while(|text| {
        !text.starts_with("Usage:") && !text.starts_with("For more information")
    });
    let text = said.collect::<Vec<_>>().join("; ");
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command};

    fn refused(arguments: &[&str]) -> String {
        let command = Command::new("test")
            .arg(Arg::new("rtt").long("rtt").value_parser(|text: &str| {
                text.parse::<base::Duration>().map_err(|error| error.to_string())
            }))
            .arg(Arg::new("to").long("to").required(true));
        let error = command.try_get_matches_from(arguments).unwrap_err();
        match from_arguments(&error) {
            Err(Failure::Usage(text)) => one_line(&text),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_bad_argument_is_one_line_with_the_input_and_what_would_be_right() {
        let text = refused(&["test", "--rtt", "100"]);
        assert!(
            text.contains("--rtt") && text.contains("\"100\"") && text.contains("50ms"),
            "{text}"
        );
    }

    #[test]
    fn a_missing_or_unknown_argument_is_named() {
        assert!(refused(&["test"]).contains("--to"));
        let text = refused(&["test", "--to", "x", "--rt", "1s"]);
        assert!(text.contains("--rt") && text.contains("--rtt"), "{text}");
    }
}
