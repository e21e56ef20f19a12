//! What loss recovery did and why, for people and their tools: [`EventLine`], one line of JSON for each event, and
//! [`QlogWriter`], which writes qlog.
//!
//! Events come from the associations and connections of `sctp` and `tcp`, once their recording is on; the laboratory
//! writes those of its flows, an application those of its associations (the crate `thinstream`, feature `qlog`).

mod line;
mod writer;

pub use line::{EventLine, Step};
pub use writer::QlogWriter;
