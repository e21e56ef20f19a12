//! Results on disk: a folder with the journal of finished runs, tidy tables as CSV and Parquet,
//! pictures and a manifest.

mod existing;
mod files;
mod folder;
mod parquet;
#[cfg(test)]
mod tests;

pub use existing::Existing;
pub use files::FolderError;
pub use folder::{Folder, file_name, merge, read};
