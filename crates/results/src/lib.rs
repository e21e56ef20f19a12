//! What runs give, and what may be said of it.
//!
//! - [`Results`]: tidy rows, distributions, curves, pictures and ladders; a [`Sheet`] writes those of one group.
//! - [`Histogram`]: a distribution of integers in bounded memory; [`LatencyRecorder`] is that of latencies.
//! - [`Series`]: a number over seeds, with its interval; [`paired_difference`] compares two on equal random streams.
//! - [`Moments`], [`mean`], [`median`], [`quantile_of`], [`quantile_of_sorted`], [`jain`], [`rank_correlation`]: numbers of numbers.
//!
//! Knows no protocol, no network, no file and no clock.

mod by_retransmissions;
mod histogram;
mod interval;
mod numbers;
mod recorder;
mod rows;
mod seeds;

pub use by_retransmissions::{
    LatencyByRetransmissions, RetransmissionLatencies, RetransmissionLatency,
};
pub use histogram::{Histogram, Precision};
pub use interval::{MeanInterval, QuantileRanks, mean_interval, quantile_ranks};
pub use numbers::{
    Moments, jain, mean, median, nearest_rank, quantile_of, quantile_of_sorted, rank_correlation,
    ranks,
};
pub use recorder::{LatencyRecorder, LatencySummary, QuantileInterval};
pub use rows::{
    Arrow, Curve, Distribution, Labels, Ladder, Note, Picture, Quantity, Results, Role, Row, Sheet,
    Unit, full_name,
};
pub use seeds::{
    BySeed, CONFIDENCE, SeedsNeeded, Series, paired_difference, paired_differences, paired_ratio,
    runs_for_quantile, seed_interval, seeds_for_quantile,
};
