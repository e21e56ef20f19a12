//! Fields that replace values of a preset.

use super::{Field, FieldError, Protocol, RecoveryPolicy};

/// Fields with their values, in the order of setting. With the feature `serde` it is read from a
/// map of names to strings, numbers or booleans (for switches), and written as a map of names to
/// strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes(Vec<(&'static str, String)>);

impl Changes {
    /// An empty set of changes.
    pub const fn new() -> Self {
        Changes(Vec::new())
    }

    /// Adds a field.
    ///
    /// # Errors
    /// [`FieldError`] if no field has this name, or the text is no value of it.
    pub fn push(&mut self, name: &str, text: &str) -> Result<(), FieldError> {
        let field = Field::find(name).ok_or_else(|| FieldError::Unknown(name.to_owned()))?;
        field.check(text).map_err(|error| FieldError::Value(field.name, error))?;
        // Sub-fields follow their parent, in whatever order they are given.
        let behind = self.0.partition_point(|(other, _)| *other <= field.name);
        self.0.insert(behind, (field.name, text.to_owned()));
        Ok(())
    }

    /// Whether the changes leave every field of a policy as it is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Applies the changes to `policy`.
    ///
    /// # Errors
    /// [`FieldError`] if a sub-field's parent is off, or the result is contradictory.
    pub fn apply(&self, policy: &mut RecoveryPolicy) -> Result<(), FieldError> {
        for (name, text) in &self.0 {
            policy.set(name, text)?;
        }
        if self.is_empty() { Ok(()) } else { policy.check() }
    }
}

impl Changes {
    /// Applies the changes to `policy`, which is for `protocol`.
    ///
    /// # Errors
    /// As [`Changes::apply`], and [`FieldError::Elsewhere`] for a field without effect on the
    /// protocol, whatever its value.
    pub fn apply_for(
        &self,
        protocol: Protocol,
        policy: &mut RecoveryPolicy,
    ) -> Result<(), FieldError> {
        let elsewhere = |name: &&str| Field::find(name).is_some_and(|field| !field.is_of(protocol));
        if let Some(name) = self.0.iter().map(|(name, _)| *name).find(|name| elsewhere(name)) {
            return Err(FieldError::Elsewhere(name, protocol));
        }
        self.apply(policy)
    }
}

#[cfg(feature = "serde")]
mod as_map {
    use core::fmt;

    use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
    use serde::ser::{Serialize, Serializer};

    use super::Changes;

    /// A value of any type that a file may contain, as text.
    struct Text(String);

    impl<'de> Deserialize<'de> for Text {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
            deserializer.deserialize_any(TextVisitor)
        }
    }

    struct TextVisitor;

    impl Visitor<'_> for TextVisitor {
        type Value = Text;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text, a number, or true or false")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
            Ok(Text(text.to_owned()))
        }

        fn visit_bool<E: Error>(self, on: bool) -> Result<Text, E> {
            Ok(Text(if on { "on" } else { "off" }.to_owned()))
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<Text, E> {
            Ok(Text(number.to_string()))
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<Text, E> {
            Ok(Text(number.to_string()))
        }
    }

    struct ChangesVisitor;

    impl<'de> Visitor<'de> for ChangesVisitor {
        type Value = Changes;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("fields of a recovery policy")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Changes, A::Error> {
            let mut changes = Changes::new();
            while let Some((name, Text(text))) = map.next_entry::<String, Text>()? {
                changes.push(&name, &text).map_err(A::Error::custom)?;
            }
            Ok(changes)
        }
    }

    impl<'de> Deserialize<'de> for Changes {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Changes, D::Error> {
            deserializer.deserialize_map(ChangesVisitor)
        }
    }

    impl Serialize for Changes {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.iter().map(|(name, text)| (name, text)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{BundlingPolicy, ThinDetector};

    #[test]
    fn details_are_set_behind_what_they_are_details_of_in_whatever_order_they_come() {
        let mut changes = Changes::new();
        changes.push("bundling_when", "fewer-than-four").unwrap();
        changes.push("bundling", "linux").unwrap();
        let mut policy = RecoveryPolicy::tcp_thin();
        changes.apply(&mut policy).unwrap();
        let when = ThinDetector::FewerThanFour;
        assert_eq!(
            policy.redundancy.bundling,
            Some(BundlingPolicy { when, ..BundlingPolicy::LINUX })
        );
    }

    #[test]
    fn what_a_change_contradicts_is_told_when_it_is_applied() {
        let mut changes = Changes::new();
        changes.push("rto-max", "1ms").unwrap();
        let error = changes.apply(&mut RecoveryPolicy::sctp_rfc()).unwrap_err();
        assert!(error.to_string().contains("rto-max"), "{error}");
        assert_eq!(changes.push("rto-maxi", "1s"), Err(FieldError::Unknown("rto-maxi".to_owned())));
        assert!(matches!(changes.push("rto-max", "soon"), Err(FieldError::Value("rto-max", _))));
        assert_eq!(Changes::new().apply(&mut RecoveryPolicy::sctp_rfc()), Ok(()));
    }

    #[cfg(feature = "serde")]
    #[test]
    fn a_file_writes_texts_numbers_and_booleans() {
        let text = r#"{"rto_min": "300ms", "dup-threshold-thin": 1, "rack": true, "undo": false}"#;
        let changes: Changes = serde_json::from_str(text).unwrap();
        let mut policy = RecoveryPolicy::tcp_linux();
        changes.apply(&mut policy).unwrap();
        let mut expected = RecoveryPolicy::tcp_linux();
        expected.rto.min = base::Duration::from_millis(300);
        expected.loss.dup_threshold_while_thin = Some(1);
        expected.congestion.undo = false;
        assert_eq!(policy, expected);
        let written = serde_json::to_string(&changes).unwrap();
        assert_eq!(serde_json::from_str::<Changes>(&written).unwrap(), changes);
        for (wrong, hint) in [
            (r#"{"rto-mean": "1s"}"#, "rto-min"),
            (r#"{"rack": "maybe"}"#, "rack: \"maybe\" is not on or off"),
            (r#"{"rack": []}"#, "a text, a number"),
            ("[]", "fields of a recovery policy"),
        ] {
            let error = serde_json::from_str::<Changes>(wrong).unwrap_err().to_string();
            assert!(error.contains(hint), "{error}");
        }
    }
}
