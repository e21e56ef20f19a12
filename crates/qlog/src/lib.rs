//! Events of loss recovery and their reasons, for people and their tools: [`EventLine`], one line
//! of JSON for each event, and [`QlogWriter`], which writes qlog.
//!
//! Events come from the associations and connections of `sctp` and `tcp`, once their recording is
//! on; the laboratory writes those of its flows, an application those of its associations (the
//! crate `thinstream`, feature `qlog`).
//!
//! ```
//! use base::{Duration, Instant};
//! use recovery::{Cause, Event};
//!
//! let resent = Event::Resent { unit: 3, cause: Cause::Timeout, order: 1 };
//! let mut log = qlog::QlogWriter::new(Vec::new(), "a client", 0)?;
//! log.write(&(Instant::ZERO + Duration::from_millis(300), resent))?;
//! let text = String::from_utf8(log.finish()?).expect("JSON");
//! assert!(text.contains("a client") && text.lines().count() == 2, "{text}");
//! # Ok::<(), std::io::Error>(())
//! ```

mod line;
mod writer;

pub use line::{EventLine, Step};
pub use writer::QlogWriter;
