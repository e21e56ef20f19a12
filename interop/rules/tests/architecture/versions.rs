//! Manifests: requirements on crates of others, compared with the versions in `Cargo.lock`, and
//! what a registry shows of a crate.

use serde_json::Value;

/// Requirements whose least version is not locked. An application may resolve to the least version,
/// with which no test runs then.
pub(crate) fn untested(metadata: &Value) -> Vec<String> {
    let list = |of: &Value, key: &str| of[key].as_array().cloned().unwrap_or_default();
    let text = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
    let (packages, members) = (list(metadata, "packages"), list(metadata, "workspace_members"));
    // `1.2.1+spec-1.1.0` satisfies `1.2.1`: what follows the plus is no part of the order.
    let bare = |version: String| version.split('+').next().unwrap_or_default().to_owned();
    let mut found = Vec::new();
    for package in packages.iter().filter(|package| members.contains(&package["id"])) {
        let foreign = list(package, "dependencies").into_iter().filter(|d| d["source"].is_string());
        for dependency in foreign {
            let (name, required) = (text(&dependency, "name"), text(&dependency, "req"));
            let locked = packages.iter().filter(|package| text(package, "name") == name);
            let locked: Vec<String> =
                locked.map(|package| bare(text(package, "version"))).collect();
            let is_least = |version: &String| version == required.trim_start_matches(['^', '=']);
            // An optional dependency that no default feature asks for is not among the packages.
            if !locked.is_empty() && !locked.iter().any(is_least) {
                let own = text(package, "name");
                found.push(format!("{own} asks for {name} {required}, locked: {locked:?}"));
            }
        }
    }
    found
}

/// Keys that a registry shows, and which the manifest of a crate that can be published lacks.
pub(crate) fn not_shown(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let published =
        packages.filter(|package| package["source"].is_null() && package["publish"].is_null());
    let lacks = |package: &Value| {
        let wanted = ["description", "readme", "license", "repository"];
        let missing =
            wanted.into_iter().filter(|key| package[*key].as_str().is_none_or(str::is_empty));
        missing.map(|key| format!("{} has no {key}", package["name"])).collect::<Vec<_>>()
    };
    published.flat_map(lacks).collect()
}
