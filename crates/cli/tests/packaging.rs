//! Tests of the contents of `make release`: the Debian package, its units, the image, the list of
//! crates. The program in it is that of the tests; `ci/release --check` compares two whole
//! releases.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{Scratch, root};

const PROGRAM: &str = env!("CARGO_BIN_EXE_thinstream");
const UNITS: [&str; 2] = ["thinstream-serve.service", "thinstream-edge.service"];

/// Whether the machine has a program; says that the test is skipped where it has not.
fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        println!("SKIPPED packaging: no {program}");
    }
    found
}

/// Output of a program, which must succeed.
fn done<S: AsRef<OsStr>>(program: impl AsRef<OsStr>, arguments: &[S]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    // Ubuntu and Debian of today unpack all of these; the best of them takes half a minute for a
    // program with symbols.
    command.env("SOURCE_DATE_EPOCH", "1700000000").env("DEB_OPTIONS", "-Zgzip -z1");
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

fn packed(folder: &Path) -> PathBuf {
    let script = root().join("packaging/deb");
    let folder = folder.display().to_string();
    let printed = done(script, &[PROGRAM, "amd64", "0.0.1", PROGRAM, &folder]);
    PathBuf::from(printed.trim_end())
}

/// All files below a folder, from there.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(one) = waiting.pop() {
        for entry in fs::read_dir(&one).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() && !path.is_symlink() {
                true => waiting.push(path),
                false => found.push(path.strip_prefix(folder).unwrap().display().to_string()),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_debian_package_is_the_same_twice_and_leaves_nothing_behind() {
    if !has("dpkg-deb") || !has("dpkg") {
        return;
    }
    let scratch = Scratch::new();
    let package = packed(&scratch.folder("one"));
    let again = packed(&scratch.folder("two"));
    assert!(fs::read(&package).unwrap() == fs::read(again).unwrap(), "two packages differ");

    let system = scratch.folder("system");
    let admin = scratch.folder("system/var/lib/dpkg");
    fs::write(admin.join("status"), "").unwrap();
    fs::create_dir_all(admin.join("updates")).unwrap();
    let dpkg = |arguments: &[&str]| {
        let at = format!("--root={}", system.display());
        // Its scripts obey DPKG_ROOT, so that they need no shell within.
        let how = [
            "--force-script-chrootless",
            "--force-not-root",
            "--force-architecture",
            "--log=/dev/null",
        ];
        done("dpkg", &[&[&*at][..], &how, arguments].concat())
    };
    dpkg(&["--install", &package.display().to_string()]);
    let installed = files(&system.join("usr"));
    for wanted in [
        "bin/thinstream",
        "lib/systemd/system/thinstream-serve.service",
        "lib/systemd/system/thinstream-edge.service",
        "share/bash-completion/completions/thinstream",
        "share/doc/thinstream/changelog.gz",
        "share/doc/thinstream/copyright",
        "share/doc/thinstream/examples/edge.toml",
        "share/fish/vendor_completions.d/thinstream.fish",
        "share/man/man1/thinstream-edge.1.gz",
        "share/man/man1/thinstream.1.gz",
        "share/zsh/vendor-completions/_thinstream",
    ] {
        assert!(installed.iter().any(|one| one == wanted), "{wanted} in {installed:?}");
    }
    assert!(done(system.join("usr/bin/thinstream"), &["--version"]).starts_with("thinstream "));
    units_are_sound(&system);

    dpkg(&["--purge", "thinstream"]);
    assert!(!system.join("usr").exists(), "{:?} is left", files(&system));
}

/// The units name what is installed, and systemd has nothing to say against them.
fn units_are_sound(system: &Path) {
    for unit in UNITS {
        let text = fs::read_to_string(system.join("usr/lib/systemd/system").join(unit)).unwrap();
        let start = text.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
        let program = start.split(' ').next().unwrap().trim_start_matches('/');
        assert!(system.join(program).is_file(), "{unit} starts {program}");
        let page = text.lines().find_map(|line| line.strip_prefix("Documentation=man:")).unwrap();
        let page = page.replace("(1)", ".1.gz");
        assert!(system.join("usr/share/man/man1").join(&page).is_file(), "{unit} names {page}");
    }
}

#[test]
fn results_are_deposited_the_same_twice_whole_and_citable() {
    if !has("python3") || !has("tar") {
        return;
    }
    let scratch = Scratch::new();
    let at = |name: &str| scratch.word(name);
    let results = at("results");
    done(PROGRAM, &["lab", "reproduce", "rto-wlan/section5", "--small", "--out", &results]);
    let script = root().join("packaging/deposit");
    let archives = [at("one/thinstream-results.tar.gz"), at("two/thinstream-results.tar.gz")];
    for archive in &archives {
        done(&script, &[PROGRAM, &results, archive]);
    }
    let [one, two] = archives.each_ref().map(|archive| fs::read(archive).unwrap());
    assert!(one == two, "two archives differ");

    done("tar", &["-xzf", &archives[0], "-C", &at("")]);
    let unpacked = scratch.path("thinstream-results");
    let held = files(&unpacked);
    for wanted in [
        "CITATION.cff",
        "LICENSE-MIT",
        "README.md",
        "SHA256SUMS",
        "report.html",
        "results/rto-wlan/section5/manifest.json",
        "results/rto-wlan/section5/rows.csv",
        "results/rto-wlan/section5/runs.journal",
        "tables.md",
    ] {
        assert!(held.iter().any(|one| one == wanted), "{wanted} in {held:?}");
    }
    let sums = fs::read_to_string(unpacked.join("SHA256SUMS")).unwrap();
    assert_eq!(sums.lines().count(), held.len() - 1);
    done(
        "sh",
        &["-c", &format!("cd {} && sha256sum --quiet --check SHA256SUMS", unpacked.display())],
    );
    let told = fs::read_to_string(unpacked.join("README.md")).unwrap();
    assert!(told.contains("thinstream lab reproduce rto-wlan/section5 --small"), "{told}");
    let again = at("again.md");
    let held = unpacked.join("results").display().to_string();
    done(PROGRAM, &["lab", "report", &held, "--out", &again]);
    let tables = fs::read_to_string(unpacked.join("tables.md")).unwrap();
    assert_eq!(fs::read_to_string(again).unwrap(), tables);
}

#[test]
fn the_citation_is_of_this_version() {
    let citation = fs::read_to_string(root().join("CITATION.cff")).unwrap();
    let changes = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(citation.contains(&format!("\nversion: {version}\n")), "CITATION.cff is of another");
    let released =
        changes.lines().find_map(|line| line.strip_prefix(&format!("## [{version}] - ")));
    let date = format!("\ndate-released: {}\n", released.unwrap());
    assert!(citation.contains(&date), "CITATION.cff lacks {date}");
}

/// Arguments of an instruction of the container file, which must occur once.
fn instruction<'a>(file: &'a str, name: &str) -> &'a str {
    let mut found = file.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let first = found.next().unwrap_or_else(|| panic!("no {name} in {file}"));
    assert!(found.next().is_none(), "{name} is there twice");
    first
}

#[test]
fn the_container_file_holds_one_program_that_is_not_root() {
    let file = fs::read_to_string(root().join("packaging/Containerfile")).unwrap();
    assert_eq!(instruction(&file, "FROM"), "scratch");
    assert_eq!(instruction(&file, "COPY"), "${BINARY} /thinstream");
    assert_eq!(instruction(&file, "ENTRYPOINT"), "[\"/thinstream\"]");
    assert_eq!(instruction(&file, "EXPOSE"), "9899/udp");
    let user: Vec<u32> =
        instruction(&file, "USER").split(':').map(|id| id.parse().unwrap()).collect();
    assert!(user.len() == 2 && !user.contains(&0), "{user:?}");
    let command: Vec<String> = serde_json::from_str(instruction(&file, "CMD")).unwrap();
    assert!(done(PROGRAM, &[&command[..], &["--help".to_owned()]].concat()).contains("Usage:"));
    // The file tells which binary of this version it is built with; ci/release gives it this name.
    let binary = format!("BINARY=thinstream-{}-x86_64-linux ", env!("CARGO_PKG_VERSION"));
    assert!(file.contains(&binary), "no {binary} in {file}");

    let is_root = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0;
    if !is_root {
        println!("SKIPPED image: only root can make it in a root of its own");
        return;
    }
    if !has("buildah") {
        return;
    }
    let scratch = Scratch::new();
    fs::copy(PROGRAM, scratch.folder("context").join("thinstream-test")).unwrap();
    let (images, state) = (scratch.folder("images"), scratch.folder("state"));
    let buildah = |arguments: &[&str]| {
        let (images, state) = (images.display().to_string(), state.display().to_string());
        let place = ["--storage-driver", "vfs", "--root", &images, "--runroot", &state];
        done("buildah", &[&place[..], arguments].concat())
    };
    let context = scratch.folder("context").display().to_string();
    let argument = "BINARY=thinstream-test";
    let file = root().join("packaging/Containerfile").display().to_string();
    let build = ["bud", "--quiet", "--isolation", "chroot", "--build-arg", argument, "-f", &file];
    buildah(&[&build[..], &["-t", "thinstream", &context]].concat());
    let told = buildah(&["inspect", "--type", "image", "thinstream"]);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let image = &told["OCIv1"];
    assert_eq!(image["config"]["Cmd"], serde_json::json!(command));
    assert_eq!(image["rootfs"]["diff_ids"].as_array().unwrap().len(), 1, "{image}");
}

#[test]
fn units_have_no_more_rights_than_they_need() {
    if !has("systemd-analyze") {
        return;
    }
    for unit in UNITS {
        let path = root().join("packaging").join(unit).display().to_string();
        // 2.5 of 10, in tenths; the command fails beyond it, and warns of lines that systemd does
        // not know.
        let command = ["security", "--offline=true", "--threshold=25", "--no-pager", &path];
        let output = Command::new("systemd-analyze").args(command).output().unwrap();
        let (printed, told) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{unit}: {}", printed.lines().last().unwrap_or_default());
        assert!(!told.contains("Unknown") && !told.contains("Failed to parse"), "{unit}: {told}");
    }
}

#[test]
fn the_bill_of_materials_names_each_crate_and_package_with_its_licence() {
    if !has("python3") {
        return;
    }
    let script = root().join("packaging/bill-of-materials");
    let arguments = ["0.0.1", "x86_64-unknown-linux-gnu"];
    let text = done(&script, &arguments);
    assert_eq!(text, done(&script, &arguments), "two of them differ");
    let bill: serde_json::Value = serde_json::from_str(&text).unwrap();
    let components = bill["components"].as_array().unwrap();
    let names: Vec<&str> = components.iter().map(|one| one["name"].as_str().unwrap()).collect();
    // Of the command, the live page, the Python package, and the pages.
    for name in ["tokio", "thinstream-sctp", "wasm-bindgen", "pyo3", "echarts", "zrender"] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    // Tests alone need these.
    assert!(!names.contains(&"interop") && !names.contains(&"proptest"), "{names:?}");
    assert!(!names.contains(&"vitest"), "{names:?}");
    for one in components {
        assert!(one["licenses"][0]["expression"].is_string(), "{one}");
        let name = one["name"].as_str().unwrap();
        let room = name.strip_prefix("thinstream-").unwrap_or(name);
        let is_ours =
            ["crates", "bindings"].iter().any(|part| root().join(part).join(room).is_dir());
        assert!(is_ours || one["hashes"][0]["content"].is_string(), "{one}");
    }
}
