//! Plans read from disk, with the files that they name.

use std::path::Path;

use lab::plan::{PlanError, with_files};

/// The text of the plan at `path`, followed by the files that it names, relative to its folder, as
/// `[files]`.
///
/// # Errors
/// The file that cannot be read or understood, and the place of the error.
pub fn read(path: &Path) -> Result<String, PlanError> {
    let text = std::fs::read_to_string(path).map_err(PlanError::unreadable)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    with_files(text, |name| std::fs::read(folder.join(name)).map_err(|error| error.to_string()))
}

/// The text of a file that a network names, such as a profile.
///
/// # Errors
/// The file's name with the reason why it cannot be read.
pub fn read_text(name: &str) -> Result<String, String> {
    std::fs::read_to_string(name).map_err(|error| format!("{name}: {error}"))
}
