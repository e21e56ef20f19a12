//! Puts the live page into the command, if `THINSTREAM_LIVE_PAGE` names it: `make live` builds
//! both. It changes with every commit of the laboratory, so that it is not kept among the sources.

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-env-changed=THINSTREAM_LIVE_PAGE");
    println!("cargo::rerun-if-changed=build.rs");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let page = match std::env::var_os("THINSTREAM_LIVE_PAGE") {
        None => Vec::new(),
        Some(path) => {
            let path = PathBuf::from(path);
            println!("cargo::rerun-if-changed={}", path.display());
            match std::fs::read(&path) {
                Ok(page) => page,
                Err(error) => {
                    println!("cargo::error=THINSTREAM_LIVE_PAGE={}: {error}", path.display());
                    return;
                }
            }
        }
    };
    if let Err(error) = std::fs::write(folder.join("live.html"), page) {
        println!("cargo::error={}: {error}", folder.display());
    }
}
