//! Notices of a command while it works.

/// What a long-running command has to say meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A line that stays.
    Line(String),
    /// A line that the next one of its kind replaces.
    Progress(String),
}
