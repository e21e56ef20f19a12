//! `thinstream emulate`: arguments and printing.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ::lab::irtt;
use ::lab::plan::{NetworkName, links_of};
use apps::emulate::{
    CrossTraffic, EmulateError, EmulateOptions, Framing, GilbertElliott, Jitter, LinkOptions,
    LossModel, PathOptions, PerDirection, ProfileStep, QueueText, Recording, RecordingText,
    Reorder, emulate, parse_profile, parse_recording,
};
use base::{Duration, ParseQuantityError, Rate};

use crate::address::HostPort;
use crate::failure::Failure;
use crate::number::times;
use crate::output;

/// Relay UDP datagrams through an emulated lossy, slow link, in real time and without root.
///
/// Clients send to --listen and reach the server at --forward; what the server answers takes the
/// same link back. A value counts for both directions unless two are given: 40ms,60ms is 40 ms from
/// the clients to the server and 60 ms back. Ctrl-C ends it and prints what happened.
///
/// Give --listen and --forward several times for the paths of a multihomed association: each pair
/// has links of its own. Any other option then counts for all paths, or is given once for each.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Address to which clients send; port 0 selects a free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9900")]
    listen: Vec<HostPort>,
    /// Address of the server; once for each --listen.
    #[arg(long, value_name = "ADDR", required = true)]
    forward: Vec<HostPort>,
    /// One-way delay.
    #[arg(long, value_name = "DURATION", default_value = "0s", help_heading = "Link")]
    delay: Vec<PerDirection<Duration>>,
    /// Jitter of the delay: 10ms (up to that more or less, uniformly), "normal 10ms", "exponential
    /// 10ms", "pareto 10ms 3 1s" (scale, shape, limit) or "wifi near" (mid, far); packets keep
    /// their order.
    #[arg(long, value_name = "JITTER", default_value = "0s", help_heading = "Link")]
    jitter: Vec<PerDirection<Jitter>>,
    /// Loss: 5%, "bursts 5% 3" (packets in a row on average), "gilbert 1% 25% 0% 100%", "outages
    /// 3s 150ms" (good and bad times on average) or "packets 3 17" (these packets).
    #[arg(long, value_name = "LOSS", default_value = "0%", help_heading = "Link")]
    loss: Vec<PerDirection<LossModel>>,
    /// Mean number of packets lost in a row with --loss 5%; 1 loses each independently of the
    /// others.
    #[arg(long, value_name = "PACKETS", help_heading = "Link")]
    burst: Vec<PerDirection<Burst>>,
    /// Rate of the bottleneck; by default sending a packet takes no time.
    #[arg(long, value_name = "RATE", help_heading = "Link")]
    rate: Vec<PerDirection<Rate>>,
    /// Queue before the bottleneck: 50p (packets), 64KiB or 1.5bdp (of rate and round trip) drop
    /// what they have no room for; "red 5p 15p 60p" (minimum, maximum, limit), "codel 1000p",
    /// "pie 1000p" and "fq_codel 10240p" (each client has a queue) drop earlier, or with "ecn"
    /// behind them mark. Without one, any number waits.
    #[arg(long, value_name = "QUEUE", help_heading = "Link")]
    queue: Vec<PerDirection<QueueText>>,
    /// Framing that the bottleneck's link layer adds to each packet: none, ethernet, ppp or
    /// ppp-synchronous.
    #[arg(long, value_name = "FRAMING", default_value = "none", help_heading = "Link")]
    framing: Vec<PerDirection<Framing>>,
    /// Traffic of others in a queue on the path: "70% 5ms 60ms" (load, mean length of a burst,
    /// longest wait).
    #[arg(long, value_name = "CROSS", help_heading = "Link")]
    cross: Vec<PerDirection<CrossTraffic>>,
    /// Share of packets that are held back, so that later ones overtake them, and the time: "1%
    /// 20ms".
    #[arg(long, value_name = "REORDER", help_heading = "Link")]
    reorder: Vec<PerDirection<Reorder>>,
    /// Changes over time, a line each: "10s delay=300ms rate=128kbit loss=30%", counted from the
    /// start; or comma-separated values with names of columns in the first line
    /// (time_s,delay_ms,loss). "none" for a path without.
    #[arg(long, value_name = "FILE", help_heading = "Link")]
    profile: Vec<PathBuf>,
    /// Recordings to play, again when they end: mahimahi's delivery opportunities, or delays and
    /// losses as comma-separated values or as irtt's JSON (see docs/laboratory.md);
    /// "up.trace+delays.csv" plays two. Behind a blank, "interpolated" and "shifted" (begin where
    /// the seed says). "none" for a direction without.
    #[arg(long, value_name = "FILE", help_heading = "Link")]
    recording: Vec<PerDirection<RecordingText>>,
    /// A network of the library ("lab networks" lists them) instead of these options; --delay is
    /// added to its own.
    #[arg(
        long, value_name = "NAME", value_parser = crate::network::names(), help_heading = "Link",
        conflicts_with_all = ["jitter", "loss", "burst", "rate", "queue", "framing", "cross", "reorder", "profile", "recording"]
    )]
    network: Vec<NetworkName>,
    /// Seed of losses and of variations of the delay.
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = crate::number::whole)]
    seed: u64,
    /// Duration; by default until Ctrl-C.
    #[arg(long, value_name = "DURATION")]
    duration: Option<Duration>,
    /// Print the report as one JSON object.
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
    apps::check_descriptors().map_err(Failure::network)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::network(format!("cannot start: {error}")))?;
    let ready = |listen: &[SocketAddr]| {
        for (listen, path) in listen.iter().zip(&options.paths) {
            output::note(&format!("relaying {listen} -> {}", path.forward));
        }
    };
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
        let paths = self.forward.len();
        if self.listen.len() != paths {
            return Err(Failure::usage(format!(
                "--listen is given {} and --forward {}: each path needs both",
                times(self.listen.len()),
                times(paths)
            )));
        }
        let paths = (0..paths).map(|path| self.path(path)).collect::<Result<_, _>>()?;
        Ok(EmulateOptions { paths, seed: self.seed, duration: self.duration })
    }

    fn path(&self, path: usize) -> Result<PathOptions, Failure> {
        self.forward[path].check_reachable()?;
        Ok(PathOptions {
            listen: self.listen[path].resolve()?,
            forward: self.forward[path].resolve()?,
            up: self.link(path, Direction::Up)?,
            down: self.link(path, Direction::Down)?,
        })
    }

    fn link(&self, path: usize, direction: Direction) -> Result<LinkOptions, Failure> {
        let burst = self.of_path("--burst", &self.burst, path)?;
        let loss = self.of_path("--loss", &self.loss, path)?;
        let cross = self.of_path("--cross", &self.cross, path)?;
        let reorder = self.of_path("--reorder", &self.reorder, path)?;
        let framing = self.of_path("--framing", &self.framing, path)?;
        let rate = self.of_path("--rate", &self.rate, path)?;
        let queue = self.of_path("--queue", &self.queue, path)?;
        let recordings = match self.of_path("--recording", &self.recording, path)? {
            Some(both) => [read_recording(&both.up)?, read_recording(&both.down)?],
            None => [Recording::default(), Recording::default()],
        };
        let is_line = rate.is_some() || recordings.iter().any(|one| one.opportunities.is_some());
        let [up, down] = recordings;
        let recording = direction.of(PerDirection { up, down });
        if queue.is_some() && !is_line {
            return Err(Failure::usage(
                "--queue without --rate or a --recording of opportunities: nothing would wait",
            ));
        }
        Ok(LinkOptions {
            delay: direction.of(self.of_path("--delay", &self.delay, path)?.unwrap_or_default()),
            jitter: direction.of(self.of_path("--jitter", &self.jitter, path)?.unwrap_or_default()),
            loss: in_bursts(
                direction.of(loss.unwrap_or_default()),
                burst.map(|burst| direction.of(burst).0),
            )?,
            framing: direction.of(framing.unwrap_or_default()),
            cross: cross.map(|cross| direction.of(cross)),
            reorder: direction.of(reorder.unwrap_or_default()),
            rate: rate.map(|rate| direction.of(rate)),
            queue: queue.map(|queue| direction.of(queue)),
            profile: match self.of_path("--profile", &self.profile, path)? {
                Some(file) if file.as_os_str() != "none" => read_profile(&file)?,
                _ => Vec::new(),
            },
            recording,
            like: match self.of_path("--network", &self.network, path)? {
                Some(name) => {
                    // Clients are the senders.
                    let links = links_of(name).map_err(Failure::usage)?;
                    Some(direction.of(PerDirection { up: links.forward, down: links.backward }))
                }
                None => None,
            },
        })
    }

    /// The value of an option for a path: given once for all, or once for each.
    fn of_path<T: Clone>(
        &self,
        name: &str,
        given: &[T],
        path: usize,
    ) -> Result<Option<T>, Failure> {
        match given {
            [] => Ok(None),
            [all] => Ok(Some(all.clone())),
            each if each.len() == self.forward.len() => Ok(Some(each[path].clone())),
            each => Err(Failure::usage(format!(
                "{} times {name} for {} paths: give it once, or once for each path",
                each.len(),
                self.forward.len()
            ))),
        }
    }
}

/// The loss model with this mean number of packets lost in a row.
fn in_bursts(loss: LossModel, burst: Option<f64>) -> Result<LossModel, Failure> {
    match (loss, burst) {
        (LossModel::Bernoulli(share), Some(burst)) if burst > 1.0 => {
            Ok(LossModel::GilbertElliott(GilbertElliott::from_mean_burst(share, burst)))
        }
        (loss @ (LossModel::None | LossModel::Bernoulli(_)), _) | (loss, None) => Ok(loss),
        _ => Err(Failure::usage(
            "--burst is for a --loss such as 5%, which says nothing of bursts itself".to_owned(),
        )),
    }
}

fn read_profile(file: &Path) -> Result<Vec<ProfileStep>, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))?;
    let wrong = |why: &dyn std::fmt::Display| Failure::usage(format!("{}: {why}", file.display()));
    let steps = parse_profile(&text).map_err(|error| wrong(&error))?;
    match steps.is_empty() {
        true => Err(wrong(&"there is no step in it; expected lines such as 5s loss=100%")),
        false => Ok(steps),
    }
}

fn read_recording(text: &RecordingText) -> Result<Recording, Failure> {
    if text.files == ["none"] {
        return Ok(Recording::default());
    }
    let read = |file: &str| {
        let lines = std::fs::read_to_string(irtt::file_of(file));
        let lines = lines.map_err(|error| format!("cannot read {file}: {error}"))?;
        let lines = irtt::as_recording(file, lines).map_err(|error| format!("{file}: {error}"))?;
        parse_recording(&lines).map_err(|error| format!("{file}: {error}"))
    };
    text.resolve(read).map_err(|error: String| Failure::usage(error))
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
    use crate::line;

    #[test]
    fn values_stand_for_both_directions_or_for_one_each() {
        let line = line::parse::<Arguments>(&[
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
        let options = line.unwrap().options().unwrap();
        let [path] = &options.paths[..] else { panic!("{options:?}") };
        assert_eq!(path.up.delay, Duration::from_millis(40));
        assert_eq!(path.down.delay, Duration::from_millis(60));
        assert_eq!(path.up.loss, path.down.loss);
        assert_eq!(path.down.loss, "bursts 5% 3".parse().unwrap());
        assert_eq!(path.up.queue, "50p".parse().ok());
        assert_eq!(options.seed, 7);
    }

    #[test]
    fn an_option_counts_for_all_paths_or_is_given_for_each() {
        let parse = |typed: &[&str]| {
            let pairs = ["--listen", "127.0.0.1:1", "--forward", "127.0.0.1:2"];
            let two = ["--listen", "127.0.0.2:1", "--forward", "127.0.0.2:2"];
            let line = line::parse::<Arguments>(&[&pairs[..], &two, typed].concat());
            line.unwrap().options().map_err(|failure| format!("{failure:?}"))
        };
        let options = parse(&["--loss", "5%", "--delay", "10ms", "--delay", "20ms"]).unwrap();
        let delays = options.paths.iter().map(|path| path.up.delay.as_millis()).collect::<Vec<_>>();
        assert_eq!(delays, [10, 20]);
        assert_eq!(options.paths[0].up.loss, options.paths[1].up.loss);
        let error = parse(&["--delay", "1ms", "--delay", "1ms", "--delay", "1ms"]).unwrap_err();
        assert!(error.contains("3 times --delay for 2 paths"), "{error}");
        assert!(parse(&["--forward", "127.0.0.1:3"]).unwrap_err().contains("each path needs both"));
        assert!(parse(&["--profile", "/nowhere"]).unwrap_err().contains("/nowhere"));
        assert!(parse(&["--profile", "/dev/null"]).unwrap_err().contains("no step"));
    }

    #[test]
    fn the_laboratory_s_texts_are_understood() {
        let parse = |typed: &[&str]| {
            let line = [&["--forward", "127.0.0.1:2"], typed].concat();
            let arguments = line::parse::<Arguments>(&line).unwrap();
            arguments.options().map_err(|failure| format!("{failure:?}"))
        };
        let queue = ["--rate", "1mbit", "--queue", "codel 100p ecn,red 5p 15p 60p"];
        let path = &parse(&queue).unwrap().paths[0];
        assert_ne!(path.up.queue, path.down.queue);
        let other =
            ["--loss", "outages 3s 150ms", "--jitter", "exponential 5ms", "--framing", "ppp"];
        let path = &parse(&other).unwrap().paths[0];
        assert!(matches!(path.up.loss, LossModel::TimedGilbert(_)));
        assert!(matches!(path.up.jitter, Jitter::Exponential { .. }));
        assert_eq!(path.up.framing, Framing::PPP);
        let path = &parse(&["--cross", "70% 5ms 60ms", "--reorder", "1% 20ms"]).unwrap().paths[0];
        assert!(path.up.cross.is_some() && path.down.reorder != Reorder::default());
        let error = parse(&["--loss", "bursts 5% 3", "--burst", "2"]).unwrap_err();
        assert!(error.contains("--burst"), "{error}");
    }

    #[test]
    fn recordings_and_networks_of_the_library_are_played() {
        let parse = |typed: &[&str]| {
            let arguments =
                line::parse::<Arguments>(&[&["--forward", "127.0.0.1:2"], typed].concat());
            let arguments = arguments.map_err(|error| error.to_string())?;
            arguments.options().map_err(|failure| format!("{failure:?}"))
        };
        let path = &parse(&["--network", "5g-drive", "--delay", "3ms"]).unwrap().paths[0];
        let (up, down) = (path.up.to_config(Duration::ZERO), path.down.to_config(Duration::ZERO));
        assert!(up.recording.delays.is_some() && down.recording.is_empty());
        assert_eq!((up.delay, down.delay), (Duration::from_millis(3), Duration::from_millis(10)));
        let error = parse(&["--network", "5g"]).unwrap_err();
        assert!(error.contains("5g-drive") && error.contains("wifi-far"), "{error}");
        assert!(parse(&["--network", "lte", "--loss", "1%"]).unwrap_err().contains("--loss"));
        let folder = std::env::temp_dir().join(format!("recordings-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [trace, delays] = ["up.trace", "d.csv"].map(|name| folder.join(name));
        std::fs::write(&trace, "1\n2\n").unwrap();
        std::fs::write(&delays, "time_s,delay_ms\n0,5\n1,x\n").unwrap();
        let [trace, delays] = [trace, delays].map(|path| path.display().to_string());
        let typed = format!("{trace} shifted,none");
        let path = &parse(&["--recording", &typed, "--queue", "codel"]).unwrap().paths[0];
        assert!(path.up.recording.opportunities.is_some() && path.up.recording.shifted);
        assert!(path.down.recording.is_empty());
        let error = parse(&["--recording", &delays]).unwrap_err();
        assert!(error.contains("d.csv: recording line 3: "), "{error}");
        let irtt = format!("{delays}.json:send,none");
        std::fs::write(format!("{delays}.json"), "{}").unwrap();
        let error = parse(&["--recording", &irtt]).unwrap_err();
        assert!(error.contains("d.csv.json:send: no measurement by irtt: "), "{error}");
        assert!(parse(&["--recording", "/nowhere"]).unwrap_err().contains("/nowhere"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(parse(&["--queue", "50p"]).unwrap_err().contains("--rate"));
    }

    #[test]
    fn a_burst_shorter_than_one_packet_is_refused() {
        assert!("0.5".parse::<Burst>().is_err());
        assert!("nan".parse::<Burst>().is_err());
        assert_eq!("1.5".parse(), Ok(Burst(1.5)));
    }
}
