//! Rows of what the meters counted.

mod flows;
mod group;
mod streams;

pub use flows::flow_rows;
pub use group::group_rows;
