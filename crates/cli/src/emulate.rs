//! `thinstream emulate`: arguments and printing.

use std::fmt;
use std::str::FromStr;

use apps::emulate::{EmulateError, EmulateOptions, LinkOptions, PerDirection, QueueSize, emulate};
use base::{Duration, ParseQuantityError, Probability, Rate};

use crate::address::HostPort;
use crate::failure::Failure;
use crate::output;

/// Relay UDP datagrams through an emulated lossy, slow link, in real time and without root.
///
/// Clients send to --listen and reach the server at --forward; what the server answers takes the
/// same link back. A value counts for both directions unless two are given: 40ms,60ms is 40 ms from
/// the clients to the server and 60 ms back. Ctrl-C ends it and prints what happened.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Where clients send to; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9900")]
    listen: HostPort,
    /// The server.
    #[arg(long, value_name = "ADDR")]
    forward: HostPort,
    /// One-way delay.
    #[arg(long, value_name = "DURATION", default_value = "0s")]
    delay: PerDirection<Duration>,
    /// Largest deviation from the delay, uniformly distributed; packets keep their order.
    #[arg(long, value_name = "DURATION", default_value = "0s")]
    jitter: PerDirection<Duration>,
    /// How many of all packets are lost.
    #[arg(long, value_name = "PROBABILITY", default_value = "0%")]
    loss: PerDirection<Probability>,
    /// Mean number of packets lost in a row; 1 loses each independently of the others.
    #[arg(long, value_name = "PACKETS")]
    burst: Option<PerDirection<Burst>>,
    /// Rate of the bottleneck; without one, packets take no time to send.
    #[arg(long, value_name = "RATE")]
    rate: Option<PerDirection<Rate>>,
    /// Drop-tail queue before the bottleneck: 50p (packets) or 64KiB; without one, any number waits.
    #[arg(long, value_name = "SIZE", requires = "rate")]
    queue: Option<PerDirection<QueueSize>>,
    /// Chooses which packets are lost and how the delay varies.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long to run; without it, until Ctrl-C.
    #[arg(long, value_name = "DURATION")]
    duration: Option<Duration>,
    /// Print what happened as one JSON object.
    #[arg(long)]
    json: bool,
}

/// A mean length of bursts in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Burst(f64);

impl FromStr for Burst {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Burst, ParseQuantityError> {
        let number = text.parse::<f64>().ok().filter(|packets| (1.0..=1e6).contains(packets));
        number.map(Burst).ok_or_else(|| {
            ParseQuantityError::new(
                text,
                "a mean number of packets lost in a row such as 3, from 1 on",
            )
        })
    }
}

impl fmt::Display for Burst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let options = arguments.options()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::network(format!("cannot start: {error}")))?;
    let forward = options.forward;
    let ready = |listen| output::note(&format!("relaying {listen} -> {forward}"));
    let report = runtime.block_on(emulate(&options, ready)).map_err(|error| match error {
        EmulateError::Link(_) | EmulateError::Forward(..) => Failure::usage(error),
        EmulateError::Listen(_) | EmulateError::Ended(_) => Failure::network(error),
    })?;
    match arguments.json {
        true => output::print(&serde_json::to_string_pretty(&report).unwrap_or_default()),
        false => output::print(&report.to_string()),
    }
}

impl Arguments {
    fn options(&self) -> Result<EmulateOptions, Failure> {
        let mut options = EmulateOptions::new(self.listen.resolve()?, self.forward.resolve()?);
        options.up = self.link(Direction::Up);
        options.down = self.link(Direction::Down);
        options.seed = self.seed;
        options.duration = self.duration;
        Ok(options)
    }

    fn link(&self, direction: Direction) -> LinkOptions {
        LinkOptions {
            delay: direction.of(self.delay),
            jitter: direction.of(self.jitter),
            loss: direction.of(self.loss),
            burst: self.burst.map(|burst| direction.of(burst).0),
            rate: self.rate.map(|rate| direction.of(rate)),
            queue: self.queue.map(|queue| direction.of(queue)),
        }
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Up,
    Down,
}

impl Direction {
    fn of<T>(self, values: PerDirection<T>) -> T {
        match self {
            Direction::Up => values.up,
            Direction::Down => values.down,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn values_stand_for_both_directions_or_for_one_each() {
        let line = Line::try_parse_from([
            "emulate",
            "--forward",
            "127.0.0.1:9899",
            "--delay",
            "40ms,60ms",
            "--loss",
            "5%",
            "--burst",
            "3",
            "--rate",
            "1mbit",
            "--queue",
            "50p",
            "--seed",
            "7",
        ]);
        let options = line.unwrap().arguments.options().unwrap();
        assert_eq!(options.up.delay, Duration::from_millis(40));
        assert_eq!(options.down.delay, Duration::from_millis(60));
        assert_eq!(options.up.loss, options.down.loss);
        assert_eq!(options.down.burst, Some(3.0));
        assert_eq!(options.up.queue, Some(QueueSize::Packets(50)));
        assert_eq!(options.seed, 7);
    }

    #[test]
    fn a_burst_shorter_than_one_packet_is_refused() {
        assert!("0.5".parse::<Burst>().is_err());
        assert!("nan".parse::<Burst>().is_err());
        assert_eq!("1.5".parse(), Ok(Burst(1.5)));
    }
}
