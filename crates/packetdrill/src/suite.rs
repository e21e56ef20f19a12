//! Many scripts: files and folders, each script under the names that its conditions ask for and with
//! several seeds.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::config::RunConfig;
use crate::runner::run;
use crate::verdict::Verdict;
use crate::{Script, conditions, parse_with};

/// The systems that scripts tell apart, in the order in which they are tried. A script passes if it
/// does for any of them.
const SYSTEMS: [&str; 3] = ["FreeBSD", "Linux", "STANDARD"];

/// Suites put a file with this ending beside a script that their runner cannot run as it is meant.
const EXPECTED_FAILURE: &str = "exfail";

/// How to run many scripts.
#[derive(Clone, Debug)]
pub struct Suite {
    /// How to run each, but for what its suite decides ([`RunConfig::for_path`]).
    pub config: RunConfig,
    /// Seeds with which each is run, from `config.seed` on. It passes if it does with all of them.
    pub seeds: u64,
    /// Names that are defined in every script, besides one of the systems.
    pub defines: BTreeSet<String>,
}

impl Default for Suite {
    fn default() -> Self {
        Suite { config: RunConfig::default(), seeds: 3, defines: BTreeSet::new() }
    }
}

/// A verdict in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Word {
    /// The stack does what the script says.
    Pass,
    /// It does not.
    Fail,
    /// The script could not be run.
    Skip,
}

/// What came of one script.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScriptResult {
    /// The file.
    pub path: String,
    /// The verdict.
    pub verdict: Word,
    /// The first divergence, or why it was skipped; empty for a pass.
    pub reason: String,
    /// Names that were defined.
    pub defines: Vec<String>,
    /// The largest distance in time that the tolerance covered, seconds.
    pub slack_s: f64,
    /// Names of the leniencies that were needed.
    pub leniencies: Vec<&'static str>,
}

/// What came of many.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SuiteResults {
    /// Each script, in the order of the paths.
    pub scripts: Vec<ScriptResult>,
    /// How many passed.
    pub passed: usize,
    /// How many failed.
    pub failed: usize,
    /// How many were skipped.
    pub skipped: usize,
}

impl Suite {
    /// Runs scripts and the scripts (`*.pkt`) of folders, which are searched in depth.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn run(&self, paths: &[PathBuf]) -> io::Result<SuiteResults> {
        let mut files = Vec::new();
        for path in paths {
            collect(path, &mut files)?;
        }
        let mut results = SuiteResults::default();
        for file in files {
            let text = fs::read(&file)?;
            let text = String::from_utf8_lossy(&text);
            let mut result = self.run_text(&file.to_string_lossy(), &text);
            if result.verdict == Word::Fail && file.with_extension(EXPECTED_FAILURE).exists() {
                // It wants what no script can show, such as a second path that it never mentions.
                result.verdict = Word::Skip;
                result.reason = format!("its suite expects that it fails: {}", result.reason);
            }
            match result.verdict {
                Word::Pass => results.passed += 1,
                Word::Fail => results.failed += 1,
                Word::Skip => results.skipped += 1,
            }
            results.scripts.push(result);
        }
        Ok(results)
    }

    /// Runs the text of a script that came from `path`.
    pub fn run_text(&self, path: &str, text: &str) -> ScriptResult {
        let asked = conditions(text);
        let mut systems: Vec<_> = SYSTEMS.iter().filter(|name| asked.contains(**name)).collect();
        systems.dedup();
        let sets =
            if systems.is_empty() { vec![None] } else { systems.into_iter().map(Some).collect() };
        let mut best: Option<ScriptResult> = None;
        let mut unreadable: Option<ScriptResult> = None;
        for system in sets {
            let mut defines = self.defines.clone();
            defines.extend(system.map(|name| (*name).to_owned()));
            let result = match parse_with(text, &defines) {
                Ok(script) => self.run_script(path, &script, &defines),
                Err(error) => {
                    let reason = format!("no script: {error}");
                    unreadable.get_or_insert(result(path, Word::Fail, reason, &defines));
                    continue;
                }
            };
            if result.verdict == Word::Pass {
                return result;
            }
            // A failure says more than a script that could not be run.
            let better = best
                .as_ref()
                .is_none_or(|best| best.verdict == Word::Skip && result.verdict == Word::Fail);
            if better {
                best = Some(result);
            }
        }
        // A script need not be readable for a system that is not meant to run it.
        best.or(unreadable)
            .unwrap_or_else(|| result(path, Word::Skip, "nothing to run".to_owned(), &self.defines))
    }

    fn run_script(&self, path: &str, script: &Script, defines: &BTreeSet<String>) -> ScriptResult {
        let mut config = self.config.clone();
        config.adapt(path);
        let mut passed = result(path, Word::Pass, String::new(), defines);
        for seed in 0..self.seeds.max(1) {
            config.seed = self.config.seed.wrapping_add(seed);
            let (seed, report) = (config.seed, run(script, &config));
            match report.verdict {
                Verdict::Pass => {}
                Verdict::Fail(divergence) => {
                    let reason = format!("{divergence} (seed {seed})");
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

fn result(path: &str, verdict: Word, reason: String, defines: &BTreeSet<String>) -> ScriptResult {
    ScriptResult {
        path: path.to_owned(),
        verdict,
        reason,
        defines: defines.iter().cloned().collect(),
        slack_s: 0.0,
        leniencies: Vec::new(),
    }
}

/// Scripts at `path` in the order of their names.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries: Vec<_> = fs::read_dir(path)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
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
