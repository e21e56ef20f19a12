//! The numbers of a plan's small version, to compare this build with others.

use lab::engine::run_all;
use lab::plan::{Plan, Size};
use lab::stored::golden as stored;

use crate::setting::SettingError;

/// The numbers of a plan's small version as text, those that `golden/` has for the plans of the
/// repository.
///
/// # Errors
/// When the plan cannot be read or run.
pub fn golden(plan: &str) -> Result<String, SettingError> {
    let plan =
        Plan::parse(plan, Size::Small, None).map_err(|error| SettingError(error.to_string()))?;
    let finished = run_all(&plan).map_err(|error| SettingError(error.to_string()))?;
    Ok(stored::text(&plan, &finished))
}
