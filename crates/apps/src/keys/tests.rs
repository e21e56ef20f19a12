#![cfg(unix)]
//! Keys and lists in a folder of the test's own.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// A folder of the test's own, gone at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let name = format!("thinstream-keys-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_key_is_made_once_for_its_owner_alone_and_read_again() {
    let scratch = Scratch::new("made");
    let path = scratch.path("state/thinstream/key.pem");
    let made = read_or_make_key(&path).unwrap();
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(read_or_make_key(&path).unwrap().fingerprint(), made.fingerprint());
    let again = make_key(&path).unwrap_err().to_string();
    assert!(again.contains("key.pem\" already") && again.contains("name another"), "{again}");
    assert_eq!(read_key(&path).unwrap().fingerprint(), made.fingerprint(), "it stays");
}

#[test]
fn a_key_that_others_may_read_is_refused_with_the_reason() {
    let scratch = Scratch::new("readable");
    let path = scratch.path("key.pem");
    make_key(&path).unwrap();
    for mode in [0o640, 0o604, 0o660, 0o644] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = read_or_make_key(&path).unwrap_err().to_string();
        assert!(error.contains(&format!("mode {mode:o}")) && error.contains("key.pem"), "{error}");
    }
}

#[test]
fn what_is_no_key_is_named() {
    let scratch = Scratch::new("wrong");
    let path = scratch.path("key.pem");
    fs::write(&path, "not a key").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let error = read_key(&path).unwrap_err().to_string();
    assert!(error.contains("key.pem") && error.contains("PKCS #8"), "{error}");
    let folder = read_key(&scratch.0).unwrap_err().to_string();
    assert!(folder.starts_with("cannot read") && folder.contains("directory"), "{folder}");
    let missing = read_key(&scratch.path("none.pem")).unwrap_err().to_string();
    assert!(missing.contains("none.pem"), "{missing}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_that_cannot_be_noted_on_a_full_disk_is_told_with_the_file() {
    let full = Path::new("/dev/full");
    let known = ServerKey::FirstUse { file: full.to_owned(), name: "a:1".to_owned() };
    let error = known.learn("a:1 SHA256:x").unwrap_err().to_string();
    assert!(error.contains("/dev/full"), "{error}");
}

#[test]
fn a_server_is_known_by_its_first_key_and_the_line_of_another_is_named() {
    let scratch = Scratch::new("known");
    let known = ServerKey::FirstUse { file: scratch.path("x/known_peers"), name: "b:9".to_owned() };
    let (first, second) = (new_identity().fingerprint(), new_identity().fingerprint());
    let line = known.trust().unwrap().judge(first).unwrap().expect("a line to add");
    fs::create_dir_all(scratch.path("x")).unwrap();
    fs::write(scratch.path("x/known_peers"), format!("# servers\na:9 {second}")).unwrap();
    known.learn(&line).unwrap();
    let text = fs::read_to_string(scratch.path("x/known_peers")).unwrap();
    assert_eq!(text, format!("# servers\na:9 {second}\nb:9 {first}\n"));
    assert_eq!(known.trust().unwrap().judge(first), Ok(None));
    let changed = known.trust().unwrap().judge(second).unwrap_err();
    assert_eq!(known.place_of(&changed), Some((scratch.path("x/known_peers"), 3)));
}

#[test]
fn lists_with_a_bad_line_or_without_any_peer_are_refused() {
    let scratch = Scratch::new("lists");
    let path = scratch.path("authorised");
    for (text, wanted) in [("", "no peer"), ("# none\n", "no peer"), ("a\n", "line 1")] {
        fs::write(&path, text).unwrap();
        let error = read_authorised(&path).unwrap_err().to_string();
        assert!(error.contains("authorised") && error.contains(wanted), "{error}");
    }
    let key = new_identity().fingerprint();
    fs::write(&path, format!("alice {key}\n")).unwrap();
    assert_eq!(read_authorised(&path).unwrap(), Trust::from(key));
}
