//! Shell completions and the manual page, both made from the definition of the command.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::{Cli, output};

/// Print the completion script of a shell.
///
/// For bash: thinstream completions bash > ~/.local/share/bash-completion/completions/thinstream
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "thinstream", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// Prints the manual page, a section for each subcommand after the one of the command itself.
pub(crate) fn man() -> Result<(), Failure> {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    let subcommands = command.get_subcommands().filter(|one| one.get_name() != "help");
    let pages: Vec<_> = std::iter::once(&command).chain(subcommands).cloned().collect();
    for one in pages {
        let rendered = clap_mangen::Man::new(one).render(&mut page);
        rendered
            .map_err(|error| Failure::check(format!("cannot make the manual page: {error}")))?;
    }
    output::print(&String::from_utf8_lossy(&page))
}
