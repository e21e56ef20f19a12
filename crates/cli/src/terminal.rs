//! Sizes of the terminals behind standard output and standard error.

use std::io::{self, IsTerminal};

use terminal_size::{Height, Width, terminal_size_of};

/// Columns and rows of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

impl Size {
    /// A terminal that does not tell.
    pub(crate) const USUAL: Size = Size { columns: 80, rows: 24 };
    /// Size for what is written to a file or a pipe.
    const NO_TERMINAL: Size = Size { columns: 100, rows: 40 };

    /// The size of the terminal behind standard error now; none if there is no terminal, or one
    /// that cannot replace lines (`TERM=dumb`).
    pub(crate) fn of_standard_error() -> Option<Size> {
        let err = io::stderr();
        let can_replace = can_replace(std::env::var("TERM").ok().as_deref());
        (err.is_terminal() && can_replace).then(|| Size::told(terminal_size_of(err)))
    }

    /// The size of the terminal behind standard output, for results that fit it; without a
    /// terminal, that of a page.
    pub(crate) fn of_standard_output() -> Size {
        let out = io::stdout();
        if out.is_terminal() { Size::told(terminal_size_of(out)) } else { Size::NO_TERMINAL }
    }

    /// The size that a terminal told, if it did.
    fn told(told: Option<(Width, Height)>) -> Size {
        let told = told.map(|(columns, rows)| Size {
            columns: usize::from(columns.0),
            rows: usize::from(rows.0),
        });
        told.filter(|size| size.columns > 0 && size.rows > 0).unwrap_or(Size::USUAL)
    }
}

/// Whether a terminal of this name understands escape sequences.
fn can_replace(term: Option<&str>) -> bool {
    !matches!(term, Some("dumb") | Some(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_without_escape_sequences_gets_none() {
        assert!(!can_replace(Some("dumb")) && !can_replace(Some("")));
        assert!(can_replace(Some("xterm-256color")) && can_replace(None));
    }

    #[test]
    fn a_terminal_that_tells_no_size_has_the_usual_one() {
        let told = |columns, rows| Size::told(Some((Width(columns), Height(rows))));
        assert_eq!(told(132, 50), Size { columns: 132, rows: 50 });
        assert_eq!((told(0, 0), Size::told(None)), (Size::USUAL, Size::USUAL));
    }
}
