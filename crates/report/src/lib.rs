//! Results of plans as a self-contained page, as Markdown and as pictures. All of them show the same
//! [`document::Document`].

pub mod document;
pub mod figures;
pub mod markdown;
mod numbers;
mod scale;
pub mod section;
pub mod svg;
pub mod tally;

pub use numbers::{four_digits, grouped, short};
