//! Results of plans as a self-contained page, as Markdown and as pictures. All of them show the
//! same [`document::Document`].
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
//! latency = { distribution = true }
//! "#;
//! let plan = Plan::parse(text, Size::Normal, None)?;
//! let finished = lab::engine::run_all(&plan)?;
//! let drawn = report::figures::figures(&plan, &finished, "game");
//! assert!(drawn.problems.is_empty());
//! let picture = report::svg::to_svg(&drawn.figures[0]);
//! assert!(picture.contains("<svg") && picture.contains("latency"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod document;
pub mod figures;
pub mod markdown;
mod numbers;
mod scale;
pub mod section;
pub mod svg;
pub mod tally;

pub use numbers::{four_digits, grouped, short};
