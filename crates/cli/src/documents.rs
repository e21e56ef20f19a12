//! The documents call the command as it is: every `thinstream ...` in README.md, docs/, the
//! Makefile, the scripts of ci/, the units of systemd and the command's own help is read by its own
//! parser, so that an option that is renamed is found.

use std::path::{Path, PathBuf};

use clap::FromArgMatches;
use clap::error::ErrorKind;

use crate::Cli;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Pages of Markdown, and scripts.
fn files() -> (Vec<PathBuf>, Vec<PathBuf>) {
    let within = |folder: &str| {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let mut pages = within("docs");
    pages.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    let others = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"];
    pages.extend(others.map(|name| root().join(name)));
    let mut scripts = within("ci");
    let units = ["serve", "edge"].map(|name| format!("packaging/thinstream-{name}.service"));
    scripts.extend(units.map(|name| root().join(name)));
    scripts.push(root().join("Makefile"));
    (pages, scripts)
}

/// The words of each simple command in a line of shell: quotes are taken away, comments,
/// redirections and what stands before the command left out.
fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut all, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let mut quote = None;
    for one in line.chars() {
        match (quote, one) {
            (Some(open), _) if one == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(one);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | '&' | ';' | '>' | '<' | '(' | ')') => {
                words.extend(word.take());
                all.push(std::mem::take(&mut words));
            }
            (None, _) if one.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(one),
        }
    }
    words.extend(word);
    all.push(words);
    all.retain(|words| !words.is_empty());
    all
}

/// The words from the name of the program on, if a command calls it, through cargo, too.
fn call(words: &[String]) -> Option<Vec<String>> {
    let is_program = |word: &String| word == "thinstream" || word.ends_with("/thinstream");
    let place = words.iter().position(is_program)?;
    let before = place.checked_sub(1).and_then(|place| words.get(place)).map(String::as_str);
    let rest = match before {
        // The name of a function, or of what cargo builds.
        Some("-p" | "package" | "--bin" | "cargo" | "install") => {
            match words[place..].split_first() {
                Some((_, rest)) if rest.first().is_some_and(|word| word == "--") => &rest[1..],
                _ => return None,
            }
        }
        _ => &words[place + 1..],
    };
    // What a script or a unit puts there, perhaps nothing.
    const NOTHING: [&str; 3] = ["$", "$@", "$OPTIONS"];
    let plain = |word: &String| {
        // What a synopsis says of options, and what stands for a number.
        let word = word.replace(['[', ']'], "");
        let word = word.trim_end_matches("...").trim_end_matches('…');
        if word == "N" { "1".to_owned() } else { word.to_owned() }
    };
    let rest =
        rest.iter().map(plain).filter(|word| !word.is_empty() && !NOTHING.contains(&word.as_str()));
    let mut rest = rest.peekable();
    // A function of that name is no call.
    rest.peek()?;
    Some(std::iter::once("thinstream".to_owned()).chain(rest).collect())
}

/// Lines of shell in a page: those of its blocks without language or of `sh`, and what is quoted
/// within its sentences.
fn of_page(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut blocks, mut prose) = (String::new(), String::new());
    let mut open = None;
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), open) {
            (Some(language), None) => open = Some(language.trim()),
            (Some(_), Some(_)) => open = None,
            (None, Some("" | "sh")) => blocks += &format!("{line}\n"),
            (None, Some(_)) => {}
            (None, None) => prose += &format!("{line}\n"),
        }
    }
    let quoted = prose.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " "));
    let quoted = quoted.filter(|span| span.starts_with("thinstream "));
    (of_script(&blocks), quoted.collect())
}

/// Lines, those that go on put together.
fn of_script(text: &str) -> Vec<String> {
    text.replace("\\\n", " ").lines().map(|line| line.trim_start_matches("$ ").to_owned()).collect()
}

/// Faults in a line's calls of the command; calls `in_prose` may omit obvious arguments.
fn wrong(line: &str, in_prose: bool) -> Vec<String> {
    let calls = commands(line).into_iter().filter_map(|words| call(&words));
    let read = |words: Vec<String>| {
        let parsed = crate::command().try_get_matches_from(&words);
        match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
            Ok(_) => None,
            Err(error) => match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
                ErrorKind::MissingRequiredArgument
                | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                    if in_prose =>
                {
                    None
                }
                _ => Some(format!("{}: {error}", words.join(" "))),
            },
        }
    };
    calls.filter_map(read).collect()
}

#[test]
fn every_call_in_the_documents_is_understood() {
    let (pages, scripts) = files();
    let (mut mistakes, mut calls) = (Vec::new(), 0);
    let mut check = |path: &Path, line: &str, in_prose| {
        calls += commands(line).iter().filter(|words| call(words).is_some()).count();
        let named = |mistake| format!("{}: {mistake}", path.display());
        mistakes.extend(wrong(line, in_prose).into_iter().map(named));
    };
    for path in pages {
        let (blocks, quoted) = of_page(&std::fs::read_to_string(&path).unwrap());
        blocks.iter().for_each(|line| check(&path, line, false));
        // A command that is only named stands for any of its kind.
        let named = |span: &&String| !span.contains("COMMAND");
        quoted.iter().filter(named).for_each(|line| check(&path, line, true));
    }
    for path in scripts {
        let text = std::fs::read_to_string(&path).unwrap();
        of_script(&text).iter().for_each(|line| check(&path, line, false));
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    assert!(calls >= 60, "{calls} calls were found");
}

#[test]
#[cfg(target_os = "linux")]
fn the_packaged_example_of_an_edge_is_one() {
    let path = root().join("packaging/edge.toml");
    let file = apps::edge::EdgeFile::read(&path).unwrap();
    assert_eq!(file.service.len(), 1);
    assert_eq!(file.setup, Some(true));
}

/// Blocks of TOML in a page.
fn toml_of(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let blocks = text.split("\n```toml\n").skip(1);
    blocks.map(|block| block.split("\n```").next().unwrap().to_owned()).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn the_edge_of_the_documents_is_read() {
    let [block] = &toml_of("docs/edge.md")[..] else { panic!("one example is expected") };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edge.toml");
    std::fs::write(&path, block).unwrap();
    let file = apps::edge::EdgeFile::read(&path).unwrap();
    assert_eq!(file.service.len(), 3);
}

#[test]
fn parts_of_plans_in_the_documents_are_parts_of_a_plan() {
    use lab::plan::{Plan, Size};
    let blocks = toml_of("docs/laboratory.md");
    assert!(blocks.len() >= 4, "{} blocks", blocks.len());
    for block in blocks {
        let plan = format!("{}\n{block}", include_str!("documents/base.toml"));
        // The unknowns of the example are those of several plans.
        if !block.starts_with("[fit]") {
            Plan::parse(&plan, Size::Normal, None)
                .unwrap_or_else(|error| panic!("{error}\n{block}"));
        }
    }
}

#[test]
fn the_json_of_every_command_has_a_schema_and_every_schema_a_command() {
    fn with_json(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        for one in command.get_subcommands() {
            let path = format!("{path}{}", one.get_name());
            if one.get_arguments().any(|argument| argument.get_long() == Some("json")) {
                found.push(path.clone());
            }
            with_json(one, &format!("{path}-"), found);
        }
    }
    let mut commands = Vec::new();
    with_json(&crate::command(), "", &mut commands);
    // Both print what another one does.
    let same = |name: &String| match name.as_str() {
        "trace-summary" | "trace-latency" => "trace".to_owned(),
        "lab-merge" | "trace-replay" => "lab-run".to_owned(),
        _ => name.clone(),
    };
    let mut wanted: Vec<String> = commands.iter().map(same).collect();
    // Other forms of two commands, and what `--events` writes.
    wanted.extend(["lab-compare-key", "conformance-mutate", "events"].map(str::to_owned));
    wanted.sort();
    wanted.dedup();
    let entries = std::fs::read_dir(root().join("docs/schema")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut there: Vec<String> =
        names.map(|name| name.trim_end_matches(".json").to_owned()).collect();
    there.sort();
    assert_eq!(there, wanted);
}

#[test]
fn every_example_in_the_help_is_understood() {
    fn examples(command: &clap::Command, found: &mut Vec<String>) {
        let about = command.get_long_about().or(command.get_about());
        let about = about.map(ToString::to_string).unwrap_or_default();
        let lines = about.lines().filter_map(|line| line.split_once("xample: "));
        found.extend(lines.map(|(_, example)| example.to_owned()));
        command.get_subcommands().for_each(|one| examples(one, found));
    }
    let mut found = Vec::new();
    examples(&crate::command(), &mut found);
    assert!(found.len() >= 3, "{found:?}");
    let mistakes: Vec<String> = found.iter().flat_map(|line| wrong(line, false)).collect();
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
}

#[test]
fn shell_is_read_as_a_shell_reads_it() {
    let line = "sudo thinstream send x --interval 'bursts 4 1s' | tail -1 && cargo run -p x --bin thinstream -- man # all";
    let calls: Vec<_> = commands(line).iter().filter_map(|words| call(words)).collect();
    assert_eq!(
        calls,
        [&["thinstream", "send", "x", "--interval", "bursts 4 1s"][..], &["thinstream", "man"]]
    );
    assert_eq!(call(&commands("cargo install thinstream").remove(0)), None);
    assert_eq!(wrong("thinstream demo --rtt 1s", false), [""; 0]);
    assert!(wrong("thinstream demo --rrt 1s", false)[0].contains("--rrt"));
    assert!(!wrong("thinstream send", false).is_empty());
    assert!(wrong("thinstream send", true).is_empty());
}
