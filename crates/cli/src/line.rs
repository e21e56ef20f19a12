//! Command lines in tests: the arguments of one subcommand, or a group of them, without the rest of
//! the command.

use clap::{Args, Parser};

/// A command line with these arguments only.
#[derive(Parser)]
pub(crate) struct Line<A: Args> {
    #[command(flatten)]
    arguments: A,
}

/// Parses the words that follow the name of a subcommand.
///
/// # Errors
/// The error of clap.
pub(crate) fn parse<A: Args>(typed: &[&str]) -> Result<A, clap::Error> {
    Line::try_parse_from([&["thinstream"], typed].concat()).map(|line| line.arguments)
}
