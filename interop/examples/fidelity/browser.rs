//! Servers of data channels beside each other, in front of one browser.

mod host;
mod ours;

use std::sync::Arc;

use base::{Duration, Probability};
use interop::{Browser, DataChannelServer, Namespace};
use lab::Arrivals;
use lab::plan::FlowsPlan;
use netsim::LossModel;

use self::host::{Host, Side, Wanted};
use self::ours::{Ours, Pairs, Work};
use crate::case::{self, Case};
use crate::compare::{self, Comparison};
use crate::sample::{Estimate, Sample};
use crate::{Outcome, Wishes, virtual_time};

/// Connections to each server, unless others are asked for; fewer where each has many messages.
const FLOWS: u32 = 40;
/// Messages to each server that are enough for a 99.9th percentile.
const MESSAGES: u32 = 48_000;
/// Seconds for which each of them sends, unless others are asked for.
const SECONDS: u64 = 300;
/// Largest difference from virtual time that is none.
const TOLERANCE: f64 = 0.15;

/// Our default policy, str0m, webrtc-rs and pion, all at once to Chromium: a table for each case,
/// and ours beside virtual time.
pub(crate) fn downstream(cases: &[Case], wishes: &Wishes) -> Outcome<Vec<Comparison>> {
    let browser = Browser::chromium()?;
    let others = match wishes.alone {
        true => vec![],
        false => vec![
            DataChannelServer::str0m()?,
            DataChannelServer::webrtc_rs()?,
            DataChannelServer::pion()?,
        ],
    };
    let cases = cases.iter().filter(|case| case.name != "tcp");
    cases.map(|case| beside(case, wishes, &browser, &others)).collect()
}

fn beside(
    case: &Case,
    wishes: &Wishes,
    browser: &Browser,
    others: &[DataChannelServer],
) -> Outcome<Comparison> {
    let wanted = wanted(&case.flows, wishes, false)?;
    let measured = measure(browser, &wanted, |namespace| {
        let mut sides = vec![Side::ours("thinstream", Ours::new(Work::Send)?)];
        for other in others {
            sides.push(Side::other(other.title(), other.start(namespace)?));
        }
        Ok(sides)
    })?;
    let version = browser.version()?;
    println!("{}, to {version}\n", case.plan.base.title);
    // The beginning of a flow counts for as much on both sides.
    let mut plan = case.plan.clone();
    case::cells(&mut plan).for_each(|cell| cell.duration = wanted.duration);
    print_table(&measured, &wanted, Some(virtual_time::run(&plan)?));
    let ours = measured.first().ok_or("no side")?;
    Ok(Comparison {
        title: format!("{}, to {version}", case.plan.base.title),
        tolerance: TOLERANCE,
        real: compare::Side::new("Chromium", ours.sample(wanted.delay)),
        simulated: compare::Side::new("virtual time", virtual_time::run(&plan)?),
    })
}

/// Messages from browsers to ours, acknowledged as its policy says and at once.
pub(crate) fn upstream(cases: &[Case], wishes: &Wishes) -> Outcome<Vec<Comparison>> {
    let is_wanted = |name: &str| wishes.browser.as_ref().is_none_or(|wanted| wanted == name);
    let all = [("chromium", Browser::chromium as fn() -> _), ("firefox", Browser::firefox)];
    for (_, find) in all.into_iter().filter(|(name, _)| is_wanted(name)) {
        let browser: Browser = find()?;
        for case in cases.iter().filter(|case| case.name != "tcp") {
            let wanted = wanted(&case.flows, wishes, true)?;
            let measured = measure(&browser, &wanted, |_| {
                let ours = |at_once| Ours::new(Work::Count { at_once });
                Ok(vec![
                    Side::ours("acknowledged within 200 ms", ours(false)?),
                    Side::ours("acknowledged at once", ours(true)?),
                ])
            })?;
            println!("{}, from {}\n", case.plan.base.title, browser.version()?);
            print_table(&measured, &wanted, None);
        }
    }
    Ok(vec![])
}

/// The case's settings of each connection.
fn wanted(plan: &FlowsPlan, wishes: &Wishes, up: bool) -> Outcome<Wanted> {
    let flow = plan.flows.first().ok_or("the plan has no flow")?;
    let Some(Arrivals::Constant { interval }) = flow.workload.drawn() else {
        return Err("arrivals are constant here".into());
    };
    let size = flow.workload.size.ok_or("the plan says no size")?.0.largest();
    let loss = match plan.network.link.loss.as_ref().map(|loss| &loss.0) {
        None => Probability::from_ratio(0, 1),
        Some(LossModel::Bernoulli(loss)) => *loss,
        Some(_) => return Err("losses are independent here".into()),
    };
    let rtt = plan.network.link.rtt.ok_or("the plan says no round trip")?.0;
    let seconds = Duration::from_secs(wishes.seconds.unwrap_or(SECONDS));
    let count = u32::try_from(seconds.as_nanos() / interval.as_nanos())?;
    let flows = wishes.flows.unwrap_or(FLOWS.min((MESSAGES / count.max(1)).max(8)));
    let label = format!("send {} {size} {count}", interval.as_nanos() / 1000);
    Ok(Wanted { label, flows, count, duration: seconds, loss, delay: rtt / 2, up })
}

/// A server and what came of it.
struct Measured {
    title: String,
    /// Milliseconds of each connection's messages above the fastest message of all servers.
    late_ms: Vec<Vec<f64>>,
    /// Packets and bytes in the direction of the messages.
    packets: u64,
    bytes: u64,
    /// Bytes in the other direction.
    bytes_back: u64,
    /// Reasons for which connections did not open, or ended early.
    lost: Vec<String>,
}

impl Measured {
    fn messages(&self) -> u64 {
        self.late_ms.iter().map(|flow| flow.len() as u64).sum()
    }

    /// Latencies, if the fastest message took `delay`; a cluster for each connection.
    fn sample(&self, delay: Duration) -> Sample {
        let mut sample = Sample::default();
        for flow in &self.late_ms {
            let nanos = |late: &f64| ((late * 1e6) as u64 + delay.as_nanos(), 1);
            sample.add(flow.iter().map(nanos));
        }
        sample
    }
}

/// Lets a page of the browser connect to the servers that `start` starts, and waits until all
/// messages have arrived.
fn measure(
    browser: &Browser,
    wanted: &Wanted,
    start: impl FnOnce(&Namespace) -> Outcome<Vec<Side>> + Send,
) -> Outcome<Vec<Measured>> {
    let namespace = Browser::namespace()?;
    let run = || -> Outcome<Arc<Vec<Side>>> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            let sides = Arc::new(start(&namespace)?);
            let (host, mut is_done) = Host::new(Arc::clone(&sides), wanted.clone()).await?;
            let url = host.url()?;
            tokio::spawn(host.run());
            let page = browser.open(&namespace, &url)?;
            match is_done.recv().await.as_deref() {
                Some("") => Ok(sides),
                said => Err(format!("{said:?}; the browser said:\n{}", page.text()).into()),
            }
        })
    };
    let sides = namespace.enter(run)??;
    let pairs: Vec<Vec<Pairs>> = sides.iter().map(Side::take_pairs).collect();
    let all = pairs.iter().flatten().flatten();
    let fastest = all.map(|(sent, arrived)| arrived - sent).fold(f64::INFINITY, f64::min);
    let measured = sides.iter().zip(pairs).map(|(side, pairs)| {
        let late = |(sent, arrived): &(f64, f64)| (arrived - sent - fastest) / 1000.0;
        let late_ms: Vec<Vec<f64>> =
            pairs.iter().map(|pairs| pairs.iter().map(late).collect()).collect();
        let [up, down] = side.traffic();
        let (there, back) = if wanted.up { (up, down) } else { (down, up) };
        let (packets, bytes, bytes_back) = (there.packets, there.bytes, back.bytes);
        let (title, lost) = (side.title.clone(), side.take_lost());
        Measured { title, late_ms, packets, bytes, bytes_back, lost }
    });
    let measured: Vec<Measured> = measured.collect();
    let whole = u64::from(wanted.flows) * u64::from(wanted.count);
    for side in &measured {
        side.lost.iter().for_each(|why| eprintln!("{}: {why}", side.title));
        if side.messages() != whole {
            eprintln!("{}: {} of {whole} messages", side.title, side.messages());
        }
    }
    match measured.iter().all(|side| side.messages() > 0) {
        true => Ok(measured),
        false => Err("a server delivered nothing".into()),
    }
}

/// Milliseconds above the delay of the path; bytes with headers of IP, UDP and DTLS; connections
/// that did not open or ended early.
fn print_table(measured: &[Measured], wanted: &Wanted, simulated: Option<Sample>) {
    println!(
        "| | mean | p50 | p99 | p99.9 | max | bytes | packets | bytes back | messages | lost |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    let delay = wanted.delay.as_nanos() as f64 / 1e6;
    let cells = |estimates: &[Estimate]| {
        let late = |number: usize| (estimates[number].value - delay).max(0.0);
        format!("{:.1} | {:.1} | {:.0} | {:.0}", late(0), late(1), late(3), late(4))
    };
    for side in measured {
        let messages = side.messages() as f64;
        let share = |all: u64| all as f64 / messages;
        let most = side.late_ms.iter().flatten().copied().fold(0.0, f64::max);
        println!(
            "| {} | {} | {most:.0} | {:.0} | {:.2} | {:.0} | {messages} | {} |",
            side.title,
            cells(&side.sample(wanted.delay).estimates()),
            share(side.bytes),
            share(side.packets),
            share(side.bytes_back),
            side.lost.len(),
        );
    }
    if let Some(sample) = simulated {
        let messages = sample.count();
        println!("| virtual time | {} | | | | | {messages} | |", cells(&sample.estimates()));
    }
    println!();
}
