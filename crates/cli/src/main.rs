//! The `thinstream` command: arguments and printing only. What the subcommands do stands in `apps`.
//!
//! Exit codes: [`failure::Failure::exit_code`].

mod address;
mod completions;
mod conformance;
mod demo;
mod doctor;
#[cfg(test)]
mod documents;
#[cfg(target_os = "linux")]
mod edge;
mod emulate;
mod failure;
mod failures;
mod file;
mod keygen;
mod lab;
#[cfg(test)]
mod line;
mod live;
mod network;
mod number;
mod output;
mod paths;
mod policy;
mod recording;
mod security;
mod send;
mod serve;
mod suggested;
mod terminal;
mod trace;

use std::process::ExitCode;

use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::Failure;

/// Thin-stream transport: small, sparse, urgent messages over networks that lose packets.
///
/// Durations, rates, sizes and probabilities are written as people write them: 50ms, 1.5s, 10mbit,
/// 1200B, 5%. Traffic of serve, send and demo is encrypted unless --plain is given; emulate and
/// edge carry what others send.
///
/// Exit codes: 0 success, 1 a check failed, 2 wrong usage or a file that cannot be read or written,
/// 3 network failure, 130 interrupted before there was a result.
#[derive(Parser)]
#[command(name = "thinstream", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Arguments),
    Serve(Box<serve::Arguments>),
    Send(Box<send::Arguments>),
    Keygen(keygen::Arguments),
    Emulate(emulate::Arguments),
    #[cfg(target_os = "linux")]
    Edge(Box<edge::Arguments>),
    Lab(lab::Arguments),
    Trace(Box<trace::Arguments>),
    Conformance(conformance::Arguments),
    Doctor(doctor::Arguments),
    Completions(completions::Arguments),
    Man(completions::ManArguments),
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let parsed = command().try_get_matches_from(&arguments);
    let result = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => run(cli.command),
        Err(error) => failure::from_arguments(&error),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::note(&format!("thinstream: {failure}"));
            ExitCode::from(failure.exit_code())
        }
    }
}

/// The definition of the command. A quantity may begin with a minus, so that the complaint is about
/// the quantity and not about an option of that name.
fn command() -> clap::Command {
    /// Names of values that are no quantities, which do not begin with a minus.
    const WORDS: [&str; 11] = [
        "ADDR",
        "DIR",
        "FILE",
        "FINGERPRINT",
        "FRAMING",
        "ID",
        "INTERFACE",
        "NAME",
        "NAMES",
        "PATH",
        "POLICY",
    ];
    let is_quantity: fn(&Arg) -> bool = |argument| {
        let names = argument.get_value_names().unwrap_or_default();
        let is_word = |name: &clap::builder::Str| WORDS.contains(&name.as_str());
        let takes_values =
            argument.get_action().takes_values() && !argument.is_require_equals_set();
        let is_chosen = !argument.get_possible_values().is_empty();
        argument.get_long().is_some() && takes_values && !is_chosen && !names.iter().all(is_word)
    };
    fn with(command: clap::Command, is_quantity: fn(&Arg) -> bool) -> clap::Command {
        let command = command.mut_args(|argument| match is_quantity(&argument) {
            true => argument.allow_hyphen_values(true),
            false => argument,
        });
        command.mut_subcommands(|subcommand| with(subcommand, is_quantity))
    }
    with(Cli::command(), is_quantity)
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Send(arguments) => send::run(&arguments),
        Command::Keygen(arguments) => keygen::run(&arguments),
        Command::Emulate(arguments) => emulate::run(&arguments),
        #[cfg(target_os = "linux")]
        Command::Edge(arguments) => edge::run(&arguments),
        Command::Lab(arguments) => lab::run(&arguments),
        Command::Trace(arguments) => trace::run(&arguments),
        Command::Conformance(arguments) => conformance::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => completions::man(&arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_holds_together() {
        command().debug_assert();
    }

    #[test]
    fn a_quantity_that_is_none_is_named_with_what_would_be_right() {
        for (typed, expected) in [
            (&["demo", "--rtt", "-5ms"][..], &["--rtt", "\"-5ms\"", "50ms"][..]),
            (&["demo", "--loss", "5"], &["--loss", "\"5\"", "5%"]),
            (&["demo", "--seed", "abc"], &["--seed", "\"abc\"", "whole number"]),
            (&["demo", "--flows", "0"], &["--flows", "\"0\"", "from 1 to 65535"]),
            (&["send", "x", "--size", "-1B"], &["--size", "\"-1B\""]),
            (&["send", "x", "--streams", "70000"], &["--streams", "70000", "65535"]),
            (&["emulate", "--forward", "x", "--delay", "-1ms"], &["--delay", "\"-1ms\""]),
            (&["emulate", "--forward", "x", "--loss", "-5%"], &["--loss", "\"-5%\""]),
            (&["emulate", "--forward", "x", "--jitter", "-5ms"], &["--jitter", "\"-5ms\""]),
            (&["demo", "--rto-alpha", "-1"], &["--rto-alpha", "\"-1\""]),
            (&["trace", "summary", "x", "--interval", "-1ms"], &["--interval", "\"-1ms\""]),
            (&["lab", "run", "x", "--precision", "-5%"], &["--precision", "\"-5%\""]),
            (&["demo", "--frto", "on"], &["\"on\"", "--frto=on"]),
            (&["lab", "run", "x", "--html", "y"], &["'--html'", "\"thinstream lab run --help\""]),
            (&["lab", "run", "x", "--seed", "1"], &["'--seed'", "'--seeds'"]),
        ] {
            let line = [&["thinstream"], typed].concat();
            let error = command().try_get_matches_from(line).unwrap_err();
            let Err(failure @ Failure::Usage(_)) = failure::from_arguments(&error) else {
                panic!()
            };
            let text = failure.to_string();
            assert!(expected.iter().all(|part| text.contains(part)), "{typed:?}: {text}");
        }
    }

    #[test]
    fn numbers_of_the_laboratory_are_read_as_what_they_are() {
        for typed in [
            &["run", "x.toml", "--jobs", "2", "--seeds", "3"][..],
            &["reproduce", "all", "--jobs", "2", "--seeds", "3", "--out", "x"],
            &["merge", "x.toml", "a", "b", "--out", "x", "--seeds", "3"],
        ] {
            let line = [&["thinstream", "lab"], typed].concat();
            let matches = command().try_get_matches_from(line).unwrap();
            assert!(Cli::from_arg_matches(&matches).is_ok(), "{typed:?}");
        }
    }

    #[test]
    fn every_subcommand_and_option_has_a_help_text() {
        let mut command = Cli::command();
        command.build();
        for subcommand in command.get_subcommands() {
            assert!(subcommand.get_about().is_some(), "{}", subcommand.get_name());
            for argument in subcommand.get_arguments() {
                let name = (subcommand.get_name(), argument.get_id());
                assert!(argument.get_help().is_some(), "{name:?}");
            }
        }
    }
}
