//! Forms of the arguments of `thinstream trace`.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;

use trace::AddressRule;
use trace::report::StreamReport;

/// A connection, or a direction of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StreamName(pub(super) String);

impl FromStr for StreamName {
    type Err = String;

    fn from_str(text: &str) -> Result<StreamName, String> {
        let number = text.strip_suffix(['a', 'b']).unwrap_or(text);
        match number.parse::<u64>() {
            Ok(_) => Ok(StreamName(text.to_owned())),
            Err(_) => {
                Err(format!("\"{text}\" is not a stream such as 3a, or a connection such as 3"))
            }
        }
    }
}

impl StreamName {
    pub(super) fn names(&self, stream: &StreamReport) -> bool {
        stream.id == self.0 || stream.id.trim_end_matches(['a', 'b']) == self.0
    }
}

/// A number, or a range of them: of ports, of packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Numbers<T>(pub(super) RangeInclusive<T>);

impl<T: FromStr + PartialOrd> FromStr for Numbers<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Numbers<T>, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) if first <= last => Ok(Numbers(first..=last)),
            _ => Err(format!(
                "\"{text}\" is not a number such as 5000, or a range such as 5000-5010"
            )),
        }
    }
}

/// Reads a percentile: a number from 0 to 100.
pub(super) fn percentile(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=100.0).contains(number));
    number.ok_or_else(|| format!("\"{text}\" is not a percentile from 0 to 100 such as 99.9"))
}

/// `SENDERS=RECEIVERS`: addresses in both captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Translation(pub(super) AddressRule);

impl FromStr for Translation {
    type Err = String;

    fn from_str(text: &str) -> Result<Translation, String> {
        let parsed = text.split_once('=').and_then(|(at_sender, at_receiver)| {
            if let (Ok(at_sender), Ok(at_receiver)) = (at_sender.parse(), at_receiver.parse()) {
                return Some(AddressRule { at_sender, at_receiver, ports: None });
            }
            let (one, two): (SocketAddr, SocketAddr) =
                (at_sender.parse().ok()?, at_receiver.parse().ok()?);
            let ports = Some((one.port(), two.port()));
            Some(AddressRule { at_sender: one.ip(), at_receiver: two.ip(), ports })
        });
        parsed.map(Translation).ok_or_else(|| {
            format!(
                "\"{text}\" is not two addresses such as 192.168.1.5=203.0.113.7, with ports \
                 192.168.1.5:5000=203.0.113.7:61000"
            )
        })
    }
}
