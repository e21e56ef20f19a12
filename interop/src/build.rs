//! Builds the peers' C programs with the system's compiler, once per change of their sources.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::missing::{self, Missing};

/// The folder with the peers' sources.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// Compiles `source` of the peers' folder to `output` in the build folder, unless it is there and newer than
/// every source and header. `flags` stand at the end, where libraries belong.
pub(crate) fn compile(source: &str, output: &str, flags: &[&str]) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("build");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let target = folder.join(output);
    if is_fresh(&target)? {
        return Ok(target);
    }
    // Compiled aside and renamed, so that tests that build at the same time never run half a program.
    let aside = tempfile::Builder::new().prefix(output).tempfile_in(&folder)?.into_temp_path();
    let mut gcc = Command::new(compiler()?);
    gcc.args(["-O2", "-Wall", "-Wextra", "-o"]).arg(&aside).arg(sources().join(source)).args(flags);
    let run = gcc.output().context("cannot run gcc")?;
    ensure!(run.status.success(), "gcc {source}: {}", String::from_utf8_lossy(&run.stderr));
    aside.persist(&target)?;
    Ok(target)
}

/// The C compiler.
pub(crate) fn compiler() -> Result<PathBuf, Missing> {
    missing::program("gcc", "gcc")
}

fn is_fresh(target: &Path) -> Result<bool> {
    let Ok(built) = target.metadata().and_then(|m| m.modified()) else { return Ok(false) };
    for entry in std::fs::read_dir(sources())? {
        if entry?.metadata()?.modified()? >= built {
            return Ok(false);
        }
    }
    Ok(true)
}
