//! Completion scripts of shells, with what `clap_complete` leaves out: words behind a comma in
//! bash, files beside the suggested words in zsh, and arguments that are no options in fish.

use clap::{Arg, Command};
use clap_complete::Shell;

/// Completions for a shell, as a program in its own language.
pub(super) fn script(shell: Shell) -> String {
    let mut command = crate::command();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "thinstream", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    match shell {
        Shell::Bash => bash(&script, &command),
        Shell::Zsh => zsh(&script, &command),
        Shell::Fish => script + &fish(&command),
        _ => script,
    }
}

/// An argument of a command, and the words that lead to the command.
struct Place<'a> {
    words: Vec<&'a str>,
    argument: &'a Arg,
}

impl Place<'_> {
    fn suggested(&self) -> Vec<String> {
        let values = self.argument.get_possible_values().into_iter();
        values.map(|value| value.get_name().to_owned()).collect()
    }
}

/// All arguments of a command and of those below it.
fn places<'a>(command: &'a Command, words: &[&'a str]) -> Vec<Place<'a>> {
    let own = command.get_arguments().map(|argument| Place { words: words.to_vec(), argument });
    let below =
        command.get_subcommands().flat_map(|one| places(one, &[words, &[one.get_name()]].concat()));
    own.chain(below).collect()
}

/// Completions for bash: in a list with commas, only the word behind the last one is completed.
fn bash(script: &str, command: &Command) -> String {
    let all = places(command, &[]);
    let lists = all.iter().filter(|one| one.argument.get_value_delimiter() == Some(','));
    let mut names: Vec<String> =
        lists.filter_map(|one| Some(format!("--{}", one.argument.get_long()?))).collect();
    names.sort_unstable();
    names.dedup();
    let lists = format!(
        r#"_thinstream_lists() {{
    local head=""
    case "$3" in
        {})
            [[ "$2" == *,* ]] && head="${{2%,*}},"
            compopt -o nospace 2>/dev/null
            ;;
    esac
    _thinstream "$1" "${{2##"$head"}}" "$3"
    COMPREPLY=("${{COMPREPLY[@]/#/$head}}")
}}

if [[ "#,
        names.join("|")
    );
    script.replace("-F _thinstream ", "-F _thinstream_lists ").replacen(
        "\nif [[ ",
        &format!("\n{lists}"),
        1,
    )
}

/// Completions for zsh: where words are suggested for an argument that may be a file, files are
/// offered, too.
fn zsh(script: &str, command: &Command) -> String {
    let all = places(command, &[]);
    let plans = all.iter().filter(|one| one.argument.get_id() == "plan");
    let Some(words) = plans.map(Place::suggested).find(|words| !words.is_empty()) else {
        return script.to_owned();
    };
    let words = format!(":({})'", words.join(" "));
    let function = format!(
        "_thinstream_plans() {{\n    _alternative 'plans:plan{words} 'files:file:_files'\n}}\n\nif [ \"$funcstack"
    );
    let script = script.replace(&words, ":_thinstream_plans'");
    script.replacen("if [ \"$funcstack", &function, 1)
}

/// Lines for the arguments that are no options.
fn fish(command: &Command) -> String {
    let all = places(command, &[]);
    let lines = all.iter().filter(|one| one.argument.is_positional()).filter_map(|one| {
        let (first, rest) = one.words.split_first()?;
        let below: String =
            rest.iter().map(|word| format!("; and __fish_seen_subcommand_from {word}")).collect();
        let suggested = one.suggested();
        let is_any = !suggested.is_empty();
        is_any.then(|| {
            let condition = format!("__fish_thinstream_using_subcommand {first}{below}");
            format!("complete -c thinstream -n \"{condition}\" -a \"{}\"\n", suggested.join(" "))
        })
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_complete_the_names_of_policies_and_of_plans() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell);
            for word in ["latency-lean", "thin-rdb", "sctp-thin/fig8a"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
        let fish = script(Shell::Fish);
        let of_run = "using_subcommand lab; and __fish_seen_subcommand_from run\" -a \"defaults/";
        assert!(fish.contains(of_run), "{fish}");
        let zsh = script(Shell::Zsh);
        assert!(
            zsh.contains(":_thinstream_plans'") && zsh.contains("'files:file:_files'"),
            "{zsh}"
        );
    }

    /// Words that bash offers for the last of these words.
    #[cfg(unix)]
    fn offered(typed: &[&str]) -> Option<Vec<String>> {
        let words: Vec<String> = typed.iter().map(|word| format!("'{word}'")).collect();
        let last = typed.len() - 1;
        let text = format!(
            "{}\nCOMP_WORDS=({}); COMP_CWORD={last}\n_thinstream_lists thinstream {} {}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script(Shell::Bash),
            words.join(" "),
            words[last],
            words[last - 1]
        );
        let output = std::process::Command::new("bash").args(["-c", &text]).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Some(text.lines().map(str::to_owned).filter(|line| !line.is_empty()).collect())
    }

    #[test]
    #[cfg(unix)]
    fn bash_completes_plans_and_the_word_behind_a_comma() {
        // Without bash there is nothing to try.
        let Some(plans) = offered(&["thinstream", "lab", "run", "sctp-thin/fig8"]) else { return };
        assert_eq!(plans, ["sctp-thin/fig8a", "sctp-thin/fig8b"]);
        let policies = |typed| offered(&["thinstream", "demo", "--policies", typed]).unwrap();
        assert_eq!(policies("lk"), ["lksctp"]);
        assert_eq!(policies("rfc,lk"), ["rfc,lksctp"]);
        assert_eq!(policies("rfc,thin,latency-m"), ["rfc,thin,latency-max"]);
        assert_eq!(offered(&["thinstream", "demo", "--html", "a,b"]).unwrap(), [""; 0]);
        let replay = ["thinstream", "trace", "replay", "--policy", "linux,latency-l"];
        assert_eq!(offered(&replay).unwrap(), ["linux,latency-lean"]);
    }
}
