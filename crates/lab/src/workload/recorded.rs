//! Recorded messages: times and sizes from a capture or a table.

use core::fmt::{self, Write};
use core::str::FromStr;

use base::{ByteCount, Duration, Instant, ParseQuantityError};

use super::arrivals::{Arrivals, FORM};
use super::message::DueMessage;

/// Largest number of messages in a recording.
pub const MOST_MESSAGES: usize = 1_000_000;

/// Messages of applications, stream by stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    streams: Vec<RecordedStream>,
}

/// Messages of one stream of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedStream {
    /// Name of the stream; empty where there is only one.
    pub name: String,
    /// Times and sizes, in order; times of all streams count from the same instant.
    pub messages: Vec<(Duration, usize)>,
}

/// The reason why a text is no recording, or lacks a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecordingError(String);

impl RecordingError {
    pub(crate) fn new(what: impl Into<String>) -> RecordingError {
        RecordingError(what.into())
    }

    /// The error of an unknown stream, with the known ones.
    pub(crate) fn no_stream(name: &str, known: &[&str]) -> RecordingError {
        const SHOWN: usize = 10;
        RecordingError(match known {
            [] => format!("there is no stream {name}, nor any other"),
            [""] => format!("there is no stream {name}: its one stream has no name"),
            _ if known.len() > SHOWN => format!(
                "there is no stream {name}; there are {} and {} more",
                known[..SHOWN].join(", "),
                known.len() - SHOWN
            ),
            _ => format!("there is no stream {name}; there is {}", known.join(", ")),
        })
    }
}

impl Recording {
    /// A recording of these streams; streams without messages are left out.
    ///
    /// # Errors
    /// [`RecordingError`] if there is no message, there are more than [`MOST_MESSAGES`], or one is
    /// empty.
    pub fn new(mut streams: Vec<RecordedStream>) -> Result<Recording, RecordingError> {
        streams.retain(|stream| !stream.messages.is_empty());
        let recording = Recording { streams };
        let refuse = |what: String| Err(RecordingError(what));
        match recording.count() {
            0 => return refuse("there are no messages in it".to_owned()),
            count if count > MOST_MESSAGES => {
                return refuse(format!("{count} messages are more than {MOST_MESSAGES}"));
            }
            _ => {}
        }
        if recording.all().any(|(_, size)| size == 0) {
            return refuse("a message has no bytes".to_owned());
        }
        Ok(recording)
    }

    /// Reads comma-separated values: a first line that names the columns, `time_s` (seconds) or
    /// `time` (with units), `size` and, where there are several streams, `stream`; then a line
    /// for each message. `#` begins a comment.
    ///
    /// # Errors
    /// The first line that cannot be read, and why; see also [`Recording::new`].
    pub fn parse(text: &str) -> Result<Recording, RecordingError> {
        let lines = text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.split('#').next().unwrap_or_default().trim()));
        let mut lines = lines.filter(|(_, line)| !line.is_empty());
        let named = |number: usize| move |what| RecordingError(format!("line {number}: {what}"));
        let Some((number, head)) = lines.next() else {
            return Err(RecordingError("there is nothing in it".to_owned()));
        };
        let columns = parse_columns(head).map_err(named(number))?;
        let mut streams: Vec<RecordedStream> = Vec::new();
        for (number, line) in lines {
            let (name, message) = parse_message(&columns, line).map_err(named(number))?;
            // Lines of a stream mostly follow each other.
            let known = streams.iter_mut().rev().find(|stream| stream.name == name);
            match known {
                Some(stream) => stream.messages.push(message),
                None => streams.push(RecordedStream { name, messages: vec![message] }),
            }
        }
        streams.iter_mut().for_each(|stream| stream.messages.sort_by_key(|(at, _)| *at));
        Recording::new(streams)
    }

    /// The recording in the form that [`Recording::parse`] reads; times count from the first
    /// message.
    pub fn to_csv(&self) -> String {
        let has_names = self.streams.iter().any(|stream| !stream.name.is_empty());
        let begin = self.begin();
        let mut text = if has_names { "time_s,size,stream\n" } else { "time_s,size\n" }.to_owned();
        for stream in &self.streams {
            for (at, size) in &stream.messages {
                let nanos = at.saturating_sub(begin).as_nanos();
                let (whole, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
                let rest = format!(".{rest:09}");
                let rest = rest.trim_end_matches('0').trim_end_matches('.');
                // Writing to a string does not fail.
                let _ = write!(text, "{whole}{rest},{size}");
                text += &if has_names { format!(",{}\n", stream.name) } else { "\n".to_owned() };
            }
        }
        text
    }

    /// Streams in the order in which the recording first has them.
    pub fn streams(&self) -> &[RecordedStream] {
        &self.streams
    }

    /// Number of messages of all streams.
    pub fn count(&self) -> usize {
        self.streams.iter().map(|stream| stream.messages.len()).sum()
    }

    /// Time from the first message of all streams to the last.
    pub fn duration(&self) -> Duration {
        let last = self.all().map(|(at, _)| at).max().unwrap_or_default();
        last.saturating_sub(self.begin())
    }

    fn all(&self) -> impl Iterator<Item = (Duration, usize)> {
        self.streams.iter().flat_map(|stream| stream.messages.iter().copied())
    }

    fn begin(&self) -> Duration {
        self.all().map(|(at, _)| at).min().unwrap_or_default()
    }

    /// The messages that flow number `flow` sends from `begin` until `end`: the named stream, whose
    /// first message is due at `begin`; without a name, each flow takes one of the streams in turn,
    /// and the earliest stream begins at `begin`. Messages longer than `longest` are sent in parts.
    ///
    /// # Errors
    /// [`RecordingError`] if no stream has this name.
    pub fn due(
        &self,
        flow: usize,
        stream: Option<&str>,
        (begin, end): (Instant, Instant),
        longest: usize,
    ) -> Result<Vec<DueMessage>, RecordingError> {
        let named = |name: &str| {
            let found = self.streams.iter().find(|stream| stream.name == name);
            let first = found.and_then(|stream| stream.messages.first());
            found.zip(first.map(|(at, _)| *at)).ok_or_else(|| {
                let known: Vec<&str> = self.streams.iter().map(|one| one.name.as_str()).collect();
                RecordingError::no_stream(name, &known)
            })
        };
        let (stream, origin) = match stream {
            Some(name) => named(name)?,
            None => match self.streams.get(flow % self.streams.len().max(1)) {
                Some(stream) => (stream, self.begin()),
                None => return Ok(Vec::new()),
            },
        };
        let longest = longest.max(1);
        let first = stream.messages.first().map(|(at, _)| *at).unwrap_or_default();
        let mut messages = Vec::with_capacity(stream.messages.len());
        for (at, size) in &stream.messages {
            let due = begin + at.saturating_sub(origin);
            if due >= end {
                break;
            }
            let mut left = *size;
            while left > 0 {
                let (index, size) = (messages.len() as u64, left.min(longest));
                let media = at.saturating_sub(first);
                messages.push(DueMessage { index, due, size, media });
                left -= size;
            }
        }
        Ok(messages)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Seconds,
    Time,
    Size,
    Stream,
}

const COLUMNS: [(&str, Column); 4] = [
    ("time_s", Column::Seconds),
    ("time", Column::Time),
    ("size", Column::Size),
    ("stream", Column::Stream),
];

fn parse_columns(line: &str) -> Result<Vec<Column>, String> {
    let known = |name: &str| COLUMNS.iter().find(|(known, _)| *known == name.trim());
    let columns: Option<Vec<Column>> =
        line.split(',').map(|name| known(name).map(|(_, column)| *column)).collect();
    let columns = columns.filter(|columns| {
        let count = |one: &[Column]| columns.iter().filter(|column| one.contains(column)).count();
        count(&[Column::Seconds, Column::Time]) == 1
            && count(&[Column::Size]) == 1
            && count(&[Column::Stream]) <= 1
    });
    columns.ok_or_else(|| {
        format!("\"{line}\" does not name the columns; give time_s,size or time_s,size,stream")
    })
}

fn parse_message(columns: &[Column], line: &str) -> Result<(String, (Duration, usize)), String> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    if cells.len() != columns.len() {
        return Err(format!("{} cells under {} columns", cells.len(), columns.len()));
    }
    let (mut name, mut at, mut size) = (String::new(), Duration::ZERO, 0);
    let told = |error: ParseQuantityError| error.to_string();
    for (column, cell) in columns.iter().zip(cells) {
        match column {
            Column::Seconds => at = format!("{cell}s").parse().map_err(told)?,
            Column::Time => at = cell.parse().map_err(told)?,
            Column::Size => {
                let bytes: ByteCount = cell.parse().map_err(told)?;
                size = usize::try_from(bytes.0).unwrap_or(usize::MAX);
            }
            Column::Stream => name = cell.to_owned(),
        }
    }
    match size {
        0 => Err("a message has no bytes".to_owned()),
        _ => Ok((name, (at, size))),
    }
}

/// A recording by name: `replay FILE` or `replay FILE STREAM`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayText {
    /// The file: a capture, or a table as [`Recording::parse`] reads it.
    pub file: String,
    /// One of its streams; without it, each flow takes one of the streams in turn.
    pub stream: Option<String>,
}

impl ReplayText {
    /// `None` if the text begins otherwise, `Some(None)` if it is invalid.
    fn parse(text: &str) -> Option<Option<ReplayText>> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let replay = |file: &str, stream: Option<&str>| {
            Some(ReplayText { file: file.to_owned(), stream: stream.map(str::to_owned) })
        };
        match words[..] {
            ["replay", file] => Some(replay(file, None)),
            ["replay", file, stream] => Some(replay(file, Some(stream))),
            ["replay", ..] => Some(None),
            _ => None,
        }
    }
}

impl fmt::Display for ReplayText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stream = self.stream.as_ref().map(|stream| format!(" {stream}"));
        f.pad(&format!("replay {}{}", self.file, stream.unwrap_or_default()))
    }
}

/// Text form of arrivals: by a rule, or as recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrivalsText {
    /// Times drawn by a rule.
    Drawn(Arrivals),
    /// Times and sizes of a recording.
    Replay(ReplayText),
}

impl FromStr for ArrivalsText {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<ArrivalsText, ParseQuantityError> {
        let refused = || ParseQuantityError::new(text, FORM);
        match ReplayText::parse(text) {
            Some(replay) => replay.map(ArrivalsText::Replay).ok_or_else(refused),
            None => text.parse().map(ArrivalsText::Drawn),
        }
    }
}

impl fmt::Display for ArrivalsText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArrivalsText::Drawn(arrivals) => arrivals.fmt(f),
            ArrivalsText::Replay(replay) => replay.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
