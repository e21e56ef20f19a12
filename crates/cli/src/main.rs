//! The `thinstream` command: arguments and printing only. What the subcommands do stands in `apps`.
//!
//! Exit codes: 0 success, 1 a check failed, 2 wrong usage, 3 network failure.

mod address;
mod completions;
mod conformance;
mod demo;
mod emulate;
mod failure;
mod live;
mod output;
mod policy;
mod send;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

/// Thin-stream transport: small, sparse, urgent messages over networks that lose packets.
///
/// Durations, rates, sizes and probabilities are written as people write them: 50ms, 1.5s, 10mbit,
/// 1200B, 5%. Traffic is not encrypted.
///
/// Exit codes: 0 success, 1 a check failed, 2 wrong usage, 3 network failure.
#[derive(Parser)]
#[command(name = "thinstream", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Arguments),
    Serve(serve::Arguments),
    Send(Box<send::Arguments>),
    Emulate(emulate::Arguments),
    Conformance(conformance::Arguments),
    Completions(completions::Arguments),
    /// Print the manual page.
    Man,
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    let result = match Cli::try_parse_from(&arguments) {
        Ok(cli) => run(cli.command),
        Err(error) => failure::from_arguments(&error),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Send(arguments) => send::run(&arguments),
        Command::Emulate(arguments) => emulate::run(&arguments),
        Command::Conformance(arguments) => conformance::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man => completions::man(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_the_command_holds_together() {
        Cli::command().debug_assert();
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
