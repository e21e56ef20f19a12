//! Reports of the peers' programs about a run.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use virtual_peers::Reliability;

use crate::plan::{EchoPlan, End};

/// A client's view of one association, from its `RESULT` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Messages that the server sent back.
    pub echoes: usize,
    /// Bytes sent, and received back.
    pub bytes: u64,
    /// Messages that came back altered, and unexpected messages.
    pub wrong: usize,
    /// Whether every message came back as one message.
    pub boundaries_kept: bool,
    /// Whether the association ended by a completed shutdown.
    pub clean_shutdown: bool,
    /// Number of times that the other side reset its streams.
    pub resets: usize,
    /// Time from connecting to the association being up.
    pub connect: Duration,
    /// Round-trip time of messages: least, median, 99th percentile and most.
    pub round_trip: [Duration; 4],
}

impl Report {
    /// Reads the `RESULT` line of a client.
    ///
    /// # Errors
    /// Naming the field that is missing or not a number.
    pub fn parse(line: &str) -> Result<Report> {
        let micros = |name| number(line, name).map(Duration::from_micros);
        Ok(Report {
            echoes: number(line, "echoes")? as usize,
            bytes: number(line, "bytes")?,
            wrong: number(line, "wrong")? as usize,
            boundaries_kept: field(line, "boundaries")? == "kept",
            clean_shutdown: field(line, "shutdown")? == "clean",
            resets: number(line, "resets")? as usize,
            connect: micros("connect_us")?,
            round_trip: [
                micros("rtt_us_min")?,
                micros("rtt_us_p50")?,
                micros("rtt_us_p99")?,
                micros("rtt_us_max")?,
            ],
        })
    }

    /// Whether all of `plan` came back intact, each message as one, and the association ended as it
    /// says.
    ///
    /// # Errors
    /// Naming the first thing that is not so.
    pub fn check(&self, plan: &EchoPlan) -> Result<()> {
        ensure!(self.wrong == 0, "{} messages were wrong", self.wrong);
        ensure!(self.boundaries_kept, "the peer got messages in parts");
        check_amount(self.echoes, self.bytes, plan)?;
        check_resets_and_end(self.resets, self.clean_shutdown, plan)
    }
}

/// A server's view of one association, from its `SERVED` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Messages sent back to the client.
    pub echoes: usize,
    /// Bytes of the messages sent back.
    pub bytes: u64,
    /// Whether the association ended by a completed shutdown.
    pub clean_shutdown: bool,
    /// Number of times that the client reset its streams.
    pub resets: usize,
}

impl Served {
    /// Reads the `SERVED` line of a server.
    ///
    /// # Errors
    /// Naming the field that is missing or not a number.
    pub fn parse(line: &str) -> Result<Served> {
        Ok(Served {
            echoes: number(line, "echoes")? as usize,
            bytes: number(line, "bytes")?,
            clean_shutdown: field(line, "shutdown")? == "clean",
            resets: number(line, "resets")? as usize,
        })
    }

    /// Whether the server echoed what `plan` says and the association ended so.
    ///
    /// # Errors
    /// Naming the first thing that is not so.
    pub fn check(&self, plan: &EchoPlan) -> Result<()> {
        check_amount(self.echoes, self.bytes, plan)?;
        check_resets_and_end(self.resets, self.clean_shutdown, plan)
    }
}

fn check_amount(echoes: usize, bytes: u64, plan: &EchoPlan) -> Result<()> {
    if plan.reliability == Reliability::Full {
        ensure!(echoes == plan.count, "the peer says: {echoes} of {} messages", plan.count);
        ensure!(bytes == plan.total(), "the peer says: {bytes} of {} bytes", plan.total());
    } else {
        ensure!(echoes > 0, "the peer says: no messages");
        ensure!(echoes < plan.count, "the peer says: all {echoes}, so that none was abandoned");
    }
    Ok(())
}

fn check_resets_and_end(resets: usize, clean: bool, plan: &EchoPlan) -> Result<()> {
    let resets_wanted = plan.reset.is_some();
    ensure!((resets > 0) == resets_wanted, "the peer says: {resets} resets of streams");
    let shutdown = matches!(plan.end, End::ClientShutdown | End::ServerShutdown);
    ensure!(clean || !shutdown, "the peer says: no completed shutdown");
    ensure!(shutdown || !clean, "the peer says: a shutdown, no abort");
    Ok(())
}

fn field<'a>(line: &'a str, name: &str) -> Result<&'a str> {
    let mut words = line.split_whitespace();
    let value = words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    value.with_context(|| format!("no {name} in {line:?}"))
}

fn number(line: &str, name: &str) -> Result<u64> {
    let value = field(line, name)?;
    value.parse().with_context(|| format!("{name}={value:?} is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "RESULT echoes=2 bytes=200 wrong=0 boundaries=kept shutdown=clean resets=0 connect_us=5 \
                        rtt_us_min=1 rtt_us_p50=2 rtt_us_p99=3 rtt_us_max=4";

    #[test]
    fn a_result_line_is_read_and_judged() {
        let report = Report::parse(LINE).unwrap();
        assert_eq!(report.round_trip.map(|d| d.as_micros()), [1, 2, 3, 4]);
        report.check(&EchoPlan::of(2, 100)).unwrap();
        assert!(report.check(&EchoPlan::of(3, 100)).is_err());
        let altered = Report::parse(&LINE.replace("wrong=0", "wrong=1")).unwrap();
        assert!(altered.check(&EchoPlan::of(2, 100)).is_err());
        let aborted = Report::parse(&LINE.replace("=clean", "=unclean")).unwrap();
        assert!(aborted.check(&EchoPlan::of(2, 100)).is_err());
    }

    #[test]
    fn a_line_without_a_field_names_the_field() {
        let error = Report::parse("RESULT echoes=2 bytes=200").unwrap_err().to_string();
        assert!(error.contains("wrong"), "{error}");
    }
}
