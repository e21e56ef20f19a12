//! Reasons for which a transfer ends early.

use thinstream::AssociationError;

/// Reason for which a transfer ended early.
#[derive(Debug)]
pub(super) enum Ended {
    /// The association failed, or the peer aborted it.
    Association(AssociationError),
    /// Input that is not a message.
    Input(String),
    /// The size of measuring messages is too small.
    Probe(lab::ProbeError),
    /// Answers were still missing when patience ended.
    Impatient,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ended::Association(error) => write!(f, "{error}"),
            Ended::Input(text) => f.write_str(text),
            Ended::Probe(error) => write!(f, "{error}"),
            Ended::Impatient => f.write_str("the shutdown took too long"),
        }
    }
}
