//! Notices of a command while it works.

/// A line of a long-running command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A line that stays on the screen.
    Line(String),
    /// A line that the next one of its kind replaces.
    Progress(String),
}
