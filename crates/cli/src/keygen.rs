//! `thinstream keygen`: arguments and printing.

use std::path::{Path, PathBuf};

use thinstream::Identity;

use crate::failure::Failure;
use crate::output;

/// Make a private key, and print the fingerprint by which peers know it.
///
/// The key is in a new file that its owner alone may read; a file that is there already is never
/// replaced. "thinstream serve" makes its key by itself at its first start. A client needs a key
/// where the server has a list of those that it accepts: a name and the fingerprint, a line each.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File of the key; by default that of "thinstream serve".
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Make no key: print the fingerprint of the key in this file.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    fingerprint: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let identity = match &arguments.fingerprint {
        Some(file) => apps::read_key(file).map_err(Failure::usage)?,
        None => make(arguments.file.as_deref())?,
    };
    output::print(&identity.fingerprint().to_string())
}

fn make(file: Option<&Path>) -> Result<Identity, Failure> {
    let file = file.map_or_else(apps::usual_key, |file| Ok(file.to_owned()));
    let file = file.map_err(Failure::usage)?;
    let identity = apps::make_key(&file).map_err(Failure::usage)?;
    output::note(&format!("private key: {}", file.display()));
    Ok(identity)
}
