//! Runs the laboratory's plans with the means of a machine: threads, files, folders of results. `lab` itself uses none
//! of them, so that it also runs where there are none.
//!
//! - [`threads`]: the runs of a plan on several threads.
//! - [`plan_file`]: a plan and the files that it names, read from disk.
//! - [`fit`]: the search for settings of a plan's unknowns.
//! - [`archive`]: folders of results.

pub mod archive;
pub mod fit;
pub mod plan_file;
pub mod threads;
