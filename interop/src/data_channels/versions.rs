//! Versions of peers, as the files that pin them say.

const GO_MODULES: &str = include_str!("../../peers/pion-webrtc/go.mod");
const CARGO_LOCK: &str = include_str!("../../peers/webrtc/Cargo.lock");
const NPM: &str = include_str!("../../peers/libdatachannel/package.json");
const PIP: &str = include_str!("../../peers/aiortc/requirements.txt");

/// The first text between two others.
fn between<'a>(text: &'a str, before: &str, after: char) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split(after).next().map(str::trim)
}

/// Version of pion in the module file; none if it is not pinned.
pub(super) fn go_module() -> Option<&'static str> {
    between(GO_MODULES, "pion/webrtc/v4 v", '\n')
}

/// Version of a crate in the peers' lock file.
pub(super) fn locked(name: &str) -> Option<&'static str> {
    between(CARGO_LOCK, &format!("name = \"{name}\"\nversion = \""), '"')
}

/// Version of aiortc in the requirements; none if it is not pinned.
pub(super) fn requirement() -> Option<&'static str> {
    between(PIP, "aiortc==", '\n')
}

/// Version of libdatachannel's binding for Node in its package; none if it is not pinned.
pub(super) fn npm_package() -> Option<&'static str> {
    between(NPM, "\"node-datachannel\": \"", '"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_peers_are_pinned() {
        for version in
            [go_module(), locked("str0m"), locked("webrtc"), requirement(), npm_package()]
        {
            let version = version.unwrap();
            assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{version}");
        }
        assert_eq!(locked("no such crate"), None);
    }
}
