//! Runs the laboratory's plans with the means of a machine: threads, files, folders of results.
//! `lab` itself uses none of them, so that it also runs where there are none.
//!
//! - [`threads`]: the runs of a plan on several threads.
//! - [`plan_file`]: a plan and the files that it names, read from disk.
//! - [`fit`]: the search for settings of a plan's unknowns.
//! - [`archive`]: folders of results.
//!
//! ```
//! use lab::plan::{Plan, Size};
//!
//! let text = r#"
//! title = "A game"
//! [run]
//! duration = "20s"
//! seeds = 4
//! [network]
//! kind = "pair"
//! rtt = "100ms"
//! loss = "5%"
//! [[flow]]
//! name = "game"
//! transport = "sctp"
//! policy = "latency"
//! workload = { arrivals = "250ms", size = 100 }
//! [measure]
//! latency = {}
//! "#;
//! let plan = Plan::parse(text, Size::Normal, None)?;
//! // Any number of threads gives the same results.
//! let finished = runner::threads::run_all(&plan, 2)?;
//! assert_eq!(lab::engine::count(&finished), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod archive;
pub mod fit;
pub mod plan_file;
pub mod threads;
