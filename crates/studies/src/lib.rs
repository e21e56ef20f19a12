//! The worlds of papers that are no simulation of flows over a network, or that are more than one:
//! pure functions of parameters and a seed, behind [`lab::study::Study`].
//!
//! - [`rto_wlan`]: a station walks out of its cell; what the gains of the retransmission timeout
//!   make of its round-trip times, and of a transfer over two paths (Fallon et al., 2009).
//! - [`tank`]: how far from its true place a tank is seen when latency varies (Petlund et al.,
//!   2008).
//! - [`pictures`]: eight progressive pictures over a slow line, in one stream or eight (Caro et
//!   al., 2001).
//! - [`partial_order`]: the gain of partial order over streams, after the same paper.
//! - [`schedulers`]: a thin stream beside a bulk transfer over one association, under each stream
//!   scheduler.
//!
//! [`register`] makes the studies known to plans.
//!
//! ```
//! use lab::plan::{Plan, Size};
//!
//! studies::register();
//! let all = lab::experiments::all();
//! let section5 = all.iter().find(|one| one.name == "rto-wlan/section5").expect("a plan");
//! let plan = Plan::parse(section5.text, Size::Small, None)?;
//! // One of its runs; `runner` does all of them on several threads.
//! let results = lab::engine::run_cell(&plan, lab::engine::jobs(&plan)[0])?;
//! assert!(!results.rows.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod form;
pub mod partial_order;
pub mod pictures;
pub mod rto_wlan;
pub mod schedulers;
pub mod tank;

use lab::study::Described;

/// The studies that plans can name.
pub const ALL: [Described; 5] = [
    Described::of::<rto_wlan::Parameters>(rto_wlan::NAME),
    Described::of::<rto_wlan::transfer::Parameters>(rto_wlan::transfer::NAME),
    Described::of::<tank::Parameters>(tank::NAME),
    Described::of::<pictures::Parameters>(pictures::NAME),
    Described::of::<schedulers::Parameters>(schedulers::NAME),
];

/// Makes all studies of this crate known to the laboratory; to be called before a plan is read.
pub fn register() {
    lab::study::register(&ALL);
}

/// Reads and runs a study.
#[cfg(test)]
fn run(
    name: &str,
    parameters: serde_json::Value,
    seed: u64,
) -> Result<results::Results, lab::study::StudyError> {
    register();
    let parameters = toml::Table::try_from(parameters).unwrap();
    lab::study::run(&*lab::study::read(name, parameters)?, seed)
}
