//! Mutants of scripts that pass: each must fail, or be listed with the reason why it passes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Suite, SuiteError, Word, collect, in_parallel};
use crate::mutation::{Mutant, mutants};
use crate::parser::parse_with;
use crate::text::Defines;

/// Name of the list of mutants that may pass, in a folder of scripts.
const LIST: &str = "equivalent-mutants.txt";

/// Result of running the mutants of scripts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MutationResults {
    /// Number of scripts that pass unchanged.
    pub scripts: usize,
    /// Scripts that do not pass unchanged, of which no mutant is made.
    pub left_out: Vec<String>,
    /// Number of mutants that were run.
    pub mutants: usize,
    /// Number of mutants that failed.
    pub killed: usize,
    /// Number of listed mutants that passed.
    pub listed: usize,
    /// Mutants that passed and are not listed.
    pub survivors: Vec<String>,
    /// Lines of the list whose mutant does not pass, or that give no reason.
    pub stale: Vec<String>,
}

impl MutationResults {
    /// Whether each mutant failed or is listed, and each line of the list is needed.
    pub fn is_right(&self) -> bool {
        self.survivors.is_empty() && self.stale.is_empty() && self.left_out.is_empty()
    }
}

/// Result of one script's mutants.
#[derive(Default)]
struct Outcome {
    passes: bool,
    mutants: usize,
    survivors: Vec<String>,
}

impl Suite {
    /// Runs mutants of the scripts at `paths` that pass: all, or about one in `share`, chosen by
    /// their names alone.
    ///
    /// A folder may contain a list, `equivalent-mutants.txt`: a line `script | mutant | reason` for
    /// each mutant that rightly passes, with the script's path from that folder.
    ///
    /// # Errors
    /// Files that cannot be read, or that there is nothing to run.
    pub fn mutate(&self, paths: &[PathBuf], share: u64) -> Result<MutationResults, SuiteError> {
        let (mut files, mut list) = (Vec::new(), BTreeMap::new());
        let mut results = MutationResults::default();
        for path in paths {
            collect(path, &mut files)?;
            read_list(path, &mut list, &mut results.stale);
        }
        if files.is_empty() {
            return Err(SuiteError(
                "no script found: none of the paths has a file that ends in .pkt".to_owned(),
            ));
        }
        let outcomes = in_parallel(&files, |file| self.mutate_file(file, share));
        let mut used = BTreeSet::new();
        for (file, outcome) in files.iter().zip(outcomes) {
            let name = file.to_string_lossy();
            if !outcome.passes {
                results.left_out.push(name.into_owned());
                continue;
            }
            results.scripts += 1;
            results.mutants += outcome.mutants;
            results.killed += outcome.mutants - outcome.survivors.len();
            for survivor in outcome.survivors {
                let key = (file.clone(), survivor);
                if list.contains_key(&key) {
                    results.listed += 1;
                    used.insert(key);
                } else {
                    results.survivors.push(format!("{name} | {}", key.1));
                }
            }
        }
        let unused =
            |key: &&(PathBuf, String)| !used.contains(*key) && is_chosen(&key.0, &key.1, share);
        for (file, mutant) in list.keys().filter(unused) {
            results.stale.push(format!("{} | {mutant}: no such mutant passes", file.display()));
        }
        Ok(results)
    }

    fn mutate_file(&self, file: &Path, share: u64) -> Outcome {
        let text = fs::read(file).map(|text| String::from_utf8_lossy(&text).into_owned());
        let (path, text) = (file.to_string_lossy(), text.unwrap_or_default());
        let Some(defines) = self.passes_with(&path, &text) else { return Outcome::default() };
        let Ok(script) = parse_with(&text, &defines) else { return Outcome::default() };
        let survives = |mutant: &Mutant| {
            self.run_script(&path, &text, &mutant.script, &defines).verdict != Word::Fail
        };
        let all = mutants(&script);
        let mut idle: BTreeMap<&str, bool> = BTreeMap::new();
        let mut outcome = Outcome { passes: true, ..Outcome::default() };
        for mutant in all.iter().filter(|mutant| is_chosen(file, &mutant.name, share)) {
            let stand_ins = mutant.stand_ins();
            let mut stand_ins = all.iter().filter(|other| stand_ins.contains(&other.name));
            if stand_ins.any(|other| *idle.entry(&other.name).or_insert_with(|| survives(other))) {
                continue;
            }
            outcome.mutants += 1;
            if survives(mutant) {
                outcome.survivors.push(mutant.name.clone());
            }
        }
        outcome
    }

    /// The defined names with which a script passes, if it does.
    fn passes_with(&self, path: &str, text: &str) -> Option<Defines> {
        let result = self.run_text(path, text);
        let name = |text: &String| match text.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (text.clone(), None),
        };
        (result.verdict == Word::Pass).then(|| result.defines.iter().map(name).collect())
    }
}

/// Whether a mutant is chosen as one in `share`.
fn is_chosen(file: &Path, name: &str, share: u64) -> bool {
    let file = file.file_name().unwrap_or_default().to_string_lossy();
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = file.bytes().chain(name.bytes()).fold(0xcbf2_9ce4_8422_2325, mix);
    (hash >> 20).is_multiple_of(share.max(1))
}

/// Parses the list of a folder: script and mutant, with the reason.
fn read_list(
    folder: &Path,
    list: &mut BTreeMap<(PathBuf, String), String>,
    stale: &mut Vec<String>,
) {
    let Ok(text) = fs::read_to_string(folder.join(LIST)) else { return };
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let parts: Vec<&str> = line.splitn(3, " | ").collect();
        match parts.as_slice() {
            [script, mutant, reason] if !reason.trim().is_empty() => {
                list.insert((folder.join(script), (*mutant).to_owned()), (*reason).to_owned());
            }
            _ => stale.push(format!("{line}: script | mutant | reason wanted")),
        }
    }
}
