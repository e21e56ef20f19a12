//! Two recovery policies side by side over one virtual network, steered while they run: what the
//! live page shows.
//!
//! - [`choices`]: the applications, networks and policies of the page.
//! - [`Setting`]: what runs, and [`Change`]: what a visitor did to it; both together give the same
//!   run on any machine.
//! - [`Show`]: the run of both sides, its lines, marks and numbers as a [`Frame`].
//! - [`why`]: the field of the policy that made a sender or a receiver send, and its source.
//! - [`Traffic`]: what a packet capture carried, to run in place of an application.
//!
//! The network, the flows and the measures are those of `lab`. Nothing here reads a clock or draws
//! ambient randomness.
//!
//! ```
//! let setting = live::Setting {
//!     application: "game".into(),
//!     network: "continent".into(),
//!     policies: ["sctp:rfc".into(), "sctp:latency".into()],
//!     flows: 4,
//!     flow: 0,
//!     seed: 1,
//!     changes: Vec::new(),
//! };
//! let mut show = live::Show::new(setting, None)?;
//! show.advance(20_000.0)?;
//! assert_eq!(show.now_ms(), 20_000.0);
//! # Ok::<(), live::SettingError>(())
//! ```

mod book;
mod change;
pub mod choices;
mod fates;
mod frame;
mod gate;
mod golden;
mod setting;
mod show;
mod side;
mod traffic;
pub mod why;

pub use change::{Change, ChangeError, Side, What};
pub use frame::{Frame, Line, Mark, Numbers, SideFrame, Told};
pub use golden::golden;
pub use setting::{Setting, SettingError};
pub use show::Show;
pub use traffic::{Traffic, TrafficError};
