//! Results on disk: a folder with the journal of finished runs, tidy tables and a manifest.
//!
//! Rows are tidy: one number each, with the plan's keys of its cell, the seed, the flows, the measure and its
//! labels. Distributions are histograms, a row for each
//! bin; curves have a row for each point, ladders one for each packet; pictures are files.

mod existing;
mod files;
pub mod folder;
pub mod golden;
pub mod manifest;
pub mod parquet;
pub mod table;
#[cfg(test)]
mod tests;

pub use existing::Existing;
pub use files::FolderError;
pub use folder::{Folder, Stored, merge, read};
pub use manifest::{Manifest, Surroundings};
pub use table::Table;
