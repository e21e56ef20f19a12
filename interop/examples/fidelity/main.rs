//! Can the numbers be believed? The same thin flows over a real Linux kernel, over real sockets,
//! and in virtual time.
//!
//! - `cargo run --release -p interop --example fidelity -- kernel [sctp] [tcp] [--flows N]
//!   [--seconds N] [--loss PERCENT] [--runs N]`: the kernel's SCTP and TCP in User-Mode Linux, over
//!   its own loopback with netem, some times over, beside the plans of `experiments/fidelity` (as
//!   root).
//!
//! - `cargo run --release -p interop --example fidelity -- sockets [latency-w1] [latency-w2]
//!   [--flows N] [--seconds N] [--loss PERCENT]`: the first of them, or those with the default
//!   policy, through `serve`, `emulate` and `send` on loopback.
//!
//! - `cargo run --release -p interop --example fidelity -- receivers [latency-w1] [latency-w2]
//!   [--flows N] [--seconds N]`: the default policy's sender to receivers of others, usrsctp and
//!   the kernel's SCTP in User-Mode Linux, over `emulate` (as root).
//!
//! - `cargo run --release -p interop --example fidelity -- browser [latency-w1] [latency-w2]
//!   [--flows N] [--seconds N]`: servers of data channels, ours, str0m, webrtc-rs and pion, to
//!   Chromium over the model of a link; `--alone`: ours only; `browser-sends`: Chromium and
//!   Firefox, or `--browser NAME`, to ours, acknowledging as the policy says and at once (as root).
//!
//! - `cargo run --release -p interop --example fidelity -- trace [sctp] [tcp]`: single events on
//!   both sides, packet by packet (as root).
//!
//! `--jitter 0.1ms` gives the virtual network a jitter, where the real one has that of the machine.
//!
//! `--json` prints one object. Exit code 1: a number differs by more than 15 % while the intervals
//! of both sides do not overlap. What it printed stands in docs/fidelity.md.

mod browser;
mod case;
mod compare;
mod kernel;
mod ladder;
#[path = "../../peers/webrtc/src/order.rs"]
#[allow(unreachable_pub, reason = "public in the programs that share it")]
mod order;
mod receivers;
mod sample;
#[path = "../../tests/fidelity/sockets.rs"]
mod sockets;
mod through_sockets;
mod trace;
mod virtual_time;

use std::process::ExitCode;

use case::Case;
use compare::Comparison;
use netsim::Jitter;
use sockets::Outcome;

const COMMANDS: &str = "kernel, sockets, receivers, browser, browser-sends, trace";

/// Options of the program, as its command line gives them.
struct Wishes {
    command: String,
    cases: Vec<String>,
    flows: Option<u32>,
    seconds: Option<u64>,
    loss_percent: Option<u32>,
    runs: Option<u32>,
    /// Jitter of the virtual network: what the real machine has of its own.
    jitter: Option<Jitter>,
    /// Our server of data channels, and none of others.
    alone: bool,
    /// The only browser: `chromium` or `firefox`.
    browser: Option<String>,
    json: bool,
}

impl Wishes {
    fn read() -> Outcome<Wishes> {
        let mut words = std::env::args().skip(1);
        let command = words.next().ok_or_else(|| format!("what? {COMMANDS}"))?;
        let mut wishes = Wishes {
            command,
            cases: vec![],
            flows: None,
            seconds: None,
            loss_percent: None,
            runs: None,
            jitter: None,
            alone: false,
            browser: None,
            json: false,
        };
        while let Some(word) = words.next() {
            let mut number = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--json" => wishes.json = true,
                "--alone" => wishes.alone = true,
                "--browser" => wishes.browser = Some(number()?),
                "--flows" => wishes.flows = Some(number()?.parse()?),
                "--seconds" => wishes.seconds = Some(number()?.parse()?),
                "--loss" => wishes.loss_percent = Some(number()?.parse()?),
                "--jitter" => wishes.jitter = Some(number()?.parse()?),
                "--runs" => wishes.runs = Some(number()?.parse()?),
                case => wishes.cases.push(case.to_owned()),
            }
        }
        if wishes.cases.is_empty() {
            let latency = ["receivers", "browser", "browser-sends"];
            let of_latency = latency.contains(&wishes.command.as_str());
            let names = if of_latency { case::LATENCY } else { case::NAMES };
            wishes.cases = names.map(str::to_owned).to_vec();
        }
        Ok(wishes)
    }

    fn run(&self) -> Outcome<Vec<Comparison>> {
        let cases = self.cases.iter().map(|name| Case::read(name));
        let cases = cases.collect::<Outcome<Vec<_>>>()?;
        match self.command.as_str() {
            "kernel" => kernel::run(&cases, self),
            "sockets" => through_sockets::run(&cases, self),
            "receivers" => receivers::run(&cases, self),
            "browser" => browser::downstream(&cases, self),
            "browser-sends" => browser::upstream(&cases, self),
            "trace" => trace::run(&cases, self).map(|()| vec![]),
            other => Err(format!("{other} is none of {COMMANDS}").into()),
        }
    }
}

fn main() -> ExitCode {
    match Wishes::read().and_then(|wishes| Ok((wishes.run()?, wishes.json))) {
        Ok((comparisons, json)) => {
            match json {
                true => println!("{}", compare::to_json(&comparisons)),
                false => comparisons.iter().for_each(|one| println!("{one}")),
            }
            ExitCode::from(u8::from(comparisons.iter().any(Comparison::differs)))
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
