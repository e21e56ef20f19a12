//! Messages of the applications in a packet capture, as a recording.

use std::collections::BTreeSet;

use trace::Options;
use trace::capture::{Capture, OpenError};
use trace::messages::{Messages, StreamMessages};

use super::recorded::{MOST_MESSAGES, RecordedStream, Recording, RecordingError};

/// Messages of the streams with these names; more than [`MOST_MESSAGES`] if `messages` left some
/// out.
///
/// # Errors
/// [`RecordingError`] if the streams carried no message, or too many bytes.
pub fn recording(messages: Messages, names: &[&str]) -> Result<Recording, RecordingError> {
    let left_out = messages.left_out();
    let wanted = |one: &StreamMessages| names.contains(&one.stream.as_str());
    let streams = messages.finish().into_iter().filter(wanted);
    let recording = Recording::new(streams.map(recorded).collect())?;
    match left_out {
        0 => Ok(recording),
        _ => Err(RecordingError::new(format!(
            "more than {MOST_MESSAGES} messages; choose fewer streams, or a shorter time"
        ))),
    }
}

fn recorded(one: StreamMessages) -> RecordedStream {
    let size = |size: u64| usize::try_from(size).unwrap_or(usize::MAX);
    let messages = one.messages.iter().map(|message| (message.at, size(message.size)));
    RecordedStream { name: one.stream, messages: messages.collect() }
}

/// A file of a plan as a recording: a capture, of which only streams that are `wanted` count, or a
/// table.
///
/// # Errors
/// The unreadable part, and its position.
pub fn recording_of_file(
    bytes: &[u8],
    wanted: Option<&BTreeSet<String>>,
) -> Result<Recording, RecordingError> {
    match Capture::open(bytes) {
        Err(OpenError::NotACapture) => {
            let text = core::str::from_utf8(bytes).map_err(|_| {
                RecordingError::new("it is neither a packet capture nor a table of text")
            })?;
            Recording::parse(text)
        }
        Err(OpenError::Io(error)) => Err(RecordingError::new(error.to_string())),
        Ok(mut capture) => {
            let messages = Messages::new(wanted.cloned(), MOST_MESSAGES);
            let (report, messages) = trace::analyse(&mut capture, Options::default(), messages);
            if let Some(damage) = report.capture.damage {
                let what = format!(
                    "{damage}; \"thinstream trace convert\" makes a table of what can be read"
                );
                return Err(RecordingError::new(what));
            }
            let names: Vec<&str> = report.streams.iter().map(|stream| stream.id.as_str()).collect();
            let missing = wanted.into_iter().flatten().find(|one| !names.contains(&one.as_str()));
            match missing {
                Some(one) => Err(RecordingError::no_stream(one, &names)),
                None => recording(messages, &names),
            }
        }
    }
}
