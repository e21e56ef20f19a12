//! Builds the peers' programs, in C with the system's compiler and in Go, once per change of their sources.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};

use crate::missing::{self, Missing};

/// The folder with the peers' sources.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// Compiles `names` of the peers' folder to `output` in the build folder, unless it is there and newer than
/// every source and header. `flags` stand at the end, where libraries belong.
pub(crate) fn compile(names: &[&str], output: &str, flags: &[&str]) -> Result<PathBuf> {
    built(&sources(), output, |aside| {
        let mut gcc = Command::new(compiler()?);
        gcc.args(["-O2", "-Wall", "-Wextra", "-o"]).arg(aside);
        gcc.args(names.iter().map(|name| sources().join(name))).args(flags);
        Ok(gcc)
    })
}

/// Builds the Go program in `folder` of the peers' folder to `output` in the build folder, likewise.
pub(crate) fn go(folder: &str, output: &str) -> Result<PathBuf> {
    let folder = sources().join(folder);
    built(&folder, output, |aside| {
        let mut go = Command::new(missing::program("go", "golang-go")?);
        // Toolchains are installed by people, not by this build.
        go.env("GOTOOLCHAIN", "local").current_dir(&folder);
        go.args(["build", "-mod=readonly", "-o"]).arg(aside).arg(".");
        Ok(go)
    })
}

/// One build at a time: those of one process would do the same work, and write the same caches.
static BUILDING: Mutex<()> = Mutex::new(());

/// `output` in the build folder, made anew by the command that `make` gives where `sources` are newer.
fn built(
    sources: &Path,
    output: &str,
    make: impl FnOnce(&Path) -> Result<Command>,
) -> Result<PathBuf> {
    let _one = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("build");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let target = folder.join(output);
    if is_fresh(sources, &target)? {
        return Ok(target);
    }
    // Built aside and renamed, so that tests that build at the same time never run half a program.
    let aside = tempfile::Builder::new().prefix(output).tempfile_in(&folder)?.into_temp_path();
    let run = make(&aside)?.output().with_context(|| format!("cannot build {output}"))?;
    ensure!(run.status.success(), "{output}: {}", String::from_utf8_lossy(&run.stderr).trim());
    aside.persist(&target)?;
    Ok(target)
}

/// The C compiler.
pub(crate) fn compiler() -> Result<PathBuf, Missing> {
    missing::program("gcc", "gcc")
}

fn is_fresh(sources: &Path, target: &Path) -> Result<bool> {
    let Ok(built) = target.metadata().and_then(|m| m.modified()) else { return Ok(false) };
    for entry in std::fs::read_dir(sources)? {
        if entry?.metadata()?.modified()? >= built {
            return Ok(false);
        }
    }
    Ok(true)
}
