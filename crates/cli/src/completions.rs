//! Shell completions and the manual, both made from the definition of the command.

mod script;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap_complete::Shell;

use self::script::script;
use crate::failure::Failure;
use crate::output;

/// Print the completion script of a shell.
///
/// For bash: thinstream completions bash > ~/.local/share/bash-completion/completions/thinstream
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Shell whose completions are printed.
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    output::print(&script(arguments.shell))
}

/// Show the manual, or one page of it, or write it into a directory, a page for each command.
///
/// Without a terminal the pages are printed as man(1) reads them.
///
/// For example: thinstream man lab run, or thinstream man ~/.local/share/man/man1
#[derive(clap::Args)]
pub(crate) struct ManArguments {
    /// Command whose page is shown, or a directory for thinstream.1, thinstream-demo.1 and so on.
    /// Without it, all pages are shown.
    #[arg(value_name = "COMMAND..|DIR")]
    what: Vec<PathBuf>,
}

pub(crate) fn man(arguments: &ManArguments) -> Result<(), Failure> {
    let pages = pages()?;
    let wanted = name_of_page(&arguments.what);
    if let Some((_, page)) = pages.iter().find(|(name, _)| Some(name) == wanted.as_ref()) {
        return show(page);
    }
    match &arguments.what[..] {
        [] => show(&pages.into_iter().flat_map(|(_, page)| page).collect::<Vec<u8>>()),
        [directory] => write(&pages, directory),
        [first, ..] => Err(Failure::usage(format!(
            "no command is called so: expected one, such as \"lab run\", or a directory, not \"{}\" and more",
            first.display()
        ))),
    }
}

/// The file of the page of a command, by its words.
fn name_of_page(words: &[PathBuf]) -> Option<String> {
    let words: Option<Vec<&str>> = words.iter().map(|word| word.to_str()).collect();
    let words = words.filter(|words| !words.is_empty())?;
    Some(format!("thinstream-{}.1", words.join("-")))
}

fn show(page: &[u8]) -> Result<(), Failure> {
    if io::stdout().is_terminal() && is_shown(Command::new("man").args(["-l", "-"]), page) {
        return Ok(());
    }
    output::print(&String::from_utf8_lossy(page))
}

fn write(pages: &[(String, Vec<u8>)], directory: &Path) -> Result<(), Failure> {
    let failed = |path: &Path, error| Failure::file(path, error);
    if directory.is_file() {
        return Err(Failure::file(
            directory,
            "it is a file, and a page for each command needs a folder",
        ));
    }
    std::fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
    for (name, page) in pages {
        let path = directory.join(name);
        std::fs::write(&path, page).map_err(|error| failed(&path, error))?;
    }
    output::note(&format!("{} pages: {}", pages.len(), directory.display()));
    Ok(())
}

/// Hands a page to a program that shows it; whether it did.
fn is_shown(program: &mut Command, page: &[u8]) -> bool {
    let Ok(mut child) = program.stdin(Stdio::piped()).spawn() else { return false };
    if let Some(mut input) = child.stdin.take() {
        // A reader that goes away early has read enough.
        let _ = input.write_all(page);
    }
    child.wait().is_ok_and(|status| status.success())
}

/// The pages and the names of their files: that of the command itself, then one for each
/// subcommand, however deep.
fn pages() -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut command = crate::command();
    command.build();
    let mut all = Vec::new();
    collect(&command, &mut all);
    let page = |one: clap::Command| {
        let name = one.get_display_name().unwrap_or_else(|| one.get_name()).to_owned();
        let mut page = Vec::new();
        clap_mangen::Man::new(one)
            .source(concat!("thinstream ", env!("CARGO_PKG_VERSION")))
            .render(&mut page)
            .map_err(|error| Failure::check(format!("cannot make the manual page: {error}")))?;
        Ok((format!("{name}.1"), page))
    };
    all.into_iter().map(page).collect()
}

/// A command and those below it.
fn collect(command: &clap::Command, all: &mut Vec<clap::Command>) {
    all.push(command.clone());
    let below = command.get_subcommands().filter(|one| one.get_name() != "help");
    below.for_each(|one| collect(one, all));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_shown_only_by_a_program_that_is_there() {
        assert!(!is_shown(&mut Command::new("no-such-program-as-this"), b"page"));
        #[cfg(unix)]
        {
            let read = ["-c", "test \"$(cat)\" = page"];
            assert!(is_shown(Command::new("sh").args(read), b"page"));
            assert!(!is_shown(Command::new("sh").args(read), b"other"));
        }
    }

    #[test]
    fn there_is_a_page_for_each_command() {
        let pages = pages().unwrap();
        // Below a page stands which version of which program it is of.
        let of = |page: &[u8]| String::from_utf8_lossy(page).contains("\"thinstream 0.");
        assert!(pages.iter().all(|(_, page)| of(page)));
        let names: Vec<_> = pages.into_iter().map(|(name, _)| name).collect();
        for name in
            ["thinstream.1", "thinstream-demo.1", "thinstream-lab-run.1", "thinstream-man.1"]
        {
            assert!(names.iter().any(|one| one == name), "{name} in {names:?}");
        }
    }

    #[test]
    fn the_name_of_a_command_is_no_directory_to_write_to() {
        let words = |words: &[&str]| -> Vec<PathBuf> { words.iter().map(PathBuf::from).collect() };
        let pages = pages().unwrap();
        let is_page = |name: &String| pages.iter().any(|(one, _)| one == name);
        for command in [&["send"][..], &["lab"], &["lab", "run"]] {
            let name = name_of_page(&words(command)).unwrap();
            assert!(is_page(&name), "{name}");
            man(&ManArguments { what: words(command) }).unwrap();
            assert!(!Path::new(command[0]).exists());
        }
        let name = name_of_page(&words(&["man1"])).unwrap();
        assert!(!is_page(&name), "a directory");
        let failure = man(&ManArguments { what: words(&["lab", "nope"]) }).unwrap_err();
        assert!(failure.to_string().contains("expected one, such as"), "{failure}");
    }
}
