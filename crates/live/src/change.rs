//! Actions of a visitor on a run, as short texts that an address can hold.

use core::fmt;
use core::str::FromStr;

use base::{Duration, Probability};

/// One of the two policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The setting's first policy, drawn on the left.
    Left,
    /// The setting's second policy, drawn on the right.
    Right,
}

impl Side {
    /// Both sides, the first policy first.
    pub const BOTH: [Side; 2] = [Side::Left, Side::Right];

    fn letter(self) -> char {
        match self {
            Side::Left => 'a',
            Side::Right => 'b',
        }
    }
}

/// A change of the network, or a packet that is to be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The share of packets that is lost each way, from now on.
    Loss(Probability),
    /// The round trip without queues, from now on.
    RoundTrip(Duration),
    /// No packet enters the first path from now on.
    Cut,
    /// The first path carries packets again.
    Mend,
    /// The packet in which a message of the flow shown is sent for the first time, on both sides.
    DropMessage(u64),
    /// The packet in which a side sends a message of the flow shown for the n-th time; the first is
    /// 1.
    DropCopy {
        /// Policy whose sender sends it.
        side: Side,
        /// Number of the message, from 0.
        message: u64,
        /// Number of the transmission of this message, from 0.
        copy: u32,
    },
    /// The n-th packet of the receiver of the flow shown; the first is 1.
    DropAnswer {
        /// Policy whose receiver sends it.
        side: Side,
        /// Number of the packet among the receiver's.
        number: u64,
    },
}

/// A change and its time, since the first message may be due. Packets to lose have no time.
///
/// As text `3250:loss=5` (percent), `3250:rtt=300` (milliseconds), `3250:cut`, `3250:mend`; `m17`
/// (message 17 on both sides), `a17.2` (its second sending on the first side), `b.9` (the ninth
/// answer on the second side).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// Time since the first message may be due; zero for packets to lose.
    pub at: Duration,
    /// Setting of the network that begins to hold, or packet to lose.
    pub what: What,
}

/// A text that is no change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is no change; expected one such as 3250:loss=5, 3250:rtt=300, 3250:cut, 3250:mend, m17, a17.2 or b.9"
)]
pub struct ChangeError(String);

/// The longest round trip that can be set, in milliseconds.
const LONGEST_ROUND_TRIP: u64 = 10_000;

impl FromStr for Change {
    type Err = ChangeError;

    fn from_str(text: &str) -> Result<Change, ChangeError> {
        let read = match text.split_once(':') {
            Some((at, what)) => timed(at, what),
            None => packet(text).map(|what| Change { at: Duration::ZERO, what }),
        };
        read.ok_or_else(|| ChangeError(text.to_owned()))
    }
}

fn timed(at: &str, what: &str) -> Option<Change> {
    let at = Duration::from_millis(at.parse::<u32>().ok()?.into());
    let what = match what.split_once('=') {
        Some(("loss", percent)) => What::Loss(format!("{percent}%").parse().ok()?),
        Some(("rtt", millis)) => {
            let millis = millis.parse().ok().filter(|millis| *millis <= LONGEST_ROUND_TRIP)?;
            What::RoundTrip(Duration::from_millis(millis))
        }
        None if what == "cut" => What::Cut,
        None if what == "mend" => What::Mend,
        _ => return None,
    };
    Some(Change { at, what })
}

fn packet(text: &str) -> Option<What> {
    if let Some(message) = text.strip_prefix('m') {
        return Some(What::DropMessage(message.parse().ok()?));
    }
    let side = Side::BOTH.into_iter().find(|side| text.starts_with(side.letter()))?;
    let (message, number) = text.get(1..)?.split_once('.')?;
    Some(match message {
        "" => What::DropAnswer { side, number: number.parse().ok()? },
        message => {
            What::DropCopy { side, message: message.parse().ok()?, copy: number.parse().ok()? }
        }
    })
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.as_millis();
        match self.what {
            What::Loss(share) => {
                let text = share.to_string();
                write!(f, "{at}:loss={}", text.strip_suffix('%').unwrap_or(&text).trim_end())
            }
            What::RoundTrip(span) => write!(f, "{at}:rtt={}", span.as_millis()),
            What::Cut => write!(f, "{at}:cut"),
            What::Mend => write!(f, "{at}:mend"),
            What::DropMessage(message) => write!(f, "m{message}"),
            What::DropCopy { side, message, copy } => {
                write!(f, "{}{message}.{copy}", side.letter())
            }
            What::DropAnswer { side, number } => write!(f, "{}.{number}", side.letter()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_read_back_as_they_are_written() {
        for text in
            ["3250:loss=5", "0:loss=0.5", "0:rtt=300", "1:cut", "2:mend", "m17", "a17.2", "b.9"]
        {
            assert_eq!(text.parse::<Change>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn nonsense_is_refused_with_what_would_be_right() {
        for text in [
            "",
            "m",
            "c1.2",
            "a",
            "a1",
            "a1.x",
            "1:",
            "x:cut",
            "1:loss=200",
            "1:rtt=10001",
            "-1:cut",
            "1:cut=2",
            "5000000000:cut",
            "é",
            "m-1",
        ] {
            let error = text.parse::<Change>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("3250:loss=5"), "{error}");
        }
    }
}
