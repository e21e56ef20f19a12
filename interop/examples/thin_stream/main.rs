//! A thin stream from `thinstream edge` to an unmodified kernel client, beside the kernel's own TCP as the server.
//!
//! `cargo run --release -p interop --example thin_stream -- [SECONDS] [--flows N] [--json]`, as root.
//! Messages of 30 bytes, one each 24 ms on average, over a round trip of 130 ms with 2 % loss each way: the BZFlag case
//! of Petlund et al. (2008). Once with constant gaps, once with gaps distributed as the game's (`lab::workload`).
//! All servers run at the same time, each flow over a wire of its own; the n-th flow of each meets the same losses,
//! by number of the packet. A control without loss shows what the machine itself delays.
//! `experiments/tcp-thin-game/constant.toml` is the same in virtual time, without the machine's noise.

mod real;
mod table;

use std::error::Error;

use base::Duration;
use lab::{Application, Arrivals, Limit, Sizes, WorkloadPlan};

use table::Row;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Bytes of a message.
const SIZE: usize = 30;
/// Half of the round trip.
const DELAY: Duration = Duration::from_millis(65);
/// Loss each way, in percent.
const LOSS: u64 = 2;
/// The edge's policies that are compared.
const POLICIES: [&str; 4] = ["thin", "thin-rdb", "linux", "er"];

struct Plan {
    seconds: u64,
    flows: u64,
    json: bool,
}

impl Plan {
    fn read() -> Outcome<Plan> {
        let mut plan = Plan { seconds: 120, flows: 4, json: false };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut number = || -> Outcome<u64> {
                Ok(words.next().ok_or_else(|| format!("{word} needs a number"))?.parse()?)
            };
            match word.as_str() {
                "--json" => plan.json = true,
                "--flows" => plan.flows = number()?,
                seconds => plan.seconds = seconds.parse()?,
            }
        }
        Ok(plan)
    }

    fn workload(&self, arrivals: Arrivals) -> WorkloadPlan {
        let limit = Limit::Time(Duration::from_secs(self.seconds));
        WorkloadPlan { arrivals, size: Sizes::Constant(SIZE), limit }
    }
}

fn main() -> Outcome<()> {
    let plan = Plan::read()?;
    let mut rows = Vec::new();
    for arrivals in [
        Arrivals::Constant { interval: Duration::from_millis(24) },
        Arrivals::Application(Application::BZFLAG),
    ] {
        let workload = plan.workload(arrivals);
        rows.extend(show(&plan, real::run(&workload, plan.flows)?));
    }
    if plan.json {
        let rows: Vec<_> = rows.iter().map(Row::to_json).collect();
        println!("{}", serde_json::to_string_pretty(&rows)?);
    }
    Ok(())
}

fn show(plan: &Plan, rows: Vec<Row>) -> Vec<Row> {
    if !plan.json {
        table::print(&rows);
    }
    rows
}
