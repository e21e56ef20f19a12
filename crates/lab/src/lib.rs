//! The laboratory: traffic over virtual networks, losses, measures of latency, and plans that vary
//! them.
//!
//! - [`workload`]: when messages are due, for simulations and for real senders alike.
//! - [`probe`]: the payload of a measuring message, which a receiver can verify to the last byte.
//! - [`fate`]: losses that are the same for every policy, so that policies can be compared.
//! - [`flow`]: a conversation between two hosts over SCTP or TCP, and the times of each message.
//! - [`peers`]: transports of others, once a crate that has them registers them.
//! - [`watch`]: flows under observation: ladders and captures; [`record`]: one run again, with its
//!   packets and events.
//! - [`advisor`]: policies of callers, which hear recovery's events and answer with advice.
//! - [`policy_text`]: policies as plans and studies write them.
//! - [`world`]: networks of any number of flows.
//! - [`plan`]: a TOML file that names network, flows, measures, what is varied and what is
//!   expected.
//! - [`irtt`]: measurements of real paths as recordings that links play.
//! - [`cell_world`]: the world of a plan's cell for one seed.
//! - [`engine`]: a plan as independent runs, in shards.
//! - [`experiments`]: the plans of the papers, part of the command.
//! - [`stored`]: finished runs with their plan: tidy tables, manifest, golden text.
//! - [`statistics`]: numbers of a cell over its seeds; [`verdict`]: the paper's numbers beside
//!   ours.
//! - [`fit`]: plans with unknown settings, and the distance of a setting's numbers from the
//!   paper's.
//! - [`compare`]: two policies on equal random streams.
//! - [`observed`]: what flows report during a run; [`measure`]: measures that plans may ask for.
//! - [`study`]: subjects other than flows over one network, once a crate with studies registers
//!   them.
//!
//! Nothing here reads a clock, draws ambient randomness, or uses a file or a thread: the crate
//! `runner` does.
//!
//! ```
//! use lab::engine::run_all;
//! use lab::plan::{Plan, Size};
//!
//! let text = r#"
//! title = "A game"
//! [run]
//! duration = "60s"
//! seeds = 3
//! [network]
//! kind = "pair"
//! rtt = "100ms"
//! loss = "5%"
//! [[flow]]
//! name = "game"
//! transport = "sctp"
//! policy = "rfc"
//! workload = { arrivals = "250ms", size = 100 }
//! [sweep]
//! "flow.game.policy" = ["rfc", "latency"]
//! [measure]
//! latency = {}
//! "#;
//! let plan = Plan::parse(text, Size::Normal, None)?;
//! let finished = run_all(&plan)?;
//! let mean = |cell| {
//!     let series = lab::statistics::series(&finished, cell);
//!     series.iter().find(|one| one.name() == "latency.mean").map(|one| one.mean())
//! };
//! let [rfc, latency] = [mean(0), mean(1)];
//! assert!(rfc > latency, "{rfc:?} {latency:?} ms");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod advisor;
pub mod cell_world;
pub mod compare;
pub mod engine;
pub mod experiments;
pub mod fate;
pub mod fit;
pub mod flow;
mod hash;
pub mod irtt;
pub mod measure;
pub mod observed;
pub mod peers;
pub mod plan;
pub mod policy_text;
pub mod probe;
pub mod record;
pub mod replay;
pub mod statistics;
pub mod stored;
pub mod study;
pub mod text;
pub mod toml_text;
pub mod verdict;
pub mod watch;
pub mod workload;
pub mod world;

pub use fate::FlowFate;
pub use probe::{Probe, ProbeError};
pub use workload::{
    Application, Arrivals, ArrivalsText, DueMessage, Limit, MessageSource, Recording,
    RecordingError, ReplayText, Sizes, Workload, WorkloadError, WorkloadPlan,
};
