//! Comparison of two values of one key of a plan: how two policies perform on equal random streams.
//!
//! Runs with equal seeds have the same messages and, where losses are paired, the same fate of
//! first transmissions; so their difference varies less by chance than either number does
//! ([`results::paired_difference`]). Quantiles are those of all seeds together, each with an
//! interval that assumes no distribution.

mod ablation;
mod difference;
mod listing;
mod side_by_side;
mod summary;
mod targets;

pub use ablation::{Ablation, ablation};
pub use difference::{Comparison, Difference, QuantilePair, Tally, compare, tally};
pub use listing::{Column, Listing, Of, text};
pub use side_by_side::{Maker, Row, SideBySide, side_by_side};
pub use summary::{Against, Summary, Worse, summary};
pub use targets::{Reached, reached};
