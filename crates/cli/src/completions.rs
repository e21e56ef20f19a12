//! Shell completions and the manual, both made from the definition of the command.

use std::path::{Path, PathBuf};

use clap_complete::Shell;

use crate::failure::Failure;
use crate::output;

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
    clap_complete::generate(arguments.shell, &mut crate::command(), "thinstream", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// Print the manual, or write it into a directory, a page for each command.
///
/// For example: thinstream man ~/.local/share/man/man1
#[derive(clap::Args)]
pub(crate) struct ManArguments {
    /// Where to write thinstream.1, thinstream-demo.1 and so on; without it, all is printed.
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub(crate) fn man(arguments: &ManArguments) -> Result<(), Failure> {
    let pages = pages()?;
    let Some(directory) = &arguments.directory else {
        let all: Vec<u8> = pages.into_iter().flat_map(|(_, page)| page).collect();
        return output::print(&String::from_utf8_lossy(&all));
    };
    let failed = |path: &Path, error| Failure::file(path, error);
    std::fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
    for (name, page) in pages {
        let path = directory.join(name);
        std::fs::write(&path, page).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// The pages and the names of their files: that of the command itself, then one for each subcommand.
fn pages() -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut command = crate::command();
    command.build();
    let subcommands = command.get_subcommands().filter(|one| one.get_name() != "help");
    let all = std::iter::once(&command).chain(subcommands).cloned();
    let page = |one: clap::Command| {
        let name = one.get_display_name().unwrap_or_else(|| one.get_name()).to_owned();
        let mut page = Vec::new();
        clap_mangen::Man::new(one)
            .render(&mut page)
            .map_err(|error| Failure::check(format!("cannot make the manual page: {error}")))?;
        Ok((format!("{name}.1"), page))
    };
    all.map(page).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_page_for_each_command() {
        let names: Vec<_> = pages().unwrap().into_iter().map(|(name, _)| name).collect();
        for name in ["thinstream.1", "thinstream-demo.1", "thinstream-send.1", "thinstream-man.1"] {
            assert!(names.iter().any(|one| one == name), "{name} in {names:?}");
        }
    }
}
