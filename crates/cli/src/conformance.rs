//! `thinstream conformance`: arguments and printing.

use std::fmt::Write;
use std::path::PathBuf;
use std::str::FromStr;

use packetdrill::{MutationResults, RunConfig, ScriptResult, Suite, SuiteResults, Word};

use crate::failure::Failure;
use crate::output;

/// Hold the protocol to packetdrill scripts, in virtual time.
///
/// Each script (*.pkt) says which packets and calls come in and which packets must go out, and
/// when. A script is run for each system that its #ifdefs tell apart, and passes if it does for one
/// of them, with every seed. What a script wants and there is not is a reason to skip it, never to
/// pass it.
///
/// Exit codes: 0 no script failed, 1 a script failed, 2 wrong usage.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Scripts, and folders that are searched recursively for scripts.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Allow no tolerance in time, whatever the scripts say, and ignore no difference.
    #[arg(long)]
    exact: bool,
    /// Fail a script if packets follow its last event within three minutes.
    #[arg(long)]
    no_tail: bool,
    /// Number of choices of tags and TSNs with which each script is run; the second has TSNs that
    /// wrap.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
    /// Change one thing at a time in the scripts that pass with --exact and --no-tail, and run
    /// these mutants: each must fail, or be listed in the folder's equivalent-mutants.txt with
    /// its reason.
    #[arg(long, conflicts_with = "verbose")]
    mutate: bool,
    /// Run about one mutant of N only.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "mutate", value_parser = clap::value_parser!(u64).range(1..))]
    share: u64,
    /// Define a name for #ifdef, or replace it by a value everywhere. FreeBSD, Linux or STANDARD:
    /// run scripts for this system only.
    #[arg(short = 'D', long = "define", value_name = "NAME[=VALUE]")]
    defines: Vec<Define>,
    /// Show the deviation in time of each script that passes, and the differences that were
    /// ignored.
    #[arg(long, short)]
    verbose: bool,
    /// Print the results as one JSON object.
    #[arg(long)]
    json: bool,
}

/// A definition of a script's variable, `NAME` or `NAME=VALUE`.
#[derive(Clone, Debug, PartialEq)]
struct Define(String, Option<String>);

impl FromStr for Define {
    type Err = String;

    fn from_str(text: &str) -> Result<Define, String> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(format!(
                "\"{text}\" is not a name such as Linux, or a name and its value such as PORT=5000"
            ));
        }
        Ok(Define(name.to_owned(), value))
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.mutate {
        return mutate(arguments);
    }
    let results = arguments.suite().run(&arguments.paths).map_err(Failure::usage)?;
    if arguments.json {
        output::print(&serde_json::to_string_pretty(&results).unwrap_or_default())?;
    } else {
        output::print(&report(&results, arguments.verbose))?;
    }
    match results.failed {
        _ if !results.unreadable.is_empty() => Err(Failure::usage(results.unreadable.join("; "))),
        0 => Ok(()),
        1 => Err(Failure::check("1 script failed")),
        failed => Err(Failure::check(format!("{failed} scripts failed"))),
    }
}

/// Runs mutants of the scripts.
fn mutate(arguments: &Arguments) -> Result<(), Failure> {
    let mut suite = arguments.suite();
    (suite.config.exact, suite.config.no_tail) = (true, true);
    let results = suite.mutate(&arguments.paths, arguments.share).map_err(Failure::usage)?;
    if arguments.json {
        output::print(&serde_json::to_string_pretty(&results).unwrap_or_default())?;
    } else {
        output::print(&mutation_report(&results))?;
    }
    if results.is_right() {
        return Ok(());
    }
    Err(Failure::check("mutants pass, the list is stale, or scripts do not pass as they are"))
}

/// A line for each mutant that passes and for each stale line, and the sums.
fn mutation_report(results: &MutationResults) -> String {
    let mut text = String::new();
    for (word, lines) in [
        ("LEFT OUT", &results.left_out),
        ("SURVIVES", &results.survivors),
        ("STALE", &results.stale),
    ] {
        for line in lines {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{word} {line}");
        }
    }
    let MutationResults { scripts, mutants, killed, listed, .. } = results;
    let survivors = results.survivors.len();
    let _ = writeln!(
        text,
        "{mutants} mutants of {scripts} scripts: {killed} failed, {listed} listed, {survivors} survived"
    );
    text
}

impl Arguments {
    fn suite(&self) -> Suite {
        let config = RunConfig { exact: self.exact, no_tail: self.no_tail, ..RunConfig::default() };
        let defines = self.defines.iter().map(|Define(name, value)| (name.clone(), value.clone()));
        Suite { config, seeds: self.seeds, defines: defines.collect() }
    }
}

/// A line for each script, more for each that failed, and the sums.
fn report(results: &SuiteResults, verbose: bool) -> String {
    let mut text = String::new();
    for script in &results.scripts {
        // Writing to a string does not fail.
        let _ = match script.verdict {
            Word::Pass => writeln!(text, "PASS {}{}", script.path, remarks(script, verbose)),
            Word::Fail => writeln!(text, "FAIL {}: {}", script.path, script.reason),
            Word::Skip => writeln!(text, "SKIP {}: {}", script.path, script.reason),
        };
    }
    for why in &results.unreadable {
        let _ = writeln!(text, "ERROR {why}");
    }
    let SuiteResults { passed, failed, skipped, .. } = results;
    let _ = writeln!(text, "{passed} passed, {failed} failed, {skipped} skipped");
    text
}

fn remarks(script: &ScriptResult, verbose: bool) -> String {
    let mut remarks = Vec::new();
    if verbose {
        remarks.push(format!("off by {} ms at most", script.slack_s * 1000.0));
        if !script.leniencies.is_empty() {
            remarks.push(format!("overlooked: {}", script.leniencies.join(", ")));
        }
        if !script.defines.is_empty() {
            remarks.push(format!("defined: {}", script.defines.join(", ")));
        }
    }
    if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::parse;

    #[test]
    fn options_reach_the_runner() {
        let typed = ["--exact", "--no-tail", "--seeds", "7", "-DLinux", "-D", "PORT=1", "a", "b"];
        let suite = parse::<Arguments>(&typed).unwrap().suite();
        assert!(suite.config.exact && suite.config.no_tail);
        assert_eq!(suite.seeds, 7);
        assert_eq!(suite.defines["Linux"], None);
        assert_eq!(suite.defines["PORT"].as_deref(), Some("1"));
    }

    #[test]
    fn the_report_of_mutants_names_what_is_wrong_and_ends_with_the_sums() {
        let arguments = parse::<Arguments>(&["--mutate", "--share", "9", "a"]).unwrap();
        assert!(arguments.mutate && arguments.share == 9);
        let results = MutationResults {
            scripts: 1,
            mutants: 3,
            killed: 2,
            survivors: vec!["a.pkt | line 1: late".to_owned()],
            ..MutationResults::default()
        };
        assert_eq!(
            mutation_report(&results),
            "SURVIVES a.pkt | line 1: late\n\
             3 mutants of 1 scripts: 2 failed, 0 listed, 1 survived\n"
        );
    }

    #[test]
    fn wrong_usage_is_named() {
        for wrong in [&[][..], &["-D", "=1", "a"], &["--seeds", "0", "a"]] {
            assert!(parse::<Arguments>(wrong).is_err(), "{wrong:?}");
        }
        let arguments = parse(&["/no/such/place"]).unwrap();
        let Err(Failure::Usage(text)) = run(&arguments) else { panic!() };
        assert!(text.contains("/no/such/place"), "{text}");
    }

    #[test]
    fn the_report_has_a_line_for_each_script_and_ends_with_the_sums() {
        let suite = Suite::default();
        let scripts = vec![
            suite.run_text("a.pkt", "0 close(9) = -1 EBADF\n"),
            suite.run_text("b.pkt", "0 close(9) = 0\n"),
            suite.run_text("c.pkt", "0 `reboot`\n"),
        ];
        let results =
            SuiteResults { scripts, passed: 1, failed: 1, skipped: 1, ..SuiteResults::default() };
        let text = report(&results, true);
        assert!(text.contains("PASS a.pkt (off by 0 ms at most)"), "{text}");
        assert!(
            text.contains("FAIL b.pkt: line 1 at 0s: close(): expected 0 , returned -1 EBADF"),
            "{text}"
        );
        assert!(text.contains("SKIP c.pkt: line 1: the command reboot is not supported"), "{text}");
        assert!(text.ends_with("\n1 passed, 1 failed, 1 skipped\n"), "{text}");
    }
}
