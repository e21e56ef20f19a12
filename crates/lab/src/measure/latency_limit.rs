//! Latency limits: user studies found that people notice or mind a latency above them.

use base::Duration;

/// A latency limit: a duration, or the name of a limit that user studies found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyLimit {
    /// The limit as written: a time, or one of the names in [`NAMED_LIMITS`].
    pub name: String,
    /// The longest time that counts as in time.
    pub span: Duration,
}

/// Limits with names: of first-person shooters, role-playing and real-time strategy games (Claypool
/// and Claypool 2006), of conversations (ITU-T G.114: good, and hardly acceptable).
pub const NAMED_LIMITS: [(&str, Duration); 5] = [
    ("fps", Duration::from_millis(100)),
    ("rpg", Duration::from_millis(500)),
    ("rts", Duration::from_millis(1000)),
    ("itu-good", Duration::from_millis(150)),
    ("itu-limit", Duration::from_millis(400)),
];

impl core::str::FromStr for LatencyLimit {
    type Err = String;

    fn from_str(name: &str) -> Result<LatencyLimit, String> {
        let known = NAMED_LIMITS.iter().find(|(known, _)| *known == name).map(|(_, span)| *span);
        let span = known.or_else(|| name.parse().ok()).ok_or_else(|| {
            let names: Vec<&str> = NAMED_LIMITS.iter().map(|(known, _)| *known).collect();
            format!("\"{name}\" is no limit: give a time such as 100ms, or {}", names.join(", "))
        })?;
        Ok(LatencyLimit { name: name.to_owned(), span })
    }
}
