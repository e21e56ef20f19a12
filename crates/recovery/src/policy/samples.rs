//! Sample values of a policy's fields, for fuzzing and soak tests.

use super::Field;

/// One list for all fields: each word, and some numbers of each kind. A field takes some of them.
const SAMPLES: &[&str] = &[
    // Switches, numbers, durations, sizes, gains.
    "on",
    "off",
    "1",
    "2",
    "3",
    "6",
    "255",
    "10ms",
    "200ms",
    "1.5s",
    "999B",
    "20000B",
    "1/4",
    "1/8",
    // Detectors of thin streams.
    "in-flight",
    "in-flight:5:inclusive",
    "few-or-slow",
    "fewer-than-four",
    "interval",
    "always",
    // Timers and what they resend.
    "exponential",
    "linear",
    "linear:2",
    "full",
    "timer-age",
    "oldest-age",
    "every",
    "all",
    "old-enough",
    "by-rack",
    "absolute",
    "signed",
    "truncated",
    "fixed",
    "learned",
    "once",
    "proven",
    "from-first",
    "from-latest",
    "sample",
    "acknowledgement",
    "loss",
    "probe",
    // Loss.
    "robust",
    "quarter",
    "measured",
    "first",
    "freebsd",
    "described",
    "is-lost",
    "each-hole",
    "reports",
    "acknowledgements",
    // The window.
    "rfc9260",
    "newreno",
    "cubic",
    "vegas",
    "bytes",
    "packets",
    "keep",
    "initial-window",
    "halve",
    "controller",
    "carried",
    "one-packet",
    "again",
    "tcp-er",
    "algorithm-1",
    "halving",
    "common",
    // Copies that ride along.
    "paper",
    "linux",
    "ignore",
    "presume",
    "verified",
    // Several paths, and requests for acknowledgements.
    "same",
    "alternate",
    "never",
    "thin",
];

impl Field {
    /// Values that the field takes, at least two: for a field of words all of them.
    pub fn samples(&self) -> Vec<&'static str> {
        SAMPLES.iter().copied().filter(|text| self.check(text).is_ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::FIELDS;

    #[test]
    fn each_field_has_several_samples_and_each_sample_is_for_a_field() {
        for field in FIELDS {
            assert!(field.samples().len() >= 2, "{}: {:?}", field.name, field.samples());
        }
        for sample in SAMPLES {
            let taken = FIELDS.iter().any(|field| field.check(sample).is_ok());
            assert!(taken, "no field takes {sample}");
        }
    }

    #[test]
    fn a_field_of_words_is_tried_with_each_of_them() {
        let is_word =
            |word: &&str| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
        for field in FIELDS {
            let words = field.value.split('|').filter(is_word);
            let missing: Vec<_> = words.filter(|word| !field.samples().contains(word)).collect();
            assert!(missing.is_empty(), "{}: {missing:?} not among the samples", field.name);
        }
    }
}
