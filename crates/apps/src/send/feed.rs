//! Messages read from a file or from standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use bytes::Bytes;
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::{Framing, Input};
use crate::files::FileError;

/// Longest message taken; what an association sends at most by default.
const LONGEST: usize = 256 << 10;

/// Messages in the order in which they are read.
pub(super) struct Feed {
    messages: Receiver<Result<Bytes, String>>,
}

impl Feed {
    /// Begins to read, in a thread of its own: reading may block for ever.
    pub(super) fn open(input: &Input, framing: Framing) -> Result<Feed, FileError> {
        // Enough to keep the network busy, little enough not to read far ahead.
        let (sender, messages) = mpsc::channel(64);
        match input {
            Input::StandardInput => {
                let name = "standard input".to_owned();
                std::thread::spawn(move || read_all(io::stdin().lock(), &name, framing, &sender));
            }
            Input::File(path) => {
                let file = open(path).map_err(|error| FileError::new("read", path, error))?;
                let name = format!("\"{}\"", path.display());
                let file = BufReader::new(file);
                std::thread::spawn(move || read_all(file, &name, framing, &sender));
            }
        }
        Ok(Feed { messages })
    }

    /// The next message; none at the end of the input.
    pub(super) async fn next(&mut self) -> Option<Result<Bytes, String>> {
        self.messages.recv().await
    }
}

/// Opens a file and makes sure that it can be read: a directory can only be opened.
fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    match file.metadata()?.is_dir() {
        true => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        false => Ok(file),
    }
}

fn read_all(
    mut input: impl BufRead,
    name: &str,
    framing: Framing,
    sender: &Sender<Result<Bytes, String>>,
) {
    for number in 1u64.. {
        let read = match framing {
            Framing::Lines => read_line(&mut input),
            Framing::LengthPrefixed => read_prefixed(&mut input),
        };
        let message = match read {
            Ok(None) => return,
            Ok(Some(message)) if message.is_empty() => continue,
            Ok(Some(message)) => Ok(Bytes::from(message)),
            Err(error) => Err(format!("{name}, message {number}: {error}")),
        };
        let failed = message.is_err();
        if sender.blocking_send(message).is_err() || failed {
            return;
        }
    }
}

fn too_long() -> io::Error {
    io::Error::other(format!("longer than the {LONGEST} bytes that a message may have"))
}

fn read_line(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let limit = LONGEST as u64 + 2;
    if input.take(limit).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.ends_with(b"\n") {
        line.pop();
        if line.ends_with(b"\r") {
            line.pop();
        }
    }
    if line.len() > LONGEST { Err(too_long()) } else { Ok(Some(line)) }
}

fn read_prefixed(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    if input.fill_buf()?.is_empty() {
        return Ok(None);
    }
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    if length > LONGEST {
        return Err(too_long());
    }
    let mut message = vec![0; length];
    input.read_exact(&mut message)?;
    Ok(Some(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8], framing: Framing) -> Vec<Result<Bytes, String>> {
        let (sender, mut receiver) = mpsc::channel(64);
        read_all(input, "test", framing, &sender);
        std::iter::from_fn(|| receiver.try_recv().ok()).collect()
    }

    #[test]
    fn lines_lose_their_ends_and_empty_ones_are_left_out() {
        let messages = read(b"one\r\n\ntwo\n\xff three", Framing::Lines);
        let expected: [&[u8]; 3] = [b"one", b"two", b"\xff three"];
        assert!(messages.into_iter().map(Result::unwrap).eq(expected));
    }

    #[test]
    fn prefixed_messages_may_contain_anything() {
        let messages = read(b"\0\0\0\x03a\nb\0\0\0\0\0\0\0\x01c", Framing::LengthPrefixed);
        let expected: [&[u8]; 2] = [b"a\nb", b"c"];
        assert!(messages.into_iter().map(Result::unwrap).eq(expected));
    }

    #[test]
    fn input_that_ends_within_a_message_or_is_too_long_is_an_error_with_its_place() {
        let cut = read(b"\0\0\0\x01a\0\0\0\x05bc", Framing::LengthPrefixed);
        assert!(cut[1].as_ref().unwrap_err().starts_with("test, message 2: "), "{cut:?}");
        let long = [&b"x\n"[..], &vec![b'y'; LONGEST + 1], b"\nz\n"].concat();
        let long = read(&long, Framing::Lines);
        assert_eq!(long.len(), 2);
        assert!(long[1].as_ref().unwrap_err().contains("longer than the 262144 bytes"));
        let wild = read(b"\xff\xff\xff\xff", Framing::LengthPrefixed);
        assert!(wild[0].as_ref().unwrap_err().contains("longer"));
    }
}
