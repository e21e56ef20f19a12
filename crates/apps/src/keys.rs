//! Files of keys: this side's own, and those of its peers.
//!
//! A private key is in a file that its owner alone may read, made with `O_EXCL`, so that a key is
//! never replaced by mistake. Peers are in lists of one name and one fingerprint a line, as with
//! ssh.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use thinstream::{Authority, Fingerprint, Identity, PeerList, Refusal, Trust, new_identity};

use crate::files::FileError;

/// Bytes of a file of keys that are read at most.
const LONGEST: u64 = 1 << 20;

/// Reason for which a file of keys is of no use.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Users other than the owner may read the file.
    #[error(
        "others may read the key in \"{}\" (mode {mode:03o}): it is theirs, too; make a new one, or if it was never read, \"chmod 600\" it",
        path.display()
    )]
    Readable {
        /// Path of the key file.
        path: PathBuf,
        /// Permission bits of the file, of which others have some.
        mode: u32,
    },
    /// There is a file where a new key should be.
    #[error("there is a file \"{}\" already, and none is replaced by a key: name another file", .0.display())]
    Taken(PathBuf),
    /// The file's contents are not those of such a file.
    #[error("\"{}\": {wrong}", path.display())]
    Content {
        /// Path of the file whose contents are wrong.
        path: PathBuf,
        /// The fault, with its line.
        wrong: String,
    },
    /// No file was named, and there is no folder of the user's.
    #[error("no place for {what}: neither {wanted} is set; name a file with {option}")]
    NoHome {
        /// Purpose of the file, for the message.
        what: &'static str,
        /// The variables of the environment.
        wanted: &'static str,
        /// The option that names a file.
        option: &'static str,
    },
}

fn content(path: &Path, wrong: impl ToString) -> KeyError {
    KeyError::Content { path: path.to_owned(), wrong: wrong.to_string() }
}

/// The folder of this program's state: of a service, or of the user.
fn state_folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    // A service may have several folders, separated by colons.
    let service = set("STATE_DIRECTORY").and_then(|all| std::env::split_paths(&all).next());
    let user = set("XDG_STATE_HOME").map(PathBuf::from);
    let home = || set("HOME").map(|home| Path::new(&home).join(".local/state"));
    service.or_else(|| user.or_else(home).map(|folder| folder.join("thinstream")))
}

/// Path of a server's key unless a file is named: `key.pem` in `$STATE_DIRECTORY`, or in the user's
/// folder of state.
///
/// # Errors
/// [`KeyError`] if the user has no such folder.
pub fn usual_key() -> Result<PathBuf, KeyError> {
    let wanted = "STATE_DIRECTORY nor XDG_STATE_HOME nor HOME";
    let none = KeyError::NoHome { what: "the key", wanted, option: "--key" };
    state_folder().map(|folder| folder.join("key.pem")).ok_or(none)
}

/// Path of the list of peers that are known by their first use, unless a file is named.
///
/// # Errors
/// [`KeyError`] if the user has no such folder.
pub fn usual_known_peers() -> Result<PathBuf, KeyError> {
    let wanted = "STATE_DIRECTORY nor XDG_STATE_HOME nor HOME";
    let none = KeyError::NoHome {
        what: "the list of known peers",
        wanted,
        option: "--known-peers, or the server's key with --peer",
    };
    state_folder().map(|folder| folder.join("known_peers")).ok_or(none)
}

fn read_text(path: &Path, file: File) -> Result<String, KeyError> {
    let failed = |error| FileError::new("read", path, error);
    let mut text = String::new();
    let read = file.take(LONGEST).read_to_string(&mut text).map_err(failed)?;
    match read as u64 == LONGEST {
        true => Err(content(path, "longer than 1 MiB")),
        false => Ok(text),
    }
}

/// The key in a file, which its owner alone may be able to read.
///
/// # Errors
/// See [`KeyError`].
pub fn read_key(path: &Path) -> Result<Identity, KeyError> {
    let failed = |error| FileError::new("read", path, error);
    let file = File::open(path).map_err(failed)?;
    // Of the file that is open, not of one that may stand there by now.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = file.metadata().map_err(failed)?;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 && !metadata.is_dir() {
            return Err(KeyError::Readable { path: path.to_owned(), mode });
        }
    }
    Identity::from_pem(&read_text(path, file)?).map_err(|error| content(path, error))
}

/// Makes a new key in a new file, and the folder that it is in if that is not there.
///
/// # Errors
/// See [`KeyError`]; a file that is there already stays as it is.
pub fn make_key(path: &Path) -> Result<Identity, KeyError> {
    let failed = |error| FileError::new("write", path, error);
    let identity = new_identity();
    let text = identity.to_pem().map_err(|error| content(path, error))?;
    make_folder_of(path).map_err(failed)?;
    let mut file = match private(OpenOptions::new().write(true).create_new(true), path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(KeyError::Taken(path.to_owned()));
        }
        opened => opened.map_err(failed)?,
    };
    if let Err(error) = file.write_all(text.as_bytes()).and_then(|()| file.sync_all()) {
        // Half a key is none.
        let _ = fs::remove_file(path);
        return Err(failed(error).into());
    }
    Ok(identity)
}

/// The key in a file; a new one if the file is not there.
///
/// # Errors
/// See [`KeyError`].
pub fn read_or_make_key(path: &Path) -> Result<Identity, KeyError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => make_key(path),
        _ => read_key(path),
    }
}

fn make_folder_of(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(());
    };
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Opens a file that, if it is made, its owner alone may read and write.
fn private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.open(path)
}

/// Adds a line to a list, as a whole or not at all: with half a line the list would be refused from
/// then on.
fn add_line(mut list: File, line: &str) -> io::Result<()> {
    let before = list.metadata()?.len();
    // A last line without an end must not swallow the new one.
    let mut text = String::new();
    (&list).take(LONGEST).read_to_string(&mut text)?;
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let written = list.write_all(format!("{gap}{line}\n").as_bytes());
    if written.is_err() {
        let _ = list.set_len(before);
    }
    written
}

/// Trust in the peers of a list.
///
/// # Errors
/// See [`KeyError`]; a list without any key is refused: it would accept no client.
pub fn read_authorised(path: &Path) -> Result<Trust, KeyError> {
    let file = File::open(path).map_err(|error| FileError::new("read", path, error))?;
    let list = PeerList::parse(&read_text(path, file)?).map_err(|error| content(path, error))?;
    match list.authorised() {
        Trust::Listed(none) if none.is_empty() => {
            Err(content(path, "no peer: expected a line with a name and a fingerprint"))
        }
        trust => Ok(trust),
    }
}

/// Trust in the clients to which the authorities of a file gave certificates.
///
/// # Errors
/// See [`KeyError`].
pub fn read_client_authority(path: &Path) -> Result<Trust, KeyError> {
    let file = File::open(path).map_err(|error| FileError::new("read", path, error))?;
    let authority = Authority::for_clients(&read_text(path, file)?);
    Ok(authority.map_err(|error| content(path, error))?.into())
}

/// Evidence by which a client recognizes its server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerKey {
    /// The key with this fingerprint, and no other.
    Known(Fingerprint),
    /// A certificate of an authority for its name.
    Authority {
        /// The certificates of the authorities.
        file: PathBuf,
        /// The server's DNS name or IP address, as the user calls it.
        name: String,
    },
    /// The key beside its name in a list to which a new name is added with the first key that it
    /// proves.
    FirstUse {
        /// Path of the list of known peers.
        file: PathBuf,
        /// Name by which the user calls the server: a host and a port.
        name: String,
    },
}

impl ServerKey {
    /// Peers that a session accepts.
    ///
    /// # Errors
    /// See [`KeyError`]; a list that is not there is empty.
    pub(crate) fn trust(&self) -> Result<Trust, KeyError> {
        match self {
            ServerKey::Known(fingerprint) => Ok((*fingerprint).into()),
            ServerKey::Authority { file, name } => {
                let open = File::open(file).map_err(|error| FileError::new("read", file, error))?;
                let authority = Authority::for_server(&read_text(file, open)?, name);
                Ok(authority.map_err(|error| content(file, error))?.into())
            }
            ServerKey::FirstUse { file, name } => {
                let text = match File::open(file) {
                    Ok(open) => read_text(file, open)?,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                    Err(error) => return Err(FileError::new("read", file, error).into()),
                };
                let known = PeerList::parse(&text).map_err(|error| content(file, error))?;
                Ok(Trust::FirstUse { name: name.clone(), known })
            }
        }
    }

    /// Adds what was learned on first use to the list.
    pub(crate) fn learn(&self, line: &str) -> Result<(), FileError> {
        let ServerKey::FirstUse { file, .. } = self else { return Ok(()) };
        let append = || {
            make_folder_of(file)?;
            let mut options = OpenOptions::new();
            let list = private(options.append(true).read(true).create(true), file)?;
            // Where files cannot be locked, two commands at one time are no worse off than without.
            let _ = list.lock();
            add_line(list, line)
        };
        append().map_err(|error| FileError::new("write", file, error))
    }

    /// File of the list, and its line with the key that a server is known by and did not present;
    /// lines count from 1.
    pub(crate) fn place_of(&self, refusal: &Refusal) -> Option<(PathBuf, usize)> {
        let (ServerKey::FirstUse { file, .. }, Refusal::Changed { name, .. }) = (self, refusal)
        else {
            return None;
        };
        let text = read_text(file, File::open(file).ok()?).ok()?;
        let is_of = |line: &str| line.split_whitespace().next() == Some(name);
        Some((file.clone(), text.lines().position(is_of)? + 1))
    }
}

#[cfg(test)]
mod tests;
