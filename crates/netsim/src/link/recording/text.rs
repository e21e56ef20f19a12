//! Recordings as people name them.

use core::str::FromStr;

use base::ParseQuantityError;

use super::Recording;

/// Files of a recording and how they are played: `drive.csv`, `up.trace+delays.csv interpolated
/// shifted`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingText {
    /// Names of files: one with opportunities, delays or losses, or one of each.
    pub files: Vec<String>,
    /// See [`Recording::interpolated`].
    pub interpolated: bool,
    /// See [`Recording::shifted`].
    pub shifted: bool,
}

impl FromStr for RecordingText {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<RecordingText, ParseQuantityError> {
        const FORM: &str = "a recording such as drive.csv or \"up.trace+delays.csv interpolated shifted\": files, then \
                            how they are played";
        let refused = || ParseQuantityError::new(text, FORM);
        let mut words = text.split_whitespace();
        let files: Vec<String> =
            words.next().ok_or_else(refused)?.split('+').map(str::to_owned).collect();
        let mut recording = RecordingText { files, interpolated: false, shifted: false };
        for word in words {
            match word {
                "interpolated" => recording.interpolated = true,
                "shifted" => recording.shifted = true,
                _ => return Err(refused()),
            }
        }
        let is_named = recording.files.iter().all(|name| !name.is_empty());
        is_named.then_some(recording).ok_or_else(refused)
    }
}

impl RecordingText {
    /// The recording that links play; `read` returns the recording in a file.
    ///
    /// # Errors
    /// The error of `read`, and a refusal of two files that both record delays, losses or
    /// opportunities.
    pub fn resolve<E: From<String>>(
        &self,
        read: impl Fn(&str) -> Result<Recording, E>,
    ) -> Result<Recording, E> {
        let RecordingText { interpolated, shifted, .. } = *self;
        let none = Recording { interpolated, shifted, ..Recording::default() };
        self.files.iter().try_fold(none, |all, name| Ok(all.and(read(name)?)?))
    }
}
