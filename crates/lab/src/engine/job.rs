//! Jobs: the independent runs of a plan, and the part of them that one of several machines takes.

use core::str::FromStr;

/// One run of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    /// Place of the cell in the plan.
    pub cell: usize,
    /// Seed of the run, from 1.
    pub seed: u64,
}

/// The part of a plan's jobs that one of several machines runs: shard 1 of 4 takes jobs 1, 5, 9 and
/// so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Number of this shard, from 1.
    pub number: u64,
    /// Shards that the runs are divided among, at least 1.
    pub of: u64,
}

impl Default for Shard {
    fn default() -> Shard {
        Shard { number: 1, of: 1 }
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(number, of)| {
            let shard = Shard { number: number.parse().ok()?, of: of.parse().ok()? };
            (1..=shard.of).contains(&shard.number).then_some(shard)
        });
        parts.ok_or_else(|| format!("\"{text}\" is no shard such as 1/4: the first of four"))
    }
}

impl core::fmt::Display for Shard {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}
