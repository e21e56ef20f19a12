//! Failures of a command that continues.

use crate::failure::Failure;
use crate::output;

/// Failures of a command that has results nevertheless: printed after the results.
#[derive(Debug, Default)]
pub(crate) struct Failures(Vec<Failure>);

impl Failures {
    /// Keeps a failure for the end, and returns the value otherwise.
    pub(crate) fn keep<T>(&mut self, result: Result<T, Failure>) -> Option<T> {
        result.map_err(|failure| self.0.push(failure)).ok()
    }

    /// Keeps those of a part of the work, too.
    pub(crate) fn extend(&mut self, other: Failures) {
        self.0.extend(other.0);
    }

    /// Keeps these descriptions of files that could not be written.
    pub(crate) fn keep_files(&mut self, unwritten: &[impl ToString]) {
        self.0.extend(unwritten.iter().map(|why| Failure::File(why.to_string())));
    }

    /// The first failure kept, the exit code of the command; prints the others.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let mut all = self.0.into_iter();
        let first = all.next();
        let others: Vec<Failure> = all.collect();
        match first {
            None => Ok(()),
            Some(first) if others.is_empty() => Err(first),
            Some(first) => {
                others.iter().for_each(|failure| output::note(&format!("thinstream: {failure}")));
                Err(first)
            }
        }
    }
}
