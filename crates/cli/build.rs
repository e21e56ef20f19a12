//! Tells the program what it was built from: `THINSTREAM_COMMIT`, the commit, where git knows it,
//! and `THINSTREAM_BUILD`, a hash of the sources that results depend on, which is there without
//! git, too, and differs between two states of one commit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sources on which results depend, from the root.
const SOURCES: [&str; 9] = [
    "Cargo.lock",
    "crates/base/src",
    "crates/lab/src",
    "crates/netsim/src",
    "crates/recovery/src",
    "crates/sctp/src",
    "crates/studies/src",
    "crates/tcp/src",
    "crates/trace/src",
];

/// Sources among these that only show or judge results.
const SHOWS: [&str; 1] = ["crates/lab/src/verdict"];

fn main() {
    let own = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let Some(root) = own.ancestors().find(|folder| folder.join("crates/lab").is_dir()) else {
        println!("cargo::rustc-env=THINSTREAM_BUILD=unknown");
        return;
    };
    println!("cargo::rerun-if-env-changed=THINSTREAM_COMMIT");
    let mut files = BTreeSet::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
        collect(&root.join(source), &mut files);
    }
    files.retain(|file| {
        let shows = |part: &&str| file.with_extension("").starts_with(root.join(part));
        !SHOWS.iter().any(shows)
    });
    let hash = files.iter().fold(0xcbf2_9ce4_8422_2325, |hash, file| hash_file(hash, root, file));
    println!("cargo::rustc-env=THINSTREAM_BUILD={hash:016x}");
    if let Some(commit) = std::env::var("THINSTREAM_COMMIT").ok().or_else(|| commit(root)) {
        println!("cargo::rustc-env=THINSTREAM_COMMIT={commit}");
    }
}

fn collect(path: &Path, files: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(path) else {
        files.insert(path.to_owned());
        return;
    };
    entries.flatten().for_each(|entry| collect(&entry.path(), files));
}

/// FNV-1a over names and contents.
fn hash_file(hash: u64, root: &Path, file: &Path) -> u64 {
    let name = file.strip_prefix(root).unwrap_or(file).to_string_lossy().into_owned();
    let contents = std::fs::read(file).unwrap_or_default();
    let length = contents.len() as u64;
    let bytes = name.bytes().chain([0]).chain(contents).chain(length.to_le_bytes());
    bytes.fold(hash, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The commit; with `-dirty` if these sources are not those of the commit.
fn commit(root: &Path) -> Option<String> {
    let commit = git(root, &["rev-parse", "--short=12", "HEAD"])?;
    for file in ["HEAD", "index"] {
        if let Some(path) = git(root, &["rev-parse", "--git-path", file]) {
            println!("cargo::rerun-if-changed={}", root.join(path).display());
        }
    }
    let changes = git(root, &[&["status", "--porcelain", "--"][..], &SOURCES].concat())?;
    Some(if changes.is_empty() { commit } else { format!("{commit}-dirty") })
}

/// Output of git; `None` if there is no git, or no repository.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
