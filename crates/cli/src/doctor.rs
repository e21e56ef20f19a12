//! `thinstream doctor`: arguments and printing.

use apps::doctor::{Place, examine};

use crate::failure::Failure;
use crate::output;
use crate::terminal::Size;

/// Say what this machine can do for thin streams, what follows from it, and what its kernel can do
/// for its own TCP.
///
/// Looks at sockets, rights, buffers, timers and interfaces, and changes nothing. What the kernel's
/// options bring is measured in virtual time, with the commands that set them beside it.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Skip the measurement, which takes some seconds of processor time.
    #[arg(long)]
    quick: bool,
    /// Print everything as one JSON object (docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let diagnosis = examine(&Place::here(), !arguments.quick).map_err(Failure::check)?;
    match arguments.json {
        true => output::print(&serde_json::to_string_pretty(&diagnosis).unwrap_or_default()),
        false => output::print(&diagnosis.text(Size::of_standard_output().columns)),
    }
}
