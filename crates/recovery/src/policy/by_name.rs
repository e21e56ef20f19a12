//! Policies by the names of presets and fields, for one protocol.
//!
//! SCTP and TCP share one [`RecoveryPolicy`]. Setting a value that the protocol never uses is a
//! mistake of the caller, so texts, plans, options and calls all refuse it.

use core::fmt;

use super::{Changes, FIELDS, Field, FieldError, Protocol, RecoveryPolicy};

impl RecoveryPolicy {
    /// Checks that no field is set which has no effect on `protocol`, and that the values do not
    /// contradict each other ([`RecoveryPolicy::check`]).
    ///
    /// # Errors
    /// [`FieldError::Elsewhere`] for the first such field; the errors of [`RecoveryPolicy::check`].
    pub fn check_for(&self, protocol: Protocol) -> Result<(), FieldError> {
        self.check()?;
        let plain = RecoveryPolicy::sctp_rfc();
        let is_set =
            |field: &&Field| !field.is_of(protocol) && field.get(self) != field.get(&plain);
        match FIELDS.iter().find(is_set) {
            Some(field) => Err(FieldError::Elsewhere(field.name, protocol)),
            None => Ok(()),
        }
    }

    /// Parses a policy such as `thin;bundling=paper;rto-min=100ms`: a preset of `protocol`,
    /// followed by fields that differ.
    ///
    /// # Errors
    /// [`FieldError`] if the preset or a field is unknown, a value is invalid, or a field has no
    /// effect on the protocol.
    pub fn parse(protocol: Protocol, text: &str) -> Result<Self, FieldError> {
        let (preset, fields) = text.split_once(';').unwrap_or((text, ""));
        let mut policy = RecoveryPolicy::of_preset(protocol, preset.trim())?;
        let mut changes = Changes::new();
        for field in fields.split(';').map(str::trim).filter(|field| !field.is_empty()) {
            let (name, value) = field.split_once('=').unwrap_or((field, ""));
            changes.push(name.trim(), value.trim())?;
        }
        changes.apply_for(protocol, &mut policy)?;
        Ok(policy)
    }

    /// The protocol's preset of this name.
    ///
    /// # Errors
    /// [`FieldError::Preset`] if the protocol has none of this name.
    pub fn of_preset(protocol: Protocol, name: &str) -> Result<Self, FieldError> {
        let found = match protocol {
            Protocol::Sctp => RecoveryPolicy::preset(name),
            Protocol::Tcp => RecoveryPolicy::tcp_preset(name),
        };
        found.ok_or_else(|| FieldError::Preset(name.to_owned(), protocol))
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldError::Unknown(name) => {
                write!(f, "a recovery policy has no field \"{name}\"; there are ")?;
                let names: Vec<_> = FIELDS.iter().map(|field| field.name).collect();
                f.write_str(&names.join(", "))
            }
            FieldError::Value(name, error) => write!(f, "{name}: {error}"),
            FieldError::Off(name) => {
                write!(f, "{name}: nothing is bundled; bundling must be paper or linux before")
            }
            FieldError::Elsewhere(name, protocol) => {
                write!(f, "{name} has no effect on {protocol}")?;
                let only = Field::find(name).and_then(|field| field.only);
                let Some((only, reason)) = only else { return Ok(()) };
                write!(f, ", it is a field of {only}: {reason}")
            }
            FieldError::Preset(name, protocol) => write_no_preset(f, name, *protocol),
            FieldError::Bounds(least, max) => write!(
                f,
                "the lower bound of the timeout, {least}, is above the upper bound, {max}: \
                 lower rto-min, rto-min-thin and rto-min-variation or raise rto-max"
            ),
            FieldError::Contradiction { value, other, reason } => {
                write!(f, "{value} contradicts {other}: {reason}; change one of them")
            }
        }
    }
}

/// Writes the error for an unknown preset of a protocol, with a hint if the other protocol has it.
fn write_no_preset(f: &mut fmt::Formatter<'_>, name: &str, protocol: Protocol) -> fmt::Result {
    let other = protocol.other();
    if other.presets().iter().any(|(known, _)| *known == name) {
        write!(f, "{name} is a preset of {other}; for {protocol} say ")?;
        if name.starts_with("thin-rdb") {
            return f.write_str("thin;bundling=paper");
        }
    } else {
        write!(f, "there is no policy \"{name}\" for {protocol}; there are ")?;
    }
    let names: Vec<_> = protocol.presets().iter().map(|(name, _)| *name).collect();
    f.write_str(&names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_suits_its_protocol() {
        for protocol in [Protocol::Sctp, Protocol::Tcp] {
            for (name, _) in protocol.presets() {
                let policy = RecoveryPolicy::of_preset(protocol, name).unwrap();
                assert_eq!(policy.check_for(protocol), Ok(()), "{protocol} {name}");
            }
        }
    }

    #[test]
    fn every_field_of_one_protocol_says_why_the_other_has_no_use_for_it() {
        for field in FIELDS {
            let Some((only, reason)) = field.only else { continue };
            let told = FieldError::Elsewhere(field.name, only.other()).to_string();
            assert!(told.ends_with(&format!("a field of {only}: {reason}")), "{told}");
            assert!(reason.len() > 10, "{}: {reason}", field.name);
        }
    }

    #[test]
    fn a_field_without_effect_is_refused_with_its_name_its_protocol_and_the_reason() {
        let told = |protocol, text| RecoveryPolicy::parse(protocol, text).unwrap_err().to_string();
        assert_eq!(
            told(Protocol::Sctp, "thin;use-sack=off"),
            "use-sack has no effect on SCTP, it is a field of TCP: \
             SACK is a part of SCTP that cannot be switched off"
        );
        let text = told(Protocol::Tcp, "linux; retransmission-path = same");
        assert!(text.contains("retransmission-path") && text.contains("one path"), "{text}");
        let mut policy = RecoveryPolicy::sctp_rfc();
        policy.loss.rescue = true;
        let refused = Err(FieldError::Elsewhere("rescue", Protocol::Sctp));
        assert_eq!(policy.check_for(Protocol::Sctp), refused);
        assert_eq!(policy.check_for(Protocol::Tcp), Ok(()));
    }

    #[test]
    fn a_preset_of_the_other_protocol_is_refused_with_what_to_say_instead() {
        let told = |protocol, text| RecoveryPolicy::parse(protocol, text).unwrap_err().to_string();
        assert_eq!(
            told(Protocol::Sctp, "thin-rdb"),
            "thin-rdb is a preset of TCP; for SCTP say thin;bundling=paper"
        );
        assert!(
            told(Protocol::Tcp, "lksctp")
                .starts_with("lksctp is a preset of SCTP; for TCP say rfc")
        );
        assert!(
            told(Protocol::Tcp, "reno").contains("no policy \"reno\" for TCP; there are rfc, ")
        );
    }

    #[test]
    fn a_text_is_a_preset_with_fields_that_differ() {
        let policy = RecoveryPolicy::parse(Protocol::Sctp, "thin;rto_min=300ms; bundling=paper;");
        let mut expected = RecoveryPolicy::sctp_thin();
        expected.rto.min = base::Duration::from_millis(300);
        expected.redundancy.bundling = Some(crate::policy::BundlingPolicy::PAPER);
        assert_eq!(policy, Ok(expected));
        for wrong in ["thin;rto-min", "thin;rto-min=soon", "thin;no-such=1", "thin;rto-max=1ms"] {
            assert!(RecoveryPolicy::parse(Protocol::Sctp, wrong).is_err(), "{wrong}");
        }
    }
}
