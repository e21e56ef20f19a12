//! Reasons for which a client cannot start.

use std::net::SocketAddr;
use std::path::PathBuf;

use base::Duration;
use io::BindError;
use lab::{RecordingError, WorkloadError};
use thinstream::ConnectError;

use crate::files::FileError;
use crate::keys::KeyError;

/// Reason for which a client could not start.
#[derive(Debug, thiserror::Error)]
pub enum SendFailure {
    /// No local socket can be opened.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The server cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A file of keys is of no use.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The server has another key than the one by which it is known.
    #[error(
        "{remote} has the key {presented}, not the one at {}:{line}: it has a new key, or another host answers; if it has, remove that line",
        file.display()
    )]
    ChangedKey {
        /// Address of the server whose key changed.
        remote: SocketAddr,
        /// Fingerprint of the key in the server's handshake.
        presented: String,
        /// The list of known peers.
        file: PathBuf,
        /// The line with the key by which it is known.
        line: usize,
    },
    /// The server did not answer in time.
    #[error("no answer from {remote} within {timeout}{}", hint(.said, *.heard, *.plain))]
    Timeout {
        /// Address of the server that did not answer.
        remote: SocketAddr,
        /// Time for which the client waited.
        timeout: Duration,
        /// The system's error on sending.
        said: Option<String>,
        /// Whether anything came from there.
        heard: bool,
        /// Whether this side sent unencrypted packets.
        plain: bool,
    },
    /// A signal came before the server answered.
    #[error("interrupted before {remote} answered")]
    Interrupted {
        /// Address of the server that the client waited for.
        remote: SocketAddr,
    },
    /// The server grants fewer streams than asked for.
    #[error("the server grants {granted} streams; --streams {asked} are too many")]
    Streams {
        /// Streams that the user asked for with `--streams`.
        asked: u16,
        /// Number of outbound streams after the set-up.
        granted: u16,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The values of the workload contradict each other.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The recording has no stream of the name that was asked for.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// Messages are longer than an association takes.
    #[error("messages of {size} bytes are too long; --size {maximum}B is the most")]
    TooLarge {
        /// Bytes of a message, as asked for.
        size: usize,
        /// Bytes of the longest message.
        maximum: usize,
    },
    /// A measuring message would have no room for what it says.
    #[error(transparent)]
    Size(#[from] lab::ProbeError),
    /// Input that is not a message.
    #[error("{0}")]
    Input(String),
    /// An option for one association alone is used with several.
    #[error("{option} is for one association: expected it without --associations {associations}")]
    OneAssociation {
        /// The option's name on the command line.
        option: &'static str,
        /// Number of associations that were asked for.
        associations: u16,
    },
    /// The system gives fewer sockets than associations were asked for.
    #[error(
        "--associations {associations} takes as many file descriptors, and the system allows {limit} in all: \
         raise the limit (ulimit -n)"
    )]
    Descriptors {
        /// Associations that the user asked for.
        associations: u16,
        /// Open files that the system grants.
        limit: u64,
    },
}

impl SendFailure {
    /// Whether the usage was wrong, not the network.
    pub fn is_usage(&self) -> bool {
        !matches!(
            self,
            SendFailure::Bind(_)
                | SendFailure::Connect(_)
                | SendFailure::ChangedKey { .. }
                | SendFailure::Timeout { .. }
                | SendFailure::Interrupted { .. }
        )
    }
}

/// Possible reason for a silent server: an encrypting end answers no unencrypted packet, and an end
/// without encryption does not understand encrypted ones. A server that has begun to answer is of
/// the right kind.
fn hint(said: &Option<String>, heard: bool, plain: bool) -> String {
    let meaning = match (said, heard, plain) {
        (Some(said), ..) => return format!(" ({said})"),
        (None, true, _) => {
            "it began to answer, so that it, this machine or the network is too busy"
        }
        (None, false, true) => {
            "is a server listening there? One that encrypts answers only without --plain"
        }
        (None, false, false) => {
            "is a server listening there? One started with --plain answers only to --plain"
        }
    };
    format!("; {meaning}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_is_explained_by_what_was_heard() {
        let hints = [(false, true), (false, false), (true, true), (true, false)]
            .map(|(heard, plain)| hint(&None, heard, plain));
        assert!(hints[0].contains("without --plain") && hints[1].contains("only to --plain"));
        for busy in &hints[2..] {
            assert!(busy.contains("too busy") && !busy.contains("--plain"), "{busy}");
        }
        assert_eq!(hint(&Some("no route".into()), true, true), " (no route)");
    }
}
