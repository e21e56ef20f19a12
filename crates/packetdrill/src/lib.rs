//! Conformance: a parser and a runner for scripts of the packetdrill language, in virtual time.
//!
//! A script plays one side of a conversation by packets, and the application of the other side by
//! calls; it says which packets the stack under test must send, and when. [`parse`] parses a
//! script, [`run`] runs it against a stack and returns [`Verdict::Pass`], [`Verdict::Fail`] with
//! the first divergence, or [`Verdict::Skip`] with the reason, and [`Suite`] does so for files and
//! folders.
//!
//! Nothing waits: time is a number that jumps to the next event of the script or deadline of the
//! stack.
//!
//! ```
//! use packetdrill::{RunConfig, Verdict};
//!
//! let script = packetdrill::parse(
//!     "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
//!      +0 bind(3, ..., ...) = 0
//!      +0 listen(3, 1) = 0
//!      +0 < S 0:0(0) win 65535 <mss 1000>
//!      +0 > S. 0:0(0) ack 1 win 65535 <mss 1460>",
//! )?;
//! assert_eq!(packetdrill::run(&script, &RunConfig::default()).verdict, Verdict::Pass);
//! # Ok::<(), packetdrill::ParseError>(())
//! ```

mod assertion;
mod config;
mod element;
mod error;
mod expression;
mod leniency;
mod lexer;
mod mapping;
mod mutation;
mod options;
mod parser;
mod runner;
pub mod script;
mod sockets;
mod stop;
mod suite;
mod sysctl;
mod text;
mod verdict;
mod vocabulary;

pub use config::{RunConfig, StackConfig, TcpConfig};
pub use element::{Element, Kind};
pub use error::ParseError;
pub use expression::{Expression, Field};
pub use leniency::Leniency;
pub use mutation::{Mutant, mutants};
pub use parser::{parse, parse_with};
pub use runner::run;
pub use script::Script;
pub use suite::{MutationResults, ScriptResult, Suite, SuiteError, SuiteResults, Word};
pub use text::{Defines, conditions};
pub use verdict::{Divergence, Report, Verdict};

#[cfg(test)]
mod hostile_scripts;
#[cfg(test)]
mod own_scripts;
