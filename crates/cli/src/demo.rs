//! `thinstream demo`: arguments and printing.

use crate::failure::Failure;

/// The same thin stream over a lossy network under several recovery policies, side by side.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    overrides: crate::policy::Overrides,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let _ = &arguments.overrides;
    let _ = crate::policy::preset;
    Ok(())
}
