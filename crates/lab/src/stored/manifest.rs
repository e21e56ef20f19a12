//! The manifest: everything needed to reproduce the results.

use serde::{Deserialize, Serialize};

use crate::engine::{Shard, journal};
use crate::plan::{Key, Plan};

/// Describes the results beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the laboratory, `X.Y.Z`.
    pub version: String,
    /// Commit it was built from, if known; with `-dirty` if the sources had been changed.
    pub commit: Option<String>,
    /// Names the sources that it was built from; empty where that was not known yet.
    #[serde(default)]
    pub build: String,
    /// Headline of the plan, as reports show it.
    pub title: String,
    /// Text of the plan, in TOML.
    pub plan: String,
    /// A key, and the values that replace those of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub varied: Option<(Key, Vec<String>)>,
    /// Distinguishes plans and their sizes by everything that their runs depend on.
    pub fingerprint: String,
    /// Number of seeds of each cell.
    pub seeds: u64,
    /// The number before the first seed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seed_offset: u64,
    /// Shard whose runs these are, such as `1/4`.
    pub shard: String,
    /// Number of finished runs of this shard.
    pub finished: u64,
    /// Number of runs of all shards.
    pub jobs: u64,
    /// Name of the machine, if known.
    pub host: Option<String>,
    /// Processors of the machine, if known.
    #[serde(default)]
    pub processors: Option<u64>,
    /// Time of completion, in seconds since 1970, if known.
    pub time_s: Option<u64>,
    /// Elapsed real time in seconds, if known.
    pub wall_s: Option<f64>,
    /// Command line that made the results, if known.
    #[serde(default)]
    pub command: Option<String>,
}

/// Facts about the machine and the build, which the results do not contain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Surroundings {
    /// Commit that the laboratory was built from.
    pub commit: Option<String>,
    /// Name of its sources, with or without a commit.
    pub build: String,
    /// Name of the machine, if known.
    pub host: Option<String>,
    /// Number of the machine's processors, if known.
    pub processors: Option<u64>,
    /// Time of completion, in seconds since 1970, if known.
    pub time_s: Option<u64>,
    /// Elapsed real time, in seconds.
    pub wall_s: Option<f64>,
    /// Command line that made the results, if known.
    pub command: Option<String>,
}

/// The surroundings of the runs that the manifest describes.
impl From<Manifest> for Surroundings {
    fn from(of: Manifest) -> Surroundings {
        let Manifest { commit, build, host, processors, time_s, wall_s, command, .. } = of;
        Surroundings { commit, build, host, processors, time_s, wall_s, command }
    }
}

fn is_zero(offset: &u64) -> bool {
    *offset == 0
}

impl Manifest {
    /// The manifest of a plan with this number of finished runs.
    pub fn new(plan: &Plan, shard: Shard, finished: u64, around: Surroundings) -> Manifest {
        Manifest {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: around.commit,
            build: around.build,
            title: plan.base.title.clone(),
            plan: plan.text.clone(),
            varied: plan.varied.clone(),
            fingerprint: journal::fingerprint(plan),
            seeds: plan.seeds,
            seed_offset: plan.seed_offset(),
            shard: shard.to_string(),
            finished,
            jobs: plan.jobs(),
            host: around.host,
            processors: around.processors,
            time_s: around.time_s,
            wall_s: around.wall_s,
            command: around.command,
        }
    }
}
