//! Builds the peers' programs, in C with the system's compiler, in Go and in Rust, once per change
//! of their sources.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};

use crate::missing::{self, Missing};

/// The folder with the peers' sources.
pub fn sources() -> PathBuf {
    interop().join("peers")
}

/// The folder of the tests against real peers.
fn interop() -> PathBuf {
    let mut folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    folder.pop();
    folder
}

/// Compiles `names` of the peers' folder to `output` in the build folder, unless it is there and
/// newer than every source and header. `flags` stand at the end, where libraries belong.
///
/// # Errors
/// Where a tool is missing, with its Debian package, or the sources do not build, with what the
/// tool said.
pub fn compile(names: &[&str], output: &str, flags: &[&str]) -> Result<PathBuf> {
    built(&sources(), output, |aside| {
        let mut gcc = Command::new(compiler()?);
        gcc.args(["-O2", "-Wall", "-Wextra", "-o"]).arg(aside);
        gcc.args(names.iter().map(|name| sources().join(name))).args(flags);
        Ok(gcc)
    })
}

/// Builds the Go program in `folder` of the peers' folder to `output` in the build folder,
/// likewise.
///
/// # Errors
/// Where a tool is missing, with its Debian package, or the sources do not build, with what the
/// tool said.
pub fn go(folder: &str, output: &str) -> Result<PathBuf> {
    let folder = sources().join(folder);
    built(&folder, output, |aside| {
        let mut go = Command::new(missing::program("go", "golang-go")?);
        // Toolchains are installed by people, not by this build.
        go.env("GOTOOLCHAIN", "local").current_dir(&folder);
        go.args(["build", "-mod=readonly", "-o"]).arg(aside).arg(".");
        Ok(go)
    })
}

/// Builds the program `name` of the Rust workspace in `folder` of the peers' folder; cargo knows
/// what has changed.
///
/// # Errors
/// Where a tool is missing, with its Debian package, or the sources do not build, with what the
/// tool said.
pub fn cargo(folder: &str, name: &str) -> Result<PathBuf> {
    let _one = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let target = build_folder()?.join(folder);
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(program);
    cargo.args(["build", "--release", "--locked", "--bin", name, "--target-dir"]).arg(&target);
    let run = cargo.current_dir(sources().join(folder)).output();
    let run = run.with_context(|| format!("cannot build {name}"))?;
    ensure!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr).trim());
    Ok(target.join("release").join(name))
}

/// Python with the packages that `folder` of the peers' folder requires, installed in the build
/// folder.
///
/// # Errors
/// Where a tool is missing, with its Debian package, or the sources do not build, with what the
/// tool said.
pub fn python(folder: &str) -> Result<PathBuf> {
    let program = missing::program("python3", "python3-venv")?;
    let sources = sources().join(folder);
    let place = build_folder()?.join(format!("{folder}-python"));
    // The marker is made last: what is half installed is installed again.
    let marker = built(&sources, &format!("{folder}-python.done"), |aside| {
        let mut shell = Command::new("sh");
        shell.args([
            "-ec",
            "\"$0\" -m venv --clear \"$1\" && \"$1/bin/pip\" install -q -r \"$2\" && touch \"$3\"",
        ]);
        shell.arg(&program).arg(&place).arg(sources.join("requirements.txt")).arg(aside);
        Ok(shell)
    });
    marker.map(|_| place.join("bin/python3"))
}

/// The folder in the build folder with what stands in `folder` of the peers' folder, and the
/// packages of its lock file.
///
/// # Errors
/// Where a tool is missing, with its Debian package, or the sources do not build, with what the
/// tool said.
pub fn node(folder: &str) -> Result<PathBuf> {
    let npm = missing::program("npm", "npm")?;
    let sources = sources().join(folder);
    let place = build_folder()?.join(format!("{folder}-node"));
    let marker = built(&sources, &format!("{folder}-node.done"), |aside| {
        let mut shell = Command::new("sh");
        shell.args([
            "-ec",
            "mkdir -p \"$1\" && cp \"$2\"/* \"$1\" && cd \"$1\" && \"$0\" ci --silent && touch \"$3\"",
        ]);
        shell.arg(&npm).arg(&place).arg(&sources).arg(aside);
        Ok(shell)
    });
    marker.map(|_| place)
}

/// The folder in which peers are built.
fn build_folder() -> Result<PathBuf> {
    let folder = interop().join("build");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// One build at a time: those of one process would do the same work, and write the same caches.
static BUILDING: Mutex<()> = Mutex::new(());

/// `output` in the build folder, made again by the command that `make` gives where `sources` are
/// newer.
fn built(
    sources: &Path,
    output: &str,
    make: impl FnOnce(&Path) -> Result<Command>,
) -> Result<PathBuf> {
    let _one = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = build_folder()?;
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
///
/// # Errors
/// Where there is none, with its Debian package.
pub fn compiler() -> Result<PathBuf, Missing> {
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
