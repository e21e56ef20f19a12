//! Traffic of a packet capture, and the network that it shows.

use lab::plan::file_entry;
use lab::replay::Conditions;
use lab::workload::{MOST_MESSAGES, Recording, recording};
use serde::Serialize;
use trace::capture::Capture;
use trace::messages::Messages;
use trace::{Options, Protocol};

use crate::choices::MOST_FLOWS;

/// Messages of a capture's streams.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    recording: Recording,
    told: Told,
}

/// Traffic of a capture, which the page offers beside the applications.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Told {
    /// Streams that carried messages, those with most of them first.
    streams: Vec<Stream>,
    /// Streams that are too many.
    left_out: usize,
    messages: u64,
    seconds: f64,
    /// `sctp` or `tcp`: that of the first stream.
    transport: &'static str,
    /// The least round trip in milliseconds, and the share of packets that was lost in percent, if
    /// the capture tells.
    rtt_ms: Option<f64>,
    loss: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Stream {
    id: String,
    from: String,
    to: String,
    packets: u64,
}

/// Reason for which a file gives no traffic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TrafficError(String);

impl Traffic {
    /// Reads a capture, pcap or pcapng.
    ///
    /// # Errors
    /// The file is no capture, or carries no data of TCP or SCTP.
    pub fn read(bytes: &[u8]) -> Result<Traffic, TrafficError> {
        let wrong = |error: &dyn core::fmt::Display| TrafficError(error.to_string());
        let mut capture = Capture::open(bytes).map_err(|error| wrong(&error))?;
        let messages = Messages::new(None, MOST_MESSAGES);
        let (report, messages) = trace::analyse(&mut capture, Options::default(), messages);
        let mut streams: Vec<_> = report.streams.iter().collect();
        streams.sort_by_key(|one| core::cmp::Reverse(one.totals.packets.data));
        let left_out = streams.len().saturating_sub(MOST_FLOWS as usize);
        streams.truncate(MOST_FLOWS as usize);
        if streams.is_empty() {
            let what = "the capture has no TCP or SCTP packets with data; expected traffic of an application";
            return Err(TrafficError(what.to_owned()));
        }
        let names: Vec<&str> = streams.iter().map(|one| one.id.as_str()).collect();
        let recording = recording(messages, &names).map_err(|error| wrong(&error))?;
        let conditions = Conditions::of(&report.streams, &report.all);
        let told = Told {
            streams: streams
                .iter()
                .map(|one| Stream {
                    id: one.id.clone(),
                    from: one.source.clone(),
                    to: one.destination.clone(),
                    packets: one.totals.packets.data,
                })
                .collect(),
            left_out,
            messages: recording.count() as u64,
            seconds: recording.duration().as_secs_f64(),
            transport: match streams.first().map(|one| one.protocol) {
                Some(Protocol::Sctp) => "sctp",
                _ => "tcp",
            },
            rtt_ms: conditions.map(|one| one.rtt.as_millis_f64()),
            loss: conditions.map(|one| one.loss * 100.0),
        };
        Ok(Traffic { recording, told })
    }

    /// Streams that can run as flows.
    pub(crate) fn streams(&self) -> u32 {
        self.recording.streams().len() as u32
    }

    /// Report on the capture, as JSON.
    pub fn to_json(&self) -> String {
        // Nothing in it can fail to serialize.
        serde_json::to_string(&self.told).unwrap_or_default()
    }

    /// The messages as a file of a plan.
    pub(crate) fn file_entry(&self, name: &str) -> String {
        file_entry(name, &self.recording.to_csv())
    }
}

#[cfg(test)]
mod tests;
