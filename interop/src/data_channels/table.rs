//! Peers of data channels with our server, each at either end of DTLS, without loss and with some:
//! a section of `docs/interop.md`.

use std::fmt::Write;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use secure::Role;
use serde_json::Value;
use thinstream::webrtc::ServerOptions;
use tokio::sync::mpsc::UnboundedReceiver;

use super::client::DataChannelClient;
use super::host::{Host, HostReport};
use super::judgement::{judge_page, judge_program};
use crate::browser::{BROWSER_HOST, Browser};
use crate::missing::Missing;
use crate::namespace::Namespace;

/// The heading of the section, which is the page's last.
pub const HEADING: &str = "## Data channels";

/// Time without any news after which a run fails.
const LIMIT: Duration = Duration::from_secs(180);

/// Differences of a run from others.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Our end of DTLS where the peer's offer leaves it; none where the offer is ours, and the
    /// peer chooses.
    role: Option<Role>,
    /// Packets lost of a hundred.
    loss_percent: u64,
}

impl Run {
    const fn new(role: Option<Role>, loss_percent: u64) -> Run {
        Run { role, loss_percent }
    }

    /// Title that a person would give it.
    fn title(self) -> String {
        let Run { role, loss_percent } = self;
        match role {
            Some(role) => format!("our end of DTLS {role:?}, loss {loss_percent} %"),
            None => format!("our offer, loss {loss_percent} %"),
        }
    }
}

/// Columns of the table: the end of DTLS, and the loss in percent.
const RUNS: [Run; 6] = [
    Run::new(Some(Role::Server), 0),
    Run::new(Some(Role::Client), 0),
    Run::new(Some(Role::Server), 5),
    Run::new(Some(Role::Client), 5),
    Run::new(None, 0),
    Run::new(None, 5),
];

/// Chromium with the flag for SCTP's set-up in its offers.
const WITH_INIT: &str = "Chromium, SCTP's set-up in the offer";

/// Function that looks for a peer, and says what it lacks.
type Find = fn() -> Result<Peer, Missing>;

enum Peer {
    Browser(Browser),
    Program(DataChannelClient),
}

/// Results of all peers, a row each, with failures.
#[derive(Debug, Default)]
pub struct DataChannelTable {
    rows: Vec<(String, Vec<String>)>,
    missing: Vec<(&'static str, Missing)>,
    failures: Vec<String>,
}

impl DataChannelTable {
    /// Lets the peers do their exercises whose names contain all texts of `only`; `tell` is
    /// notified of each run.
    pub fn run(only: &[String], mut tell: impl FnMut(&str)) -> DataChannelTable {
        let mut table = DataChannelTable::default();
        let peers: [(&str, Find); 8] = [
            ("Chromium", || Browser::chromium().map(Peer::Browser)),
            (WITH_INIT, || Browser::chromium_signalling_init().map(Peer::Browser)),
            ("Firefox", || Browser::firefox().map(Peer::Browser)),
            ("pion", || DataChannelClient::pion().map(Peer::Program)),
            ("str0m", || DataChannelClient::str0m().map(Peer::Program)),
            ("webrtc-rs", || DataChannelClient::webrtc_rs().map(Peer::Program)),
            ("aiortc", || DataChannelClient::aiortc().map(Peer::Program)),
            ("libdatachannel", || DataChannelClient::libdatachannel().map(Peer::Program)),
        ];
        for (name, find) in peers {
            if !only.iter().all(|text| name.contains(text.as_str())) {
                continue;
            }
            match find() {
                Ok(peer) => table.add(name, &peer, &mut tell),
                Err(missing) => {
                    tell(&format!("{name}: not there: {missing}"));
                    table.missing.push((name, missing));
                }
            }
        }
        table
    }

    fn add(&mut self, name: &str, peer: &Peer, tell: &mut impl FnMut(&str)) {
        let title = match peer {
            Peer::Browser(browser) => {
                let version = browser.version().unwrap_or_else(|_| name.to_owned());
                if name == WITH_INIT { format!("{version}, `WebRtcSctpSnap`") } else { version }
            }
            Peer::Program(client) => client.title(),
        };
        let mut cells = vec![];
        for run in RUNS {
            let outcome = exercise(peer, run);
            let run = format!("{title}, {}", run.title());
            cells.push(match outcome {
                Ok(()) => {
                    tell(&format!("ok    {run}"));
                    "ok".to_owned()
                }
                Err(error) => {
                    tell(&format!("FAIL  {run}: {error:#}"));
                    self.failures.push(format!("{run}: {error:#}").replace('\n', " "));
                    "FAIL".to_owned()
                }
            });
        }
        self.rows.push((title, cells));
    }

    /// Runs that failed, and why.
    pub fn failures(&self) -> &[String] {
        &self.failures
    }

    /// The section of the page.
    pub fn markdown(&self) -> String {
        let mut page = format!("{HEADING}\n\n{INTRODUCTION}");
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| peer | ours is server of DTLS | client | server, 5 % loss | client, 5 % loss | ours offers | ours offers, 5 % loss |"
        );
        let _ = writeln!(page, "|---|---|---|---|---|---|---|");
        for (title, cells) in &self.rows {
            let _ = writeln!(page, "| {title} | {} |", cells.join(" | "));
        }
        for (name, missing) in &self.missing {
            let why = missing.0.lines().next().unwrap_or_default();
            let _ = writeln!(page, "\n{name}: not there: {why}.");
        }
        for failure in &self.failures {
            let _ = writeln!(page, "\n- {failure}");
        }
        page
    }
}

fn exercise(peer: &Peer, run: Run) -> Result<()> {
    let Run { role, loss_percent } = run;
    let namespace = Browser::namespace()?;
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            // Firefox takes no answer to its checks that tells it a loopback address.
            let reached = if matches!(peer, Peer::Browser(_)) { BROWSER_HOST } else { "127.0.0.1" };
            let mut options = ServerOptions::new(Vec::new());
            options.role = role.unwrap_or(options.role);
            let (host, hear) = Host::new(options, loss_percent, reached).await?;
            let (page, offers, answers) = (host.address()?, host.offers()?, host.answers()?);
            tokio::spawn(host.run());
            match peer {
                Peer::Browser(browser) => {
                    let answers = if role.is_none() { "&answers" } else { "" };
                    let url = format!("http://{page}/?rounds=1&loss={loss_percent}{answers}");
                    browse(browser, &namespace, &url, loss_percent, hear).await
                }
                Peer::Program(client) => {
                    let (client, namespace) = (client.clone(), namespace.clone());
                    let server = if role.is_some() { (true, offers) } else { (false, answers) };
                    let run = move || client.run(&namespace, server, LIMIT);
                    // Our server goes on meanwhile.
                    let result = tokio::task::spawn_blocking(run).await??;
                    judge_program(&result, loss_percent).map_err(anyhow::Error::msg)
                }
            }
        })
    };
    namespace.enter(run)?
}

async fn browse(
    browser: &Browser,
    namespace: &Namespace,
    url: &str,
    loss_percent: u64,
    mut hear: UnboundedReceiver<HostReport>,
) -> Result<()> {
    let page = browser.open(namespace, url)?;
    loop {
        match tokio::time::timeout(LIMIT, hear.recv()).await {
            Ok(Some(HostReport::Page(result))) => {
                let result: Value = serde_json::from_str(&result).context("the page's result")?;
                if !result["error"].is_null() {
                    bail!("the page reports {}", result["error"]);
                }
                return judge_page(&result, loss_percent).map_err(anyhow::Error::msg);
            }
            Ok(Some(HostReport::Server(_))) => {}
            _ => bail!("no result; the browser said:\n{}", page.text()),
        }
    }
}

const INTRODUCTION: &str = "\
Our side is `thinstream::webrtc` with its defaults. The peer offers and ours answers; in the last two columns ours offers, and the peer
answers and chooses its end of DTLS. DTLS is 1.3 where the peer has it. Each peer
opens channels of all kinds (ordered, unordered, `maxRetransmits`, `maxPacketLifeTime`), sends messages of 1 B to 64 KiB (browsers to
256 KiB, text, and nothing) and compares what comes back, sends 30 messages on each channel, takes a channel that our side opens, and lets
our side close one; browsers do the exercises of [webrtc.md](webrtc.md#with-a-real-browser), the others those of `interop/peers`, over a link
of 10 ms one way. Our offers carry SCTP's set-up; with the flag `WebRtcSctpSnap` Chromium's offers and answers do, too.
`cargo run -p interop --bin matrix -- --data-channels --markdown docs/interop.md` writes this section alone.

";
