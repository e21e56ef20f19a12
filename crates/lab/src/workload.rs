//! Message sources: when the application of a flow sends messages, and how large they are.
//!
//! A workload is driven like a protocol machine: [`Workload::poll_timeout`] returns when the next
//! message is due, [`Workload::poll_message`] returns it from that time on. A message keeps the
//! time at which it was *due*, however late the driver asks for it, so that latency includes any
//! wait before the send call (no "coordinated omission").

mod application;
mod arrivals;
mod captured;
mod drawn;
mod fit;
mod images;
mod message;
mod recorded;
mod sizes;
mod source;
#[cfg(test)]
mod tests;

pub use application::{APPLICATIONS, Application, ApplicationRow};
pub use arrivals::Arrivals;
pub use captured::{recording, recording_of_file};
pub use drawn::{Limit, Workload, WorkloadError, WorkloadPlan};
pub use fit::{Fit, Percentiles};
pub use images::Images;
pub use message::DueMessage;
pub use recorded::{
    ArrivalsText, MOST_MESSAGES, RecordedStream, Recording, RecordingError, ReplayText,
};
pub use sizes::Sizes;
pub use source::MessageSource;
