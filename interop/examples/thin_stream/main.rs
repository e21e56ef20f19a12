//! A thin stream from `thinstream edge` to an unmodified kernel client, beside the kernel's own TCP
//! as the server.
//!
//! `cargo run --release -p interop --example thin_stream -- [SECONDS] [--flows N] [--case NAME]
//! [--loss PERCENT] [--policies NAME,NAME] [--client guest] [--json]`, as root. With `--client
//! guest` each client is Linux 6.1 in a guest of its own (User-Mode Linux), which reports its
//! messages outside the wire. The cases:
//!
//! - `game`: messages of 30 bytes, one each 24 ms, over a round trip of 130 ms with 2 % loss each
//!   way: the BZFlag case of Petlund et al. (2008).
//! - `gaps`: the same with gaps distributed as the game's (`lab::workload`).
//! - `signalling`: messages of 100 bytes, one each 250 ms, over a round trip of 100 ms with 5 %
//!   loss each way: W1 of docs/comparison.md.
//!
//! The first two run unless others are named. All servers run at the same time, each flow over a
//! wire of its own; the n-th flow of each meets the same losses, by number of the packet. Controls
//! without loss show what the machine itself delays. `experiments/tcp-thin-game/constant.toml` is
//! the first case in virtual time, without the machine's noise, and
//! `crates/lab/tests/latency-tcp.toml` has the third.

mod client;
mod real;
mod table;

use std::error::Error;

use base::Duration;
use lab::{Application, Arrivals, Limit, Sizes, WorkloadPlan};

use client::ClientKind;
use table::Row;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The edge's policies that are compared, unless others are named.
const POLICIES: &str = "latency,latency-lean,thin,thin-rdb,linux,er";

/// A stream of messages, and the network that it crosses.
#[derive(Clone)]
struct Case {
    name: &'static str,
    /// Bytes of user data in a message.
    size: usize,
    arrivals: Arrivals,
    /// Half of the round trip.
    delay: Duration,
    /// Loss each way, in percent.
    loss: u64,
}

impl Case {
    fn all() -> [Case; 3] {
        let each = |millis| Arrivals::Constant { interval: Duration::from_millis(millis) };
        let game = Case {
            name: "game",
            size: 30,
            arrivals: each(24),
            delay: Duration::from_millis(65),
            loss: 2,
        };
        let gaps = Application::BZFLAG;
        [
            game.clone(),
            Case { name: "gaps", arrivals: Arrivals::Application(gaps), ..game },
            Case {
                name: "signalling",
                size: 100,
                arrivals: each(250),
                delay: Duration::from_millis(50),
                loss: 5,
            },
        ]
    }

    fn named(name: &str) -> Outcome<Case> {
        let found = Case::all().into_iter().find(|case| case.name == name);
        Ok(found.ok_or_else(|| format!("{name} is none of game, gaps, signalling"))?)
    }

    fn workload(&self, seconds: u64) -> WorkloadPlan {
        let limit = Limit::Time(Duration::from_secs(seconds));
        WorkloadPlan { arrivals: self.arrivals, size: Sizes::Constant(self.size), limit }
    }
}

struct Plan {
    seconds: u64,
    flows: u64,
    cases: Vec<Case>,
    policies: Vec<String>,
    client: ClientKind,
    json: bool,
}

impl Plan {
    fn read() -> Outcome<Plan> {
        let (mut seconds, mut flows, mut json) = (120, 4, false);
        let (mut cases, mut policies, mut loss) = (vec![], POLICIES.to_owned(), None);
        let mut client = ClientKind::Machine;
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--json" => json = true,
                "--flows" => flows = value()?.parse()?,
                "--case" => cases.push(Case::named(&value()?)?),
                "--loss" => loss = Some(value()?.parse()?),
                "--policies" => policies = value()?,
                "--client" => client = value()?.parse()?,
                number => seconds = number.parse()?,
            }
        }
        if cases.is_empty() {
            cases = Case::all()[..2].to_vec();
        }
        for case in &mut cases {
            case.loss = loss.unwrap_or(case.loss);
        }
        let policies = policies.split(',').map(str::to_owned).collect();
        Ok(Plan { seconds, flows, cases, policies, client, json })
    }
}

fn main() -> Outcome<()> {
    let plan = Plan::read()?;
    let mut rows = Vec::new();
    for case in &plan.cases {
        let measured = real::run(&plan, case)?;
        if !plan.json {
            table::print(&measured);
        }
        rows.extend(measured);
    }
    if plan.json {
        let rows: Vec<_> = rows.iter().map(Row::to_json).collect();
        println!("{}", serde_json::to_string_pretty(&rows)?);
    }
    Ok(())
}
