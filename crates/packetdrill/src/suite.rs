//! Suites: files and folders of scripts, each run under the names that its conditions mention and
//! with several seeds.

mod mutate;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::Serialize;

pub use self::mutate::MutationResults;
use crate::config::RunConfig;
use crate::parser::parse_with;
use crate::runner::run;
use crate::script::Script;
use crate::text::{Defines, conditions};
use crate::verdict::Verdict;

/// Systems that scripts distinguish, in the order in which they are tried. A script passes if it
/// passes for any of them.
const SYSTEMS: [&str; 3] = ["FreeBSD", "Linux", "STANDARD"];

/// Extension of files that mark a script which its suite's own runner cannot run properly.
const EXPECTED_FAILURE: &str = "exfail";

/// Settings of a run of many scripts.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Configuration of each run, apart from what its suite decides.
    pub config: RunConfig,
    /// Number of seeds for each script, from `config.seed` on. A script passes if it passes with
    /// all of them.
    pub seeds: u64,
    /// Names defined in every script. If none is the name of a system, a script that distinguishes
    /// systems is tried with the name of each.
    pub defines: Defines,
}

impl Default for Suite {
    fn default() -> Self {
        Suite { config: RunConfig::default(), seeds: 3, defines: Defines::new() }
    }
}

/// Verdict without its reason, as a word in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Word {
    /// The stack conforms to the script.
    Pass,
    /// The stack's behaviour differs from the script.
    Fail,
    /// The script could not be run.
    Skip,
}

/// Verdict on a script, with its reason and what was needed to reach it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScriptResult {
    /// Path of the script's file.
    pub path: String,
    /// Whether it passed, failed, or could not be run.
    pub verdict: Word,
    /// First divergence, or the reason for skipping; empty for a pass.
    pub reason: String,
    /// Names that were defined for the run, with their texts.
    pub defines: Vec<String>,
    /// Largest distance in time that the tolerance covered, in seconds.
    pub slack_s: f64,
    /// Names of the leniencies that were needed.
    pub leniencies: Vec<&'static str>,
}

/// Verdicts of all scripts of a run, and their counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SuiteResults {
    /// Results of the scripts, in the order of the paths.
    pub scripts: Vec<ScriptResult>,
    /// Number of scripts that passed.
    pub passed: usize,
    /// Number of scripts that failed.
    pub failed: usize,
    /// Number of scripts that could not be run.
    pub skipped: usize,
    /// Paths that could not be read or have no scripts, with the reason.
    pub unreadable: Vec<String>,
}

/// Reason for which the paths could not be run.
#[derive(Debug)]
pub struct SuiteError(String);

impl SuiteError {
    fn unreadable(path: &Path, error: &io::Error) -> Self {
        SuiteError(format!("cannot read {}: {error}", path.display()))
    }
}

impl fmt::Display for SuiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SuiteError {}

impl SuiteResults {
    fn add(&mut self, result: ScriptResult) {
        match result.verdict {
            Word::Pass => self.passed += 1,
            Word::Fail => self.failed += 1,
            Word::Skip => self.skipped += 1,
        }
        self.scripts.push(result);
    }
}

impl Suite {
    /// Runs scripts and, recursively, the scripts (`*.pkt`) of folders. They are independent and
    /// run in parallel; results are in the order of the paths.
    ///
    /// A path that cannot be read, or that has no script, does not affect the results of others.
    ///
    /// # Errors
    /// [`SuiteError`] if there is no script to run.
    pub fn run(&self, paths: &[PathBuf]) -> Result<SuiteResults, SuiteError> {
        let (mut files, mut results) = (Vec::new(), SuiteResults::default());
        for path in paths {
            let before = files.len();
            match collect(path, &mut files) {
                Ok(()) if files.len() > before => {}
                Ok(()) => results
                    .unreadable
                    .push(format!("no script, a file that ends in .pkt, in {}", path.display())),
                Err(error) => results.unreadable.push(error.to_string()),
            }
        }
        if files.is_empty() {
            return Err(SuiteError(results.unreadable.join("; ")));
        }
        for result in in_parallel(&files, |file| self.run_file(file)) {
            match result {
                Ok(result) => results.add(result),
                Err(error) => results.unreadable.push(error.to_string()),
            }
        }
        Ok(results)
    }

    fn run_file(&self, file: &Path) -> Result<ScriptResult, SuiteError> {
        let text = fs::read(file).map_err(|error| SuiteError::unreadable(file, &error))?;
        let text = String::from_utf8_lossy(&text);
        let mut result = self.run_text(&file.to_string_lossy(), &text);
        if result.verdict == Word::Fail && file.with_extension(EXPECTED_FAILURE).exists() {
            // The script needs something that it cannot express, such as a second path that it
            // never mentions.
            result.verdict = Word::Skip;
            result.reason = format!("its suite expects that it fails: {}", result.reason);
        }
        Ok(result)
    }

    /// Runs a script with the defines of each system that it is for; returns the best result.
    /// `path` only chooses the suite's defaults and names the script.
    pub fn run_text(&self, path: &str, text: &str) -> ScriptResult {
        let mut best: Option<ScriptResult> = None;
        let mut unreadable: Option<ScriptResult> = None;
        for system in self.systems(text) {
            let mut defines = self.defines.clone();
            defines.extend(system.map(|name| (name.to_owned(), None)));
            let result = match parse_with(text, &defines) {
                Ok(script) => self.run_script(path, text, &script, &defines),
                Err(error) => {
                    let reason = format!("no script: {error}");
                    unreadable.get_or_insert(result(path, Word::Fail, reason, &defines));
                    continue;
                }
            };
            if result.verdict == Word::Pass {
                return result;
            }
            // A failure is more informative than a skipped script.
            let better = best
                .as_ref()
                .is_none_or(|best| best.verdict == Word::Skip && result.verdict == Word::Fail);
            if better {
                best = Some(result);
            }
        }
        // A script need not parse for a system that it is not meant for.
        best.or(unreadable)
            .unwrap_or_else(|| result(path, Word::Skip, "nothing to run".to_owned(), &self.defines))
    }

    /// Systems under which a script is run: those that it distinguishes, unless one is given.
    fn systems(&self, text: &str) -> Vec<Option<&'static str>> {
        let asked = conditions(text);
        let given = SYSTEMS.iter().any(|name| self.defines.contains_key(*name));
        let told_apart = SYSTEMS.into_iter().filter(|name| !given && asked.contains(*name));
        let systems: Vec<_> = told_apart.map(Some).collect();
        if systems.is_empty() { vec![None] } else { systems }
    }

    fn run_script(
        &self,
        path: &str,
        text: &str,
        script: &Script,
        defines: &Defines,
    ) -> ScriptResult {
        let mut config = self.config.clone();
        config.adapt(path);
        let mut passed = result(path, Word::Pass, String::new(), defines);
        for seed in 0..self.seeds.max(1) {
            config.seed = self.config.seed.wrapping_add(seed);
            let (seed, report) = (config.seed, run(script, &config));
            match report.verdict {
                Verdict::Pass => {}
                Verdict::Fail(divergence) => {
                    let line = text.lines().nth(divergence.line.saturating_sub(1));
                    let line = line.map_or("", str::trim);
                    let reason = format!("{divergence} (seed {seed})\n  script:   {line}");
                    return result(path, Word::Fail, reason, defines);
                }
                Verdict::Skip { line, reason } => {
                    return result(path, Word::Skip, format!("line {line}: {reason}"), defines);
                }
            }
            passed.slack_s = passed.slack_s.max(report.slack.as_secs_f64());
            for leniency in report.leniencies {
                if !passed.leniencies.contains(&leniency) {
                    passed.leniencies.push(leniency);
                }
            }
        }
        passed
    }
}

/// Applies `one` to each item, on as many threads as the machine supports; results are in the order
/// of the items.
fn in_parallel<T: Sync, R: Send>(items: &[T], one: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return done };
            done.push((index, one(item)));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let mut all: Vec<_> = thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        // Propagates the panic of a helper thread.
        for helper in helpers {
            all.extend(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, result)| result).collect()
}

fn result(path: &str, verdict: Word, reason: String, defines: &Defines) -> ScriptResult {
    ScriptResult {
        path: path.to_owned(),
        verdict,
        reason,
        defines: defines.iter().map(define).collect(),
        slack_s: 0.0,
        leniencies: Vec::new(),
    }
}

/// Definition as an option gives it, `NAME` or `NAME=text`.
fn define((name, text): (&String, &Option<String>)) -> String {
    match text {
        Some(text) => format!("{name}={text}"),
        None => name.clone(),
    }
}

/// The scripts at `path`, sorted by name.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), SuiteError> {
    let unreadable = |error| SuiteError::unreadable(path, &error);
    if !fs::metadata(path).map_err(unreadable)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries: Vec<_> = fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(unreadable)?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() || entry.extension().is_some_and(|extension| extension == "pkt") {
            collect(&entry, files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONDITIONAL: &str = "#ifdef FreeBSD\n0 close(9) = 0\n#endif\n#ifdef Linux\n\
                               0 close(9) = -1 EBADF\n#endif\n";

    #[test]
    fn a_script_passes_if_it_does_for_any_system() {
        let suite = Suite::default();
        let passed = suite.run_text("x.pkt", CONDITIONAL);
        assert_eq!((passed.verdict, passed.defines), (Word::Pass, vec!["Linux".to_owned()]));
        let failed = suite.run_text("x.pkt", &CONDITIONAL.replace("-1 EBADF", "7"));
        assert_eq!((failed.verdict, failed.defines), (Word::Fail, vec!["FreeBSD".to_owned()]));
        assert!(failed.reason.contains("line 2"), "{}", failed.reason);
    }

    #[test]
    fn what_is_defined_is_replaced_and_chooses_the_system() {
        let defines = [("Linux", None), ("FD", Some("9".to_owned()))];
        let defines = defines.map(|(name, text)| (name.to_owned(), text)).into();
        let suite = Suite { defines, ..Suite::default() };
        let result = suite.run_text("x.pkt", &CONDITIONAL.replace("close(9)", "close(FD)"));
        assert_eq!(
            (result.verdict, result.defines),
            (Word::Pass, vec!["FD=9".into(), "Linux".into()])
        );
        let failed = suite.run_text("x.pkt", &CONDITIONAL.replace("-1 EBADF", "7"));
        assert_eq!(failed.verdict, Word::Fail);
        assert!(failed.reason.contains("script:   0 close(9) = 7"), "{}", failed.reason);
    }

    #[test]
    fn a_place_without_scripts_is_an_error() {
        let missing = Suite::default().run(&["there/is/no/such.pkt".into()]).unwrap_err();
        assert!(missing.to_string().contains("no/such.pkt"), "{missing}");
        let empty = Suite::default().run(&["src/sockets".into()]).unwrap_err();
        let expected = "no script, a file that ends in .pkt, in src/sockets";
        assert_eq!(empty.to_string(), expected);
    }

    #[test]
    fn a_place_without_scripts_costs_the_results_of_no_other() {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/tcp/nagle");
        let paths = ["no/such.pkt", script, "src/sockets"].map(PathBuf::from);
        let results = Suite::default().run(&paths).unwrap();
        assert!(results.passed > 0 && results.passed == results.scripts.len());
        assert_eq!(results.unreadable.len(), 2, "{:?}", results.unreadable);
        assert!(results.unreadable[0].contains("no/such.pkt"), "{:?}", results.unreadable);
    }

    #[test]
    fn a_script_in_which_nothing_could_fail_fails() {
        for text in [
            "",
            "// a comment\n",
            "--tolerance_usecs=1\n",
            "`sysctl net.inet.sctp.pr_enable=1`\n",
            "0 %{ }%\n",
        ] {
            let result = Suite::default().run_text("x.pkt", text);
            assert_eq!(result.verdict, Word::Fail, "{text:?}: {}", result.reason);
        }
    }

    #[test]
    fn a_text_that_is_no_script_fails() {
        let result = Suite::default().run_text("x.pkt", "hello");
        assert_eq!(result.verdict, Word::Fail);
        let for_one = "#ifdef Linux\n0 `unfinished\n#endif\n#ifdef FreeBSD\n0 `x`\n#endif\n";
        let result = Suite::default().run_text("x.pkt", for_one);
        assert_eq!(result.verdict, Word::Skip, "{}", result.reason);
    }

    #[test]
    fn results_are_written_as_documented() {
        let suite = Suite::default();
        let results = SuiteResults {
            scripts: vec![suite.run_text("x.pkt", "0 close(9) = -1 EBADF\n")],
            passed: 1,
            ..SuiteResults::default()
        };
        let json = serde_json::to_value(results).unwrap();
        assert_eq!(json["scripts"][0]["path"], "x.pkt");
        assert_eq!(json["scripts"][0]["verdict"], "PASS");
        assert_eq!(json["scripts"][0]["reason"], "");
        assert_eq!(json["scripts"][0]["defines"], serde_json::json!([]));
        assert_eq!(
            (&json["passed"], &json["failed"], &json["skipped"]),
            (&1.into(), &0.into(), &0.into())
        );
    }
}
