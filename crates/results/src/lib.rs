//! Results of runs, and their statistics.
//!
//! - [`Results`]: tidy rows, distributions, curves, pictures and ladders; a [`Sheet`] writes those
//!   of one group.
//! - [`Runs`]: finished runs, and the columns of their tables; a [`Table`] is written as CSV, and
//!   by `runner` and the Python package as Parquet and Arrow.
//! - [`Histogram`]: a distribution of integers in bounded memory; [`LatencyRecorder`] is that of
//!   latencies.
//! - [`Series`]: a number over seeds, with its interval; [`paired_difference`] compares two on
//!   equal random streams.
//! - [`text_table`]: rows as aligned text.
//! - [`Moments`], [`mean`], [`mean_of`], [`median`], [`quantile_of`], [`quantile_of_sorted`],
//!   [`jain`], [`rank_correlation`]: numbers of numbers.
//!
//! Knows no protocol, no network, no file and no clock.
//!
//! ```
//! use base::Duration;
//! use results::LatencyRecorder;
//!
//! let mut latencies = LatencyRecorder::new();
//! (1..=100).for_each(|millis| latencies.record(Duration::from_millis(millis)));
//! let summary = latencies.summary().expect("there are latencies");
//! assert!((summary.mean - 50.5).abs() < 1e-9 && (summary.p99 - 99.0).abs() < 0.1);
//! ```

mod by_retransmissions;
mod histogram;
mod interval;
mod numbers;
mod recorder;
mod rows;
mod runs;
mod seeds;
mod seeds_needed;
mod table;
pub mod text_table;

pub use by_retransmissions::{
    LatencyByRetransmissions, RetransmissionLatencies, RetransmissionLatency,
};
pub use histogram::{Histogram, Precision};
pub use interval::{MeanInterval, QuantileRanks, mean_interval, quantile_ranks};
pub use numbers::{
    Moments, jain, mean, mean_of, median, nearest_rank, quantile_of, quantile_of_sorted,
    rank_correlation, ranks,
};
pub use recorder::{LatencyRecorder, LatencySummary, QuantileInterval};
pub use rows::{
    Arrow, Curve, Distribution, Labels, Ladder, Note, Picture, Quantity, Results, Role, Row, Sheet,
    Unit, full_name, label_texts,
};
pub use runs::{Run, Runs, TABLES, ToTable};
pub use seeds::{
    BySeed, CONFIDENCE, Series, paired_difference, paired_differences, paired_ratio,
    runs_for_quantile, seed_interval,
};
pub use seeds_needed::{SeedsNeeded, seeds_for_quantile};
pub use table::{Column, Table};
