//! Latency in bounded memory, its summary, and how sure one can be of it.

mod by_retransmissions;
mod interval;
mod recorder;

pub use by_retransmissions::{
    LatencyByRetransmissions, RetransmissionLatencies, RetransmissionLatency,
};
pub use interval::{MeanInterval, QuantileRanks, mean_interval, quantile_ranks};
pub use recorder::{CdfPoint, LatencyRecorder, LatencySummary, QuantileInterval};
